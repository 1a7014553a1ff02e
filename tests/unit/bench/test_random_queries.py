"""Random query graphs are connected, have the given size, and have the embedding they name."""

import pytest
from graphs import make_graph
from hypothesis import given

from gpugda.bench.cases import cases_of
from gpugda.bench.random_queries import random_queries
from strategies import multigraphs


def assert_lies_there(graph, query):
    starts, types = graph.start_nodes(), graph.relationship_types()
    assert len(set(query.node_indexes)) == len(query.node_indexes)
    assert len(set(query.relationship_indexes)) == len(query.relationship_indexes)
    for (start, kind, end), index in zip(
        query.relationships, query.relationship_indexes, strict=True
    ):
        assert starts[index] == query.node_indexes[start]
        assert graph.outgoing.neighbours[index] == query.node_indexes[end]
        assert graph.types.names[types[index]] == kind
    labels = tuple(graph.node_labels(node) for node in query.node_indexes)
    assert labels == query.labels


def reached(query):
    """Positions of the nodes that can be reached from the first one."""
    found, before = {0}, set()
    while found != before:
        before = set(found)
        for start, _, end in query.relationships:
            if start in found or end in found:
                found |= {start, end}
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_sparse_queries_are_trees(ring, size):
    queries = random_queries(ring, size, "sparse", 10, seed=3)
    assert len(queries) == 10
    for query in queries:
        assert len(query.relationships) == size - 1
        assert reached(query) == set(range(size))
        assert_lies_there(ring, query)


@pytest.mark.parametrize("size", [2, 3, 4, 6])
def test_dense_queries_have_up_to_twice_as_many_relationships(ring, size):
    queries = random_queries(ring, size, "dense", 10, seed=3)
    assert len(queries) == 10
    for query in queries:
        assert size <= len(query.relationships) <= 2 * size
        assert reached(query) == set(range(size))
        assert_lies_there(ring, query)
    assert max(len(query.relationships) for query in queries) > size


def test_dense_queries_reach_the_largest_number_of_relationships():
    clique = [(a, "R", b, {}) for a in range(5) for b in range(5) if a != b]
    queries = random_queries(make_graph([("A", {})] * 5, clique), 4, "dense", 5, seed=0)
    assert [len(query.relationships) for query in queries] == [8] * 5


@given(multigraphs())
def test_queries_of_random_graphs_are_connected(parts):
    graph = make_graph(*parts)
    for density in ("dense", "sparse"):
        for query in random_queries(graph, 3, density, 1, seed=1):
            assert reached(query) == {0, 1, 2}
            assert_lies_there(graph, query)


def test_the_same_seed_gives_the_same_queries(ring):
    first = random_queries(ring, 4, "dense", 8, seed=5)
    assert random_queries(ring, 4, "dense", 8, seed=5) == first
    assert random_queries(ring, 4, "dense", 8, seed=6) != first


def test_queries_are_distinct_while_others_exist(ring):
    queries = random_queries(ring, 3, "sparse", 6, seed=1)
    assert len({(query.labels, query.relationships) for query in queries}) == 6


def test_no_queries_without_a_connected_part_of_the_size():
    assert random_queries(make_graph([("A", {})] * 9), 2, "sparse", 5, seed=1) == []
    assert random_queries(make_graph([]), 1, "sparse", 5, seed=1) == []


@pytest.mark.parametrize("density", ["dense", "sparse"])
@pytest.mark.parametrize("form", ["count", "rows", "predicate"])
def test_every_query_has_an_embedding(ring, ring_source, density, form):
    import gpugda

    queries = random_queries(ring, 3, density, 6, seed=2)
    known = [{node: {"size": node} for node in query.node_indexes} for query in queries]
    cases = cases_of(queries, known, [form], row_limit=1000)
    assert len(cases) == 6
    with gpugda.connect(ring_source) as accelerator:
        for case in cases:
            rows = accelerator.run(case.text("x"), case.parameters, engine="reference").values()
            assert (rows[0][0] if form != "rows" else len(rows)) >= 1, case.text("x")
