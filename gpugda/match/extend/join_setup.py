"""What the components of a join share: its steps, and the arrays that they read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gpugda.device.launch.extend import ExtensionKernels, RowKernels
from gpugda.device.launch.leaf_products import GroupKernels, ProductKernels

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
    """The kernel launchers, made once per strategy."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self.extensions = ExtensionKernels(context)
        self.rows = RowKernels(context)
        self.products = ProductKernels(context)

    @cached_property
    def groups(self) -> GroupKernels:
        """Made when the first query groups rows."""
        return GroupKernels(self._context)


@dataclass(frozen=True, slots=True, eq=False)
class JoinSetup:
    """One join of one run.

    Args:
        run: The query's run.
        kernels: The strategy's kernels.
        steps: The steps, at least one.
        words: The steps, encoded on the device.
        candidates: Candidates of the query nodes.
        limits: Limits of the join's windows and launches.
    """

    run: Run
    kernels: JoinKernels
    steps: Sequence[ExtendStep]
    words: StepWords
    candidates: Candidates
    limits: JoinLimits
