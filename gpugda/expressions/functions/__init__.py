"""All functions and aggregates by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.expressions.functions import (
    aggregate,
    conversion,
    lists,
    mathematical,
    scalar,
    spatial,
    temporal,
    text,
)
from gpugda.expressions.functions.apoc import lists as apoc_lists
from gpugda.expressions.functions.apoc import maps as apoc_maps
from gpugda.expressions.functions.apoc import texts as apoc_texts
from gpugda.expressions.functions.registry import Aggregate, Function

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Aggregate", "Function", "find_aggregate", "find_function", "listed"]

_MODULES = (
    *(conversion, lists, mathematical, scalar, spatial, temporal, text),
    *(apoc_lists, apoc_maps, apoc_texts),
)

_FUNCTIONS: dict[str, Function] = {
    function.name.lower(): function for module in _MODULES for function in module.FUNCTIONS
}
_AGGREGATES: dict[str, Aggregate] = {each.name.lower(): each for each in aggregate.AGGREGATES}


def find_function(name: str, version: int = 5) -> Function | None:
    """The function of a name, in any case of letters, that a version of Cypher has."""
    found = _FUNCTIONS.get(name.lower())
    return found if found is not None and version in found.cypher_versions else None


def find_aggregate(name: str) -> Aggregate | None:
    """The aggregate of a name, in any case of letters."""
    return _AGGREGATES.get(name.lower())


def listed() -> Iterator[Function | Aggregate]:
    """All functions and aggregates by name, for the documentation."""
    everything: list[Function | Aggregate] = [*_FUNCTIONS.values(), *_AGGREGATES.values()]
    yield from sorted(everything, key=lambda each: each.name.lower())
