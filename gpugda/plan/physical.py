"""The physical plan of a whole query: its operators, the rows that each expects, and its cost.

Plans are frozen and equal by value; they hold neither arrays nor a device. The router, `explain`,
`estimate` and `profile` read them.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from gpugda.plan.cost import Work
from gpugda.plan.plan import StepKind
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpugda.plan.cost import DeviceRates, ServerRates
    from gpugda.plan.plan import Plan


__all__ = ["Estimate", "Physical", "PhysicalPlan", "estimate", "estimate_query"]

_FIRST_RUN: Final = 3.0
"""Multiple of the fixed costs by which a first run takes longer (median of 28 queries on PoCL)."""


@value(frozen=True, slots=True)
class Physical:
    """An operator of the plan.

    Args:
        kind: Name of its class.
        what: Its description.
        rows: Rows that it is expected to return; equal ones may be counted as one row.
        found: Embeddings or paths that these rows stand for.
        work: Its own work, without that of its inputs.
        children: Its inputs.
    """

    kind: str
    what: str
    rows: float
    found: float
    work: Work
    children: tuple[Physical, ...] = ()

    def nodes(self) -> Iterator[Physical]:
        """All operators, each before its inputs."""
        yield self
        for child in self.children:
            yield from child.nodes()


@value(frozen=True, slots=True)
class PhysicalPlan:
    """The plan of a query, for a device and a server of known speed.

    Args:
        root: The last operator.
        columns: Names of the result's columns.
        entity_columns: Number of columns that hold nodes or relationships.
        elements: Query nodes times query relationships, for which the database plans.
        device: Rates of the device.
        server: Rates of the server.
        work: The work of all operators.
    """

    root: Physical
    columns: tuple[str, ...]
    entity_columns: int
    elements: int
    device: DeviceRates
    server: ServerRates
    work: Work = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        works = zip(*(node.work for node in self.root.nodes()), strict=True)
        object.__setattr__(self, "work", Work(*map(sum, works)))  # each run asks for it

    @property
    def found(self) -> float:
        """The most embeddings, paths or rows that an operator finds."""
        return max(node.found for node in self.root.nodes())

    @property
    def values(self) -> float:
        """Number of values in the result."""
        return self.root.rows * max(1, len(self.columns))

    @property
    def device_seconds(self) -> float:
        """Seconds of a repeated run on the device until the last value is read."""
        return self.device.seconds(self.work) + self.root.rows / self.device.rows_per_second

    @property
    def first_seconds(self) -> float:
        """Seconds that a first run takes besides: it plans, compiles, and makes what is kept."""
        return _FIRST_RUN * self.device.seconds(self.work.fixed)

    @property
    def native_seconds(self) -> float:
        """Seconds of the database, with a cached plan, until the last row has arrived."""
        rates, rows = self.server, self.root.rows
        seconds = rates.round_trip_seconds + rates.seconds(self.work)
        seconds += rows / rates.rows_per_second
        return seconds + rows * self.entity_columns / rates.entities_per_second

    @property
    def planning_seconds(self) -> float:
        """Seconds that the database needs to plan a new text."""
        return self.server.planning_seconds * (1 + self.elements)

    def seconds_of(self, node: Physical) -> float:
        """Seconds of one operator on the device, without its inputs."""
        return self.device.seconds(node.work)


_INDEX_BYTES: Final = 4


@value(frozen=True, slots=True)
class Estimate:
    """The estimated effort of a query, from statistics: only its order of magnitude is reliable.

    Args:
        rows: The most embeddings, paths or rows that an operator finds, before RETURN groups, sorts
            or slices them. For a query that the device cannot answer: result rows as the database
            estimates them. NaN if unknown.
        bytes: Size of the largest table of partial embeddings, in bytes.
        seconds: Time of the chosen engine; None for a pattern alone.
    """

    rows: float
    bytes: int
    seconds: float | None = None


def estimate_query(
    physical: PhysicalPlan, patterns: Iterable[Plan], seconds: float | None
) -> Estimate:
    """The estimate of a query; the caller supplies the time."""
    most = max((estimate(each).bytes for each in patterns), default=0)
    return Estimate(physical.found, most, seconds)


def estimate(plan: Plan) -> Estimate:
    """Estimates the rows and bytes of a pattern."""
    if plan.bound.no_rows is not None:
        return Estimate(0.0, 0)
    nodes: set[int] = set()
    relationships: set[int] = set()
    rows = peak = 0.0
    for step in plan.steps:
        if step.kind in (StepKind.NODES, StepKind.EXTEND):
            nodes.add(step.position)
            relationships.update(step.along)
        else:
            relationships.add(step.position)
            ends = plan.bound.relationships[step.position]
            nodes |= {ends.source, ends.target}
        rows = step.cardinality
        peak = max(peak, rows * (len(nodes) + len(relationships)) * _INDEX_BYTES)
    return Estimate(rows, round(peak))
