"""Sampled degrees of very large graphs: exact where all nodes are drawn, close where some are."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given

from gpugda.data.statistics import degree_sample
from strategies import multigraphs

KINDS = [(types, out) for types in (None, (0,), (0, 1)) for out in (True, False, None)]


def degree_means(graph):
    labels = [None, *range(len(graph.labels))]
    kinds = [kind for kind in KINDS if kind[0] is None or max(kind[0]) < len(graph.types)]
    having = [graph.nodes_having(kind, label) for kind in kinds for label in labels]
    reached = [
        graph.reached_degree(along, kind, label)
        for along in kinds
        for kind in kinds
        for label in labels
    ]
    return having, reached


@given(multigraphs())
def test_a_sample_of_all_nodes_gives_the_exact_means(listed):
    expected = degree_means(make_graph(*listed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(degree_sample, "_SAMPLED_FROM", -1)
        assert degree_means(make_graph(*listed)) == expected


def test_a_sample_with_hubs_is_close_to_all_nodes(monkeypatch):
    random = np.random.default_rng(3)
    count = 4_000
    ends = (count * random.random((2, 20_000)) ** 3).astype(int).tolist()
    nodes = [(("A",) if node % 3 else ("A", "B"), {}) for node in range(count)]
    graph = make_graph(nodes, [(s, "RS"[s % 2], e, {}) for s, e in zip(*ends, strict=True)])
    exact = degree_means(graph)
    monkeypatch.setattr(degree_sample, "_SAMPLED_FROM", 1)
    monkeypatch.setattr(degree_sample, "_DRAWN", 1_000)
    monkeypatch.setattr(degree_sample, "_HUBS", 200)
    monkeypatch.setattr(degree_sample, "_PIECE", 64)
    graph = make_graph(nodes, [(s, "RS"[s % 2], e, {}) for s, e in zip(*ends, strict=True)])
    for estimates, means in zip(degree_means(graph), exact, strict=True):
        np.testing.assert_allclose(estimates, means, rtol=0.15)
    assert degree_means(graph)[1] != exact[1]


def test_hubs_are_the_nodes_of_the_highest_degrees_within_their_number_of_runs(monkeypatch):
    star = make_graph(
        [((), {})] * 9, [(0, "R", leaf, {}) for leaf in range(1, 9)] * 2 + [(3, "R", 4, {})]
    )
    monkeypatch.setattr(degree_sample, "_HUBS", 3)
    assert degree_sample.find_hubs(star.outgoing, star.incoming).tolist() == [0, 3, 4]
    monkeypatch.setattr(degree_sample, "_HUB_RUNS", 1)
    assert degree_sample.find_hubs(star.outgoing, star.incoming).tolist() == [0]


def test_an_empty_graph_has_no_degrees(monkeypatch):
    monkeypatch.setattr(degree_sample, "_SAMPLED_FROM", -1)
    having, reached = degree_means(make_graph([]))
    assert not any(having)
    assert not any(reached)
