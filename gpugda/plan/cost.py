"""The cost terms, and what they cost on a device and a server: measured rates, with defaults."""

from __future__ import annotations

from typing import NamedTuple

from gpugda.types import value

__all__ = ["CPU_DEVICE", "GPU_DEVICE", "LOCAL_SERVER", "DeviceRates", "ServerRates", "Work"]


class Work(NamedTuple):
    """The cost terms: what an operator does, in units that rates turn into seconds.

    Args:
        searches: Patterns matched and path searches begun on the device.
        operators: Operators on the host, each with a fixed cost.
        steps: Steps of a join after its first one.
        pairs: Pairs (partial row, neighbour) that the device tests.
        values: Values that the host computes in arrays.
        objects: Python objects that the host makes.
        expansions: Relationships that the database follows for the same rows.
        handled: Rows that operators of the database handle besides.
    """

    searches: float = 0.0
    operators: float = 0.0
    steps: float = 0.0
    pairs: float = 0.0
    values: float = 0.0
    objects: float = 0.0
    expansions: float = 0.0
    handled: float = 0.0

    def plus(self, other: Work) -> Work:
        """The sum of both."""
        return Work(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def fixed(self) -> Work:
        """The part that does not depend on rows."""
        return Work(self.searches, self.operators, self.steps)


@value(frozen=True, slots=True)
class DeviceRates:
    """Speed of an OpenCL device together with its host.

    Args:
        query_seconds: Fixed cost of a query with one step and a cached plan.
        step_seconds: Cost of each further step of the join.
        pairs_per_second: Tested pairs (partial row, neighbour) per second.
        rows_per_second: Rows fetched, projected and converted to Python values per second.
        prepare_seconds: Parsing, binding and ordering of a new text, per query relationship.
        sent_bytes_per_second: Transfer rate of a data graph that is streamed in segments.
        values_per_second: Values that the host computes per second, in arrays.
        objects_per_second: Python objects that the host makes or compares per second.
        operator_share: Fixed cost of an operator on the host, as a share of ``query_seconds``.
    """

    query_seconds: float
    step_seconds: float
    pairs_per_second: float
    rows_per_second: float
    prepare_seconds: float
    sent_bytes_per_second: float = 4e9
    values_per_second: float = 4e7
    objects_per_second: float = 2e6
    operator_share: float = 0.3

    def seconds(self, work: Work) -> float:
        """Seconds of some work, without transfers."""
        return (
            self.query_seconds * (work.searches + self.operator_share * work.operators)
            + self.step_seconds * work.steps
            + work.pairs / self.pairs_per_second
            + work.values / self.values_per_second
            + work.objects / self.objects_per_second
        )


@value(frozen=True, slots=True)
class ServerRates:
    """Speed of a database server, as seen by this client.

    Args:
        round_trip_seconds: Time of the smallest query.
        planning_seconds: Planning of a new text, per query node times query relationship.
        expansions_per_second: Relationships followed per second by Neo4j's plans.
        rows_per_second: Result rows received per second.
        entities_per_second: Nodes or relationships received per second with all their properties.
        handled_share: Cost of a row that an operator handles, as a share of an expansion.
    """

    round_trip_seconds: float
    planning_seconds: float
    expansions_per_second: float
    rows_per_second: float
    entities_per_second: float
    handled_share: float = 0.3

    def seconds(self, work: Work) -> float:
        """Seconds of some work, without the round trip."""
        steps = work.expansions + self.handled_share * work.handled
        return steps / self.expansions_per_second


CPU_DEVICE = DeviceRates(
    query_seconds=0.0012,
    step_seconds=0.0003,
    pairs_per_second=4e8,
    rows_per_second=2e6,
    prepare_seconds=0.00015,
)
"""PoCL on two cores."""

GPU_DEVICE = DeviceRates(
    query_seconds=0.0008,
    step_seconds=0.00015,
    pairs_per_second=4e10,
    rows_per_second=2e6,
    prepare_seconds=0.00015,
    sent_bytes_per_second=2.5e10,
)
"""An NVIDIA H200."""

LOCAL_SERVER = ServerRates(
    round_trip_seconds=0.0017,
    planning_seconds=0.004,
    expansions_per_second=3e6,
    rows_per_second=3e5,
    entities_per_second=8e4,
)
"""Neo4j Community on the same machine."""
