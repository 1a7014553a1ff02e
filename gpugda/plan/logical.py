"""The logical tree: what a query's clauses make of rows, before anything is chosen.

Frozen values, equal by value, printable by `tree_text`. Rows have named columns; names of what has
no variable begin with a null character.

More than 300 lines: a class for each logical operator, mostly their descriptions.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from gpugda.query.shapes import all_names
from gpugda.types import value

if TYPE_CHECKING:
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
    "ElementTest",
    "Empty",
    "Expand",
    "ExpandMode",
    "Filter",
    "KeptApart",
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
]


# ------------------------------------------------------------------ where rows come from
@value(frozen=True, slots=True)
class Unit:
    """One row without columns: what a query begins with."""


@value(frozen=True, slots=True)
class Argument:
    """The rows of the operator around a subquery; their columns by name."""

    columns: tuple[str, ...]


@value(frozen=True, slots=True)
class Match:
    """Each row with each embedding of a query graph that fits it.

    Args:
        input: Rows.
        graph: Of one or more MATCH clauses. Its predicates are over its own variables.
        bound: Variables of the graph that are columns of the input: they must be equal.
    """

    input: Logical
    graph: QueryGraph
    bound: tuple[str, ...] = ()


class ExpandMode(StrEnum):
    """Which paths an expansion gives."""

    TRAILS = "trails"
    """All paths that use no relationship twice."""
    WALKS = "walks"
    """All paths; they may use a relationship again."""
    REACH = "nodes"
    """The nodes where such paths end, each once for a row; the least length is 0 or 1."""
    SHORTEST = "shortest"
    """One shortest path for each pair of ends."""
    ALL_SHORTEST = "all shortest"
    """All shortest paths for each pair of ends."""
    SELECTED = "selected"
    """As many of the shortest for each pair of ends as a selector asks."""

    @property
    def gives_all(self) -> bool:
        """Is it no search for some paths between two nodes?"""
        return self in (ExpandMode.TRAILS, ExpandMode.WALKS)


@value(frozen=True, slots=True)
class ElementTest:
    """``all(variable IN nodes(path) WHERE predicate)`` and its like, tested before paths are made.

    Args:
        variable: Stands for one node or relationship of the path.
        predicate: Over the variable alone.
        of_nodes: Whether it stands for nodes.
        wanted: Whether the predicate has to be true of each, else false.
        whole: The condition as written.
    """

    variable: str
    predicate: Expression
    of_nodes: bool
    wanted: bool
    whole: Expression


@value(frozen=True, slots=True)
class Arrow:
    """One relationship of what is repeated: its types, and its direction as written."""

    types: LabelExpression | None
    direction: Direction


@value(frozen=True, slots=True)
class StepPattern:
    """What is repeated: nodes and the relationships between them, as written left to right.

    Args:
        nodes: Their variables; outside each is the list of its nodes.
        relationships: Variables of the relationships, one less; likewise.
        arrows: What these are, each.
        predicates: Over these variables, and over others that are bound before.
        by_row: Must one of them be matched for each repetition, as it has a subquery?
    """

    nodes: tuple[str, ...]
    relationships: tuple[str, ...]
    arrows: tuple[Arrow, ...]
    predicates: tuple[Expression, ...] = ()
    by_row: bool = False

    @property
    def names(self) -> frozenset[str]:
        """All its variables."""
        return frozenset((*self.nodes, *self.relationships))

    @property
    def outside(self) -> frozenset[str]:
        """What its predicates read besides."""
        return all_names(self.predicates) - self.names

    @property
    def is_one_step(self) -> bool:
        """Whether it is a relationship whose conditions read nothing else."""
        return len(self.relationships) == 1 and not self.outside and not self.by_row


@value(frozen=True, slots=True)
class Expand:
    """Each row with each path of varying length that begins at one of its nodes.

    Args:
        input: Rows.
        start: Column of the node where paths begin.
        end: Column of the node where they end.
        end_is_bound: Whether the input has that column; else it is added.
        relationships: Column that is added: the list of relationships as walked from ``start``.
        types: As in a query relationship.
        direction: As seen from ``start``.
        minimum: Fewest relationships.
        maximum: Most relationships, None for no bound.
        predicates: Over ``variable``, which every relationship must satisfy.
        variable: A name for one relationship of the path.
        mode: Which paths.
        reversed: Whether the pattern was written from end to start: the list is turned round.
        path_predicates: Over the path or its relationships; a shortest path must satisfy them.
        tests: What each node, or each relationship, of the path must satisfy.
        path: Name of the path in ``path_predicates``; empty where it has none.
        closed: Whether both ends were written as one variable.
        step: What is repeated, where more than a relationship is; bounds are repetitions then.
        most: Where paths are selected: how many paths, or groups of paths of one length.
        by_group: Whether they are groups.
        given: Column of the list that the relationships are, as walked; empty where there is none.
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
    tests: tuple[ElementTest, ...] = ()
    path: str = ""
    closed: bool = False
    step: StepPattern | None = None
    most: int = 0
    by_group: bool = False
    given: str = ""


# ------------------------------------------------------------------ rows from rows
@value(frozen=True, slots=True)
class BindPath:
    """Adds a column of paths.

    Args:
        input: Rows.
        name: The column.
        start: Column of the first node.
        steps: Columns of relationships, or of lists of relationships, in the order of the path.
    """

    input: Logical
    name: str
    start: str
    steps: tuple[str, ...]


@value(frozen=True, slots=True)
class Lookup:
    """Each row with each node whose property may equal a value of the row.

    Args:
        input: Rows.
        node: Column that is added.
        key: Of the property.
        value: Over the rows.
    """

    input: Logical
    node: str
    key: str
    value: Expression


@value(frozen=True, slots=True)
class KeptApart:
    """The rows in which no relationship is in two of the columns of a pair.

    Args:
        input: Rows.
        pairs: Columns of relationships, or of lists of them.
    """

    input: Logical
    pairs: tuple[tuple[str, str], ...]


@value(frozen=True, slots=True)
class Filter:
    """The rows for which all predicates hold."""

    input: Logical
    predicates: tuple[Expression, ...]


@value(frozen=True, slots=True)
class Project:
    """Rows with these columns.

    Args:
        input: Rows.
        columns: In order. Those of aggregates refer to keys and aggregates by position.
        keeps: Whether the columns of the input stay, too (LET); else they are hidden, but for the
            sort keys right above.
    """

    input: Logical
    columns: tuple[OutputColumn, ...]
    keeps: bool = False


@value(frozen=True, slots=True)
class Aggregate:
    """A row for each distinct tuple of keys.

    Args:
        input: Rows.
        keys: What they are grouped by.
        aggregates: What is computed of each group.
        always: Whether there is a row where the input has none: nothing was written to group by.
    """

    input: Logical
    keys: tuple[Expression, ...]
    aggregates: tuple[Expression, ...]
    always: bool


@value(frozen=True, slots=True)
class Distinct:
    """Each row once."""

    input: Logical


@value(frozen=True, slots=True)
class Sort:
    """Rows in order. Keys refer to columns by position, or to what the projection hides."""

    input: Logical
    keys: tuple[SortKey, ...]


@value(frozen=True, slots=True)
class Slice:
    """Rows without the first ``skip``, and at most ``limit`` of those."""

    input: Logical
    skip: Expression | None
    limit: Expression | None


@value(frozen=True, slots=True)
class Unwind:
    """Each row with each element of a list."""

    input: Logical
    elements: Expression
    name: str


@value(frozen=True, slots=True)
class Union:
    """The rows of several queries with the same columns, one after the other."""

    inputs: tuple[Logical, ...]


@value(frozen=True, slots=True)
class Empty:
    """No rows: what FINISH leaves."""

    input: Logical


# ------------------------------------------------------------------ subqueries
@value(frozen=True, slots=True)
class Optional:
    """Each row with what the subquery finds for it, or with nulls where that is nothing.

    Args:
        input: Rows.
        sub: Its argument is the input's rows.
        added: Columns that it adds.
    """

    input: Logical
    sub: Logical
    added: tuple[str, ...]


class ApplyKind(StrEnum):
    """What becomes of the rows of a subquery."""

    INNER = "inner"
    """Each row with each of the subquery's."""
    OUTER = "outer"
    """Likewise; a row without any with nulls."""


@value(frozen=True, slots=True)
class Apply:
    """Each row with the rows of a subquery, which runs for each row of the input by itself.

    Args:
        input: Rows.
        sub: Its argument is the input's rows.
        kind: What becomes of its rows.
        added: Columns that it adds.
    """

    input: Logical
    sub: Logical
    kind: ApplyKind
    added: tuple[str, ...]


@value(frozen=True, slots=True)
class SelectPaths:
    """Each row with those of the paths that a subquery finds for it that a selector takes.

    Of each row, and each pair of ends, the shortest are taken.

    Args:
        input: Rows.
        sub: Finds all paths; its argument is the input's rows.
        added: Columns that it adds.
        start: Column of the first node of a path.
        end: Column of the last.
        steps: Columns of relationships, or of lists of relationships.
        most: How many paths, or groups of paths of one length.
        by_group: Whether they are groups.
        steady: Whether equal rows of the input have the same paths: nothing draws by chance.
    """

    input: Logical
    sub: Logical
    added: tuple[str, ...]
    start: str
    end: str
    steps: tuple[str, ...]
    most: int | Parameter
    by_group: bool
    steady: bool


Logical: TypeAlias = (
    Unit
    | Argument
    | Match
    | Expand
    | BindPath
    | Lookup
    | KeptApart
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


def children_of(node: Logical) -> tuple[Logical, ...]:
    """The trees below, the input first."""
    if isinstance(node, Unit | Argument):
        return ()
    if isinstance(node, Union):
        return node.inputs
    if isinstance(node, Optional | Apply | SelectPaths):
        return (node.input, node.sub)
    return (node.input,)
