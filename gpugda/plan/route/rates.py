"""Speeds of a device and a server: measured by a calibration, with defaults."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CPU_DEVICE", "GPU_DEVICE", "LOCAL_SERVER", "DeviceRates", "ServerRates"]


@dataclass(frozen=True, slots=True)
class DeviceRates:
    """Speed of an OpenCL device together with its host.

    Args:
        query_seconds: Fixed cost of a query with one step and a cached plan.
        step_seconds: Cost of each further step of the join.
        pairs_per_second: Tested pairs (partial row, neighbour) per second.
        rows_per_second: Rows fetched, projected and converted to Python values per second.
        prepare_seconds: Parsing, binding and ordering of a new text, per query relationship.
        sent_bytes_per_second: Transfer rate of a data graph that is streamed in segments.
    """

    query_seconds: float
    step_seconds: float
    pairs_per_second: float
    rows_per_second: float
    prepare_seconds: float
    sent_bytes_per_second: float = 4e9


@dataclass(frozen=True, slots=True)
class ServerRates:
    """Speed of a database server, as seen by this client.

    Args:
        round_trip_seconds: Time of the smallest query.
        planning_seconds: Planning of a new text, per query node times query relationship.
        expansions_per_second: Relationships followed per second by Neo4j's plans.
        rows_per_second: Result rows received per second.
        entities_per_second: Nodes or relationships received per second with all their properties.
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
