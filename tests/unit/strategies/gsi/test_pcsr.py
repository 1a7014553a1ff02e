"""Lists of a partition: every entry is found through the hash groups, as kernels look it up."""

import numpy as np
import pytest
from gpugda_strategies.gsi import pcsr
from gpugda_strategies.gsi.entries import Partition
from gpugda_strategies.gsi.pcsr import _order_of, make_lists
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.errors import MemoryLimitError

NONE = 0xFFFFFFFF
WORDS = 32


def look_up(lists, node):
    """Does what ``list_of`` in ``neighbour_lists.h`` does."""
    hashed = node * 0x9E3779B1 & NONE
    hashed ^= hashed >> 16
    hashed = hashed * 0x85EBCA6B & NONE
    hashed ^= hashed >> 13
    number = hashed * lists.group_count >> 32
    while number != NONE:
        group = lists.groups[number * WORDS : (number + 1) * WORDS].tolist()
        for pair in range(15):
            if group[2 * pair] == node:
                return group[2 * pair + 1], group[2 * pair + 3]
        number = group[30]
    return 0, 0


def entries(lists, span):
    where = slice(*span)
    pairs = zip(lists.neighbours[where], lists.relationships[where], strict=True)
    return sorted((int(a), int(b)) for a, b in pairs)


def expected(triples, partition, node):
    found = []
    for index, (start, kind, end) in enumerate(triples):
        if partition.types is None or kind in partition.types:
            if partition.outgoing and start == node:
                found.append((end, index))
            if partition.incoming and end == node and not (partition.outgoing and start == end):
                found.append((start, index))
    return sorted(found)


@pytest.mark.parametrize("hashed", [1, 15, 200, None])
@given(data=st.data())
def test_every_list_equals_that_of_the_graph(hashed, data):
    count = data.draw(st.integers(1, 60))
    node = st.integers(0, count - 1)
    one = st.tuples(node, st.sampled_from("RST"), node, st.just({}))
    graph = make_graph([("", {})] * count, data.draw(st.lists(one, max_size=150)))
    types = None
    if len(graph.types):
        kinds = st.sets(st.integers(0, len(graph.types) - 1), min_size=1)
        types = data.draw(st.none() | kinds.map(lambda found: tuple(sorted(found))))
    partition = Partition(types, *data.draw(st.sampled_from([(1, 0), (0, 1), (1, 1)])))
    lists = make_lists(graph, partition, hashed=hashed)
    triples = list(
        zip(
            graph.start_nodes().tolist(),
            graph.relationship_types().tolist(),
            graph.outgoing.neighbours.tolist(),
            strict=True,
        )
    )
    for each in range(count):
        if hashed is None:
            span = int(lists.groups[each]), int(lists.groups[each + 1])
            whole = expected(triples, partition._replace(types=None), each)
            assert entries(lists, span) == whole
        else:
            span = look_up(lists, each)
            assert entries(lists, span) == expected(triples, partition, each)
        assert (np.diff(lists.neighbours[slice(*span)].astype(np.int64)) >= 0).all()


@pytest.mark.parametrize("hashed", [1, 3, 40])
def test_ranges_of_groups_give_the_same_lists_as_one(hashed, monkeypatch):
    random = np.random.default_rng(hashed)
    pairs = random.integers(0, 300, (2000, 2)).tolist()
    rows = [(a * a // 300, "RS"[a % 2], b, {}) for a, b in pairs]
    graph = make_graph([("", {})] * 300, rows)
    partition = Partition((0, 1), True, True)
    whole = make_lists(graph, partition, hashed=hashed)
    monkeypatch.setattr(pcsr, "_RANGE_OWNERS", 30)
    monkeypatch.setattr(pcsr, "core_count", lambda: 3)
    monkeypatch.setattr(pcsr, "PIECE", 16)
    parts = make_lists(graph, partition, hashed=hashed)
    assert (whole.group_count, whole.longest) == (parts.group_count, parts.longest)
    for node in range(300):
        spans = look_up(whole, node), look_up(parts, node)
        assert entries(whole, spans[0]) == entries(parts, spans[1])
    if hashed < 15:
        assert np.array_equal(whole.neighbours, parts.neighbours)


def test_full_groups_overflow_into_further_groups():
    graph = make_graph([("", {})] * 101, [(at, "R", 100, {}) for at in range(100)])
    lists = make_lists(graph, Partition(None, True, False), hashed=100)
    assert lists.group_count == 1
    assert len(lists.groups) == 7 * WORDS  # 100 nodes, 15 to a group
    assert all(entries(lists, look_up(lists, at)) == [(100, at)] for at in range(100))


def test_more_entries_than_offsets_can_address_are_refused(monkeypatch):
    monkeypatch.setattr("gpugda_strategies.gsi.entries._MAX_ENTRIES", 5)
    graph = make_graph([("", {})] * 3, [(0, "R", 1, {})] * 3)
    assert make_lists(graph, Partition(None, True, False), hashed=5).longest == 3
    with pytest.raises(MemoryLimitError, match="give a direction or a type"):
        make_lists(graph, Partition(None, True, True), hashed=5)


@pytest.mark.parametrize("base", [1, 7, 1 << 16, (1 << 16) + 1, 300_000])
def test_owners_are_in_the_order_of_their_groups(base):
    homes = np.random.default_rng(base).integers(0, base, 5000)
    assert _order_of(homes, base).tolist() == np.argsort(homes, kind="stable").tolist()
