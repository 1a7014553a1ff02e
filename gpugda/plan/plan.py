"""The bound query and the plan: frozen, readable values that describe the work to do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.query.ast import Expression
    from gpugda.query.query_graph import Query

__all__ = [
    "BoundNode",
    "BoundQuery",
    "BoundRelationship",
    "DegreeNeed",
    "DegreeSkew",
    "LabelOp",
    "Plan",
    "PlanStep",
    "RowTest",
    "StepKind",
]


class LabelOp(Enum):
    """Operations of a label program, a postfix program over node bitmaps."""

    LABEL = 0
    """Push the nodes with the given label id."""
    ANY = 1
    """Push the nodes with at least one label."""
    NONE = 2
    """Push the empty set, for a label that the graph does not have."""
    NOT = 3
    AND = 4
    OR = 5


@value(frozen=True, slots=True)
class DegreeNeed:
    """A node needs ``at_least`` relationships of these types and directions.

    Args:
        outgoing: True if relationships that start at the node count.
        incoming: True if relationships that end at the node count; with both, the counts are added.
        types: Sorted type ids; None for any type.
        at_least: Number of query relationships of one clause with exactly this key.
    """

    outgoing: bool
    incoming: bool
    types: tuple[int, ...] | None
    at_least: int


@value(frozen=True, slots=True)
class BoundNode:
    """A query node bound to one data graph.

    Args:
        position: Position in the query graph.
        name: Variable name.
        labels: Label program as (operation, label id or 0); empty for no condition.
        predicates: Conjuncts over this node alone.
        degree_needs: Minimum degrees, per clause.
        cardinality: Estimated number of candidates.
    """

    position: int
    name: str
    labels: tuple[tuple[LabelOp, int], ...]
    predicates: tuple[Expression, ...]
    degree_needs: tuple[DegreeNeed, ...]
    cardinality: float


class DegreeSkew(NamedTuple):
    """Degree statistics of one end of a query relationship.

    Args:
        reached_ratio: Mean degree of nodes reached along another relationship, as a multiple of the
            mean degree of all candidates.
        nonzero_count: Estimated number of candidates with at least one such relationship.
        evenness: 1 if these all have the same degree, less if few of them have most relationships.
    """

    reached_ratio: float = 1.0
    nonzero_count: float = 1.0
    evenness: float = 1.0


@value(frozen=True, slots=True)
class BoundRelationship:
    """A query relationship bound to one data graph.

    Args:
        position: Position in the query graph.
        name: Variable name.
        source: Position of the query node at its start.
        target: Position of the query node at its end.
        directed: True if it must be traversed from start to end.
        types: Sorted type ids; None for any type.
        predicates: Conjuncts over this relationship alone.
        clause: Number of its MATCH clause.
        cardinality: Estimated number of candidates.
        skew: Degree statistics at the source and at the target.
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
    skew: tuple[DegreeSkew, DegreeSkew] = (DegreeSkew(), DegreeSkew())

    def other_end(self, node: int) -> int:
        """The query node at the other end; the same one for a loop."""
        return self.target if node == self.source else self.source


class RowTest(NamedTuple):
    """Two bound query nodes (or relationships) of a row must be equal, or must differ."""

    on_nodes: bool
    left: int
    right: int
    equal: bool


@value(frozen=True, slots=True)
class BoundQuery:
    """A query bound to one data graph.

    Args:
        query: The analysed query.
        nodes: Bound nodes by position.
        relationships: Bound relationships by position.
        tests: Tests per row: distinct relationships within a clause (unless their types exclude
            each other), ``same_as``, and conjuncts ``a = b``, ``a <> b``, ``r = s``, ``r <> s``
            between variables.
        residuals: All other conjuncts over several variables, tested on rows.
        constants: Conjuncts without variables, tested once.
        no_rows: Why no rows are possible (such as an unknown label), otherwise None.
    """

    query: Query
    nodes: tuple[BoundNode, ...]
    relationships: tuple[BoundRelationship, ...]
    tests: tuple[RowTest, ...]
    residuals: tuple[Expression, ...]
    constants: tuple[Expression, ...]
    no_rows: str | None = None


class StepKind(StrEnum):
    """What a step of the join does to the partial embeddings."""

    NODES = "nodes"
    """Multiply with all candidates of a query node without relationships to bound nodes."""
    RELATIONSHIPS = "relationships"
    """Multiply with all candidate relationships, at the start of a component."""
    COMBINE = "combine"
    """Extend along a query relationship that has one bound end."""
    CLOSE = "close"
    """Bind a query relationship that has two bound ends."""
    EXTEND = "extend by"
    """Add a query node along all query relationships to bound nodes."""


@value(frozen=True, slots=True)
class PlanStep:
    """One step of the join.

    Args:
        kind: What the step does.
        position: Query node (for NODES and EXTEND) or query relationship.
        bound_end: For COMBINE, the position of the bound query node; otherwise -1.
        cardinality: Estimated rows after the step.
        reason: One sentence that says why this step comes here.
        along: Query relationships that EXTEND follows or probes, including loops.
    """

    kind: StepKind
    position: int
    bound_end: int
    cardinality: float
    reason: str
    along: tuple[int, ...] = ()


@dataclass(frozen=True)  # without slots, as cached_property needs an instance dictionary
class Plan:
    """How a pattern will be matched on one data graph.

    Args:
        bound: The bound query.
        find_steps: Computes the steps on first use, as most strategies do not need them.
        strategy: Name of the strategy.
        warnings: Sentences for the user, such as one about a cartesian product.
        strategy_reason: What the strategy does; empty if there is nothing to say.
        compares: True if the strategy compares values of two variables during the join.
        declined: One sentence that says why the strategy cannot answer; empty if it can.
        describe_first: Describes what the strategy tries first for a pure count.
        kept: Facts that runs of the plan record here; not part of the plan's value.
    """

    bound: BoundQuery
    find_steps: Callable[[BoundQuery], tuple[PlanStep, ...]] = field(repr=False)
    strategy: str
    warnings: tuple[str, ...] = ()
    strategy_reason: str = ""
    compares: bool = False
    declined: str = ""
    describe_first: Callable[[BoundQuery], str] | None = field(
        default=None, repr=False, compare=False
    )
    kept: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)

    def for_later_state(self) -> Plan:
        """The plan for a later state of its graph, without what runs recorded in `kept`."""
        return replace(self, kept={})

    @property
    def joined_rows(self) -> float:
        """Estimated rows of all steps of the join."""
        return sum(step.cardinality for step in self.steps)

    @cached_property
    def steps(self) -> tuple[PlanStep, ...]:
        """The estimated matching order; a strategy may choose another from counted candidates."""
        return self.find_steps(self.bound)
