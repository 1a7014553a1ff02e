"""What is tuned to the kind of device, all in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CPU", "GPU", "Tuning"]


@dataclass(frozen=True, slots=True)
class Tuning:
    """How one kind of device likes its work.

    Args:
        defines: Build options without which launches would not fit the kernels.
        options: Build options that a compiler may not know: without them all works.
        group_size: Work items per group, the same for all kernels.
        items_per_unit: More work items than these per compute unit do not make a launch faster.
        work_per_item: Elements that make a work item worth while.
        sum_block: Values in a block of prefix sums, at least.
        intersection: How lists are intersected: ``marks``, a byte per node, row by row, whatever
            their types and directions (`extend_marks`); ``lists``, plain ones, searched from local
            memory, pair by pair (`extend_lists`).
        first_pairs: Pairs of the first launch of a step, whatever they cost.
        most_pairs: Pairs of a launch at most.
        launch_seconds: What a launch shall take at most: a query is stopped between launches.
    """

    defines: tuple[str, ...]
    options: tuple[str, ...]
    group_size: int
    items_per_unit: int
    work_per_item: int
    sum_block: int
    intersection: Literal["marks", "lists"]
    first_pairs: int
    most_pairs: int
    launch_seconds: float


CPU = Tuning(
    defines=("-DON_CPU",),
    options=("-cl-std=CL1.2", "-cl-kernel-arg-info"),
    group_size=1,
    items_per_unit=16,
    work_per_item=256,
    sum_block=1 << 16,
    intersection="marks",
    first_pairs=1 << 18,
    most_pairs=1 << 22,
    launch_seconds=0.2,
)

GPU = Tuning(
    defines=(),
    options=("-cl-std=CL1.2",),
    group_size=256,
    items_per_unit=2048,
    work_per_item=1,
    sum_block=1 << 12,
    intersection="lists",
    first_pairs=1 << 28,
    most_pairs=1 << 30,
    launch_seconds=0.04,
)
