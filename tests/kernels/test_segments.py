"""Rows partitioned by segment, and starts of runs in the parts on the device."""

import numpy as np
import pytest

from gpugda.device.launch.join import Table
from gpugda.device.launch.segments import RowKeys, SegmentKernels


@pytest.mark.parametrize("rows", [1, 2, 31, 32, 257, 9000])
@pytest.mark.parametrize(("segments", "columns"), [(1, [1]), (7, [1]), (7, [2, 0]), (90, [0, 1])])
def test_rows_are_grouped_by_key(context, workspace, rows, segments, columns):
    random, stride = np.random.default_rng(rows), rows + 3
    values = random.integers(0, 1000, (3, stride)).astype(np.uint32)
    values[:, : rows // 2] = values[:, :1]  # most rows have one key
    bounds = np.sort(random.choice(np.arange(1, 1000), segments - 1, replace=False))
    bounds = np.array([0, *bounds, 1000], dtype=np.uint32)
    keys = RowKeys(
        workspace.upload(np.array([len(columns), *columns], dtype=np.uint32)),
        workspace.upload(bounds),
        segments,
        segments ** len(columns),
    )
    table, kernels = Table(workspace.upload(values), rows, 3, stride), SegmentKernels(context)
    counts = workspace.upload(np.zeros(keys.key_count, dtype=np.uint32))
    kernels.count_rows(table, keys, counts)
    expected = np.zeros(rows, dtype=np.int64)
    for column in columns:
        found = np.searchsorted(bounds[1:], values[column, :rows], side="right")
        expected = expected * segments + found
    found = workspace.download(counts)
    np.testing.assert_array_equal(found, np.bincount(expected, minlength=keys.key_count))
    first = np.cumsum(found, dtype=np.uint32) - found
    following = workspace.upload(first)
    placed = workspace.allocate(3 * rows, np.uint32)
    kernels.place_rows(table, keys, following, placed)
    np.testing.assert_array_equal(workspace.download(following), first + found)
    result = workspace.download(placed).reshape(3, rows)
    order = np.argsort(expected, kind="stable")
    for low, count in zip(first.tolist(), found.tolist(), strict=True):
        got = sorted(map(tuple, result[:, low : low + count].T.tolist()))
        assert got == sorted(map(tuple, values[:, order[low : low + count]].T.tolist()))


@pytest.mark.parametrize("runs", [1, 2, 33, 257, 5000])
def test_row_starts_are_shifted_to_their_segment(context, workspace, runs):
    random = np.random.default_rng(runs)
    starts = np.concatenate([[0], np.cumsum(random.integers(1, 5, runs))]).astype(np.uint32)
    cuts = sorted(random.integers(0, runs + 1, 4).tolist())
    ranges, place = [], 10
    for low, high in (cuts[:2], cuts[2:]):
        entries = int(starts[low]), int(starts[high])
        ranges.append((low, high, *entries, place))
        place += entries[1] - entries[0]
    shifted = workspace.allocate(runs + 1, np.uint32)
    words = workspace.upload(np.array(ranges, dtype=np.uint32).ravel())
    SegmentKernels(context).shift_starts(workspace.upload(starts), words, 2, shifted)
    found = workspace.download(shifted)
    lengths = np.diff(found.astype(np.int64))
    expected = np.zeros(runs, dtype=np.int64)
    for low, high, *_ in ranges:
        expected[low:high] = np.diff(starts[low : high + 1])
    np.testing.assert_array_equal(lengths, expected)
    assert found[0] == 10
    # A window gets the same values, and nothing else is written.
    windowed = workspace.upload(np.full(runs + 1, 7, dtype=np.uint32))
    window = cuts[0], cuts[1] + 1
    SegmentKernels(context).shift_starts(workspace.upload(starts), words, 2, windowed, window)
    expected = np.full(runs + 1, 7, dtype=np.uint32)
    expected[slice(*window)] = found[slice(*window)]
    np.testing.assert_array_equal(workspace.download(windowed), expected)


def test_entries_are_numbered_from_the_first(context, workspace):
    numbers = workspace.upload(np.zeros(300, dtype=np.uint32))
    SegmentKernels(context).number_entries(1000, 257, 5, numbers)
    found = workspace.download(numbers)
    np.testing.assert_array_equal(found[5:262], np.arange(1000, 1257))
    assert not found[:5].any()
    assert not found[262:].any()


@pytest.mark.parametrize("runs", [0, 1, 2, 33, 5000])
def test_runs_of_a_part_start_at_its_entries(context, workspace, runs):
    random = np.random.default_rng(runs)
    lengths, first_entry, begin, place = random.integers(1, 5, runs), 1000, 70, 3
    inner = first_entry + np.cumsum(lengths)[:-1]
    starts = np.full(runs + 9, 7, dtype=np.uint32)
    starts[place + 1 : place + 1 + len(inner)] = inner
    array, end = workspace.upload(starts), begin + int(lengths.sum())
    SegmentKernels(context).shift_runs(array, (place, runs), first_entry, (begin, end))
    found = workspace.download(array)
    expected = begin + np.concatenate([[0], np.cumsum(lengths)])
    np.testing.assert_array_equal(found[place : place + runs + 1], expected)
    assert set(found[:place]) | set(found[place + runs + 1 :]) == {7}
