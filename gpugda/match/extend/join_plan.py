"""What joins a query: steps, what their rows are multiplied with, and branches that come first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.device.launch.join import Table
    from gpugda.device.launch.leaf_products import ProductArrays
    from gpugda.match.extend.compile import ExtendStep
    from gpugda.match.extend.groups import GroupSums
    from gpugda.match.extend.join import ExtendWindows
    from gpugda.match.extend.leaf_counts import LeafMultiplier

__all__ = ["BranchWays", "Joined"]


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Joins a query, or a part of it.

    Args:
        steps: What is done.
        windows: Does it.
        multiplier: Of its rows; None where each counts once.
        branches: Of the multiplier's product.
    """

    steps: tuple[ExtendStep, ...]
    windows: ExtendWindows
    multiplier: LeafMultiplier | None = None
    branches: Sequence[BranchWays] = ()

    @property
    def arrays(self) -> ProductArrays | None:
        """What rows are multiplied with."""
        return None if self.multiplier is None else self.multiplier.arrays

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """As `ExtendWindows.tables`."""
        yield from self._count_branches()
        yield from self.windows.tables(enough)

    def cores(self) -> Iterator[Table | None]:
        """As `ExtendWindows.cores`."""
        yield from self._count_branches()
        yield from self.windows.cores()

    def counts(self) -> Iterator[int]:
        """Numbers of embeddings, to be added up."""
        if self.multiplier is None:
            yield from self.windows.counts()
            return
        for table in self.cores():
            yield 0 if table is None else self.multiplier.count(table)

    def _count_branches(self) -> Iterator[None]:
        for each in self.branches:
            for table in each.joined.cores():
                if table is not None:
                    each.sums.add(table)
                yield
            if self.multiplier is not None:
                self.multiplier.add_branch(each.sums)


@dataclass(frozen=True, slots=True, eq=False)
class BranchWays:
    """The ways of a branch by the nodes that its roots are: its rows, added up there.

    Args:
        roots: Query nodes.
        joined: What makes the rows.
        sums: By the roots.
    """

    roots: tuple[int, ...]
    joined: Joined
    sums: GroupSums
