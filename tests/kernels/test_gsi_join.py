"""The steps of GSI's join, each against Python."""

import numpy as np
import pytest
from gpugda_strategies.launch.gsi_join import (
    GsiJoin,
    ListArrays,
    Places,
    Rows,
    StepArrays,
    node_join_words,
)
from kernels.kernel_graphs import SIZES, pack, random_graph

from gpugda.device.launch.join import Table

NONE = 0xFFFFFFFF


class Case:
    """Rows of one node each, the outgoing lists of a graph, and random candidates."""

    def __init__(self, context, workspace, nodes):
        random = np.random.default_rng(nodes)
        self.workspace, self.kernels = workspace, GsiJoin(context)
        self.graph = random_graph(nodes)
        self.rows = random.integers(0, nodes, 3 * nodes).astype(np.uint32)
        self.is_candidate = random.random(nodes) < 0.6
        csr = self.graph.outgoing
        # All types together: by neighbour within a node.
        order = np.lexsort((csr.neighbours, csr.entry_nodes())).astype(np.uint32)
        self.neighbours, self.relationships = csr.neighbours[order], order
        self.lists = ListArrays(
            workspace.upload(csr.row_offsets),
            0,
            workspace.upload(self.neighbours),
            workspace.upload(self.relationships),
        )
        self.table = Table(workspace.upload(self.rows), len(self.rows), 1, len(self.rows))

    def part(self):
        """All rows but the first."""
        return Rows(self.table, 1, len(self.rows) - 1)

    def step(self, tests, *, set_operations):
        candidates = np.flatnonzero(self.is_candidate).astype(np.uint32)
        words = np.array(node_join_words([0], tests), dtype=np.uint32)
        return StepArrays(
            (self.workspace.upload(pack(self.is_candidate)), 0),
            (
                self.workspace.upload(np.append(candidates, NONE).astype(np.uint32)),
                0,
                len(candidates),
            ),
            (self.workspace.upload(words), 0),
            closes=False,
            set_operations=set_operations,
            shares_input=set_operations,
        )

    def list(self, row):
        low, high = self.graph.outgoing.row_offsets[self.rows[row] : self.rows[row] + 2]
        return range(int(low), int(high))

    def joined(self, row):
        """Entries whose neighbours are candidates and differ from the row's node."""
        neighbours = self.neighbours
        return [
            entry
            for entry in self.list(row)
            if self.is_candidate[neighbours[entry]] and neighbours[entry] != self.rows[row]
        ]


@pytest.mark.parametrize("set_operations", [True, False])
@pytest.mark.parametrize("nodes", SIZES)
def test_rows_are_bounded_joined_intersected_and_linked(context, workspace, nodes, set_operations):
    case = Case(context, workspace, nodes)
    rows, count = case.part(), 3 * nodes - 1
    if count == 0:
        return
    found = tuple(workspace.allocate(count, np.uint32) for _ in range(2))
    case.kernels.bound(rows, (0, None), case.lists, found, None)
    begins, lengths = (workspace.download(each)[:count].tolist() for each in found)
    lists = [case.list(row) for row in range(1, count + 1)]
    assert lengths == [len(each) for each in lists]
    assert all(begin == each.start for begin, each in zip(begins, lists, strict=True) if each)

    # The added node, which tests name by the number of columns, differs from the row's.
    step = case.step([(0, 1, False, None, None)], set_operations=set_operations)
    sums = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    buffer = workspace.allocate(int(sums[-1]) + 1, np.uint32)
    counts = workspace.upload(np.zeros(count, dtype=np.uint32))
    places = Places(workspace.upload(sums), buffer, counts)
    case.kernels.join_first(rows, case.lists, found, step, places, (None, 5))
    taken = workspace.download(counts)[:count].tolist()
    entries = workspace.download(buffer)
    expected = [case.joined(row) for row in range(1, count + 1)]
    assert [
        sorted(entries[int(first) : int(first) + number].tolist())
        for first, number in zip(sums[:-1], taken, strict=True)
    ] == expected

    # The neighbour must be in the list of the row's node, which it came from: all stay.
    after = Places(places.sums, buffer, workspace.upload(np.zeros(count, dtype=np.uint32)))
    lists_of = (case.lists, case.lists.neighbours)
    case.kernels.intersect(rows, 0, *lists_of, places, after, found[1], None, set_operations)
    assert workspace.download(after.counts)[:count].tolist() == taken

    filled = np.concatenate([[0], np.cumsum(taken)]).astype(np.uint64)
    total = int(filled[-1])
    extended = Table(workspace.allocate(3 * (total + 1), np.uint32), total, 3, total + 1)
    window, target = (0, total), (1, 2)
    uploaded = workspace.upload(filled)
    case.kernels.link(rows, step.words, places, uploaded, window, case.lists, extended, target)
    columns = workspace.download(extended.values)[: 3 * (total + 1)].reshape(3, total + 1)[
        :, :total
    ]
    neighbours, relationships = case.neighbours, case.relationships
    assert sorted(map(tuple, columns.T.tolist())) == sorted(
        (int(case.rows[row + 1]), int(neighbours[entry]), int(relationships[entry]))
        for row, some in enumerate(expected)
        for entry in some
    )


@pytest.mark.parametrize("count", SIZES)
def test_rows_that_pass_are_counted_and_written(context, workspace, count):
    random = np.random.default_rng(count)
    columns = random.integers(0, 3, (2, count)).astype(np.uint32)
    table = Table(workspace.upload(columns.reshape(-1)), count, 2, count)
    kernels = GsiJoin(context)
    tests = node_join_words([1], [(0, 1, True, None, None)])
    words = (workspace.upload(np.array(tests, dtype=np.uint32)), 0)
    counts = workspace.allocate(count, np.uint32)
    kernels.count_passing(table, words, counts)
    passing = columns[0] == columns[1]
    assert workspace.download(counts)[:count].tolist() == passing.astype(int).tolist()
    sums = np.concatenate([[0], np.cumsum(passing)]).astype(np.uint64)
    total = int(sums[-1])
    low, high = total // 3, total
    extended = Table(workspace.allocate(total + 1, np.uint32), total, 1, total + 1)
    kernels.write_passing(table, words, workspace.upload(sums), (low, high), extended)
    written = workspace.download(extended.values)[: high - low].tolist()
    assert written == columns[1][passing][low:high].tolist()
