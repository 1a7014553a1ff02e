"""A join that is ready to start, and the goal of its query."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gpugda.match.embeddings import Embeddings
from gpugda.match.extend.groups import GroupSums, RowWeights
from gpugda.match.extend.report import describe_groups, describe_joined, describe_segments
from gpugda.match.matcher import fetch_embeddings
from gpugda.match.need import Rows
from gpugda.match.tuple_counts import TupleCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.device.launch.join import Table
    from gpugda.match.extend.prepared_join import PreparedJoin
    from gpugda.match.need import Groups
    from gpugda.match.run import Run
    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.counting.count_plan import CountPlan, FirstPlan
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.variables import Variable

__all__ = ["NOTHING", "Goal", "PreparedCore", "groups_of_rows", "weighted_groups"]

T = TypeVar("T")

NOTHING = Rows(frozenset(), frozenset())
"""No column is needed."""


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """What is made of a query's rows.

    Args:
        counting: True if the rows are only counted.
        grouped: The grouping of the rows, or None.
        in_parts: True if counts may be combined from the counts of parts.
        first: The first plan to try; None to choose one.
        join_only: True if everything is joined and nothing else is tried. The memory that this
            needs does not depend on how much is available.
    """

    counting: bool = False
    grouped: Groups | None = None
    in_parts: bool = False
    first: FirstPlan | None = None
    join_only: bool = False

    @property
    def nodes(self) -> frozenset[int]:
        """Query nodes that are grouping keys."""
        return frozenset() if self.grouped is None else frozenset(self.grouped.nodes)

    @property
    def may_be_abandoned(self) -> bool:
        """True if the join may be abandoned because another plan was faster.

        The caller then returns to that plan. Joining with little memory is the last resort, and is
        never abandoned.
        """
        return self.counting and not self.join_only

    @property
    def counts(self) -> bool:
        """True if counts or groups are needed rather than rows."""
        return self.counting or self.grouped is not None


@dataclass(frozen=True, slots=True, eq=False)
class PreparedCore:
    """A join of the core, and what is made of its rows.

    Args:
        bound: The query.
        comparisons: Its comparisons between two variables.
        joined: Makes the rows.
        grouped: Sums or weighs the rows; None if they are passed on unchanged.
        ended: Called when the join is complete.
    """

    bound: BoundQuery
    comparisons: tuple[Comparison, ...]
    joined: PreparedJoin
    grouped: GroupSums | RowWeights | None
    ended: Callable[[], None] | None = None

    @property
    def variables(self) -> Sequence[Variable]:
        """The variables that the columns of its rows hold."""
        return self.joined.steps[-1].variables

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """See `PreparedJoin.tables`."""
        return self.joined.tables(enough)

    def counts(self) -> Iterator[int]:
        """See `PreparedJoin.counts`."""
        return self.joined.counts()

    def describe(self, run: Run) -> None:
        """Describes the executed steps in the run's report."""
        if self.ended is not None:
            self.ended()
        comparisons = self.comparisons
        describe_segments(run.report, self.joined)
        describe_joined(run.report, run.graph.graph, self.bound, self.joined, comparisons)
        if self.grouped is not None:
            describe_groups(run.report, self.bound, self.grouped)


def groups_of_rows(run: Run, prepared: PreparedCore, wanted: Groups) -> Generator[Embeddings]:
    """Yields the groups, or rows of the core whose weights are multiplicities."""
    if isinstance(prepared.grouped, GroupSums):
        yield _summed(run, prepared, prepared.grouped)
        return
    with closing(_rows(run, prepared)) as chunks:
        if wanted.streamed:
            yield from chunks
            return
        tuples = TupleCounts(
            wanted.nodes,
            counted=wanted.counted,
            check=run.check_deadline,
            node_count=run.graph.graph.node_count,
        )
        for chunk in chunks:
            with run.stage("tail"):
                tuples.add(chunk)
    yield tuples.found()


def _rows(run: Run, prepared: PreparedCore) -> Generator[Embeddings]:
    if isinstance(prepared.grouped, RowWeights):
        return _weighted_rows(run, prepared, prepared.grouped)
    return fetch_embeddings(run, prepared)


def weighted_groups(
    run: Run,
    prepared: PreparedCore | Embeddings | CountPlan | None,
    wanted: Groups,
    factors: Sequence[NDArray[np.uint32]],
) -> int | None:
    """The sum of each group's multiplicity times the factors of its node.

    Returns None if the sums of the groups are not on the device.
    """
    if prepared is None:
        return 0
    if isinstance(prepared, Embeddings):
        return _weighted_here(prepared, wanted.nodes[0], factors)
    if not isinstance(prepared, PreparedCore) or not isinstance(prepared.grouped, GroupSums):
        return None
    sums = _added(run, prepared, prepared.grouped)
    with run.locked(), run.stage("fetch"):
        return sums.weighted(factors)


def _weighted_here(found: Embeddings, node: int, factors: Sequence[NDArray[np.uint32]]) -> int:
    """As `weighted_groups`, for few groups that an attempt already brought to the host."""
    weights = [1] * found.row_count if found.weights is None else found.weights.tolist()
    columns = [each[found.nodes[node]].tolist() for each in factors]
    return sum(math.prod(each) for each in zip(weights, *columns, strict=True))


def _summed(run: Run, prepared: PreparedCore, sums: GroupSums) -> Embeddings:
    _added(run, prepared, sums)
    with run.locked(), run.stage("fetch"):
        return sums.found()


def _added(run: Run, prepared: PreparedCore, sums: GroupSums) -> GroupSums:
    def add(table: Table | None) -> None:
        if table is not None:
            sums.add(table)

    for _ in _of_each(run, prepared, prepared.joined.cores(), add):
        pass
    return sums


def _of_each(
    run: Run,
    prepared: PreparedCore,
    tables: Iterator[Table | None],
    make: Callable[[Table | None], T],
) -> Generator[T]:
    """Yields ``make`` of each table, called with the device held; describes the join at the end."""
    try:
        while True:
            with run.locked(), run.stage("join"):
                try:
                    table = next(tables)
                except StopIteration:
                    return
                made = make(table)
            yield made
    finally:
        prepared.describe(run)


def _weighted_rows(run: Run, prepared: PreparedCore, rows: RowWeights) -> Generator[Embeddings]:
    """Yields the rows of a core with the products of their messages as weights."""

    def weigh(table: Table | None) -> list[Embeddings]:
        return [] if table is None else list(rows.weighted(table))

    with closing(_of_each(run, prepared, prepared.tables(), weigh)) as made:
        for chunks in made:
            yield from chunks
