"""What depends on the kind of device, all in one place: how it is built for, and how it is fed.

Which kernels run on a kind of device is the other half: their launchers ask the context for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gpugda import thresholds

if TYPE_CHECKING:
    from gpugda.thresholds import Thresholds

__all__ = ["CPU", "GPU", "DeviceProfile"]


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """How one kind of device likes its work.

    Args:
        defines: Build options without which launches would not fit the kernels.
        options: Build options that a compiler may not know: without them all works.
        intersection: How lists are intersected: ``marks``, a byte per node, row by row, whatever
            their types and directions (`extend_marks`); ``lists``, plain ones, searched from local
            memory, pair by pair (`extend_lists`).
        group_size: Work items per group, the same for all kernels.
        items_per_unit: More work items than these per compute unit do not make a launch faster.
        work_per_item: Elements that make a work item worth while.
        groups_per_unit: Work groups that share what is added to one array of sums.
        list_groups_per_unit: Work groups that intersect plain lists. Far more than run at a time:
            those that end early leave their place to others.
        weigh_groups_per_unit: Work groups that count what fits to a row.
        task_items_per_unit: Work items that take tasks from a counter.
        sum_block: Values in a block of prefix sums, at least.
        sum_shares: Blocks of prefix sums per compute unit, at most; None for as many as there are.
        first_pairs: Pairs of the first launch of a step, whatever they cost.
        most_pairs: Pairs of a launch at most.
        launch_seconds: What a launch shall take at most: a query is stopped between launches.
        aside_bytes: Longer tables are copied on the device and fetched while the next one is made:
            less comes faster without. None where that memory is the host's own.
        hub_share: Share of the free memory for bitmaps of long lists.
        thresholds: From when on something pays in a join, and how much of it is done at once.
        compiles_apart: Do other processes compile its kernels side by side, as its driver does not?
        sorted_from: From so many relationships on it sorts them when a data graph is built; None
            for never.
        staging_bytes: Of each of two page-locked buffers: it takes 3 ms once for 4 MiB, and others
            cannot have that memory.
        pooled_bytes: Of arrays that one run leaves for the next, at most, and at most a part of the
            device's memory.
        made_bytes: So small an array is made for what is uploaded, and not passed on to the next
            run: that takes a CPU's driver less than a copy into one that is there. 0 for never.
        page_locked_bytes: Of a data graph that is sent in parts, at most: from there it comes at
            the full speed of the bus. 0 where that memory is the host's own.
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
    most_pairs: int
    launch_seconds: float
    aside_bytes: int | None
    thresholds: Thresholds
    groups_per_unit: int = 16
    list_groups_per_unit: int = 128
    task_items_per_unit: int = 2
    hub_share: float = 0.125
    compiles_apart: bool = False
    sorted_from: int | None = None
    staging_bytes: int = 1 << 22
    pooled_bytes: int = 1 << 28
    made_bytes: int = 0
    page_locked_bytes: int = 0


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
    most_pairs=1 << 22,
    launch_seconds=0.2,
    aside_bytes=None,
    thresholds=thresholds.CPU,
    made_bytes=1 << 16,
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
    most_pairs=1 << 30,
    launch_seconds=0.04,
    aside_bytes=1 << 22,
    thresholds=thresholds.GPU,
    compiles_apart=True,
    sorted_from=1 << 22,
    pooled_bytes=1 << 33,
    page_locked_bytes=1 << 35,
)
