"""Builds a query graph in Python, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from gpugda.errors import ConfigurationError
from gpugda.query.ast import (
    Comparison,
    ComparisonOperator,
    Expression,
    LabelName,
    LabelOr,
    ListLiteral,
    Literal,
    Property,
    Variable,
)
from gpugda.query.query_parts import (
    QueryNode,
    QueryRelationship,
    anonymous_node_name,
    anonymous_relationship_name,
    is_anonymous,
)
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Parts", "QueryGraphBuilder"]

G = TypeVar("G")
Parts = tuple[tuple[QueryNode, ...], tuple[QueryRelationship, ...], tuple[Expression, ...]]
"""Nodes, relationships and predicates of a query graph."""

_NOWHERE: Final = Span(0, 0)


class QueryGraphBuilder(Generic[G]):
    """Builds a query graph element by element; `QueryGraph.builder` returns an empty one."""

    def __init__(self, make: Callable[[Parts], G]) -> None:
        self._make = make
        self._nodes: list[QueryNode] = []
        self._relationships: list[QueryRelationship] = []
        self._predicates: list[Expression] = []

    def node(
        self,
        name: str | None = None,
        *,
        labels: str | Sequence[str] = (),
        where: Mapping[str, Any] | None = None,
    ) -> QueryNode:
        """Adds a query node.

        Args:
            name: Its variable, under which it is returned; None for an anonymous node.
            labels: Labels that it must have, all of them.
            where: Required property values: booleans, 64 bit integers, floats, texts, or lists of
                these.

        Raises:
            ConfigurationError: The name is taken, or a value cannot be compared.
        """
        position = len(self._nodes)
        name = self._checked(name) or anonymous_node_name(position)
        names = _names(labels, "labels")
        node = QueryNode(position, name, tuple(LabelName(_NOWHERE, each) for each in names))
        self._add_predicates(name, where)
        self._nodes.append(node)
        return node

    def relationship(
        self,
        source: QueryNode,
        target: QueryNode,
        *,
        types: str | Sequence[str] = (),
        name: str | None = None,
        directed: bool = True,
        where: Mapping[str, Any] | None = None,
    ) -> QueryRelationship:
        """Adds a query relationship; no two of them match the same data relationship.

        Args:
            source: Its start, a node of this builder.
            target: Its end, a node of this builder.
            types: Its type is one of these; empty for any.
            name: Its variable, or None.
            directed: False to match either direction.
            where: Required property values, as in `node`.

        Raises:
            ConfigurationError: An end belongs to another builder, the name is taken, or a value
                cannot be compared.
        """
        for end in (source, target):
            if not any(end is node for node in self._nodes):
                raise ConfigurationError(
                    f"The end {end!r} is not a node of this builder: make it with node()."
                )
        position = len(self._relationships)
        name = self._checked(name) or anonymous_relationship_name(position)
        kinds = tuple(LabelName(_NOWHERE, each) for each in _names(types, "types"))
        relationship = QueryRelationship(
            position=position,
            name=name,
            source=source.position,
            target=target.position,
            directed=directed,
            types=LabelOr(_NOWHERE, kinds) if len(kinds) > 1 else kinds[0] if kinds else None,
            clause=0,
        )
        self._add_predicates(name, where)
        self._relationships.append(relationship)
        return relationship

    def build(self) -> G:
        """The query graph built so far.

        Raises:
            ConfigurationError: It has no nodes, or an anonymous node that Cypher cannot express.
        """
        if not self._nodes:
            raise ConfigurationError("A query graph needs a node: add one with node().")
        names = [*(each.name for each in self._nodes), *(r.name for r in self._relationships)]
        order = {name: place for place, name in enumerate(names)}
        predicates = sorted(self._predicates, key=lambda each: _place(each, order))
        return self._make((tuple(self._nodes), tuple(self._relationships), tuple(predicates)))

    def _checked(self, name: str | None) -> str | None:
        if name is None:
            return None
        if not isinstance(name, str) or not name or "\0" in name:
            raise ConfigurationError(f"{name!r} cannot be the name of a variable.")
        taken = [*(n.name for n in self._nodes), *(r.name for r in self._relationships)]
        if name in taken:
            raise ConfigurationError(f"The name {name!r} is taken: choose another.")
        return name

    def _add_predicates(self, name: str, where: Mapping[str, Any] | None) -> None:
        for key, value in (where or {}).items():
            subject = Property(_NOWHERE, Variable(_NOWHERE, name), key)
            operands = (subject, _literal(value, key))
            self._predicates.append(Comparison(_NOWHERE, operands, (ComparisonOperator.EQUAL,)))


def _place(predicate: Expression, order: Mapping[str, int]) -> int:
    # Anonymous ones first, as in analysis; the sort is stable for the others.
    assert isinstance(predicate, Comparison)
    subject = predicate.operands[0]
    assert isinstance(subject, Property)
    assert isinstance(subject.subject, Variable)
    name = subject.subject.name
    return order[name] if is_anonymous(name) else len(order)


def _names(names: str | Sequence[str], what: str) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    for name in listed:
        if not isinstance(name, str) or not name or "\0" in name:
            raise ConfigurationError(f"{what} must be names, and {name!r} is none.")
    return list(dict.fromkeys(listed))


def _literal(value: Any, key: str) -> Expression:
    if isinstance(value, list | tuple):
        return ListLiteral(_NOWHERE, tuple(_literal(item, key) for item in value))
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ConfigurationError(f"{value} for the property {key!r} does not fit 64 bits.")
    if value is not None and not isinstance(value, bool | int | float | str):
        raise ConfigurationError(
            f"A {type(value).__name__} for the property {key!r} cannot be written into a query"
            " graph: use a boolean, number, text or list, or write Cypher with a parameter."
        )
    return Literal(_NOWHERE, value)
