"""The bound query and the plan: frozen values that say what will be done, and can be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.operator_tree import OperatorNode
    from gpugda.query.ast import Expression
    from gpugda.query.query_graph import Query

__all__ = [
    "BoundNode",
    "BoundQuery",
    "BoundRelationship",
    "DegreeNeed",
    "LabelOp",
    "Met",
    "Plan",
    "PlanStep",
    "RowTest",
    "Runnable",
    "StepKind",
]


class LabelOp(Enum):
    """Operations of a label program, a postfix text over bitmaps of nodes."""

    LABEL = 0
    """Push the nodes that have the label with the id given as argument."""
    ANY = 1
    """Push the nodes that have at least one label."""
    NONE = 2
    """Push the empty set: a label that the graph does not have."""
    NOT = 3
    AND = 4
    OR = 5


@value(frozen=True, slots=True)
class DegreeNeed:
    """A node needs ``at_least`` relationships of these types in this direction.

    Args:
        outgoing: Count relationships that start here.
        incoming: Count relationships that end here (both: each direction's count is added).
        types: Type ids, rising; None for any.
        at_least: How many query relationships of one clause ask for exactly this.
    """

    outgoing: bool
    incoming: bool
    types: tuple[int, ...] | None
    at_least: int


@value(frozen=True, slots=True)
class BoundNode:
    """A query node in terms of one data graph.

    Args:
        position: Place in the query graph.
        name: Its variable.
        labels: Label program as (operation, label id or 0), empty for no condition.
        predicates: Conjuncts over this node alone.
        degree_needs: Necessary degrees, per clause.
        cardinality: Estimated number of candidates.
    """

    position: int
    name: str
    labels: tuple[tuple[LabelOp, int], ...]
    predicates: tuple[Expression, ...]
    degree_needs: tuple[DegreeNeed, ...]
    cardinality: float


class Met(NamedTuple):
    """What a query node has of one of its relationships.

    Args:
        rate: So many times as many has who was met along another one.
        having: How many of its candidates have one, about.
        evenness: 1 where these have equally many, less where few of them have most.
    """

    rate: float = 1.0
    having: float = 1.0
    evenness: float = 1.0


@value(frozen=True, slots=True)
class BoundRelationship:
    """A query relationship in terms of one data graph.

    Args:
        position: Place in the query graph.
        name: Its variable.
        source: Query node at its start.
        target: Query node at its end.
        directed: Whether it is followed from start to end alone.
        types: Rising type ids, None for any.
        predicates: Conjuncts over this relationship alone.
        clause: Number of its MATCH clause.
        cardinality: Estimated number of candidates.
        met: What the source has of it, and the target.
    """

    position: int
    name: str
    source: int
    target: int
    directed: bool
    types: tuple[int, ...] | None
    predicates: tuple[Expression, ...]
    clause: int
    cardinality: float
    met: tuple[Met, Met] = (Met(), Met())

    def other_end(self, node: int) -> int:
        """The query node at the other end; the same one for a loop."""
        return self.target if node == self.source else self.source


class RowTest(NamedTuple):
    """Two bound query nodes (or relationships) of one row must be equal, or must differ."""

    on_nodes: bool
    left: int
    right: int
    equal: bool


@value(frozen=True, slots=True)
class BoundQuery:
    """A query in terms of one data graph.

    Args:
        query: Where it comes from.
        nodes: By position.
        relationships: By position.
        tests: Tests per row: relationships distinct within a clause (left out where types exclude
            each other), ``same_as``, and conjuncts ``a = b``, ``a <> b``, ``r = s``, ``r <> s``
            between variables.
        residuals: Other conjuncts over several variables, tested on rows.
        constants: Conjuncts over no variable, tested once.
        no_rows: Why there can be no rows (an unknown label, …), else None.
    """

    query: Query
    nodes: tuple[BoundNode, ...]
    relationships: tuple[BoundRelationship, ...]
    tests: tuple[RowTest, ...]
    residuals: tuple[Expression, ...]
    constants: tuple[Expression, ...]
    no_rows: str | None = None


class StepKind(StrEnum):
    """What one step of the join does to the partial embeddings."""

    NODES = "nodes"
    """Multiply with all candidates of a query node that has no relationships (yet)."""
    RELATIONSHIPS = "relationships"
    """Multiply with all candidate relationships: the start of a component."""
    COMBINE = "combine"
    """Extend along a query relationship whose one end is bound."""
    CLOSE = "close"
    """Bind a query relationship whose both ends are bound."""
    EXTEND = "extend by"
    """Add a query node along all query relationships to nodes that are bound."""


@value(frozen=True, slots=True)
class PlanStep:
    """One step.

    Args:
        kind: What it does.
        position: Query node (for NODES and EXTEND) or query relationship.
        bound_end: For COMBINE, the position of the query node that is bound already, else -1.
        cardinality: Estimated rows after the step.
        reason: One sentence: why this step comes here.
        along: Query relationships that EXTEND follows or looks up; loops of a node, too.
    """

    kind: StepKind
    position: int
    bound_end: int
    cardinality: float
    reason: str
    along: tuple[int, ...] = ()


class Runnable(Protocol):
    """The operators of a query."""

    @property
    def pattern_count(self) -> int:
        """How many of the operators match a pattern."""

    def tree(self) -> OperatorNode:
        """The operators, before they ran."""

    def run(
        self,
        graph: DataGraph,
        strategy: Any,
        values: Mapping[str, Any],
        report: Any,
        deadline: float | None = None,
    ) -> Any:
        """All rows, as a table."""


@dataclass(frozen=True)  # without slots, in which there is no place for a cached property
class Plan:
    """How a query will be answered on one data graph.

    Args:
        bound: What is to be found.
        find_steps: Finds the steps when they are asked for: strategies do without.
        strategy: Name of the strategy.
        warnings: Sentences for the user, such as a cross product of unconnected parts.
        strategy_reason: What the strategy does; empty where there is nothing to say.
        compares: Whether the strategy compares values of two variables while it joins.
        declined: One sentence: why the strategy cannot answer; empty where it can.
        say_first: Says what the strategy tries first where only numbers are asked for.
        pipeline: The operators of the query, of which this is the pattern that is expected to cost
            most; None of a pattern that was planned by itself.
        kept: What those who run the plan found out about it; no part of its value.
    """

    bound: BoundQuery
    find_steps: Callable[[BoundQuery], tuple[PlanStep, ...]] = field(repr=False)
    strategy: str
    warnings: tuple[str, ...] = ()
    strategy_reason: str = ""
    compares: bool = False
    declined: str = ""
    say_first: Callable[[BoundQuery], str] | None = field(default=None, repr=False, compare=False)
    pipeline: Runnable | None = None
    kept: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)

    @property
    def runnable(self) -> Runnable:
        """The operators of the query; a pattern that was planned by itself has none."""
        assert self.pipeline is not None
        return self.pipeline

    @cached_property
    def steps(self) -> tuple[PlanStep, ...]:
        """The matching order as estimated; strategies count candidates and may take another."""
        return self.find_steps(self.bound)
