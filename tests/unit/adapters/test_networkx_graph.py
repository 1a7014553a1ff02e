import networkx as nx
import numpy as np
import pytest

import gpugda
from gpugda.errors import SourceError


def rows(graph, text, **names):
    source = gpugda.graph(graph, **names) if names else graph
    return gpugda.connect(source).run(text, engine="reference").values()


def test_nodes_edges_and_attributes_are_read():
    graph = nx.DiGraph()
    graph.add_node("ann", labels="Person:Actor", born=1961)
    graph.add_node("up", labels=["Film"], born=None)
    graph.add_edge("ann", "up", type="ACTED_IN", year=2009)
    graph.add_edge("up", "ann")
    text = "MATCH (a)-[r]->(b) RETURN a.id, labels(a), a.born, type(r), r.year, b.id"
    assert rows(graph, text) == [
        ["ann", ["Person", "Actor"], 1961, "ACTED_IN", 2009, "up"],
        ["up", ["Film"], None, "RELATED", None, "ann"],
    ]
    assert rows(graph, "MATCH ()-[r:T]->() RETURN r.type", type="other") == []
    assert rows(graph, "MATCH (n) WHERE 'Film' IN n.labels RETURN n.id", labels="none") == [["up"]]


def test_undirected_edges_are_one_relationship_each():
    graph = nx.karate_club_graph()
    assert rows(graph, "MATCH ()-->() RETURN count(*)") == [[78]]
    assert rows(graph, "MATCH (n {id: 0})--(m) RETURN count(m)") == [[graph.degree[0]]]
    triangles = sum(nx.triangles(graph).values()) // 3
    assert rows(graph, "MATCH (a)--(b)--(c)--(a) RETURN count(*)") == [[6 * triangles]]


def test_parallel_edges_and_loops_are_read():
    graph = nx.MultiDiGraph()
    graph.add_edge(1, 2, w=1)
    graph.add_edge(1, 2, w=2)
    graph.add_edge(2, 2, key="again")
    found = rows(graph, "MATCH (a)-[r]->(b) RETURN a.id, b.id, r.w, r.key")
    assert found == [[1, 2, 1, None], [1, 2, 2, None], [2, 2, None, "again"]]


def test_attributes_named_like_our_columns_are_kept():
    graph = nx.DiGraph()
    graph.add_node(1, id="own")
    graph.add_edge(1, 2, source="s", target="t")
    found = rows(graph, "MATCH (a)-[r]->(b) RETURN a.id, b.id, r.source, r.target")
    assert found == [["own", None, "s", "t"]]


def test_an_empty_graph_is_read():
    assert rows(nx.Graph(), "MATCH (n) RETURN count(*)") == [[0]]


@pytest.mark.parametrize("nodes", [[1, "x"], [(0, 1)], [1.5], [True]])
def test_nodes_that_cannot_be_ids_are_refused(nodes):
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    with pytest.raises(SourceError, match=r"networkx\.relabel_nodes\(graph, str\)"):
        gpugda.connect(graph)


def test_attributes_that_cannot_be_properties_are_refused():
    graph = nx.Graph()
    graph.add_node(1, place={"x": 1})
    with pytest.raises(SourceError, match="column 'place'"):
        gpugda.connect(graph)


def test_nodes_of_numpy_are_integers_and_texts():
    graph = nx.DiGraph()
    graph.add_edge(np.int64(1), 2)
    graph.add_edge(np.uint8(2), np.int32(3))
    assert rows(graph, "MATCH (a)-->(b) RETURN a.id, b.id") == [[1, 2], [2, 3]]
    graph = nx.DiGraph([(np.str_("a"), "b")])
    assert rows(graph, "MATCH (a)-->(b) RETURN a.id, b.id") == [["a", "b"]]


def test_times_of_numpy_may_be_attributes():
    graph = nx.Graph()
    graph.add_node(1, day=np.datetime64("2020-01-02"), none=np.datetime64("NaT"))
    text = "MATCH (n) RETURN toString(n.day), n.none"
    assert rows(graph, text) == [["2020-01-02T00:00:00", None]]
