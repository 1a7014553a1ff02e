"""Entries that lead from candidates to candidates, chunk by chunk."""

import numpy as np
import pytest

from gpugda.device.launch.kept_entries import (
    Chunk,
    EntryTest,
    KeptEntries,
    KeptKernels,
    Runs,
    entry_words,
)
from gpugda.device.launch.prefix_sum import PrefixSum

NODES = 300
TESTS = [EntryTest(0, 1, (0, 2)), EntryTest(1, None, (1,)), EntryTest(None, 2, None)]


def made_runs(random, types):
    """Starts, offsets (None of one type), types, and the node and type of each entry."""
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


@pytest.mark.parametrize("types", [1, 3])
@pytest.mark.parametrize("chunk", [1, 31, 32, 33, 500, 10_000])
@pytest.mark.parametrize("numbered", [False, True])
def test_entries_are_kept_in_order(context, workspace, types, chunk, numbered):
    random = np.random.default_rng(chunk)
    starts, offsets, run_types, nodes, entry_types = made_runs(random, types)
    total, runs = int(starts[-1]), len(starts) - 1
    neighbours = random.integers(0, NODES, total).astype(np.uint32)
    numbers = random.permutation(total).astype(np.uint32)
    candidates = random.random((3, NODES)) < 0.3
    tests = TESTS if types > 1 else [EntryTest(0, 1, None), EntryTest(1, 2, (0,))]
    words = -(-NODES // 32)
    packed = np.zeros((3, words * 32), dtype=bool)
    packed[:, :NODES] = candidates
    matrix = workspace.upload(
        np.packbits(packed, axis=1, bitorder="little").view(np.uint32).ravel()
    )

    def on_device(values, kind):
        return None if values is None else workspace.upload(np.asarray(values).astype(kind))

    is_typed = offsets is not None
    directory = Runs(
        on_device(starts, np.uint32),
        runs,
        on_device(offsets, np.uint32),
        on_device(run_types, np.uint16) if is_typed else None,
        NODES,
    )
    chunks = -(-total // chunk)
    found = KeptEntries(
        on_device(np.zeros(chunks + 1), np.uint64),
        total,
        workspace.allocate(total, np.uint32),
        workspace.allocate(total, np.uint32),
        workspace.allocate(runs + 1, np.uint32),
    )
    kernels, test_array = KeptKernels(context), on_device(entry_words(tests), np.uint32)
    bits = workspace.allocate(-(-chunk // 32), np.uint32)
    for number in range(chunks):
        first, last = number * chunk, min(total, (number + 1) * chunk)
        part = Chunk(
            on_device(np.concatenate([[7, 7], neighbours[first:last]]), np.uint32),
            on_device(np.concatenate([[7, 7], numbers[first:last]]), np.uint32)
            if numbered
            else None,
            2,
            first,
            last - first,
            number,
        )
        kernels.find(directory, part, test_array, matrix, words, bits)
        sums = PrefixSum(context).run(workspace, bits, 0, -(-part.count // 32), of_bits=True)
        kernels.write(part, bits, sums, found)
        window = np.searchsorted(starts, [first, last])
        if number == chunks - 1:
            window[1] = runs + 1
        kernels.start(directory, (int(window[0]), int(window[1])), part, bits, sums, found)
    kept = allowed(tests, candidates, nodes, entry_types, neighbours)
    assert 0 < kept.sum() < total
    count = int(workspace.download(found.kept)[-1])
    assert count == kept.sum()
    np.testing.assert_array_equal(workspace.download(found.neighbours)[:count], neighbours[kept])
    expected = numbers[kept] if numbered else np.flatnonzero(kept)
    np.testing.assert_array_equal(workspace.download(found.numbers)[:count], expected)
    before = np.concatenate([[0], np.cumsum(kept)])
    np.testing.assert_array_equal(workspace.download(found.starts), before[starts])
