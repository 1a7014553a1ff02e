"""Random entries in chunks on the device, and those that connect candidates."""

from __future__ import annotations

import numpy as np

from gpugda.device.launch.kept_entries import Chunk, EntryTest, KeptEntries, entry_words

NODES = 300
TESTS = [EntryTest(0, 1, (0, 2)), EntryTest(1, None, (1,)), EntryTest(None, 2, None)]


def made_runs(random, types):
    """Starts, offsets (None for one type), types, and the node and type of each entry."""
    counts = random.integers(0, types + 1, NODES) if types > 1 else np.ones(NODES, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    kinds = [np.sort(random.choice(types, count, replace=False)) for count in counts]
    run_types = np.concatenate([*kinds, [0]])[:-1].astype(np.uint16)
    low = 0 if types == 1 else 1
    lengths = random.integers(low, 9, offsets[-1])
    lengths[len(lengths) // 2] = 200
    starts = np.concatenate([[0], np.cumsum(lengths)])
    nodes = np.repeat(np.repeat(np.arange(NODES), counts), lengths)
    return starts, offsets if types > 1 else None, run_types, nodes, np.repeat(run_types, lengths)


def allowed(tests, candidates, nodes, types, neighbours):
    found = np.zeros(len(nodes), dtype=bool)
    for each in tests:
        one = np.ones(len(nodes), dtype=bool)
        for row, ends in ((each.bound_row, nodes), (each.row, neighbours)):
            if row is not None:
                one &= candidates[row, ends]
        if each.types is not None:
            one &= np.isin(types, each.types)
        found |= one
    return found


class Case:
    """Random entries on the device, and which of them are kept."""

    def __init__(self, workspace, types, seed):
        self.workspace, self.random = workspace, np.random.default_rng(seed)
        random = self.random
        self.starts, self.offsets, self.run_types, nodes, entry_types = made_runs(random, types)
        self.total = int(self.starts[-1])
        self.neighbours = random.integers(0, NODES, self.total).astype(np.uint32)
        self.numbers = random.permutation(self.total).astype(np.uint32)
        candidates = random.random((3, NODES)) < 0.3
        tests = TESTS if types > 1 else [EntryTest(0, 1, None), EntryTest(1, 2, (0,))]
        self.words = -(-NODES // 32)
        packed = np.zeros((3, self.words * 32), dtype=bool)
        packed[:, :NODES] = candidates
        bits = np.packbits(packed, axis=1, bitorder="little").view(np.uint32).ravel()
        self.matrix = workspace.upload(bits)
        self.tests = self.on_device(entry_words(tests), np.uint32)
        self.kept = allowed(tests, candidates, nodes, entry_types, self.neighbours)
        assert 0 < self.kept.sum() < self.total

    def on_device(self, values, kind):
        return None if values is None else self.workspace.upload(np.asarray(values).astype(kind))

    def chunk(self, size, number, *, numbered):
        first, last = number * size, min(self.total, (number + 1) * size)
        neighbours = np.concatenate([[7, 7], self.neighbours[first:last]])
        numbers = np.concatenate([[7, 7], self.numbers[first:last]]) if numbered else None
        arrays = (self.on_device(each, np.uint32) for each in (neighbours, numbers))
        return Chunk(*arrays, 2, first, last - first, number)

    def target(self, chunks, run_count, kept_runs=None):
        """Target buffers for the kept entries of this many chunks."""
        allocate = self.workspace.allocate
        kept = self.on_device(np.zeros(chunks + 1), np.uint64)
        entries = (allocate(self.total, np.uint32) for _ in range(2))
        starts = allocate(run_count + 1, np.uint32)
        return KeptEntries(kept, self.total, *entries, starts, kept_runs)

    def check_entries(self, found, *, numbered):
        count = int(self.workspace.download(found.kept)[-1])
        assert count == self.kept.sum()
        neighbours = self.workspace.download(found.neighbours)[:count]
        np.testing.assert_array_equal(neighbours, self.neighbours[self.kept])
        expected = self.numbers[self.kept] if numbered else np.flatnonzero(self.kept)
        np.testing.assert_array_equal(self.workspace.download(found.numbers)[:count], expected)
