"""A step of a join in terms of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.device.launch.extend import KeyTest

if TYPE_CHECKING:
    from gpugda.device.launch.extend import Extension, Link, Test
    from gpugda.match.extend.drafts import ExtendKind
    from gpugda.match.special.cycles import Cycle
    from gpugda.plan.variables import Variable

__all__ = ["ExtendStep"]


class ExtendStep(NamedTuple):
    """One step in terms of columns.

    Args:
        kind: What it does.
        position: Query node (NODES, EXTEND, WEIGH, PRUNE) or query relationship (CLOSE).
        links: Query relationships that are followed.
        bound_ends: Query node at the bound end of each.
        variables: What the columns of the new table hold.
        extension: What it reads, tests, keeps and adds, for the kernels.
        counts_lengths: Does every entry give a row?
        searched_only: Are all links found by one search, no relationship needed?
        most_rows: So many rows come of one pair at most.
        by_rows: Can it go row by row on a CPU?
        compared: The conditions among the tests, for people.
        cycle: Of the last step, the cycle that all steps together count.
        merged: Does it go through merged lists?
    """

    kind: ExtendKind
    position: int
    links: tuple[int, ...]
    bound_ends: tuple[int, ...]
    variables: tuple[Variable, ...]
    extension: Extension
    counts_lengths: bool = False
    searched_only: bool = False
    most_rows: int = 1
    by_rows: bool = False
    compared: tuple[str, ...] = ()
    cycle: Cycle | None = None
    merged: bool = False

    @property
    def kept(self) -> tuple[int, ...]:
        """Old columns that the new table begins with."""
        return self.extension.kept

    @property
    def tests(self) -> tuple[Test | KeyTest, ...]:
        """In terms of columns."""
        return self.extension.tests

    @property
    def node_column(self) -> int | None:
        """Where the added node goes, or how many fit."""
        return self.extension.node_column

    @property
    def compares(self) -> bool:
        """Are values compared by keys?"""
        return any(isinstance(test, KeyTest) for test in self.tests)

    @property
    def candidate_row(self) -> int | None:
        """Row of the added node in the matrix of candidates; None where all fit."""
        return self.extension.candidate_row

    @property
    def device_links(self) -> tuple[Link, ...]:
        """The links as kernels see them."""
        return self.extension.links
