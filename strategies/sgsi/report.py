"""Describes for people what the join did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda_strategies.gsi.report import describe_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda_strategies.gsi.steps import NodeStep
    from gpugda_strategies.sgsi.join import Sources
    from gpugda_strategies.sgsi.windows import HostWindows

    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["describe_join"]


def describe_join(
    run: Run,
    bound: BoundQuery,
    steps: Sequence[NodeStep],
    sources: Sources,
    windows: HostWindows,
) -> None:
    """Adds one line per step, and one for the segments."""
    describe_steps(run.report, run.graph.graph, bound, steps, windows)
    partitions = {id(each): each for each in sources.segments.values()}.values()
    count = sum(len(each.parts) for each in partitions)
    size = sum(each.total_bytes for each in partitions)
    loader = sources.loader
    run.report.steps.append(
        f"{count:,} segments of {len(partitions):,} partitions ({size:,} bytes): "
        f"{loader.sent:,} sent to the device ({loader.sent_bytes:,} bytes)"
    )
