"""What a query asks: its query graph, and what is made of the embeddings."""

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
    """All MATCH clauses of a query as one graph, and the predicates that every row must satisfy.

    Args:
        nodes: By position.
        relationships: By position.
        predicates: Conjuncts of WHERE, inline WHERE and inline properties, over the variables:
            first those of anonymous nodes, then those of anonymous relationships, then the others
            as written.
        no_rows: Why the query graph can match nothing whatever the data (a relationship variable
            used twice in one clause), else None.
    """

    nodes: tuple[QueryNode, ...]
    relationships: tuple[QueryRelationship, ...]
    predicates: tuple[Expression, ...] = ()
    no_rows: str | None = None

    @staticmethod
    def builder() -> QueryGraphBuilder[QueryGraph]:
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
        return QueryGraphBuilder(_built)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the columns of ``RETURN *``."""
        names = {node.name for node in self.nodes} | {each.name for each in self.relationships}
        return tuple(sorted(name for name in names if not is_anonymous(name)))

    def to_cypher(self) -> str:
        """The query that returns all named variables, or the number of rows where there are none.

        Parsing and analysing it gives an equal query graph.

        Raises:
            ConfigurationError: The graph was put together by hand, and an anonymous node of it
                would have to be written in more than one place.
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
    graph.to_cypher()  # raises where a name is missing
    return graph


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


# ------------------------------------------------------------------ after the match
@value(frozen=True, slots=True)
class KeyReference(Expression):
    """In an aggregating query: the value of grouping key number ``position``."""

    position: int


@value(frozen=True, slots=True)
class AggregateReference(Expression):
    """In an aggregating query: the value of aggregate number ``position``."""

    position: int


@value(frozen=True, slots=True)
class ColumnReference(Expression):
    """In a sort key: the value of the returned column number ``position``."""

    position: int


@value(frozen=True, slots=True)
class OutputColumn:
    """A column and how it is computed."""

    name: str
    expression: Expression


@value(frozen=True, slots=True)
class SortKey:
    """One key of ORDER BY.

    It is over column references and, where rows still have them, the pattern's variables.
    """

    expression: Expression
    descending: bool


class ExpectedType(StrEnum):
    """What a parameter must be because of where it stands, in Neo4j's words."""

    TRUTH = "Boolean"
    LIST = "List<T>"
    NODE = "Node"
    RELATIONSHIP = "Relationship"
    ENTITY = "Node or Relationship"


@value(frozen=True, slots=True)
class TypedParameter:
    """A parameter at a place of the query that takes only some types."""

    parameter: Parameter
    expected: ExpectedType


@value(frozen=True, slots=True)
class Query:
    """An analysed query: names resolved, rules checked.

    Args:
        text: As the user wrote it.
        graph: What to match.
        columns: What to return. Where ``aggregates`` or ``grouping`` is set their expressions
            consist of key and aggregate references, else they are over the pattern's variables.
        aggregating: Whether rows are grouped (then there is one row per distinct tuple of keys,
            and exactly one where there are no keys).
        grouping: Key expressions over the pattern's variables.
        aggregates: ``count(*)``, ``count(x)``, ``count(DISTINCT x)``, as ``CountStar`` and
            ``FunctionCall`` nodes.
        distinct: RETURN DISTINCT.
        order_by: Sort keys, most significant first.
        skip: An expression without variables, or None.
        limit: An expression without variables, or None.
        parameters: Names of all parameters in the text.
        typed_parameters: Parameters that stand where only some types may.
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
    typed_parameters: tuple[TypedParameter, ...] = ()
    mode: str | None = None
    version: int | None = None


def nodes_of(query: Query) -> Iterator[Node]:
    """Every node of its expressions."""
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
        ConfigurationError: As `QueryGraph.to_cypher`.
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
