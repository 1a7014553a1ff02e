"""The logical tree: what a query's clauses do to rows, before any physical choice.

Nodes are frozen and equal by value. Rows have named columns; the names of anonymous elements begin
with a null character.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from gpugda.query.ast import Variable
from gpugda.query.shapes import all_names
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.query.ast import Direction, Expression, LabelExpression, Parameter
    from gpugda.query.query_graph import OutputColumn, QueryGraph, SortKey

__all__ = [
    "Aggregate",
    "Apply",
    "ApplyKind",
    "Argument",
    "Arrow",
    "BindPath",
    "Distinct",
    "DistinctRelationships",
    "ElementTest",
    "Empty",
    "Expand",
    "ExpandMode",
    "Filter",
    "Logical",
    "Lookup",
    "Match",
    "Optional",
    "Project",
    "SelectPaths",
    "Slice",
    "Sort",
    "StepPattern",
    "Union",
    "Unit",
    "Unwind",
    "children_of",
    "columns_of",
    "passes_on",
    "with_children",
]


# ------------------------------------------------------------------ row sources
@value(frozen=True, slots=True)
class Unit:
    """One row without columns: the input of a query."""


@value(frozen=True, slots=True)
class Argument:
    """The input rows of a subquery, from the operator around it; ``columns`` are their names."""

    columns: tuple[str, ...]


@value(frozen=True, slots=True)
class Match:
    """Joins each row with each embedding of a query graph that is consistent with it.

    Args:
        input: Input rows.
        graph: The query graph of one or more MATCH clauses; predicates read its variables only.
        bound: Graph variables that are input columns; an embedding must agree with the row.
        once: True if equal rows may be dropped.
    """

    input: Logical
    graph: QueryGraph
    bound: tuple[str, ...] = ()
    once: bool = False


class ExpandMode(StrEnum):
    """The paths that an expansion returns."""

    TRAILS = "trails"
    """All paths with distinct relationships."""
    WALKS = "walks"
    """All paths; relationships may repeat."""
    REACH = "nodes"
    """The end nodes of trails, each once per row; the minimum length is 0 or 1."""
    SHORTEST = "shortest"
    """One shortest path per pair of ends."""
    ALL_SHORTEST = "all shortest"
    """All shortest paths per pair of ends."""
    SELECTED = "selected"
    """The number of shortest paths, or groups, per pair of ends that a path selector requests."""

    @property
    def gives_all(self) -> bool:
        """True if the mode returns every path, rather than a selection per pair of ends."""
        return self in (ExpandMode.TRAILS, ExpandMode.WALKS)


@value(frozen=True, slots=True)
class ElementTest:
    """``all(variable IN nodes(path) WHERE predicate)`` and the like, tested while paths grow.

    Args:
        variable: Stands for one node or relationship of the path.
        predicate: The condition; it reads this variable only.
        of_nodes: True if the variable stands for nodes, False for relationships.
        wanted: The value that the predicate must have for every element.
        whole: The original condition.
    """

    variable: str
    predicate: Expression
    of_nodes: bool
    wanted: bool
    whole: Expression


@value(frozen=True, slots=True)
class Arrow:
    """One relationship of a repeated step: its types, and its direction as written."""

    types: LabelExpression | None
    direction: Direction


@value(frozen=True, slots=True)
class StepPattern:
    """The repeated part of a quantified path: nodes and relationships, as written left to right.

    Args:
        nodes: Node variables; outside the step each one is a list of nodes.
        relationships: Relationship variables, one fewer; outside they are lists, too.
        arrows: Types and direction of each relationship.
        predicates: Conditions over these variables and over variables bound before.
        by_row: True if a predicate has a subquery, which must be matched for each repetition.
    """

    nodes: tuple[str, ...]
    relationships: tuple[str, ...]
    arrows: tuple[Arrow, ...]
    predicates: tuple[Expression, ...] = ()
    by_row: bool = False

    @property
    def names(self) -> frozenset[str]:
        """All variables of the step."""
        return frozenset((*self.nodes, *self.relationships))

    @property
    def outside(self) -> frozenset[str]:
        """Variables from outside the step that its predicates read."""
        return all_names(self.predicates) - self.names

    @property
    def is_one_step(self) -> bool:
        """True if it is a single relationship whose conditions read no outside variables."""
        return len(self.relationships) == 1 and not self.outside and not self.by_row


@value(frozen=True, slots=True)
class Expand:
    """Joins each row with each variable-length path that begins at one of its nodes.

    Args:
        input: Input rows.
        start: Column of the node where paths begin.
        end: Column of the node where paths end.
        end_is_bound: True if the input has the end column; otherwise it is added.
        relationships: Added column: the list of relationships in order of traversal.
        types: Types, as in a query relationship.
        direction: Direction as seen from ``start``.
        minimum: Minimum number of relationships.
        maximum: Maximum number of relationships; None for no bound.
        predicates: Conditions over ``variable`` that every relationship must satisfy.
        variable: Name of one relationship of the path in ``predicates``.
        mode: The paths that are returned.
        reversed: True if the pattern was written from end to start: the list is then reversed.
        path_predicates: Conditions over a shortest path, or its relationships, that it must meet.
        late_predicates: Further conditions of this kind, which Neo4j tests either in the search or
            on the path found. If the two differ, the search fails.
        few_predicates: The same, but Neo4j tests them in the search if the graph is very small.
        tests: Conditions that each node, or each relationship, of the path must satisfy.
        path: Name of the path in ``path_predicates``; empty if it has none.
        closed: True if both ends are the same variable.
        step: The repeated step if it is more than one relationship; the bounds then count
            repetitions.
        most: For selected paths: number of paths, or of groups of equally long paths.
        by_group: True if ``most`` counts groups.
        given: Column with the bound list of relationships, in order of traversal; empty if none.
        apart: Columns of relationships, or of lists of them, that the paths may not contain.
        clause: Number of the MATCH clause.
        once: True if equal rows may be dropped.
    """

    input: Logical
    start: str
    end: str
    end_is_bound: bool
    relationships: str
    types: LabelExpression | None
    direction: Direction
    minimum: int
    maximum: int | None
    predicates: tuple[Expression, ...] = ()
    variable: str = ""
    mode: ExpandMode = ExpandMode.TRAILS
    reversed: bool = False
    path_predicates: tuple[Expression, ...] = ()
    late_predicates: tuple[Expression, ...] = ()
    few_predicates: tuple[Expression, ...] = ()
    tests: tuple[ElementTest, ...] = ()
    path: str = ""
    closed: bool = False
    step: StepPattern | None = None
    most: int = 0
    by_group: bool = False
    given: str = ""
    apart: tuple[str, ...] = ()
    clause: int = 0
    once: bool = False

    @property
    def all_path_predicates(self) -> tuple[Expression, ...]:
        """All conditions over the path that the search tests."""
        return (*self.path_predicates, *self.late_predicates, *self.few_predicates)


# ------------------------------------------------------------------ rows from rows
@value(frozen=True, slots=True)
class BindPath:
    """Adds a path column.

    Args:
        input: Input rows.
        name: The added column.
        start: Column of the first node.
        steps: Columns of relationships, or of lists of relationships, in path order.
    """

    input: Logical
    name: str
    start: str
    steps: tuple[str, ...]


@value(frozen=True, slots=True)
class Lookup:
    """Joins each row with each node whose property may equal a value of the row.

    Args:
        input: Input rows.
        node: The added node column.
        key: The property key.
        value: Expression over the row.
    """

    input: Logical
    node: str
    key: str
    value: Expression


@value(frozen=True, slots=True)
class DistinctRelationships:
    """Keeps the rows in which no relationship is in both columns of a pair.

    Args:
        input: Input rows.
        pairs: Pairs of columns of relationships, or of lists of relationships.
    """

    input: Logical
    pairs: tuple[tuple[str, str], ...]


@value(frozen=True, slots=True)
class Filter:
    """Keeps the rows for which all predicates are true."""

    input: Logical
    predicates: tuple[Expression, ...]


@value(frozen=True, slots=True)
class Project:
    """Computes the output columns.

    Args:
        input: Input rows.
        columns: Output columns in order. Above an aggregate they refer to keys and aggregates by
            position.
        keeps: True if the input columns stay (LET). Otherwise they are hidden, except from sort
            keys directly above.
        failing: Columns that are computed even if nothing reads them, as they may be errors.
    """

    input: Logical
    columns: tuple[OutputColumn, ...]
    keeps: bool = False
    failing: frozenset[str] = frozenset()


@value(frozen=True, slots=True)
class Aggregate:
    """Groups the rows: one row for each distinct tuple of keys.

    Args:
        input: Input rows.
        keys: The grouping keys.
        aggregates: The aggregates computed for each group.
        always: True if empty input gives one row, as for a query without grouping keys.
    """

    input: Logical
    keys: tuple[Expression, ...]
    aggregates: tuple[Expression, ...]
    always: bool


@value(frozen=True, slots=True)
class Distinct:
    """Removes duplicate rows."""

    input: Logical


@value(frozen=True, slots=True)
class Sort:
    """Sorts rows. Keys refer to columns by position, or to columns that the projection hides."""

    input: Logical
    keys: tuple[SortKey, ...]


@value(frozen=True, slots=True)
class Slice:
    """Drops the first ``skip`` rows and keeps at most ``limit`` of the rest.

    Args:
        input: Input rows.
        skip: The number of SKIP; None if there is none.
        limit: The number of LIMIT; None if there is none.
        apart: True if an earlier clause computes columns between it and ORDER BY: then ``LIMIT 0``
            does not sort.
    """

    input: Logical
    skip: Expression | None
    limit: Expression | None
    apart: bool = False


@value(frozen=True, slots=True)
class Unwind:
    """Joins each row with each element of a list."""

    input: Logical
    elements: Expression
    name: str


@value(frozen=True, slots=True)
class Union:
    """Concatenates the rows of several queries with the same columns."""

    inputs: tuple[Logical, ...]


@value(frozen=True, slots=True)
class Empty:
    """Discards all rows (FINISH)."""

    input: Logical


# ------------------------------------------------------------------ subqueries
@value(frozen=True, slots=True)
class Optional:
    """Joins each row with the rows of a subquery, or with nulls if it has none.

    Args:
        input: Input rows.
        sub: The subquery; its argument is the input rows.
        added: Columns that the subquery adds.
    """

    input: Logical
    sub: Logical
    added: tuple[str, ...]


class ApplyKind(StrEnum):
    """How the rows of a subquery are joined with the input row."""

    INNER = "inner"
    """Each input row with each of its subquery rows."""
    OUTER = "outer"
    """The same, but an input row without subquery rows gets nulls."""


@value(frozen=True, slots=True)
class Apply:
    """Joins each row with the rows of a subquery that runs separately for each input row.

    Args:
        input: Input rows.
        sub: The subquery; its argument is the input rows.
        kind: How its rows are joined with the input.
        added: Columns that the subquery adds.
    """

    input: Logical
    sub: Logical
    kind: ApplyKind
    added: tuple[str, ...]


@value(frozen=True, slots=True)
class SelectPaths:
    """Joins each row with the paths that a selector takes from all paths of a subquery.

    The shortest paths are taken for each row and each pair of ends.

    Args:
        input: Input rows.
        sub: Subquery that finds all paths; its argument is the input rows.
        added: Columns that the subquery adds.
        start: Column of the first node of a path.
        end: Column of the last node.
        steps: Columns of relationships, or of lists of relationships.
        most: Number of paths, or of groups of equally long paths.
        by_group: True if ``most`` counts groups.
        deterministic: True if equal input rows have equal paths: nothing in the pattern is random.
    """

    input: Logical
    sub: Logical
    added: tuple[str, ...]
    start: str
    end: str
    steps: tuple[str, ...]
    most: int | Parameter
    by_group: bool
    deterministic: bool


Logical: TypeAlias = (
    Unit
    | Argument
    | Match
    | Expand
    | BindPath
    | Lookup
    | DistinctRelationships
    | Filter
    | Project
    | Aggregate
    | Distinct
    | Sort
    | Slice
    | Unwind
    | Union
    | Empty
    | Optional
    | Apply
    | SelectPaths
)


def passes_on(tree: Project) -> bool:
    """True if a projection only lists columns of its input."""
    return not tree.keeps and all(
        isinstance(each.expression, Variable) and each.expression.name == each.name
        for each in tree.columns
    )


def children_of(node: Logical) -> tuple[Logical, ...]:
    """The child trees, the input first."""
    if isinstance(node, Unit | Argument):
        return ()
    if isinstance(node, Union):
        return node.inputs
    if isinstance(node, Optional | Apply | SelectPaths):
        return (node.input, node.sub)
    return (node.input,)


def with_children(node: Logical, change: Callable[[Logical], Logical]) -> Logical:
    """The node with each child tree replaced by what ``change`` makes of it; itself if equal."""
    if isinstance(node, Unit | Argument):
        return node
    if isinstance(node, Union):
        inputs = tuple(map(change, node.inputs))
        same = all(one is other for one, other in zip(inputs, node.inputs, strict=True))
        return node if same else Union(inputs)
    below = change(node.input)
    if isinstance(node, Optional | Apply | SelectPaths):
        sub = change(node.sub)
        same = below is node.input and sub is node.sub
        return node if same else replace(node, input=below, sub=sub)
    return node if below is node.input else replace(node, input=below)


def columns_of(tree: Logical) -> tuple[str, ...]:
    """All columns that a tree produces."""
    if isinstance(tree, Argument):
        return tree.columns
    below = children_of(tree)
    if not below or isinstance(tree, Aggregate | Empty):
        return ()
    before = columns_of(below[0])
    if isinstance(tree, Project) and not tree.keeps:
        before = ()
    return tuple(dict.fromkeys((*before, *_added_by(tree))))


def _added_by(tree: Logical) -> tuple[str, ...]:
    """The columns that an operator adds to those of its input."""
    match tree:
        case Match():
            nodes = tuple(node.name for node in tree.graph.nodes)
            return (*nodes, *(each.name for each in tree.graph.relationships))
        case Expand():
            step = () if tree.step is None else tuple(sorted(tree.step.names))
            return (tree.end, tree.relationships, *step)
        case BindPath() | Unwind():
            return (tree.name,)
        case Lookup():
            return (tree.node,)
        case Project():
            return tuple(item.name for item in tree.columns)
        case Optional() | Apply() | SelectPaths():
            return tree.added
    return ()
