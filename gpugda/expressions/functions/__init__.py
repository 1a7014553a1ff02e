"""Looks up functions and aggregates by name; imports modules until one has the name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from gpugda.expressions.functions.registry import Aggregate, Function

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Aggregate", "Function", "find_aggregate", "find_function", "listed"]

_APOC: Final = "apoc."
_MODULES: Final = ("scalar", "lists", "conversion", "text", "mathematical", "spatial", "temporal")
_APOC_MODULES: Final = ("apoc.lists", "apoc.maps", "apoc.texts")


@cache
def _functions(module: str) -> dict[str, Function]:
    return {each.name.lower(): each for each in import_module(f"{__name__}.{module}").FUNCTIONS}


@cache
def _aggregates() -> dict[str, Aggregate]:
    module = import_module(f"{__name__}.aggregate")
    return {each.name.lower(): each for each in module.AGGREGATES}


def find_function(name: str, version: int = 5) -> Function | None:
    """The function with this name (case-insensitive) in a version of Cypher; None if unknown."""
    lower = name.lower()
    for module in _APOC_MODULES if lower.startswith(_APOC) else _MODULES:
        found = _functions(module).get(lower)
        if found is not None:
            return found if version in found.cypher_versions else None
    return None


def find_aggregate(name: str) -> Aggregate | None:
    """The aggregate with this name (case-insensitive); None if unknown."""
    return _aggregates().get(name.lower())


def listed() -> Iterator[Function | Aggregate]:
    """All functions and aggregates by name, for the documentation."""
    everything: list[Function | Aggregate] = list(_aggregates().values())
    for module in (*_MODULES, *_APOC_MODULES):
        everything.extend(_functions(module).values())
    yield from sorted(everything, key=lambda each: each.name.lower())
