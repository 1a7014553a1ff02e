"""Describes for people what the join of STwigs did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.match.report import node_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda_strategies.stwig.decompose import Stwig

    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["describe_join"]


def describe_join(
    run: Run,
    bound: BoundQuery,
    stwigs: Sequence[Stwig],
    rows: Sequence[int],
    joined: tuple[int, int],
) -> None:
    """Adds one line per STwig with its matches, and one for the join: its rows and launches."""
    for number, (stwig, count) in enumerate(zip(stwigs, rows, strict=True)):
        leaves = ", ".join(node_text(bound, each) for each in stwig.leaves)
        what = f"{node_text(bound, stwig.root)} with {leaves}" if leaves else "alone"
        if not leaves:
            what = node_text(bound, stwig.root)
        use = "hash table of " if number else "probe "
        run.report.steps.append(f"{use}STwig {what}: {count:,} matches")
    run.report.steps.append(f"join: {joined[0]:,} rows in {joined[1]:,} launches")
