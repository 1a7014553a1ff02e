"""Ids assigned by a server."""

import numpy as np
import pyarrow as pa
import pytest
from graphs import ListedBatches, node_batch, relationship_batch
from hypothesis import given
from hypothesis import strategies as st
from server_ids import PREFIXES, ListedSource, random_relationship_ids, server_graph

from gpugda.data.build import build_data_graph
from gpugda.data.external_ids import ExternalIds, are_distinct
from gpugda.data.values.columns import to_values
from gpugda.errors import SourceError
from strategies import multigraphs

_IDS = st.lists(st.integers(0, 2**63 - 1), unique=True)


@given(_IDS, _IDS, st.integers(-(2**70), 2**70))
def test_only_known_ids_are_found(nodes, relationships, other):
    ids = ExternalIds(
        np.array(sorted(nodes), dtype=np.int64), np.array(relationships, dtype=np.int64), "", ""
    )
    for of_nodes, numbers in ((True, sorted(nodes)), (False, relationships)):
        for index, number in enumerate(numbers):
            assert ids.index_of(number, of_nodes=of_nodes) == index
        if other not in numbers:
            assert ids.index_of(other, of_nodes=of_nodes) == -1


@given(st.lists(st.one_of(st.integers(-3, 20), st.integers(-(2**63), 2**63 - 1))))
def test_repeated_ids_are_refused(numbers):
    ids = np.array(numbers, dtype=np.int64)
    assert are_distinct(ids) == (len(set(numbers)) == len(numbers))


def test_the_first_look_up_of_a_relationship_adds_to_the_size():
    ids = ExternalIds(np.arange(3), np.array([5, 4]), "", "")
    assert ids.nbytes == 40
    ids.index_of(4, of_nodes=False)
    assert ids.nbytes == 56


@given(multigraphs(), st.integers(0, 999))
def test_an_id_stays_with_its_relationship_and_properties(graph, seed):
    nodes, relationships = graph
    marked = [(a, kind, b, {"place": i}) for i, (a, kind, b, _) in enumerate(relationships)]
    ids = random_relationship_ids(marked, seed, in_index_order=False)
    made = server_graph(nodes, marked, list(range(10, 10 + len(nodes))), ids)
    column = made.relationship_properties.get("place")
    places = [] if column is None else to_values(column)
    starts, ends = made.start_nodes().tolist(), made.outgoing.neighbours.tolist()
    for index, place in enumerate(places):
        assert made.id_of(index, of_nodes=False) == ids[place]
        assert (starts[index], ends[index]) == (marked[place][0], marked[place][2])
        name = f"{PREFIXES.relationship}{ids[place]}"
        assert made.element_id_of_relationship(index) == name
        assert made.index_of_element_id(name, of_nodes=False) == index
    indexes = np.arange(len(nodes), dtype=np.uint32)
    assert made.ids_of(indexes, of_nodes=True).tolist() == list(range(10, 10 + len(nodes)))


@pytest.mark.parametrize(
    "text", ["", "4:db:", "4:db:-1", "4:db:07", "4:db:1 ", "4:db:٣", "5:db:7", "7", "n0", "4:db:70"]
)
def test_texts_that_are_no_ids_find_nothing(text):
    graph = server_graph([("A", {}), ("A", {})], [], [0, 7], [])
    assert graph.index_of_element_id(text, of_nodes=True) == -1
    assert graph.index_of_element_id("4:db:7", of_nodes=True) == 1
    assert graph.index_of_element_id(f"4:db:{2**64 + 7}", of_nodes=True) == -1


def test_without_ids_the_index_is_the_id():
    graph = build_data_graph(ListedSource([("A", {})] * 2, [(0, "R", 1, {})]).batches())
    assert graph.external_ids is None
    assert [graph.index_of_id(number, of_nodes=True) for number in (-1, 0, 1, 2)] == [-1, 0, 1, -1]
    assert graph.index_of_id(1, of_nodes=False) == -1
    assert graph.id_of(1, of_nodes=True) == 1


@pytest.mark.parametrize("ids", [[7, 3], [3, 3]])
def test_node_ids_must_ascend(ids):
    # Code that looks ids up finds a repeated id earlier.
    with pytest.raises(SourceError, match=r"not increasing|already used"):
        server_graph([("A", {}), ("A", {})], [], ids, [])


def test_a_repeated_relationship_is_an_error():
    with pytest.raises(SourceError, match="read twice"):
        server_graph([("A", {})], [(0, "R", 0, {}), (0, "R", 0, {})], [3], [5, 5])


@pytest.mark.parametrize("missing", ["nodes", "text", "relationships"])
def test_missing_ids_are_an_error(missing):
    nodes = node_batch([("A", {})], **({"ids": None} if missing == "nodes" else {}))
    if missing == "text":
        nodes = node_batch([("A", {})], ids=pa.array(["x"]))
    relationships = relationship_batch([(0, "R", 0, {})])
    with pytest.raises(SourceError, match=r"no ids|are integers"):
        build_data_graph(ListedBatches([nodes], [relationships], PREFIXES))


def test_ids_count_towards_the_size_of_the_graph():
    with_ids = server_graph([("A", {})] * 2, [(0, "R", 1, {})], [3, 4], [9])
    without = build_data_graph(ListedSource([("A", {})] * 2, [(0, "R", 1, {})]).batches())
    assert with_ids.nbytes == without.nbytes + 24
