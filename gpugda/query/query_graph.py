"""An analysed query: its query graph, and how results are computed from embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from gpugda.errors import ConfigurationError
from gpugda.query.ast import Comparison, CountStar, Expression, Node, Parameter, Property, Variable
from gpugda.query.pattern_text import (
    UnnamedNodeError,
    match_clauses,
    node_text,
    relationship_text,
)
from gpugda.query.query_builder import Parts, QueryGraphBuilder
from gpugda.query.query_parts import (
    QueryNode,
    QueryRelationship,
    anonymous_node_name,
    anonymous_relationship_name,
    is_anonymous,
)
from gpugda.query.render import expression_text, name_text
from gpugda.query.walk import walk
from gpugda.types import Span, value

__all__ = [
    "AggregateReference",
    "ColumnReference",
    "ExpectedType",
    "KeyReference",
    "OutputColumn",
    "Query",
    "QueryGraph",
    "QueryGraphBuilder",
    "QueryNode",
    "QueryRelationship",
    "SortKey",
    "TypedParameter",
    "anonymous_node_name",
    "anonymous_relationship_name",
    "is_anonymous",
    "nodes_of",
    "query_of",
]


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


class ExpectedType(StrEnum):
    """The type that a parameter's position requires, in Neo4j's words."""

    TRUTH = "Boolean"
    LIST = "List<T>"
    NODE = "Node"
    RELATIONSHIP = "Relationship"
    ENTITY = "Node or Relationship"


@value(frozen=True, slots=True)
class TypedParameter:
    """A parameter in a position that accepts only some types."""

    parameter: Parameter
    expected: ExpectedType


@value(frozen=True, slots=True)
class Query:
    """An analysed query: names are resolved and rules checked.

    Args:
        text: The original text.
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
        parameters: Names of all parameters in the text.
        typed_parameters: Parameters in positions that accept only some types.
        mode: ``EXPLAIN``, ``PROFILE`` or None.
        version: Cypher version in the text's prefix, or None.
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
    typed_parameters: tuple[TypedParameter, ...] = ()
    mode: str | None = None
    version: int | None = None


def nodes_of(query: Query) -> Iterator[Node]:
    """All syntax nodes of a query's expressions."""
    expressions = [*query.graph.predicates, *(each.expression for each in query.columns)]
    expressions += [*query.grouping, *query.aggregates]
    expressions += [key.expression for key in query.order_by]
    expressions += [each for each in (query.skip, query.limit) if each is not None]
    for expression in expressions:
        yield from walk(expression)


_NOWHERE = Span(0, 0)


def query_of(graph: QueryGraph) -> Query:
    """The query that returns all named variables of a graph, or counts rows if there are none.

    Raises:
        ConfigurationError: As in `QueryGraph.to_cypher`.
    """
    text = graph.to_cypher()
    nodes = (node for predicate in graph.predicates for node in walk(predicate))
    parameters = frozenset(node.name for node in nodes if isinstance(node, Parameter))
    if not graph.variables:
        column = OutputColumn("count(*)", AggregateReference(_NOWHERE, 0))
        counted = (CountStar(_NOWHERE),)
        return Query(
            text, graph, (column,), aggregating=True, aggregates=counted, parameters=parameters
        )
    columns = tuple(OutputColumn(name, Variable(_NOWHERE, name)) for name in graph.variables)
    return Query(text, graph, columns, parameters=parameters)
