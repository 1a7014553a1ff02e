"""Counts of the processor's kernels against NumPy."""

import numpy as np
import pytest

from gpugda.data.sorting import Unsorted, sorted_rows
from gpugda.data.statistics.counting import (
    LabelSets,
    gather_statistics,
)
from gpugda.device.launch import csr_rows as module
from gpugda.device.launch.csr_rows import RowCounts
from gpugda.device.memory import host_arrays

pytestmark = pytest.mark.one_split


@pytest.fixture
def counts(context):
    if not context.is_cpu or context.info.type != "cpu":
        pytest.skip("the kernels are for the processor alone")
    return RowCounts(context)


def made(count, node_count, type_count):
    random = np.random.default_rng(count)
    starts, ends = (random.integers(0, node_count, count, dtype=np.uint32) for _ in range(2))
    starts[: count // 4] = node_count // 2
    types = random.integers(0, type_count, count).astype(np.uint16)
    return sorted_rows(Unsorted(node_count, type_count, starts, types, ends), with_order=False)


@pytest.mark.parametrize("type_count", [1, 3, 200])
@pytest.mark.parametrize("node_count", [1, 50, 9000])
@pytest.mark.parametrize("count", [1, 100, 20_000])
def test_lengths_of_runs_and_rows_are_counted(counts, count, node_count, type_count):
    for csr in made(count, node_count, type_count)[:2]:
        found = counts.lengths(csr.run_starts, csr.run_types, type_count)
        lengths = np.diff(csr.run_starts).astype(np.int64)
        of_types = [lengths[csr.run_types == kind] for kind in range(type_count)]
        assert found.largest == [each.max(initial=0) for each in of_types]
        assert found.counts == [len(each) for each in of_types]
        assert found.totals == [each.sum() for each in of_types]
        assert found.squares == [float((each**2).sum()) for each in of_types]
        degrees = csr.degrees().astype(np.int64)
        squares = float((degrees**2).sum())
        expected = ([degrees.max()], [np.count_nonzero(degrees)], [count], [squares])
        assert counts.lengths(csr.row_offsets, None, 1) == expected


def test_squares_of_a_long_row_do_not_wrap(counts):
    starts = np.array([0, 2**32 - 2], dtype=np.uint32)
    found = counts.lengths(starts, None, 1)
    assert found == ([2**32 - 2], [1], [2**32 - 2], [float((2**32 - 2) ** 2)])


@pytest.mark.parametrize("set_count", [1, 2, 7])
@pytest.mark.parametrize("node_count", [1, 50, 9000])
def test_relationships_between_label_sets_are_counted(counts, node_count, set_count):
    outgoing = made(20_000, node_count, 3).outgoing
    codes = np.random.default_rng(1).integers(0, set_count, node_count).astype(np.int32)
    found = counts.labelled(LabelSets(codes, [[]] * set_count, 0), 3, outgoing)
    wanted = np.zeros((set_count, 3, set_count), dtype=np.int64)
    at = codes[outgoing.entry_nodes()], outgoing.entry_types(), codes[outgoing.neighbours]
    np.add.at(wanted, at, 1)
    np.testing.assert_array_equal(found, wanted.reshape(-1))


@pytest.mark.parametrize("node_count", [40, 9000])
@pytest.mark.parametrize("pairs", [[], [(3, 4)], [(3, 4), (3, 4)], [(4, 3), (3, 4)], [(5, 5)] * 2])
def test_parallel_relationships_of_two_types_are_counted(counts, pairs, node_count):
    # The others are distinguished by their ends, whatever their starts.
    random = np.random.default_rng(2)
    starts = random.integers(0, node_count, node_count - 10)
    ends = np.arange(10, node_count)
    for start, end in pairs:
        starts, ends = np.append(starts, start), np.append(ends, end)
    types = np.arange(len(starts)) % 2
    given = [each.astype(np.uint32) for each in (starts, types, ends)]
    given[1] = given[1].astype(np.uint16)
    outgoing = sorted_rows(Unsorted(node_count, 2, *given), with_order=False).outgoing
    assert counts.has_parallel(outgoing) == (len(set(pairs)) < len(pairs))


def test_memory_is_bounded_on_many_compute_units(counts, monkeypatch):
    """As many bitmaps as the memory holds, and one if it holds none."""
    launch, sizes = module.launch_on_arrays, []

    def noted(*arguments):
        sizes.append(arguments[-2].nbytes)
        launch(*arguments)

    monkeypatch.setattr(module, "launch_on_arrays", noted)
    monkeypatch.setattr(counts, "_items", 128)
    for room in (0, 8 * 1256, 1 << 26):
        monkeypatch.setattr(module, "_MARK_BYTES", room)
        assert counts.has_parallel(made(100, 10_000, 1).outgoing) is False
    assert sizes == [1252, 8 * 1252, 128 * 1252]


def test_an_interrupted_launch_has_completed(counts, monkeypatch):
    """Otherwise its arrays could be freed while the kernel writes them."""
    starts = np.arange(1 << 25, dtype=np.uint32)
    counts.lengths(starts[:2], None, 1)
    tables = np.zeros((counts._items, 4, 1), dtype=np.uint64)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(host_arrays, "_settle", interrupt)
    with pytest.raises(KeyboardInterrupt):
        host_arrays.launch_on_arrays(
            counts._context,
            "row_counts.cl",
            "add_lengths",
            "bbQIb",
            counts._items,
            starts,
            None,
            len(starts) - 1,
            1,
            tables,
        )
    assert int(tables[:, 1].sum()) == len(starts) - 1


def test_statistics_of_an_empty_graph(counts):
    nothing = np.empty(0, dtype=np.uint32)
    given = Unsorted(3, 1, nothing, nothing.astype(np.uint16), nothing)
    rows = sorted_rows(given, with_order=False)
    labels = LabelSets(np.zeros(3, dtype=np.int32), [[0]], 1)
    wanted = gather_statistics(labels, 1, rows.outgoing, rows.incoming, {}, {})
    found = gather_statistics(labels, 1, rows.outgoing, rows.incoming, {}, {}, None, counts)
    assert found == wanted


def test_too_large_tables_are_left_to_the_host(counts):
    csr = made(100, 50, 3).outgoing
    assert counts.lengths(csr.run_starts, csr.run_types, 1 << 16) is None
    codes = np.zeros(50, dtype=np.int32)
    assert counts.labelled(LabelSets(codes, [[]] * 300, 0), 3, csr) is None
    wide = csr.run_types.astype(np.uint32)
    assert counts.lengths(csr.run_starts, wide, 3) is None
