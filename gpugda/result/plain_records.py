"""Converts values of the driver's records to plain data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gpugda.result.entities import NodeValue, PathValue, RelationshipValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from neo4j.graph import Graph

__all__ = ["graphs_in", "only_ids", "plain_value"]

_PLAIN = frozenset({bool, int, float, str, type(None)})


def plain_value(value: Any) -> Any:
    """The value with `NodeValue`, `RelationshipValue`, `PathValue` instead of driver classes."""
    return _converted(value, _described)


def only_ids(value: Any) -> Any:
    """The value with element ids instead of entities; a path becomes a list of element ids."""
    return _converted(value, _identified)


def graphs_in(values: Iterable[Any]) -> Iterator[Graph]:
    """Yields the graph of each node, relationship and path in the values."""
    from neo4j.graph import Entity, Path

    for value in values:
        if isinstance(value, Entity | Path):
            yield value.graph
        elif isinstance(value, dict):
            yield from graphs_in(value.values())
        elif isinstance(value, list | tuple):
            yield from graphs_in(value)


def _converted(value: Any, convert: Callable[[Any], Any]) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list):
        return list(map(partial(_converted, convert=convert), value))
    if isinstance(value, dict):
        return {key: _converted(item, convert) for key, item in value.items()}
    return convert(value)


def _described(value: Any) -> Any:
    from neo4j.graph import Node, Path, Relationship

    if isinstance(value, Node):
        return NodeValue(value.element_id, tuple(sorted(value.labels)), dict(value.items()))
    if isinstance(value, Relationship):
        ends = ["" if node is None else node.element_id for node in value.nodes]
        properties = dict(value.items())
        return RelationshipValue(value.element_id, value.type, ends[0], ends[1], properties)
    if isinstance(value, Path):
        nodes, relationships = map(_described, value.nodes), map(_described, value.relationships)
        return PathValue(tuple(nodes), tuple(relationships))
    return value


def _identified(value: Any) -> Any:
    from neo4j.graph import Entity, Path

    if isinstance(value, Entity):
        return value.element_id
    if isinstance(value, Path):
        plain: PathValue = _described(value)
        return [part.element_id for part in plain.parts]
    return value
