"""All settings that depend on the kind of device: build options, launch sizes and memory limits.

Launchers select the kernels for a kind of device; they ask the context for its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gpugda import thresholds
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.thresholds import Thresholds

__all__ = ["CPU", "GPU", "DeviceProfile"]


@value(frozen=True, slots=True)
class DeviceProfile:
    """Settings of one kind of device.

    Args:
        defines: Build options that the kernels require.
        options: Build options that a compiler may not know: everything works without them.
        intersection: How lists are intersected: ``marks``, a byte per node, row by row, for any
            types and directions (`extend_marks`); ``lists``, plain lists, searched from local
            memory, pair by pair (`extend_lists`).
        group_size: Work items per work group, the same for all kernels.
        items_per_unit: Number of work items per compute unit beyond which a launch does not become
            faster.
        work_per_item: Minimum number of elements per work item that makes the item worthwhile.
        groups_per_unit: Work groups per compute unit that add to one array of sums.
        list_groups_per_unit: Work groups per compute unit that intersect plain lists. Far more than
            run at a time, so that others take the place of those that end early.
        weigh_groups_per_unit: Work groups per compute unit that count the matches of rows.
        task_items_per_unit: Work items per compute unit that take tasks from a counter.
        sum_block: Minimum number of values in a block of a prefix sum.
        sum_shares: Maximum number of prefix sum blocks per compute unit; None for no limit.
        first_pairs: Pairs of the first launch of a step.
        max_pairs: Maximum number of pairs of a launch.
        launch_seconds: Target for the maximum duration of a launch: a query is stopped between
            launches.
        aside_bytes: Longer tables are copied on the device and fetched while the next one is
            computed; shorter ones are fetched faster without this copy. None if device memory is
            host memory.
        hub_share: Share of the free memory for bitmaps of long lists.
        thresholds: Thresholds and limits of planning and joins.
        compiles_in_processes: True if other processes compile its kernels in parallel, since its
            driver does not.
        sorted_from: Minimum number of relationships from which the device sorts them when a data
            graph is built; None for never.
        staging_bytes: Size of each of two page-locked buffers: locking 4 MiB takes 3 ms once, and
            other programs cannot use that memory.
        pooled_bytes: Maximum bytes of arrays that one run leaves for the next, also bounded by a
            share of the device's memory.
        fresh_upload_bytes: Uploads up to this size create a new array, which is not passed on to
            the next run: on a CPU, the driver does that faster than a copy into an existing array.
            0 for never.
        page_locked_bytes: Maximum bytes of page-locked memory for a data graph that is sent in
            segments; copies from it use the full bandwidth of the bus. 0 if device memory is host
            memory.
    """

    defines: tuple[str, ...]
    options: tuple[str, ...]
    intersection: Literal["marks", "lists"]
    group_size: int
    items_per_unit: int
    work_per_item: int
    weigh_groups_per_unit: int
    sum_block: int
    sum_shares: int | None
    first_pairs: int
    max_pairs: int
    launch_seconds: float
    aside_bytes: int | None
    thresholds: Thresholds
    groups_per_unit: int = 16
    list_groups_per_unit: int = 128
    task_items_per_unit: int = 2
    hub_share: float = 0.125
    compiles_in_processes: bool = False
    sorted_from: int | None = None
    staging_bytes: int = 1 << 22
    pooled_bytes: int = 1 << 28
    fresh_upload_bytes: int = 0
    page_locked_bytes: int = 0

    @property
    def prefetches_segments(self) -> bool:
        """True if steps of two links have a place for the next segment while kernels work.

        On a device that shares the host's memory, kernels wait for the same cores: larger segments
        are worth more.
        """
        return self.aside_bytes is not None


CPU = DeviceProfile(
    defines=("-DON_CPU",),
    options=("-cl-std=CL1.2", "-cl-kernel-arg-info"),
    intersection="marks",
    group_size=1,
    items_per_unit=16,
    work_per_item=256,
    weigh_groups_per_unit=16,
    sum_block=1 << 16,
    sum_shares=4,
    first_pairs=1 << 18,
    max_pairs=1 << 22,
    launch_seconds=0.2,
    aside_bytes=None,
    thresholds=thresholds.CPU,
    fresh_upload_bytes=1 << 16,
)

GPU = DeviceProfile(
    defines=(),
    options=("-cl-std=CL1.2",),
    intersection="lists",
    group_size=256,
    items_per_unit=2048,
    work_per_item=1,
    weigh_groups_per_unit=64,
    sum_block=1 << 12,
    sum_shares=None,
    first_pairs=1 << 28,
    max_pairs=1 << 30,
    launch_seconds=0.04,
    aside_bytes=1 << 22,
    thresholds=thresholds.GPU,
    compiles_in_processes=True,
    sorted_from=1 << 22,
    pooled_bytes=1 << 33,
    page_locked_bytes=1 << 35,
)
