"""A step of a join, expressed in columns."""

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
    """One step of a join, expressed in columns.

    Args:
        kind: The operation.
        position: Query node (NODES, EXTEND, WEIGH, PRUNE) or query relationship (CLOSE).
        links: Query relationships that the step follows.
        bound_ends: Query node at the bound end of each link.
        variables: The variables that the columns of the new table hold.
        extension: The columns that it reads, tests, keeps and adds, for the kernels.
        counts_lengths: True if every entry gives a row, so that list lengths are the counts.
        searched_only: True if all links are found by one search and no relationship is needed.
        max_rows: Maximum number of rows that one pair gives.
        by_rows: True if a CPU can process it row by row.
        compared: The comparisons among the tests, as text.
        cycle: For the last step: the cycle that all steps together count.
        merged: True if it reads merged lists.
    """

    kind: ExtendKind
    position: int
    links: tuple[int, ...]
    bound_ends: tuple[int, ...]
    variables: tuple[Variable, ...]
    extension: Extension
    counts_lengths: bool = False
    searched_only: bool = False
    max_rows: int = 1
    by_rows: bool = False
    compared: tuple[str, ...] = ()
    cycle: Cycle | None = None
    merged: bool = False

    @property
    def kept(self) -> tuple[int, ...]:
        """Columns of the old table that the new table begins with."""
        return self.extension.kept

    @property
    def tests(self) -> tuple[Test | KeyTest, ...]:
        """The tests, in terms of columns."""
        return self.extension.tests

    @property
    def node_column(self) -> int | None:
        """Column of the added node, or of the number of nodes that match."""
        return self.extension.node_column

    @property
    def compares(self) -> bool:
        """True if a test compares values by their keys."""
        return any(isinstance(test, KeyTest) for test in self.tests)

    @property
    def candidate_row(self) -> int | None:
        """Row of the added node in the candidate matrix; None if every node is a candidate."""
        return self.extension.candidate_row

    @property
    def device_links(self) -> tuple[Link, ...]:
        """The links as kernels see them."""
        return self.extension.links
