"""Rows built on the processor equal NumPy's, byte for byte."""

import numpy as np
import pytest

from gpugda.data.sorting import Unsorted, bits_for, sorted_rows
from gpugda.device.launch import csr_rows as module
from gpugda.device.launch.csr_rows import RangeRows
from gpugda.errors import MemoryLimitError

pytestmark = pytest.mark.one_split

COUNTS = [1, 63, 64, 65, 5000, 20_000]


@pytest.fixture(params=[False, True])
def processor(context, request, monkeypatch):
    monkeypatch.setattr(module, "has_fast_sort", lambda: request.param)
    if not context.is_cpu or context.info.type != "cpu":
        pytest.skip("the kernels are for the processor alone")
    return context


def made(count, node_count, type_count):
    random = np.random.default_rng(count + type_count)
    starts, ends = (random.integers(0, node_count, count, dtype=np.uint32) for _ in range(2))
    # Loops, parallel relationships, and a node with many incoming ones.
    ends[: count // 5] = starts[: count // 5]
    starts[count // 2 : count // 2 + count // 4] = starts[: count // 4]
    ends[count // 2 : count // 2 + count // 4] = ends[: count // 4]
    starts[: count // 6] = node_count // 2
    types = random.integers(0, type_count, count).astype(np.uint16)
    return Unsorted(node_count, type_count, starts, types, ends)


def copied(given):
    return given._replace(starts=given.starts.copy(), ends=given.ends.copy())


def check(processor, given, with_order):
    expected = sorted_rows(copied(given), with_order=with_order)
    rows = RangeRows(processor, copied(given), with_order=with_order)
    outgoing, order = rows.outgoing()
    incoming = rows.incoming(outgoing)
    found = [*outgoing.parts, *incoming.parts, order]
    wanted = [*expected.outgoing.parts, *expected.incoming.parts, expected.order]
    for one, other in zip(found, wanted, strict=True):
        if other is None:
            assert one is None
        else:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    outgoing.check()
    incoming.check()
    loops = np.bincount(given.types[given.starts == given.ends], minlength=given.type_count)
    np.testing.assert_array_equal(rows.loops, loops)
    triples = np.stack([given.types, given.starts, given.ends])
    _, places, counts = np.unique(triples, axis=1, return_index=True, return_counts=True)
    parallel = set(given.types[places[counts > 1]].tolist())
    assert set(np.flatnonzero(rows.parallel).tolist()) == parallel


@pytest.mark.one_in(3)
@pytest.mark.parametrize("with_order", [False, True])
@pytest.mark.parametrize("type_count", [1, 5, 300])
@pytest.mark.parametrize("node_count", [1, 2, 1000, 70_000])
@pytest.mark.parametrize("count", COUNTS)
def test_rows_equal_those_of_numpy(
    processor, count, node_count, type_count, with_order, monkeypatch
):
    monkeypatch.setattr(module, "_RANGE", 64)
    check(processor, made(count, node_count, type_count), with_order)


@pytest.mark.parametrize("with_order", [False, True])
@pytest.mark.parametrize("type_count", [1, 300])
@pytest.mark.parametrize("node_count", [1000, 70_000])
def test_positions_are_sorted_with_the_numbers(
    processor, node_count, type_count, with_order, monkeypatch
):
    monkeypatch.setattr(module, "_RANGE", 64)
    find, made_apart = RangeRows._places_of, []

    def too_few_bits(rows, ranges, **settings):
        bits = ranges.row_bits + rows._type_bits + rows._node_bits
        monkeypatch.setattr(module, "_WORD_BITS", bits + bits_for(rows.count) - 1)
        found = find(rows, ranges, **settings)
        made_apart.append(found[0] is not None)
        return found

    monkeypatch.setattr(RangeRows, "_places_of", too_few_bits)
    check(processor, made(5000, node_count, type_count), with_order)
    assert made_apart == [with_order, True]


@pytest.mark.parametrize("with_order", [False, True])
def test_a_single_range_is_sorted(processor, with_order):
    check(processor, made(3000, 200, 3), with_order)


@pytest.mark.parametrize("node_count", [2**14 + 1, 2**20])
def test_large_node_indexes_are_sorted(processor, node_count, monkeypatch):
    monkeypatch.setattr(module, "_RANGE", 64)
    given = made(1000, 1000, 2)
    starts = given.starts + np.uint32(node_count - 1000)
    check(processor, given._replace(node_count=node_count, starts=starts), with_order=True)


@pytest.mark.parametrize("end", ["starts", "ends"])
def test_one_long_row_is_sorted(processor, end, monkeypatch):
    monkeypatch.setattr(module, "_RANGE", 64)
    given = made(5000, 1000, 2)
    star = given._replace(**{end: np.full(5000, 7, dtype=np.uint32)})
    check(processor, star, with_order=True)


def test_input_arrays_are_unchanged_until_outgoing_rows_exist(processor):
    given = made(1000, 50, 3)
    RangeRows(processor, given, with_order=True).outgoing()
    again = made(1000, 50, 3)
    np.testing.assert_array_equal(given.starts, again.starts)
    np.testing.assert_array_equal(given.ends, again.ends)


def test_read_only_arrays_are_not_written(processor):
    given = made(1000, 50, 3)
    for each in (given.starts, given.types, given.ends):
        each.flags.writeable = False
    expected = sorted_rows(copied(given), with_order=False)
    rows = RangeRows(processor, given, with_order=False)
    incoming = rows.incoming(rows.outgoing()[0])
    np.testing.assert_array_equal(incoming.neighbours, expected.incoming.neighbours)
    np.testing.assert_array_equal(given.starts, made(1000, 50, 3).starts)


def test_more_than_64_bits_are_refused(processor):
    starts = np.array([2**30, 5], dtype=np.uint32)
    types = np.zeros(2, dtype=np.uint16)
    given = Unsorted(2**31, 9, starts, types, starts)
    with pytest.raises(MemoryLimitError):
        RangeRows(processor, given, with_order=True).outgoing()


def test_a_range_beyond_the_memory_is_refused(processor, monkeypatch):
    monkeypatch.setattr(module, "_ASIDE_BYTES", 0)
    monkeypatch.setattr(module, "has_fast_sort", lambda: False)  # otherwise NumPy sorts in place
    with pytest.raises(MemoryLimitError):
        RangeRows(processor, made(1000, 50, 3), with_order=False).outgoing()
