"""Rows of kept entries in a graph with one type: only candidates have one."""

import numpy as np
import pytest
from kept_cases import NODES, Case

from gpugda.device.launch.kept_entries import (
    HEADER_WORDS,
    WORDS_OF_32,
    KeptBits,
    KeptKernels,
    ListedKernels,
    NodeStarts,
    Runs,
)
from gpugda.device.launch.primitives import PrefixSum
from gpugda.device.launch.query_words import NONE


def bits_of(workspace, case, rows):
    """The candidates of some rows of the matrix."""
    matrix = workspace.download(case.matrix).reshape(3, -1).view(np.uint8)
    known = np.unpackbits(matrix, axis=1, bitorder="little")[:, :NODES].astype(bool)
    found = np.zeros(NODES, dtype=bool)
    for row in rows:
        found |= True if row == NONE else known[row]
    return found


def listed(context, workspace, case, rows):
    kernels, words = ListedKernels(context), case.words
    marks = workspace.allocate(words, np.uint32)
    asked = case.on_device([len(rows), *rows], np.uint32)
    kernels.mark(case.matrix, words, NODES, asked, marks)
    sums = PrefixSum(context).run(workspace, marks, 0, words, of_bits=True)
    made = workspace.upload(np.full(HEADER_WORDS + WORDS_OF_32 * words, 7, dtype=np.uint32))
    kernels.list(KeptBits(marks, sums), words, made)
    return made, int(workspace.download(sums)[-1])


@pytest.mark.parametrize("rows", [[0], [2, 1], [0, 1, 2], [NONE]])
def test_candidates_of_any_of_the_rows_are_listed(context, workspace, rows):
    case = Case(workspace, 1, 5)
    found, count = listed(context, workspace, case, rows)
    expected = bits_of(workspace, case, rows)
    assert count == expected.sum()
    words = workspace.download(found)[HEADER_WORDS:].reshape(-1, WORDS_OF_32)
    packed = np.packbits(expected, bitorder="little")
    np.testing.assert_array_equal(words[:, 0].copy().view(np.uint8)[: len(packed)], packed)
    before = np.concatenate([[0], np.cumsum(expected)])[:NODES:32]
    np.testing.assert_array_equal(words[:, 1], before)


@pytest.mark.parametrize("chunk", [1, 31, 32, 33, 500, 10_000])
@pytest.mark.parametrize("sends", [False, True])
def test_listed_rows_start_at_their_kept_entries(context, workspace, chunk, sends):
    case = Case(workspace, 1, chunk)
    starts, chunks = case.starts, -(-case.total // chunk)
    rows = [0, 1]  # what the case's tests start from
    (words, count), is_listed = (
        listed(context, workspace, case, rows),
        bits_of(workspace, case, rows),
    )
    found = case.target(chunks, count)
    kept, kernels = KeptKernels(context), ListedKernels(context)
    whole, bits = case.on_device(starts, np.uint32), workspace.allocate(-(-chunk // 32), np.uint32)
    for number in range(chunks):
        part = case.chunk(chunk, number, numbered=True)
        begin, end = np.searchsorted(starts, [part.first, part.first + part.count]).tolist()
        low = min(begin, int(np.searchsorted(starts, part.first, side="right")) - 1)
        last = NODES + 1 if number == chunks - 1 else end
        runs = Runs(whole, NODES, None, None, NODES)
        window = NodeStarts(whole, begin, NODES + 1 - begin, begin, last - begin)
        if sends:
            here = case.on_device([9, *starts[low : end + 1]], np.uint32)
            runs = Runs(here, end - low, None, None, NODES, 1, low)
            window = NodeStarts(here, 1 + begin - low, end + 1 - begin, begin, last - begin)
        kept.find(runs, part, case.tests, case.matrix, case.words, bits)
        sums = PrefixSum(context).run(workspace, bits, 0, -(-part.count // 32), of_bits=True)
        entries = KeptBits(bits, sums)
        kept.write(part, entries, found)
        kernels.start(window, NODES, part, entries, (words, count), found)
    case.check_entries(found, numbered=True)
    before = np.concatenate([[0], np.cumsum(case.kept)])
    expected = [*before[starts[:-1][is_listed]], case.kept.sum()]
    np.testing.assert_array_equal(workspace.download(found.starts), expected)


@pytest.mark.parametrize("share", [0, 1, 5, 10])
def test_rows_without_entries_are_dropped(context, workspace, share):
    """Every row, half of them, few or none have entries; the last one may have none."""
    case, random = Case(workspace, 1, 5), np.random.default_rng(share)
    words, count = listed(context, workspace, case, [0, 1])
    lengths = random.integers(1, 4, count) * (random.integers(0, 10, count) < share)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    kernels, on_device = ListedKernels(context), case.on_device(starts, np.uint32)
    marks = workspace.allocate(case.words, np.uint32)
    kernels.mark_filled(words, on_device, case.words, marks)
    nodes = np.flatnonzero(bits_of(workspace, case, [0, 1]))[lengths > 0]
    found = np.unpackbits(workspace.download(marks).view(np.uint8), bitorder="little")
    assert np.flatnonzero(found).tolist() == nodes.tolist()
    sums = PrefixSum(context).run(workspace, marks, 0, case.words, of_bits=True)
    target = workspace.upload(np.full(len(nodes) + 1, 7, dtype=np.uint32))
    kernels.move((words, count), on_device, KeptBits(marks, sums), case.words, target)
    expected = [*starts[:-1][lengths > 0], starts[-1]]
    assert workspace.download(target).tolist() == expected
