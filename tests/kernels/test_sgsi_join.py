"""The steps of SGSI's join over the segments of a graph, each against Python."""

import numpy as np
import pytest
from gpugda_strategies.gsi.entries import Partition, sorted_lists
from gpugda_strategies.launch.gsi_join import ListArrays, Rows
from gpugda_strategies.launch.sgsi_join import Filled, LongRows, RowLists, SgsiJoin
from gpugda_strategies.sgsi.segments import cut
from kernels.kernel_graphs import SIZES, random_graph, unpack

from gpugda.device.launch.join import Table


class Case:
    """Rows of two nodes, and the outgoing lists of a graph in segments."""

    def __init__(self, workspace, nodes, per_segment):
        random = np.random.default_rng(nodes)
        self.workspace = workspace
        graph = random_graph(nodes)
        self.count = 2 * nodes + 1
        self.owners = random.integers(0, nodes, self.count).astype(np.uint32)
        self.others = random.integers(0, nodes, self.count).astype(np.uint32)
        both = np.concatenate([self.owners, self.others])
        self.rows = Rows(Table(workspace.upload(both), self.count, 2), 1, self.count - 1)
        found = sorted_lists(graph, Partition(None, True, False))
        self.segments = cut(found, per_segment, 5)
        self.lists = [[] for _ in range(nodes)]
        owners = np.repeat(found.owners, np.diff(found.offsets)).tolist()
        for owner, neighbour in zip(owners, found.neighbours.tolist(), strict=True):
            self.lists[owner].append(neighbour)

    def zeros(self, count, dtype=np.uint32):
        return self.workspace.upload(np.zeros(max(count, 1), dtype=dtype))

    def uploaded(self):
        for segment in self.segments.parts:
            host = segment.lists
            arrays = (host.groups, host.neighbours, host.relationships)
            groups, neighbours, relationships = (self.workspace.upload(each) for each in arrays)
            yield host, ListArrays(groups, host.group_count, neighbours, relationships)

    def own(self, row):
        return self.lists[self.owners[row]]

    def to_other(self, row):
        return [each for each in self.own(row) if each == self.others[row]]


@pytest.mark.parametrize("per_segment", [1, 7, 10_000])
@pytest.mark.parametrize("nodes", [1, 31, 257])
def test_rows_are_measured_and_bounded_over_all_segments(context, workspace, nodes, per_segment):
    case, kernels = Case(workspace, nodes, per_segment), SgsiJoin(context)
    count = case.count - 1
    for columns, expected in (
        ((0, None), [case.own(row) for row in range(1, case.count)]),
        ((0, 1), [case.to_other(row) for row in range(1, case.count)]),
    ):
        flags, totals = case.zeros(count, np.int32), case.zeros(count)
        hits = case.zeros(len(case.segments.parts))
        found = RowLists(case.zeros(count, np.int32), case.zeros(count), case.zeros(count))
        met = [[] for _ in range(count)]
        for number, (host, lists) in enumerate(case.uploaded()):
            kernels.measure(case.rows, columns, lists, flags, totals, (hits, number))
            numbers, rows = case.zeros(2), case.zeros(count)
            kernels.bound(case.rows, columns, lists, found, LongRows(1, 3, rows, numbers))
            begins, lengths = (
                workspace.download(each)[:count] for each in (found.begins, found.lengths)
            )
            listed = workspace.download(rows)[:count]
            long, longest = workspace.download(numbers)[:2].tolist()
            assert sorted(listed[:long]) == np.flatnonzero((lengths > 1) & (lengths <= 3)).tolist()
            assert sorted(listed[count - longest :]) == np.flatnonzero(lengths > 3).tolist()
            for row in np.flatnonzero(lengths):
                part = host.neighbours[begins[row] : begins[row] + lengths[row]].tolist()
                met[row] += part
            assert workspace.download(hits)[number] == (lengths > 0).any()
        assert met == expected
        assert workspace.download(totals)[:count].tolist() == [len(each) for each in expected]
        flags_found = workspace.download(flags)[:count]
        never = [not case.own(row) for row in range(1, case.count)]
        assert (flags_found == 0).tolist() == never


@pytest.mark.parametrize("count", SIZES)
def test_lengths_are_counted_per_interval(context, workspace, count):
    lengths = np.random.default_rng(count).integers(0, 400, count).astype(np.uint32)
    intervals = workspace.upload(np.zeros(8, dtype=np.uint32))
    SgsiJoin(context).count_lengths(workspace.upload(lengths), count, intervals)
    expected = np.bincount(np.minimum(lengths // 32, 7), minlength=8)
    assert workspace.download(intervals)[1:8].tolist() == expected[1:].tolist()


@pytest.mark.parametrize("per_segment", [5, 10_000])
@pytest.mark.parametrize("nodes", [1, 33, 256])
def test_positions_are_marked_written_and_rows_duplicated(context, workspace, nodes, per_segment):
    case, kernels = Case(workspace, nodes, per_segment), SgsiJoin(context)
    random, count = np.random.default_rng(7), case.count - 1
    capacities = random.integers(0, 6, count)
    capacities[0] = 40
    sums = np.concatenate([[0], np.cumsum(capacities)]).astype(np.uint64)
    total = int(sums[-1])
    counts = np.minimum(capacities, random.integers(0, 41, count)).astype(np.uint32)
    values = random.integers(0, nodes, total).astype(np.uint32)
    levels = case.zeros(total, np.uint16)
    filled = Filled(workspace.upload(sums), count, total, workspace.upload(counts), levels)
    uploaded = workspace.upload(values)
    found = RowLists(case.zeros(count, np.int32), case.zeros(count), case.zeros(count))
    for _, lists in case.uploaded():
        kernels.bound(case.rows, (0, None), lists, found, None)
        kernels.mark_members(found, lists, filled, uploaded, 0)
    column = (case.rows.table.values, case.count + 1)
    kernels.mark_passing(column, filled, uploaded, 1, equal=False)

    row_of = np.repeat(np.arange(count), capacities)
    is_filled = np.arange(total) - sums[row_of].astype(np.int64) < counts[row_of]
    is_left = np.array(
        [
            bool(is_filled[place])
            and values[place] in case.own(row + 1)
            and values[place] != case.others[row + 1]
            for place, row in enumerate(row_of)
        ],
        dtype=bool,
    )
    words = -(-total // 32)
    left = case.zeros(words)
    kernels.mark_left(filled, 2, left)
    bits = workspace.download(left)[:words]
    assert np.array_equal(unpack(bits, total), is_left)

    places = np.flatnonzero(is_left)
    left_sums = np.concatenate([[0], np.cumsum(np.bitwise_count(bits))]).astype(np.uint64)
    written, origins = case.zeros(len(places)), case.zeros(len(places))
    left_arrays = (left, workspace.upload(left_sums))
    kernels.write_left(filled, left_arrays, uploaded, 1, written, origins)
    assert workspace.download(written)[: len(places)].tolist() == values[places].tolist()
    assert workspace.download(origins)[: len(places)].tolist() == (row_of[places] + 1).tolist()
    kernels.duplicate(origins, len(places), (case.rows.table.values, case.count), written)
    assert (
        workspace.download(written)[: len(places)].tolist()
        == case.others[row_of[places] + 1].tolist()
    )

    plain = Filled(filled.sums, count, total, filled.counts, None)
    kernels.mark_left(plain, 0, left)
    assert np.array_equal(unpack(workspace.download(left)[:words], total), is_filled)
