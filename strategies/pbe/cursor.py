"""The searches within and across partitions, as one cursor."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from gpugda_strategies.launch.gsi_join import node_join_words
from gpugda_strategies.pbe.device_lists import release_lists, upload_lists
from gpugda_strategies.pbe.report import describe_searches

from gpugda.device.launch.join import Table
from gpugda.match.matcher import Cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpugda_strategies.launch.gsi_join import GsiJoin
    from gpugda_strategies.launch.pbe_search import PbeSearch
    from gpugda_strategies.pbe.device_lists import ListLoader
    from gpugda_strategies.pbe.groups import Member
    from gpugda_strategies.pbe.placing import Placed
    from gpugda_strategies.pbe.searches import Search
    from gpugda_strategies.pbe.seeds import Seeds
    from gpugda_strategies.pbe.windows import SeededWindows

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.variables import Variable

__all__ = ["PbeCursor"]

_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class PbeCursor(Cursor):
    """A cursor over prepared partitions, steps and seeds.

    Args:
        run: The query's run.
        bound: The query.
        placed: Partitions, and the lists of each.
        part: Query nodes that are searched within and across partitions.
        first: The query node with which the search within a partition starts.
        inside: The search within partitions.
        across: The searches across partitions.
        seeds: Makes the seeds of searches.
        loader: Loads lists.
        joins: Launcher of the join.
        kernels: Launcher of the other kernels.
        variables: The variables that the columns of the tables hold.
    """

    run: Run
    bound: BoundQuery
    placed: Placed
    part: frozenset[int]
    first: int
    inside: Search
    across: Sequence[Search]
    seeds: Seeds
    loader: ListLoader
    joins: GsiJoin
    kernels: PbeSearch
    variables: Sequence[Variable]

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """See `Cursor.tables`."""
        return self._tables(enough)

    def counts(self) -> Iterator[int]:
        """See `Cursor.counts`."""
        return self._counts()

    def describe(self, run: Run) -> None:
        """See `Cursor.describe`."""
        describe_searches(run, self.bound, self.placed.plan, self.inside, self.across)

    def _tables(self, enough: int | None) -> Iterator[Table | None]:
        order = self._order(self.inside.windows.variables, self.variables)
        for table in self._inside(lambda windows: windows.tables(enough)):
            if table is None:
                yield None
                continue
            self.inside.found += table.row_count
            yield from self._remapped(table, order)
        for search in self.across:
            for table in self._across(search, lambda windows: windows.tables(enough)):
                if table is None:
                    yield None
                    continue
                for member in search.members:
                    yield from self._of_member(search, member, table)

    def _counts(self) -> Iterator[int]:
        for number in self._inside(lambda windows: windows.counts()):
            self.inside.found += number
            yield number
        for search in self.across:
            members = search.members
            if search.is_alone or not any(each.tests for each in members):
                for number in self._across(search, lambda windows: windows.counts()):
                    search.found += len(members) * number
                    yield len(members) * number
                continue
            for table in self._across(search, lambda windows: windows.tables()):
                for member in members if table is not None else ():
                    assert table is not None
                    number = self._passing(search, member, table)
                    search.found += number
                    yield number

    # ------------------------------------------------------------------ the two searches
    def _inside(self, ask: Callable[[SeededWindows], Iterator[_T]]) -> Iterator[_T]:
        """Searches one partition after the other, with the lists of its inner relationships."""
        plan, workspace = self.placed.plan, self.run.workspace
        links = [link for step in self.inside.windows.steps for link in step.links]
        asked = self.bound.relationships
        own = [link for link in links if asked[link.relationship].source in self.part]
        variables = self.inside.windows.steps[0].variables
        for partition in range(plan.count):
            if not len(plan.nodes_of(partition)):
                continue
            started = time.perf_counter()
            host = {key: each[partition] for key, each in self.placed.lists.items()}
            lists = {key: upload_lists(workspace, each) for key, each in host.items()}
            self.inside.loaded.add(host.values(), started)
            seeds = self.seeds.nodes(partition, self.first, variables)
            self.inside.windows.begin(seeds, self.loader.by_link(own, lists))
            yield from self.inside.timed(ask(self.inside.windows))
            release_lists(workspace, lists.values())

    def _across(self, search: Search, ask: Callable[[SeededWindows], Iterator[_T]]) -> Iterator[_T]:
        windows = search.windows
        assert search.group is not None  # it is not the search within partitions
        seeds = self.seeds.crossing(search.group.prime, windows.steps[0].variables)
        windows.begin(seeds, {})
        yield from search.timed(ask(windows))

    # ------------------------------------------------------------------ rows of a group
    def _of_member(self, search: Search, member: Member, table: Table) -> Iterator[Table]:
        held = search.windows.variables
        order = self._order(held, [member.source(each) for each in self.variables])
        if search.is_alone or not member.tests:
            search.found += table.row_count
            yield from self._remapped(table, order)
            return
        kept = range(len(held)) if order is None else order
        words, sums, total = self._tested(search, member, table, kept)
        search.found += total
        if total and not self.variables:
            yield Table(None, total, 0)
        elif total:
            width = len(self.variables)
            values = self.run.workspace.allocate(total * width, np.uint32, "embeddings")
            found = Table(values, total, width)
            self.joins.write_passing(table, (words, 0), sums, (0, total), found)
            yield found
            self.run.workspace.release(values)
        self.run.workspace.release(words, sums)

    def _passing(self, search: Search, member: Member, table: Table) -> int:
        if not member.tests:
            return table.row_count
        words, sums, total = self._tested(search, member, table, ())
        self.run.workspace.release(words, sums)
        return total

    def _tested(
        self, search: Search, member: Member, table: Table, kept: Sequence[int]
    ) -> tuple[DeviceArray, DeviceArray, int]:
        """Encoded tests, prefix sums of the rows that pass, and their number."""
        workspace = self.run.workspace
        column = {each: at for at, each in enumerate(search.windows.variables)}
        tests = []
        for test in member.tests:
            places = [column[member.source(each)] for each in test.variables()]
            second = places[2:] or (None, None)
            tests.append((places[0], places[1], test.equal, *second))
        words = workspace.upload(
            np.array(node_join_words(kept, tests), dtype=np.uint32), "tests of a query relationship"
        )
        counts = workspace.allocate(table.row_count, np.uint32, "rows that pass")
        self.joins.count_passing(table, (words, 0), counts)
        sums = self.run.kernels.prefix_sum.run(workspace, counts, 0, table.row_count)
        workspace.release(counts)
        return words, sums, int(workspace.download(sums, table.row_count, 1)[0])

    def _order(self, held: Sequence[Variable], wanted: Sequence[Variable]) -> Sequence[int] | None:
        """The column of each wanted variable; None if the rows already are as wanted."""
        if list(held) == list(wanted):
            return None
        column = {each: at for at, each in enumerate(held)}
        return [column[each] for each in wanted]

    def _remapped(self, table: Table, order: Sequence[int] | None) -> Iterator[Table]:
        workspace, width = self.run.workspace, len(self.variables)
        if order is None:
            yield table
        elif not width:
            yield Table(None, table.row_count, 0)
        else:
            words = workspace.upload(np.array(order, dtype=np.uint32), "order of columns")
            values = workspace.allocate(table.row_count * width, np.uint32, "embeddings")
            found = Table(values, table.row_count, width)
            self.kernels.remap(table, (words, 0), found)
            yield found
            workspace.release(values, words)
