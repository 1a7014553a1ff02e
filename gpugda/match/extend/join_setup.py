"""What the parts of a join share: its steps, and what they look into."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gpugda.device.launch.extend import ExtensionKernels
from gpugda.device.launch.extend_rows import RowKernels
from gpugda.device.launch.leaf_products import ProductKernels
from gpugda.device.launch.row_groups import GroupKernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.extend.encode import StepWords
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.run import Run
    from gpugda.thresholds import JoinLimits

__all__ = ["JoinKernels", "JoinSetup"]


class JoinKernels:
    """The launchers, made once per strategy."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self.extensions = ExtensionKernels(context)
        self.rows = RowKernels(context)
        self.products = ProductKernels(context)

    @cached_property
    def groups(self) -> GroupKernels:
        """Made when somebody groups."""
        return GroupKernels(self._context)


@dataclass(frozen=True, slots=True, eq=False)
class JoinSetup:
    """One join of one run.

    Args:
        run: Of the query.
        kernels: Of the strategy.
        steps: What to do, at least one.
        words: The same on the device.
        candidates: Of the query nodes.
        limits: How much is done at once.
    """

    run: Run
    kernels: JoinKernels
    steps: Sequence[ExtendStep]
    words: StepWords
    candidates: Candidates
    limits: JoinLimits
