"""The session of an accelerator that has a cluster beside its device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.cluster.shared_graph import DeviceSettings
from gpugda.cluster.workers import Workers
from gpugda.match.session import DeviceSession

if TYPE_CHECKING:
    from gpugda.match.exchange import Places

__all__ = ["ClusterSession"]


class ClusterSession(DeviceSession):
    """The device of this process, which answers short queries, and workers for long ones.

    Args:
        cluster: The address of a scheduler, a client, or a cluster of Dask.
        wanted: The selection passed to `choose_device`.
        memory_limit: Bytes on each device, or None for the strategy's default.
        refinement: How often candidates are refined.

    Raises:
        ConfigurationError: There is no such scheduler, or workers have another version of gpugda.
    """

    def __init__(
        self, cluster: object, wanted: str | int | None, memory_limit: int | None, refinement: str
    ) -> None:
        super().__init__(wanted, memory_limit, refinement)
        self._workers = Workers(cluster, DeviceSettings(memory_limit, refinement))

    @property
    def places(self) -> Places:
        """The workers."""
        return self._workers

    def close(self) -> None:
        """See `DeviceSession.close`; frees what the workers hold."""
        self._workers.close()
        super().close()
