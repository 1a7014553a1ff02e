"""A join that is ready to begin, and what is wanted of it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gpugda.match.extend.report import describe_groups, describe_joined

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from gpugda.device.launch.join import Table
    from gpugda.match.comparisons import Comparison
    from gpugda.match.embeddings import Embeddings
    from gpugda.match.extend.counting.parts import Part
    from gpugda.match.extend.groups import GroupSums, RowWeights
    from gpugda.match.extend.join_plan import Joined
    from gpugda.match.need import Groups
    from gpugda.match.run import Run
    from gpugda.match.variables import Variable
    from gpugda.plan.plan import BoundQuery

__all__ = ["Goal", "PreparedCore", "of_each", "weighed_rows"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """What is made of rows.

    Args:
        counting: Are they only counted?
        grouped: By what they are grouped.
        in_parts: May numbers be made of those of parts?
        known: The part that this is.
        thrifty: Shall everything be joined, and nothing else be tried? What that takes does not
            depend on how much memory there is.
    """

    counting: bool = False
    grouped: Groups | None = None
    in_parts: bool = False
    known: Part | None = None
    thrifty: bool = False

    @property
    def counts(self) -> bool:
        """Is it asked how many rows there are, of all or of groups, or which groups?"""
        return self.counting or self.grouped is not None


@dataclass(frozen=True, slots=True, eq=False)
class PreparedCore:
    """What is done, and what comes of its rows.

    Args:
        bound: The query.
        comparisons: Its conditions between two variables.
        joined: Makes the rows.
        grouped: What adds them up, or weighs them; None where they come as they are.
    """

    bound: BoundQuery
    comparisons: tuple[Comparison, ...]
    joined: Joined
    grouped: GroupSums | RowWeights | None

    @property
    def variables(self) -> Sequence[Variable]:
        """What the columns of its rows hold."""
        return self.joined.steps[-1].variables

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """As `Joined.tables`."""
        return self.joined.tables(enough)

    def counts(self) -> Iterator[int]:
        """As `Joined.counts`."""
        return self.joined.counts()

    def describe(self, run: Run) -> None:
        """Says in the run's report what was done."""
        comparisons = self.comparisons
        describe_joined(run.report, run.graph.graph, self.bound, self.joined, comparisons)
        if self.grouped is not None:
            describe_groups(run.report, self.bound, self.grouped)


def of_each(
    run: Run,
    prepared: PreparedCore,
    tables: Iterator[Table | None],
    make: Callable[[Table | None], T],
) -> Generator[T]:
    """What is made of each table while the run has the device; says at the end what was done."""
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


def weighed_rows(run: Run, prepared: PreparedCore, rows: RowWeights) -> Generator[Embeddings]:
    """The rows of a core with the products of what hangs on them."""

    def weigh(table: Table | None) -> list[Embeddings]:
        return [] if table is None else list(rows.weighed(table))

    with closing(of_each(run, prepared, prepared.tables(), weigh)) as made:
        for chunks in made:
            yield from chunks
