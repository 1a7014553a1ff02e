"""An analysed query: its query graph, and how results are computed from embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gpugda.errors import ConfigurationError
from gpugda.query import ast
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
from gpugda.query.render import expression_text, labels_text, name_text
from gpugda.types import NOWHERE, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.query.ast import LabelExpression

__all__ = [
    "AggregateReference",
    "ColumnReference",
    "KeyReference",
    "OutputColumn",
    "Parts",
    "Query",
    "QueryGraph",
    "QueryGraphBuilder",
    "QueryNode",
    "QueryRelationship",
    "SortKey",
    "UnnamedNodeError",
    "anonymous_node_name",
    "anonymous_relationship_name",
    "is_anonymous",
    "match_clauses",
    "node_text",
    "relationship_text",
]


def anonymous_node_name(position: int) -> str:
    """The name of a query node without a variable."""
    return f"\0n{position}"


def anonymous_relationship_name(position: int) -> str:
    """The name of a query relationship without a variable."""
    return f"\0r{position}"


def is_anonymous(name: str) -> bool:
    """True for the name of a query node or query relationship without a variable.

    Such names begin with a null character, which no query can contain.
    """
    return name.startswith("\0")


@value(frozen=True, slots=True)
class QueryNode:
    """A node to match; it must satisfy all of ``labels``.

    Anonymous nodes have names that no text can contain.
    """

    position: int
    name: str
    labels: tuple[LabelExpression, ...] = ()


@value(frozen=True, slots=True)
class QueryRelationship:
    """A relationship to match between the query nodes at positions ``source`` and ``target``.

    Args:
        position: Position in the query graph.
        name: Variable, or a name that no text can contain.
        source: Start node; for an undirected one, the node written first.
        target: End node; for an undirected one, the node written second.
        directed: False if either direction matches.
        types: Type expression; None for any type.
        clause: Number of its MATCH clause, among those with relationships: relationships of one
            clause are distinct.
        same_as: Position of an earlier query relationship that it must equal, if an earlier clause
            binds the same variable.
    """

    position: int
    name: str
    source: int
    target: int
    directed: bool
    types: LabelExpression | None
    clause: int
    same_as: int | None = None


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


G = TypeVar("G")
Parts = tuple[tuple[QueryNode, ...], tuple[QueryRelationship, ...], tuple[Expression, ...]]
"""Nodes, relationships and predicates of a query graph."""


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
        node = QueryNode(position, name, tuple(LabelName(NOWHERE, each) for each in names))
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
        kinds = tuple(LabelName(NOWHERE, each) for each in _names(types, "types"))
        relationship = QueryRelationship(
            position=position,
            name=name,
            source=source.position,
            target=target.position,
            directed=directed,
            types=LabelOr(NOWHERE, kinds) if len(kinds) > 1 else kinds[0] if kinds else None,
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
        for key, wanted in (where or {}).items():
            subject = Property(NOWHERE, Variable(NOWHERE, name), key)
            operands = (subject, _literal(wanted, key))
            self._predicates.append(Comparison(NOWHERE, operands, (ComparisonOperator.EQUAL,)))


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
        return ListLiteral(NOWHERE, tuple(_literal(item, key) for item in value))
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ConfigurationError(f"{value} for the property {key!r} does not fit 64 bits.")
    if value is not None and not isinstance(value, bool | int | float | str):
        raise ConfigurationError(
            f"A {type(value).__name__} for the property {key!r} cannot be written into a query"
            " graph: use a boolean, number, text or list, or write Cypher with a parameter."
        )
    return Literal(NOWHERE, value)


@value(frozen=True, slots=True)
class QueryGraph:
    """All MATCH clauses of a query as one graph, with predicates that every row must satisfy.

    Args:
        nodes: Query nodes by position.
        relationships: Query relationships by position.
        predicates: Conjuncts of WHERE, inline WHERE and inline properties, over the variables:
            first those of anonymous nodes, then those of anonymous relationships, then the others
            in written order.
        no_rows: Why the query graph can match nothing on any data (a relationship variable used
            twice in one clause), else None.
    """

    nodes: tuple[QueryNode, ...]
    relationships: tuple[QueryRelationship, ...]
    predicates: tuple[Expression, ...] = ()
    no_rows: str | None = None

    @staticmethod
    def builder() -> QueryGraphBuilder[QueryGraph]:
        """An empty builder of a query graph.

        Example:
            >>> builder = QueryGraph.builder()
            >>> a = builder.node("a", labels=["Person"], where={"name": "Ann"})
            >>> b = builder.node("b", labels=["Person"])
            >>> knows = builder.relationship(a, b, types=["KNOWS"], name="r")
            >>> print(builder.build().to_cypher())
            MATCH (a:Person)-[r:KNOWS]->(b:Person)
            WHERE a.name = 'Ann'
            RETURN a, b, r
        """
        return QueryGraphBuilder(_built)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the columns of ``RETURN *``."""
        names = {node.name for node in self.nodes} | {each.name for each in self.relationships}
        return tuple(sorted(name for name in names if not is_anonymous(name)))

    def to_cypher(self) -> str:
        """Cypher that returns all named variables, or the number of rows if there are none.

        Parsing and analysing it gives an equal query graph.

        Raises:
            ConfigurationError: The graph was not built with the builder, and one of its anonymous
                nodes would have to occur more than once.
        """
        maps, others = _split_predicates(self)
        try:
            clauses = match_clauses(self.nodes, self.relationships, maps)
        except UnnamedNodeError as error:
            raise ConfigurationError(
                f"The query node at position {error.position} has too many relationships to stay"
                " without a name: give it one."
            ) from None
        lines = [f"MATCH {patterns}" for patterns in clauses]
        if others:
            lines.append(f"WHERE {' AND '.join(map(_conjunct_text, others))}")
        lines.append(f"RETURN {', '.join(map(name_text, self.variables)) or 'count(*)'}")
        return "\n".join(lines)

    def __str__(self) -> str:
        maps, others = _split_predicates(self)
        lines = ["query graph"]
        lines += [f"  node {n.position}: {node_text(n, maps)}" for n in self.nodes]
        lines += [
            f"  relationship {r.position}: {self._relationship_text(r, maps)}"
            for r in self.relationships
        ]
        lines += [f"  predicate: {expression_text(predicate)}" for predicate in others]
        if self.no_rows is not None:
            lines.append(f"  no rows: {self.no_rows}")
        return "\n".join(lines)

    def _relationship_text(self, relationship: QueryRelationship, maps: _Maps) -> str:
        source, target = (
            self.nodes[end].name if not is_anonymous(self.nodes[end].name) else str(end)
            for end in (relationship.source, relationship.target)
        )
        clause = f" in clause {relationship.clause}" if relationship.clause else ""
        same = f" = relationship {relationship.same_as}" if relationship.same_as is not None else ""
        return f"({source}){relationship_text(relationship, maps)}({target}){clause}{same}"


def _built(parts: Parts) -> QueryGraph:
    graph = QueryGraph(*parts)
    graph.to_cypher()  # raises an error if a name is missing
    return graph


_Maps = Mapping[str, Sequence[tuple[str, Expression]]]


def _split_predicates(graph: QueryGraph) -> tuple[_Maps, list[Expression]]:
    """The map entries of anonymous nodes and relationships, and the other predicates."""
    maps: dict[str, list[tuple[str, Expression]]] = {}
    others = []
    for predicate in graph.predicates:
        match predicate:
            case Comparison(operands=(Property(subject=Variable(name=name), key=key), value)) if (
                is_anonymous(name)
            ):
                maps.setdefault(name, []).append((key, value))
            case _:
                others.append(predicate)
    return maps, others


def _conjunct_text(predicate: Expression) -> str:
    text = expression_text(predicate)
    return f"({text})" if getattr(predicate, "operator", None) in ("OR", "XOR") else text


# ------------------------------------------------------------------ after the match
@value(frozen=True, slots=True)
class KeyReference(Expression):
    """In an aggregating query: the value of the grouping key at ``position``."""

    position: int


@value(frozen=True, slots=True)
class AggregateReference(Expression):
    """In an aggregating query: the value of the aggregate at ``position``."""

    position: int


@value(frozen=True, slots=True)
class ColumnReference(Expression):
    """In a sort key: the value of the returned column at ``position``."""

    position: int


@value(frozen=True, slots=True)
class OutputColumn:
    """A column and its expression."""

    name: str
    expression: Expression


@value(frozen=True, slots=True)
class SortKey:
    """One key of ORDER BY.

    It reads column references and, if rows still have them, the pattern's variables.
    """

    expression: Expression
    descending: bool


@value(frozen=True, slots=True)
class Query:
    """One pattern with one projection: the part of a query that the join answers as a whole.

    Args:
        text: The text of the whole query.
        graph: The query graph to match.
        columns: The output columns. With ``aggregates`` or ``grouping`` their expressions consist
            of key and aggregate references; otherwise they read the pattern's variables.
        aggregating: True if rows are grouped: one row per distinct tuple of keys, and exactly one
            row if there are no keys.
        grouping: Key expressions over the pattern's variables.
        aggregates: ``count(*)``, ``count(x)``, ``count(DISTINCT x)``, as ``CountStar`` and
            ``FunctionCall`` nodes.
        distinct: True for RETURN DISTINCT.
        order_by: Sort keys, most significant first.
        skip: An expression without variables, or None.
        limit: An expression without variables, or None.
    """

    text: str
    graph: QueryGraph
    columns: tuple[OutputColumn, ...]
    aggregating: bool = False
    grouping: tuple[Expression, ...] = ()
    aggregates: tuple[Expression, ...] = ()
    distinct: bool = False
    order_by: tuple[SortKey, ...] = ()
    skip: Expression | None = None
    limit: Expression | None = None
