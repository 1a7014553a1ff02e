"""Estimates a device's speed before a query runs on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.calibration.kept import default_device_rates, kept_device_rates
from gpugda.device.graph.segments import directory_bytes, whole_bytes
from gpugda.execute.patterns.needs import need_of
from gpugda.match.count.limits import may_use_vectors
from gpugda.match.need import Count
from gpugda.match.registry import DEFAULT_STRATEGY
from gpugda.match.special.ranked_triangles import expected_triangles
from gpugda.plan.cost import CPU_DEVICE
from gpugda.plan.route.route import RouteInput
from gpugda.plan.route.streaming import StoredGraph, streaming

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.pipeline import QueryPlan
    from gpugda.match.session import DeviceSession
    from gpugda.plan.cost import DeviceRates
    from gpugda.plan.physical import PhysicalPlan
    from gpugda.plan.plan import Plan
    from gpugda.plan.route.streaming import Streaming

__all__ = ["DeviceCosts", "stored_graph"]

_OPEN_SECONDS: Final = 0.25
"""Seconds to open the device, once per process; kernels compiled earlier are on disk."""

_COPIED_PER_SECOND: Final = 1e8
"""Relationships of a graph copied to the device per second."""

_START_BYTES: Final = 4


class DeviceCosts:
    """Cost estimates for one device, which this class never opens except to measure it.

    Args:
        session: The device.
    """

    def __init__(self, session: DeviceSession) -> None:
        self._session = session
        self._rates: DeviceRates | None = None

    @property
    def rates(self) -> DeviceRates:
        """Rates measured by this or an earlier process, else defaults for this kind of device."""
        if self._rates is None:
            if not self._session.is_open:
                return CPU_DEVICE  # asking the device for its name would open it
            info = self._session.info
            self._rates = kept_device_rates(info) or default_device_rates(info)
        return self._rates

    def measure(self, *, again: bool = False) -> DeviceRates:
        """Measures the rates, unless saved rates exist.

        Args:
            again: True to measure even if saved rates exist.

        Raises:
            DeviceError: There is no device, or it failed.
        """
        from gpugda.calibration.device import device_rates  # runs once per machine

        self._rates = device_rates(self._session, again=again)
        return self._rates

    def opening_seconds(self, graph: DataGraph) -> float:
        """Seconds until the device is open and holds the graph."""
        if self._session.is_ready(graph):
            return 0.0
        return _OPEN_SECONDS + graph.relationship_count / _COPIED_PER_SECOND

    def streaming(self, plan: QueryPlan, graph: DataGraph) -> Streaming | None:
        """Returns what is sent in segments if the graph exceeds device memory; None if it fits.

        For a query of several patterns, what the one that sends most does.
        """
        limit = self._session.memory_limit
        if limit is None or plan.strategy != DEFAULT_STRATEGY:
            return None
        size = whole_bytes(graph)
        if size <= limit:
            return None
        found = [self._streaming(each, graph, size, limit) for each in plan.patterns]
        sent = [each for each in found if each is not None]
        return max(sent, key=lambda each: each.sent_bytes, default=None)

    def _streaming(self, plan: Plan, graph: DataGraph, size: int, limit: int) -> Streaming | None:
        is_gpu = self._session.intersects_lists
        found = streaming(plan, stored_graph(graph), limit, is_gpu=is_gpu)
        if found is None or not is_gpu:
            return found
        if not isinstance(need_of(plan.bound.query, plan.bound), Count):
            return found
        has_lists, units = self._session.has_upward_lists, self._session.info.compute_units
        return expected_triangles(plan.bound, graph, size, limit, has_lists, units) or found

    def lines(self, plan: QueryPlan, graph: DataGraph) -> tuple[str, ...]:
        """Lines about data to be sent in segments, and about counts by vectors."""
        found = self.streaming(plan, graph)
        return self._vectors(plan, graph) if found is None else (str(found),)

    def _vectors(self, query: QueryPlan, graph: DataGraph) -> tuple[str, ...]:
        if len(query.patterns) != 1 or query.strategy != DEFAULT_STRATEGY:
            return ()
        plan = query.pattern
        if not may_use_vectors(plan.bound):
            return ()
        if not isinstance(need_of(plan.bound.query, plan.bound), Count):
            return ()
        from gpugda.match.count.vectors import chosen_vectors  # few patterns

        is_gpu = self._session.intersects_lists
        found = chosen_vectors(plan, graph, "lists" if is_gpu else "marks")
        return () if found is None else (f"counted without rows: {found.text}",)

    def sent_bytes(self, plan: QueryPlan, graph: DataGraph) -> float:
        """Bytes that `streaming` sends, 0 if the graph fits."""
        found = self.streaming(plan, graph)
        return 0.0 if found is None else found.sent_bytes

    def seconds(self, physical: PhysicalPlan, plan: QueryPlan, graph: DataGraph) -> float:
        """Estimated seconds of a query on a graph without a server."""
        from gpugda.plan.route.cost import device_seconds

        return device_seconds(
            RouteInput(
                physical,
                plan.shape,
                entities_known=True,
                probes=0,
                once=self.opening_seconds(graph),
                sent_bytes=self.sent_bytes(plan, graph),
            )
        )


def stored_graph(graph: DataGraph) -> StoredGraph:
    """Returns the sizes of a data graph on a device."""
    parts = [graph.outgoing.parts, graph.incoming.parts]
    several = len(graph.types) > 1
    return StoredGraph(
        graph.node_count,
        graph.relationship_count,
        whole_bytes(graph),
        graph.statistics.type_counts,
        sum(len(each.run_types) for each in parts) if several else 0,
        parts[0].run_types.dtype.itemsize + _START_BYTES,
        directory_bytes(graph),
    )
