"""All functions and aggregates by name; their modules are loaded when one is first looked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from gpugda.expressions.functions.registry import Aggregate, Function

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Aggregate", "Function", "find_aggregate", "find_function", "listed"]

_MODULES: Final = (
    *("conversion", "lists", "mathematical", "scalar", "spatial", "temporal", "text"),
    *("apoc.lists", "apoc.maps", "apoc.texts"),
)


@cache
def _functions() -> dict[str, Function]:
    modules = [import_module(f"{__name__}.{name}") for name in _MODULES]
    return {each.name.lower(): each for module in modules for each in module.FUNCTIONS}


@cache
def _aggregates() -> dict[str, Aggregate]:
    module = import_module(f"{__name__}.aggregate")
    return {each.name.lower(): each for each in module.AGGREGATES}


def find_function(name: str, version: int = 5) -> Function | None:
    """The function of a name, in any case of letters, that a version of Cypher has."""
    found = _functions().get(name.lower())
    return found if found is not None and version in found.cypher_versions else None


def find_aggregate(name: str) -> Aggregate | None:
    """The aggregate of a name, in any case of letters."""
    return _aggregates().get(name.lower())


def listed() -> Iterator[Function | Aggregate]:
    """All functions and aggregates by name, for the documentation."""
    everything: list[Function | Aggregate] = [*_functions().values(), *_aggregates().values()]
    yield from sorted(everything, key=lambda each: each.name.lower())
