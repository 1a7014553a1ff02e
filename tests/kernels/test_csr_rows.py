"""Rows sorted on the device equal those of the host, byte for byte."""

import numpy as np
import pytest

from gpugda.data.sorting import Unsorted, sorted_rows
from gpugda.data.statistics import counting
from gpugda.data.statistics.counting import LabelSets, gather_statistics
from gpugda.device.graph import row_building
from gpugda.device.graph.row_building import build_rows
from gpugda.errors import MemoryLimitError

COUNTS = [1, 31, 32, 33, 1000, 20_000]
NODES = [1, 2, 1000, 70_000]


def made(count, node_count, type_count):
    random = np.random.default_rng(count + type_count)
    starts, ends = (random.integers(0, node_count, count, dtype=np.uint32) for _ in range(2))
    # Loops, parallel relationships, and a node with many incoming ones.
    ends[: count // 5] = starts[: count // 5]
    starts[count // 2 : count // 2 + count // 4] = starts[: count // 4]
    starts[: count // 6] = node_count // 2
    types = random.integers(0, type_count, count).astype(np.uint16)
    return Unsorted(node_count, type_count, starts, types, ends)


def arrays(rows):
    outgoing, incoming, order, _ = rows
    return [*outgoing.parts, *incoming.parts, order]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("with_order", [False, True])
@pytest.mark.parametrize("type_count", [1, 5, 300])
@pytest.mark.parametrize("node_count", NODES)
@pytest.mark.parametrize("count", COUNTS)
def test_rows_equal_those_of_the_host(
    context, count, node_count, type_count, with_order, monkeypatch
):
    given = made(count, node_count, type_count)
    found = build_rows(context, given, with_order=with_order)
    expected = sorted_rows(given, with_order=with_order)
    for one, other in zip(arrays(found), arrays(expected), strict=True):
        if other is None:
            assert one is None
        else:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    found[0].check()
    found[1].check()
    # Sampled from the rows alone, which are equal; it would take most of the test's time.
    monkeypatch.setattr(counting, "sampled_closing_rates", lambda *_: ())
    labels = LabelSets(np.zeros(node_count, dtype=np.int32), [[]], 0)
    for sets in (labels, LabelSets(np.arange(node_count, dtype=np.int32) % 2, [[], [0]], 1)):
        wanted = gather_statistics(sets, type_count, *expected[:2], {}, {})
        assert gather_statistics(sets, type_count, *found[:2], {}, {}, found.facts) == wanted


@pytest.mark.parametrize("node_count", [3, 1000])
@pytest.mark.parametrize("kinds", [[0, 0, 0], [0, 1, 0], [2, 1, 0]])
@pytest.mark.parametrize("ends", [[(0, 1), (2, 2), (0, 1)], [(0, 1), (1, 0), (2, 1)]])
def test_facts_found_while_sorting(context, node_count, kinds, ends):
    starts, stops = np.array(ends, dtype=np.uint32).T.copy()
    given = Unsorted(node_count, 3, starts, np.array(kinds, dtype=np.uint16), stops)
    facts = build_rows(context, given, with_order=False).facts
    rows = list(zip(kinds, ends, strict=True))
    loops = [sum(kind == each and a == b for kind, (a, b) in rows) for each in range(3)]
    parallel = [kinds[0] == each == kinds[2] and ends[0] == ends[2] for each in range(3)]
    assert facts == (tuple(loops), tuple(parallel), ends[0] == ends[2])


def test_rows_beyond_memory_are_left_to_the_host(context, monkeypatch):
    given = made(1000, 50, 3)
    monkeypatch.setattr(row_building, "_SHARE_OF_MEMORY", 0.0)
    assert build_rows(context, given, with_order=False) is None


def test_an_out_of_memory_error_falls_back_to_the_host(context, monkeypatch):
    def fail(*_, **__):
        raise MemoryLimitError("no memory")

    monkeypatch.setattr(row_building, "_built", fail)
    assert build_rows(context, made(1000, 50, 3), with_order=False) is None


def test_numbers_of_more_than_64_bits_are_left_to_the_host(context):
    starts = np.array([2**30], dtype=np.uint32)
    types = np.zeros(1, dtype=np.uint16)
    given = Unsorted(2**31, 9, starts, types, starts)
    assert build_rows(context, given, with_order=False) is None


def test_types_of_more_than_16_bits_are_left_to_the_host(context):
    ends = np.array([1, 0], dtype=np.uint32)
    given = Unsorted(2, 70_000, ends, np.array([69_999, 3], dtype=np.uint32), ends)
    assert build_rows(context, given, with_order=False) is None


def test_no_relationships_are_left_to_the_host(context):
    nothing = np.empty(0, dtype=np.uint32)
    types = np.empty(0, dtype=np.uint16)
    given = Unsorted(3, 1, nothing, types, nothing)
    assert build_rows(context, given, with_order=True) is None
