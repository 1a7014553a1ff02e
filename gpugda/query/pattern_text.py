"""The patterns of a query graph as text: paths through its relationships in order.

Parsing the text gives nodes and relationships the same positions, so nodes first appear in the
order of their positions, and so do relationships.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpugda.query import ast
from gpugda.query.query_parts import QueryNode, QueryRelationship, is_anonymous
from gpugda.query.render import expression_text, labels_text, name_text

__all__ = ["UnnamedNodeError", "match_clauses", "node_text", "relationship_text"]


Properties = Mapping[str, Sequence[tuple[str, ast.Expression]]]
"""Entries of the property map in a pattern, by anonymous name."""


class UnnamedNodeError(ValueError):
    """An anonymous node would have to occur twice; ``position`` is its position."""

    def __init__(self, position: int) -> None:
        super().__init__(f"node {position} needs a name")
        self.position = position


def node_text(node: QueryNode, properties: Properties, *, again: bool = False) -> str:
    """``(name:Labels {…})``; ``again``: True if the node has occurred before."""
    name = "" if is_anonymous(node.name) else name_text(node.name)
    if again:
        return f"({name})"
    labels = _joined_labels(node.labels)
    inside = f"{name}{':' if labels else ''}{labels}"
    return f"({_with_map(inside, properties.get(node.name, ()))})"


def relationship_text(
    relationship: QueryRelationship, properties: Properties, *, turned: bool = False
) -> str:
    """``-[name:TYPES {…}]->``; ``turned``: True to write it from the target to the source."""
    inside = "" if is_anonymous(relationship.name) else name_text(relationship.name)
    if relationship.types is not None:
        inside += f":{labels_text(relationship.types)}"
    inside = _with_map(inside, properties.get(relationship.name, ()))
    left = "<-" if relationship.directed and turned else "-"
    right = "->" if relationship.directed and not turned else "-"
    # Without brackets, '--' or '-->' remains.
    return f"{left}[{inside}]{right}" if inside else f"{left}{right}"


def _with_map(inside: str, entries: Sequence[tuple[str, ast.Expression]]) -> str:
    if not entries:
        return inside
    written = ", ".join(f"{name_text(key)}: {expression_text(value)}" for key, value in entries)
    return f"{inside} {{{written}}}".lstrip()


def _joined_labels(labels: tuple[ast.LabelExpression, ...]) -> str:
    if len(labels) == 1:
        return labels_text(labels[0])
    return "&".join(
        f"({labels_text(each)})" if isinstance(each, ast.LabelOr) else labels_text(each)
        for each in labels
    )


def match_clauses(
    nodes: Sequence[QueryNode], relationships: Sequence[QueryRelationship], properties: Properties
) -> list[str]:
    """The patterns of each MATCH clause, without the keyword.

    Raises:
        UnnamedNodeError: An anonymous node would have to occur twice.
    """
    return _Writer(nodes, relationships, properties).clauses()


class _Writer:
    def __init__(
        self,
        nodes: Sequence[QueryNode],
        relationships: Sequence[QueryRelationship],
        properties: Properties,
    ) -> None:
        self._nodes = nodes
        self._relationships = relationships
        self._properties = properties
        self._written = 0  # nodes 0 … written-1 have occurred in the text
        self._patterns: list[str] = []

    def clauses(self) -> list[str]:
        result: list[str] = []
        for clause in dict.fromkeys(each.clause for each in self._relationships):
            self._patterns = []
            self._write_clause([each for each in self._relationships if each.clause == clause])
            result.append(", ".join(self._patterns))
        isolated = list(self._isolated_nodes(len(self._nodes)))
        if isolated:
            result[-1:] = [", ".join([*result[-1:], *isolated])]
        return result

    def _write_clause(self, relationships: list[QueryRelationship]) -> None:
        end = -1
        for i, relationship in enumerate(relationships):
            following = relationships[i + 1] if i + 1 < len(relationships) else None
            if end not in self._possible_starts(relationship) or not self._can_go_on(
                relationship, end
            ):
                end = self._start(relationship, following)
            end = self._append_step(relationship, end)

    def _possible_starts(self, relationship: QueryRelationship) -> tuple[int, ...]:
        if relationship.directed:
            return (relationship.source, relationship.target)
        return (relationship.source,)

    def _can_go_on(self, relationship: QueryRelationship, end: int) -> bool:
        return _other_end(relationship, end) <= self._written

    def _start(self, relationship: QueryRelationship, following: QueryRelationship | None) -> int:
        """Begins a pattern at one end of a relationship, and returns this end."""
        source, target = relationship.source, relationship.target
        start = source
        both_new = min(source, target) >= self._written
        if relationship.directed and (
            (both_new and target < source)
            or (not both_new and self._must_end_at(source, following))
        ):
            start = target
        new = sorted(n for n in {source, target} if n >= self._written)
        side_by_side = new == [start, start + 1]
        if new:
            self._patterns.extend(self._isolated_nodes(new[0] if side_by_side else new[-1]))
        self._patterns.append(self._node(start))
        return start

    def _must_end_at(self, node: int, following: QueryRelationship | None) -> bool:
        return (
            is_anonymous(self._nodes[node].name)
            and following is not None
            and node in (following.source, following.target)
        )

    def _append_step(self, relationship: QueryRelationship, end: int) -> int:
        other = _other_end(relationship, end)
        turned = relationship.directed and relationship.source != end
        arrow = relationship_text(relationship, self._properties, turned=turned)
        self._patterns[-1] += arrow + self._node(other)
        return other

    def _isolated_nodes(self, before: int) -> Iterator[str]:
        while self._written < before:
            yield self._node(self._written)

    def _node(self, position: int) -> str:
        node = self._nodes[position]
        again = position < self._written
        if again and is_anonymous(node.name):
            raise UnnamedNodeError(position)
        self._written = max(self._written, position + 1)
        return node_text(node, self._properties, again=again)


def _other_end(relationship: QueryRelationship, end: int) -> int:
    return relationship.target if end == relationship.source else relationship.source
