from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from graphs import ListedBatches, design_graph, make_graph, node_batch, relationship_batch
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data import build, external_ids, sorting
from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import to_values
from gpugda.errors import SourceError
from gpugda.ports import IdentifierPrefixes

LABELS = st.lists(st.sampled_from("ABC"), max_size=3)
PROPERTIES = st.dictionaries(st.sampled_from("pq"), st.sampled_from([1, 1.5, "x", True, None]))


@st.composite
def listed_graphs(draw):
    """Nodes and relationships as lists, in the form that ``make_graph`` takes."""
    nodes = draw(st.lists(st.tuples(LABELS, PROPERTIES), max_size=6))
    if not nodes:
        return nodes, []
    ends = st.integers(0, len(nodes) - 1)
    kinds = st.sampled_from(["R", "S", "T"])
    return nodes, draw(st.lists(st.tuples(ends, kinds, ends, PROPERTIES), max_size=14))


def in_batches(nodes, relationships, cut):
    batches = []
    for first, part in ((0, nodes[:cut]), (cut, nodes[cut:])):
        batches.append(node_batch(part, first_id=first))
    parts = (relationships[:cut], relationships[cut:])
    return ListedBatches(batches, [relationship_batch(part) for part in parts])


@given(listed_graphs(), st.integers(0, 5))
def test_the_graph_has_the_rows_of_the_batches(listed, cut):
    nodes, relationships = listed
    graph = build_data_graph(in_batches(nodes, relationships, min(cut, len(nodes))))
    graph.outgoing.check()
    graph.incoming.check()
    assert [graph.node_labels(v) for v in range(graph.node_count)] == [
        tuple(dict.fromkeys(labels)) for labels, _ in nodes
    ]
    assert rows_of(graph.node_properties, len(nodes)) == [without_nulls(p) for _, p in nodes]

    # Stably sorted by (start, type, end): parallel ones keep their order of arrival.
    type_ids = {name: number for number, name in enumerate(graph.types.names)}
    expected = sorted(relationships, key=lambda each: (each[0], type_ids[each[1]], each[2]))
    found = list(
        zip(
            graph.start_nodes().tolist(),
            [graph.types.name(t) for t in graph.relationship_types().tolist()],
            graph.outgoing.neighbours.tolist(),
            rows_of(graph.relationship_properties, len(relationships)),
            strict=True,
        )
    )
    assert found == [(s, t, e, without_nulls(p)) for s, t, e, p in expected]
    assert_incoming_mirrors_outgoing(graph)


def assert_incoming_mirrors_outgoing(graph):
    indexes = graph.incoming.relationship_indexes
    assert graph.incoming.neighbours.tolist() == graph.start_nodes()[indexes].tolist()
    assert graph.incoming.entry_types().tolist() == graph.relationship_types()[indexes].tolist()
    assert graph.incoming.entry_nodes().tolist() == graph.outgoing.neighbours[indexes].tolist()


def rows_of(columns, count):
    values = {key: to_values(column) for key, column in columns.items()}
    rows = [{key: values[key][row] for key in values} for row in range(count)]
    return [without_nulls(row) for row in rows]


def without_nulls(row):
    # Compares types too, as 1 == 1.0 == True.
    return {(key, type(value), value) for key, value in row.items() if value is not None}


def test_parallel_relationships_and_a_loop_are_kept():
    graph = design_graph()
    assert graph.start_nodes().tolist() == [0, 0, 0, 0, 1]
    assert graph.outgoing.neighbours.tolist() == [0, 1, 1, 1, 0]
    assert graph.relationship_types().tolist() == [0, 0, 0, 1, 0]
    assert graph.incoming.relationship_indexes.tolist() == [0, 4, 1, 2, 3]
    assert graph.outgoing.run(0, 0) == (0, 3)
    assert graph.outgoing.run(0, 1) == (3, 4)
    assert graph.outgoing.run(1, 1) == (0, 0)


def test_no_batches_give_an_empty_graph():
    for batches in (
        ListedBatches([], []),
        ListedBatches([node_batch([])], [relationship_batch([])]),
    ):
        graph = build_data_graph(batches)
        graph.outgoing.check()
        graph.incoming.check()
        assert (graph.node_count, graph.relationship_count) == (0, 0)
        assert graph.statistics.density == 0.0


def test_nodes_without_relationships_are_a_graph():
    graph = make_graph([("A", {}), ("", {})])
    graph.outgoing.check()
    assert graph.incoming.degrees().tolist() == [0, 0]
    assert graph.statistics.degrees(None, outgoing=True).node_count == 0


def test_equal_ids_in_different_spaces_are_different_nodes():
    nodes = [
        node_batch([("A", {}), ("A", {})], id_space="a"),
        node_batch([("B", {})], id_space="b", ids=pa.array(["0"])),
        node_batch([("C", {})], ids=None),
    ]
    relationships = relationship_batch([(1, "R", "0", {})], source_space="a", target_space="b")
    graph = build_data_graph(ListedBatches(nodes, [relationships]))
    assert (graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist()) == ([1], [2])


def test_the_error_of_a_dangling_id_names_file_and_row():
    batches = ListedBatches(
        [node_batch([("A", {})])],
        [relationship_batch([(0, "R", 0, {}), (0, "R", 7, {})], origin="knows.csv", rows=2)],
    )
    with pytest.raises(SourceError, match=r"knows.csv, row 3: no node has the id 7"):
        build_data_graph(batches)


def test_ids_are_resolved_before_all_batches_have_arrived(monkeypatch):
    monkeypatch.setattr(build, "_ROWS_BEFORE_LOOKUP", 2)
    one = [(0, "R", 1, {"w": 1})]
    batches = [relationship_batch(one), relationship_batch(one), relationship_batch(one)]
    graph = build_data_graph(ListedBatches([node_batch([("", {}), ("", {})])], iter(batches)))
    assert graph.outgoing.neighbours.tolist() == [1, 1, 1]


def test_batches_that_contradict_themselves_are_refused():
    good = relationship_batch([(0, "R", 0, {"w": 1})])
    for field, value in (
        ("type_codes", np.array([1], dtype=np.int32)),
        ("type_codes", np.array([-1], dtype=np.int32)),
        ("type_codes", np.array([], dtype=np.int32)),
        ("target_ids", pa.array([0, 0])),
        ("properties", {"w": good.properties["w"].take(np.array([0, 0]))}),
    ):
        settings = {name: getattr(good, name) for name in good.__slots__} | {field: value}
        with pytest.raises(SourceError, match="relationships: "):
            build_data_graph(ListedBatches([node_batch([("", {})])], [type(good)(**settings)]))


def test_more_than_32_bits_of_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(build, "MAX_COUNT", 1)
    with pytest.raises(SourceError, match="more than 1 nodes"):
        make_graph([("", {}), ("", {})])


def test_progress_counts_rows():
    counted = Counter()

    class Counting:
        name = ""

        def phase(self, name, total=None):
            self.name = name

        def advance(self, amount):
            counted[self.name] += amount

    batches = in_batches([("A", {})] * 3, [(0, "R", 1, {})] * 5, 2)
    build_data_graph(batches, Counting())
    assert counted == {"reading nodes": 3, "reading relationships": 5}


# ------------------------------------------------------------------ sorting
FIELD = st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 3), min_size=1, max_size=30)


@given(FIELD, st.randoms())
def test_the_stable_order_equals_lexsort(values, random):
    # 32 + 16 + 32 bits exceed one number, so several rounds are needed.
    first = np.array(values, dtype=np.uint32)
    second = np.array([random.randrange(3) for _ in values], dtype=np.uint16)
    third = np.array([random.choice([0, 1, 2**32 - 1]) for _ in values], dtype=np.uint32)
    order = sorting.stable_order((first, second, third), (32, 16, 32))
    assert order.tolist() == np.lexsort((third, second, first)).tolist()
    assert order.dtype == np.uint32


@given(listed_graphs(), st.booleans())
def test_rows_are_the_same_in_graphs_too_large_for_one_key(listed, with_order):
    nodes, relationships = listed
    graph = make_graph(nodes, relationships)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_WORD_BITS", 7)  # one field and the position
        starts = np.array([each[0] for each in relationships], dtype=np.uint32)
        ends = np.array([each[2] for each in relationships], dtype=np.uint32)
        types = np.array([graph.types.get(each[1]) for each in relationships], dtype=np.uint16)
        arrived = sorting.Unsorted(graph.node_count, len(graph.types), starts, types, ends)
        outgoing, order = sorting.outgoing_csr(arrived, with_order=with_order)
        incoming = sorting.reversed_csr(outgoing, len(graph.types))
    assert (order is None) == (not with_order)
    outgoing.check()
    incoming.check()
    assert outgoing.neighbours.tolist() == graph.outgoing.neighbours.tolist()
    assert outgoing.run_types.tolist() == graph.outgoing.run_types.tolist()
    assert incoming.relationship_indexes.tolist() == graph.incoming.relationship_indexes.tolist()


IDS = ([7, 8, 9, 10, 11], [7, 8, 3, 4, 12], [11, 10, 9, 8, 7], [0, 2, 1, 2**40, 5])


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("max_gaps", [0, 1, 4])
@pytest.mark.parametrize("as_ranges", [False, True])
def test_relationship_ids_follow_their_relationships(ids, max_gaps, as_ranges, monkeypatch):
    monkeypatch.setattr(external_ids, "_MAX_GAPS", max_gaps)
    ends = [(2, 0), (0, 1), (2, 1), (1, 2), (0, 0)]
    pieces = [[each] for each in range(5)] if as_ranges else [range(2), range(2, 5)]
    batches = [
        replace(
            relationship_batch([(ends[place][0], "R", ends[place][1], {}) for place in piece]),
            relationship_ids=range(ids[piece[0]], ids[piece[0]] + 1)
            if as_ranges
            else np.array([ids[place] for place in piece], dtype=np.int64),
        )
        for piece in pieces
    ]
    nodes = node_batch([((), {})] * 3)
    graph = build_data_graph(
        ListedBatches([nodes], batches, element_ids=IdentifierPrefixes("n:", "r:"))
    )
    found = zip(graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist(), strict=True)
    assert dict(zip(found, graph.external_ids.relationships.tolist(), strict=True)) == dict(
        zip(ends, ids, strict=True)
    )
