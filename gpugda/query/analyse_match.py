"""Converts MATCH clauses to a query graph.

The rules of Neo4j 5.26, which are implemented here:

- A node variable that occurs several times is one node; its labels and properties are combined.
- A relationship variable of an earlier clause is the same relationship. Within one clause, where
  relationships are distinct, using a relationship variable twice gives no rows.
- Maps and WHERE inside a pattern see all variables of their clause, including later ones, and those
  of earlier clauses; so does the clause's own WHERE.
- If a key occurs twice in a map, both values must match; ``{key: null}`` matches nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.query_graph import (
    QueryGraph,
    QueryNode,
    QueryRelationship,
    anonymous_node_name,
    anonymous_relationship_name,
)
from gpugda.query.shapes import conjuncts, join_by_ampersand, label_conjuncts
from gpugda.query.static_types import Kind, TypeChecker

if TYPE_CHECKING:
    from gpugda.types import Span

__all__ = ["QueryGraphReader"]

# Globals, as looking up an enum member takes longer than the work done with it.
_NODE: Final = Kind.NODE
_RELATIONSHIP: Final = Kind.RELATIONSHIP
_INCOMING: Final = ast.Direction.INCOMING
_BOTH: Final = ast.Direction.BOTH


@dataclass(slots=True)
class _Predicates:
    """Conjuncts in the order of ``QueryGraph.predicates``."""

    of_nodes: list[ast.Expression] = field(default_factory=list)
    of_relationships: list[ast.Expression] = field(default_factory=list)
    others: list[ast.Expression] = field(default_factory=list)


class QueryGraphReader:
    """Adds MATCH clauses to a query graph.

    Args:
        text: The query text, for error messages.

    Attributes:
        kinds: The kind of each variable: node or relationship.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.kinds: dict[str, Kind] = {}
        self._nodes: dict[str, tuple[int, dict[ast.LabelExpression, None]]] = {}
        self._label_names: dict[str, ast.LabelName] = {}
        self._relationships: list[QueryRelationship] = []
        self._first_of_name: dict[str, int] = {}
        self._predicates = _Predicates()
        self._clause = 0
        self._inline: list[tuple[str, ast.NodePattern | ast.RelationshipPattern]] = []
        self._no_rows: str | None = None

    def read(self, clause: ast.Match) -> None:
        """Adds a clause.

        Raises:
            CypherSyntaxError: A variable is undefined or has two kinds, or a condition is invalid.
        """
        self._inline = []
        before = len(self._relationships)
        for pattern in clause.patterns:
            self._read_pattern(pattern)
        checker = TypeChecker(self._text, self.kinds)
        for name, element in self._inline:
            self._read_inline(name, element, checker)
        if clause.where is not None:
            checker.condition(clause.where)
            self._predicates.others.extend(conjuncts(join_by_ampersand(clause.where)))
        if len(self._relationships) > before:
            self._clause += 1

    def graph(self) -> QueryGraph:
        """The query graph of the clauses read so far."""
        nodes = (
            QueryNode(position, name, tuple(labels))
            for name, (position, labels) in self._nodes.items()
        )
        found = self._predicates
        predicates = (*found.of_nodes, *found.of_relationships, *found.others)
        return QueryGraph(tuple(nodes), tuple(self._relationships), predicates, self._no_rows)

    # -------------------------------------------------------------- patterns
    def _read_pattern(self, pattern: ast.Pattern) -> None:
        before: int | None = None
        arrow: ast.RelationshipPattern | None = None
        for element in pattern.elements:
            if isinstance(element, ast.RelationshipPattern):
                arrow = element
            elif isinstance(element, ast.NodePattern):
                before, arrow = self._node(element, arrow, before), None

    def _node(
        self, pattern: ast.NodePattern, arrow: ast.RelationshipPattern | None, before: int | None
    ) -> int:
        # The relationship comes first in the text: a name of both kinds is reported at the node.
        if arrow is not None and arrow.variable is not None:
            self._check_kind(arrow.variable, _RELATIONSHIP)
        if pattern.variable is None:
            name = anonymous_node_name(len(self._nodes))
        else:
            name = pattern.variable.name
            self._check_kind(pattern.variable, _NODE)
        found = self._nodes.get(name)
        if found is None:
            found = self._nodes[name] = len(self._nodes), {}
        position, labels = found
        if pattern.labels is not None:
            for each in label_conjuncts(pattern.labels):
                labels[self._shared(each)] = None
        if arrow is not None and before is not None:
            self._relationship(arrow, before, position)
        if pattern.properties is not None or pattern.where is not None:
            self._inline.append((name, pattern))
        return position

    def _check_kind(self, variable: ast.Variable, kind: Kind) -> None:
        if self.kinds.setdefault(variable.name, kind) is not kind:
            self._fail_kind(variable, kind)

    def _relationship(self, pattern: ast.RelationshipPattern, left: int, right: int) -> None:
        position = len(self._relationships)
        incoming, variable = pattern.direction is _INCOMING, pattern.variable
        name = anonymous_relationship_name(position) if variable is None else variable.name
        first = self._first_of_name.setdefault(name, position)
        if first != position:
            self._note_repetition(name)
        self._relationships.append(
            QueryRelationship(
                position=position,
                name=name,
                source=right if incoming else left,
                target=left if incoming else right,
                directed=pattern.direction is not _BOTH,
                types=None if pattern.types is None else self._shared(pattern.types),
                clause=self._clause,
                same_as=first if first != position else None,
            )
        )
        if pattern.properties is not None or pattern.where is not None:
            self._inline.append((name, pattern))

    def _shared(self, labels: ast.LabelExpression) -> ast.LabelExpression:
        """One shared object per label name, as the garbage collector scans all cached queries."""
        if isinstance(labels, ast.LabelName):
            return self._label_names.setdefault(labels.name, labels)
        return labels

    def _note_repetition(self, name: str) -> None:
        if any(r.name == name and r.clause == self._clause for r in self._relationships):
            self._no_rows = (
                f"The relationship variable `{name}` occurs twice in one MATCH clause,"
                " whose relationships are all different."
            )

    # -------------------------------------------------------------- conditions inside patterns
    def _read_inline(
        self, name: str, element: ast.NodePattern | ast.RelationshipPattern, checker: TypeChecker
    ) -> None:
        found = self._predicates
        if isinstance(element.properties, ast.Parameter):
            message = "MATCH takes no map from a parameter: write {key: $map.key}"
            raise CypherSyntaxError(message, self._text, element.properties.span)
        if element.variable is not None:
            place = found.others
        elif isinstance(element, ast.NodePattern):
            place = found.of_nodes
        else:
            place = found.of_relationships
        for key, value in element.properties.entries if element.properties is not None else ():
            checker.kind(value)
            place.append(_has_value(name, key, join_by_ampersand(value)))
        if element.where is not None:
            checker.condition(element.where)
            found.others.extend(conjuncts(join_by_ampersand(element.where)))

    def _fail_kind(self, variable: ast.Variable, wanted: Kind) -> NoReturn:
        message = (
            f"Type mismatch: `{variable.name}` defined with conflicting type"
            f" {self.kinds[variable.name]} (expected {wanted})"
        )
        raise CypherSyntaxError(message, self._text, variable.span)


def _has_value(name: str, key: str, value: ast.Expression) -> ast.Expression:
    span: Span = value.span
    subject = ast.Property(span, ast.Variable(span, name), key)
    return ast.Comparison(span, (subject, value), (ast.ComparisonOperator.EQUAL,))
