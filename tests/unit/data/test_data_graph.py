from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from graphs import design_graph, make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data import labels
from gpugda.data.statistics.derived import Derived
from gpugda.deadline import working_until
from gpugda.errors import QueryTimeoutError

SETS = st.lists(st.lists(st.sampled_from("ABCD"), unique=True), max_size=70)


@given(SETS)
def test_label_bits_and_codes_encode_the_labels_of_each_node(sets):
    graph = make_graph([(names, {}) for names in sets])
    for label, name in enumerate(graph.labels.names):
        bits = graph.label_bits(label)
        assert bits.dtype == np.uint32
        assert len(bits) == (len(sets) + 31) // 32
        has = [bool(bits[v // 32] >> np.uint32(v % 32) & 1) for v in range(len(sets))]
        assert has == [name in names for names in sets]
    codes, distinct = graph.label_codes()
    assert [distinct[code] for code in codes] == [tuple(names) for names in sets]
    assert len(set(distinct)) == len(distinct)


@given(SETS)
def test_label_codes_are_the_same_without_a_table(sets):
    graph = make_graph([(names, {}) for names in sets])
    expected = graph.label_codes()[0].tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels, "_LARGEST_TABLE", -1)
        found = labels.distinct_label_sets(graph.label_offsets, graph.label_ids, len(graph.labels))
    assert found.tolist() == expected


def test_derived_arrays_are_computed_once_for_all_threads():
    graph = make_graph([("A", {})] * 1000)
    found = []
    threads = [threading.Thread(target=lambda: found.append(graph.label_bits(0))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each is found[0] for each in found)
    assert graph.start_nodes() is graph.start_nodes()


def test_a_query_does_not_wait_for_anothers_values_beyond_its_deadline():
    derived = Derived()
    begun, finish = threading.Event(), threading.Event()

    def compute():
        begun.set()
        finish.wait(60)
        return "slow"

    other = threading.Thread(target=lambda: derived.get("slow", compute))
    other.start()
    try:
        assert begun.wait(60)
        with working_until(time.monotonic() + 0.01), pytest.raises(QueryTimeoutError):
            derived.get("other", lambda: "quick")
    finally:
        finish.set()
        other.join()
    assert derived.get("slow", lambda: "again") == "slow"
    assert derived.get("other", lambda: "quick") == "quick"


def test_element_ids_have_the_prefix():
    graph = make_graph([("A", {})], element_id_prefix="4:x:")
    assert graph.element_id_of_node(3) == "4:x:n3"
    assert graph.element_id_of_relationship(4) == "4:x:r4"


def test_the_size_includes_properties_and_derived_arrays():
    graph = design_graph()
    before = graph.nbytes
    graph.start_nodes()
    assert graph.nbytes == before + 5 * 4
    assert before > graph.outgoing.nbytes + graph.incoming.nbytes


def test_parallel_counts_are_per_type_and_direction():
    rows = [(0, "R", 1), (0, "R", 1), (0, "R", 1), (1, "R", 0), (0, "S", 1), (1, "S", 1)]
    rows += [(1, "T", 1), (1, "T", 1), (0, "R", 2), (1, "R", 2)]
    graph = make_graph([("", {})] * 3, [(a, kind, b, {}) for a, kind, b in rows])
    assert dict(zip(graph.types.names, graph.parallel_counts(), strict=True)) == {
        "R": 3,
        "S": 1,
        "T": 2,
    }
    assert make_graph([("", {})]).parallel_counts() == ()
