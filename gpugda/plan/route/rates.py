"""How fast a device and a server are: what a calibration measures, and what holds without one."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CPU_DEVICE", "GPU_DEVICE", "LOCAL_SERVER", "DeviceRates", "ServerRates"]


@dataclass(frozen=True, slots=True)
class DeviceRates:
    """Of an OpenCL device, with the host that drives it.

    Args:
        query_seconds: A query of one step whose plan is known, besides what the others say.
        step_seconds: Each further step of the join.
        pairs_per_second: Pairs of a partial row and a neighbour that are tested.
        rows_per_second: Rows that are fetched, projected and made Python values.
        prepare_seconds: Parsing, binding and ordering a new text, per query relationship.
        sent_bytes_per_second: Of a data graph that is sent in segments.
    """

    query_seconds: float
    step_seconds: float
    pairs_per_second: float
    rows_per_second: float
    prepare_seconds: float
    sent_bytes_per_second: float = 4e9


@dataclass(frozen=True, slots=True)
class ServerRates:
    """Of a database server, seen from here.

    Args:
        round_trip_seconds: The smallest query.
        planning_seconds: Planning a new text, per query node times query relationship.
        expansions_per_second: Relationships that a plan of Neo4j's follows.
        rows_per_second: Result rows that arrive.
        entities_per_second: Nodes or relationships with all their properties that arrive.
    """

    round_trip_seconds: float
    planning_seconds: float
    expansions_per_second: float
    rows_per_second: float
    entities_per_second: float


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
