"""What a query asks: its query graph, and what is made of the embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpugda.errors import ConfigurationError
from gpugda.query.ast import (
    Comparison,
    ComparisonOperator,
    CountStar,
    Expression,
    LabelExpression,
    LabelName,
    LabelOr,
    ListLiteral,
    Literal,
    Property,
    Variable,
)
from gpugda.query.pattern_text import (
    UnnamedNodeError,
    is_anonymous,
    match_clauses,
    node_text,
    relationship_text,
)
from gpugda.query.render import expression_text, name_text
from gpugda.types import Span

__all__ = [
    "AggregateReference",
    "ColumnReference",
    "KeyReference",
    "OutputColumn",
    "Query",
    "QueryGraph",
    "QueryGraphBuilder",
    "QueryNode",
    "QueryRelationship",
    "SortKey",
    "anonymous_node_name",
    "anonymous_relationship_name",
    "is_anonymous",
    "query_of",
]


def anonymous_node_name(position: int) -> str:
    """The name of a query node that has no variable."""
    return f"\0n{position}"


def anonymous_relationship_name(position: int) -> str:
    """The name of a query relationship that has no variable."""
    return f"\0r{position}"


@dataclass(frozen=True, slots=True)
class QueryNode:
    """A node to be found. ``labels`` must all hold; anonymous nodes have names that no text can contain."""

    position: int
    name: str
    labels: tuple[LabelExpression, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryRelationship:
    """A relationship to be found between the query nodes at positions ``source`` and ``target``.

    Args:
        position: Place in the query graph.
        name: The variable, or a name that no text can contain.
        source: Start node; for an undirected one, the node written first.
        target: End node; for an undirected one, the node written second.
        directed: False where either direction fits.
        types: What its type must satisfy, None for any.
        clause: Number of its MATCH clause, counting those that have relationships: relationships of one
            clause are distinct.
        same_as: Position of an earlier query relationship that it must equal, where an earlier clause
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


@dataclass(frozen=True, slots=True)
class QueryGraph:
    """All MATCH clauses of a query as one graph, and the predicates that every row must satisfy.

    Args:
        nodes: By position.
        relationships: By position.
        predicates: Conjuncts of WHERE, inline WHERE and inline properties, over the variables: first those of
            anonymous nodes, then those of anonymous relationships, then the others as written.
        no_rows: Why the query graph can match nothing whatever the data (a relationship variable used twice
            in one clause), else None.
    """

    nodes: tuple[QueryNode, ...]
    relationships: tuple[QueryRelationship, ...]
    predicates: tuple[Expression, ...] = ()
    no_rows: str | None = None

    @staticmethod
    def builder() -> QueryGraphBuilder:
        """An empty query graph to add to.

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
        return QueryGraphBuilder()

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the columns of ``RETURN *``."""
        names = {each.name for each in (*self.nodes, *self.relationships)}
        return tuple(sorted(name for name in names if not is_anonymous(name)))

    def to_cypher(self) -> str:
        """The query that returns all named variables, or the number of rows where there are none.

        Parsing and analysing it gives an equal query graph.

        Raises:
            ConfigurationError: The graph was put together by hand, and an anonymous node of it would have
                to be written in more than one place.
        """
        maps, others = _split_predicates(self)
        try:
            clauses = match_clauses(self.nodes, self.relationships, maps)
        except UnnamedNodeError as error:
            raise ConfigurationError(
                f"The query node at position {error.position} has too many relationships to stay without "
                "a name: give it one."
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


_Maps = Mapping[str, Sequence[tuple[str, Expression]]]


def _split_predicates(graph: QueryGraph) -> tuple[_Maps, list[Expression]]:
    """What stands in the maps of anonymous nodes and relationships, and the other predicates."""
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


# ------------------------------------------------------------------ building one
_NOWHERE = Span(0, 0)


class QueryGraphBuilder:
    """Makes a query graph piece by piece; see `QueryGraph.builder`."""

    def __init__(self) -> None:
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
            name: Its variable, by which it is returned; None for a node that is only to be there.
            labels: Labels that it must have, all of them.
            where: Property values that it must have: booleans, 64 bit integers, floats, texts, lists of these.

        Raises:
            ConfigurationError: The name is taken, or a value cannot be compared with.
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
        """Adds a query relationship; no two of them match the same relationship.

        Args:
            source: Where it starts, a node of this builder.
            target: Where it ends, a node of this builder.
            types: Its type is one of these; empty for any.
            name: Its variable, or None.
            directed: False where it may point either way.
            where: Property values that it must have, as in `node`.

        Raises:
            ConfigurationError: An end is of another builder, the name is taken, or a value cannot be
                compared with.
        """
        for end in (source, target):
            if not any(end is node for node in self._nodes):
                raise ConfigurationError(
                    f"The end {end!r} is no node of this builder: make it with node()."
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

    def build(self) -> QueryGraph:
        """The query graph so far.

        Raises:
            ConfigurationError: It has no nodes, or an anonymous node that Cypher could not write.
        """
        if not self._nodes:
            raise ConfigurationError("A query graph needs a node: add one with node().")
        order = {each.name: place for place, each in enumerate(self._nodes + self._relationships)}
        predicates = sorted(self._predicates, key=lambda each: _place(each, order))
        graph = QueryGraph(tuple(self._nodes), tuple(self._relationships), tuple(predicates))
        graph.to_cypher()  # raises where a name is missing
        return graph

    def _checked(self, name: str | None) -> str | None:
        if name is None:
            return None
        if not isinstance(name, str) or not name or "\0" in name:
            raise ConfigurationError(f"{name!r} cannot be the name of a variable.")
        if any(name == each.name for each in (*self._nodes, *self._relationships)):
            raise ConfigurationError(f"The name {name!r} is taken: choose another.")
        return name

    def _add_predicates(self, name: str, where: Mapping[str, Any] | None) -> None:
        for key, value in (where or {}).items():
            subject = Property(_NOWHERE, Variable(_NOWHERE, name), key)
            operands = (subject, _literal(value, key))
            self._predicates.append(Comparison(_NOWHERE, operands, (ComparisonOperator.EQUAL,)))


def _place(predicate: Expression, order: Mapping[str, int]) -> int:
    # Anonymous ones first, as analysis puts them; sorting keeps the order of the others.
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
            f"A {type(value).__name__} for the property {key!r} cannot be written into a query graph: "
            "use a boolean, number, text or list, or write Cypher with a parameter."
        )
    return Literal(_NOWHERE, value)


# ------------------------------------------------------------------ after the match
@dataclass(frozen=True, slots=True)
class KeyReference(Expression):
    """In an aggregating query: the value of grouping key number ``position``."""

    position: int


@dataclass(frozen=True, slots=True)
class AggregateReference(Expression):
    """In an aggregating query: the value of aggregate number ``position``."""

    position: int


@dataclass(frozen=True, slots=True)
class ColumnReference(Expression):
    """In a sort key: the value of the returned column number ``position``."""

    position: int


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One returned column."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of ORDER BY: over column references, and (where rows still have them) pattern variables."""

    expression: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class Query:
    """An analysed query: names resolved, rules checked.

    Args:
        text: As the user wrote it.
        graph: What to match.
        columns: What to return. Where ``aggregates`` or ``grouping`` is set their expressions consist of
            key and aggregate references, else they are over the pattern's variables.
        aggregating: Whether rows are grouped (then there is one row per distinct tuple of keys, and exactly one
            where there are no keys).
        grouping: Key expressions over the pattern's variables.
        aggregates: ``count(*)``, ``count(x)``, ``count(DISTINCT x)``, as ``CountStar`` and ``FunctionCall`` nodes.
        distinct: RETURN DISTINCT.
        order_by: Sort keys, most significant first.
        skip: An expression without variables, or None.
        limit: An expression without variables, or None.
        parameters: Names of all parameters in the text.
        mode: ``EXPLAIN``, ``PROFILE`` or None.
        version: Cypher version the text asks for, or None.
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
    parameters: frozenset[str] = frozenset()
    mode: str | None = None
    version: int | None = None


def query_of(graph: QueryGraph) -> Query:
    """The query that returns all named variables of a graph, or the number of rows where there are none.

    Raises:
        ConfigurationError: As `QueryGraph.to_cypher`.
    """
    text = graph.to_cypher()
    if not graph.variables:
        column = OutputColumn("count(*)", AggregateReference(_NOWHERE, 0))
        return Query(text, graph, (column,), aggregating=True, aggregates=(CountStar(_NOWHERE),))
    columns = tuple(OutputColumn(name, Variable(_NOWHERE, name)) for name in graph.variables)
    return Query(text, graph, columns)
