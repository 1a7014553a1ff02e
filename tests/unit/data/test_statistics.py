from __future__ import annotations

import json
from itertools import product

import pytest
from graphs import design_graph, make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.statistics import counting, pattern_counts
from gpugda.data.statistics.graph_statistics import (
    GraphStatistics,
)

LABELS = st.lists(st.sampled_from("ABC"), unique=True)


@st.composite
def listed_graphs(draw):
    nodes = draw(st.lists(st.tuples(LABELS, st.just({})), min_size=1, max_size=6))
    ends = st.integers(0, len(nodes) - 1)
    row = st.tuples(ends, st.sampled_from("RS"), ends, st.just({}))
    return nodes, draw(st.lists(row, max_size=14))


def check_counts(graph, nodes, relationships):
    statistics = graph.statistics
    for name in graph.labels.names:
        expected = sum(name in labels for labels, _ in nodes)
        assert statistics.nodes_with(graph.labels.get(name)) == expected
    choices = [None, *graph.labels.names]
    for start, kind, end in product(choices, [None, *graph.types.names], choices):
        expected = sum(
            (start is None or start in nodes[s][0])
            and (kind is None or kind == t)
            and (end is None or end in nodes[e][0])
            for s, t, e, _ in relationships
        )
        found = statistics.relationships_between(
            None if start is None else graph.labels.get(start),
            None if kind is None else graph.types.get(kind),
            None if end is None else graph.labels.get(end),
        )
        if statistics.pattern_counts_complete or start is None or end is None:
            assert found == expected
        else:
            assert 0 <= found <= len(relationships)


def check_degrees(graph, relationships):
    for kind in [None, *graph.types.names]:
        rows = [each for each in relationships if kind in (None, each[1])]
        for outgoing, side in ((True, 0), (False, 2)):
            ends = [row[side] for row in rows]
            degrees = [ends.count(node) for node in set(ends)]
            found = graph.statistics.degrees(
                None if kind is None else graph.types.get(kind), outgoing=outgoing
            )
            assert (found.largest, found.node_count) == (max(degrees, default=0), len(degrees))
            assert found.mean == pytest.approx(sum(degrees) / len(degrees) if degrees else 0)


def check_parallels_and_loops(graph, relationships):
    for kind in [None, *graph.types.names]:
        pairs = [(s, e) for s, t, e, _ in relationships if kind in (None, t)]
        type_id = None if kind is None else graph.types.get(kind)
        found = graph.statistics
        has_parallel = found.has_parallel if type_id is None else found.parallel_types[type_id]
        assert has_parallel == (len(set(pairs)) < len(pairs))
        if type_id is not None:
            assert graph.statistics.type_counts[type_id] == len(pairs)
            assert graph.statistics.loop_counts[type_id] == sum(s == e for s, e in pairs)


@given(listed_graphs())
def test_counts_equal_those_of_the_lists(listed):
    graph = make_graph(*listed)
    check_counts(graph, *listed)
    check_degrees(graph, listed[1])
    check_parallels_and_loops(graph, listed[1])


@given(listed_graphs())
def test_counts_are_the_same_in_small_pieces_and_without_a_table(listed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_PIECE", 3)
        patch.setattr(pattern_counts, "_LARGEST_TABLE", -1)
        graph = make_graph(*listed)
    assert graph.statistics == make_graph(*listed).statistics
    check_parallels_and_loops(graph, listed[1])


@given(listed_graphs())
def test_counts_with_one_label_stay_exact_when_pairs_are_too_many(listed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern_counts, "_LARGEST_PATTERN_COUNT", -1)
        graph = make_graph(*listed)
    assert not graph.statistics.pattern_counts_complete
    check_counts(graph, *listed)


@pytest.mark.parametrize("most", [-1, 3])
@given(listed=listed_graphs())
def test_counts_with_one_label_stay_exact_when_triples_are_not_counted(most, listed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_PIECE", 3)
        patch.setattr(pattern_counts, "_LARGEST_TABLE", -1)
        patch.setattr(pattern_counts, "_WAITING", 1)
        patch.setattr(pattern_counts, "_LARGEST_PATTERN_COUNT", most)
        graph = make_graph(*listed)
    statistics = make_graph(*listed).statistics
    assert graph.statistics.pattern_counts_typed
    check_counts(graph, *listed)
    if graph.statistics.pattern_counts_complete:
        assert graph.statistics == statistics


@given(listed_graphs())
def test_counts_of_labels_and_types_alone_stay_exact_when_their_pairs_are_too_many(listed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern_counts, "_LARGEST_TABLE", -1)
        patch.setattr(pattern_counts, "_LARGEST_PATTERN_COUNT", -1)
        patch.setattr(pattern_counts, "_LARGEST_PAIR_COUNT", -1)
        graph = make_graph(*listed)
    found, exact = graph.statistics, make_graph(*listed).statistics
    if found.pattern_counts_complete:  # of one label set there are few triples
        return
    labels, types = [None, *range(len(graph.labels))], [None, *range(len(graph.types))]
    for start, kind, end in product(labels, types, labels):
        estimate = found.relationships_between(start, kind, end)
        expected = exact.relationships_between(start, kind, end)
        if [start, kind, end].count(None) >= 2:
            assert estimate == expected
        else:
            assert (estimate > 0) or not expected


@given(listed_graphs())
def test_statistics_survive_json(listed):
    statistics = make_graph(*listed).statistics
    assert GraphStatistics.from_dict(json.loads(json.dumps(statistics.to_dict()))) == statistics


def test_summary_of_the_example():
    statistics = design_graph().statistics
    assert statistics.density == 2.5
    assert (statistics.loop_count, statistics.has_parallel) == (1, True)
    assert statistics.parallel_types == (True, False)
    assert dict(statistics.distinct_counts) == {"name": 2}


def test_distinct_counts_are_known_for_texts_only():
    graph = make_graph([("", {"a": "x", "b": 1, "c": [1]}), ("", {"a": "x", "b": 2, "c": [1]})])
    assert dict(graph.statistics.distinct_counts) == {"a": 1, "b": None, "c": 1}
