import neo4j.spatial
import neo4j.time
import networkx as nx
import numpy as np
import pyarrow.parquet
import pytest

import gpugda
from gpugda.data.values.columns import to_values
from gpugda.errors import ConfigurationError, SourceError

NODES = {
    "id": ["ann", "bob", "up"],
    "labels": ["Person:Actor", None, "Film"],
    "born": [1961, None, 1970],
    "since": [neo4j.time.Duration(months=1, seconds=2), None, None],
    "place": [neo4j.spatial.WGS84Point((1.0, 2.0)), neo4j.spatial.CartesianPoint((1, 2, 3)), None],
    "tags": [["a", "b"], None, []],
    "on": [neo4j.time.Date(2001, 2, 3), None, None],
}
RELATIONSHIPS = {
    "source": ["ann", "bob", "bob"],
    "target": ["up", "up", "up"],
    "type": ["ACTED_IN", "SAW", "SAW"],
    "year": [2009, None, 2010],
}


@pytest.fixture
def accelerator():
    with gpugda.connect(gpugda.graph(NODES, RELATIONSHIPS)) as made:
        yield made


def run(accelerator, text):
    return accelerator.run(text, engine="reference")


def contents(accelerator):
    """All nodes and relationships, in any order."""
    graph = accelerator._answers.complete().graph
    nodes = {key: to_values(column) for key, column in graph.node_properties.items()}
    labels = graph.labels_of(np.arange(graph.node_count))
    text = "MATCH (a)-[r]->(b) RETURN a.id, type(r), r.year, b.id"
    return nodes, labels, sorted(map(str, run(accelerator, text).values()))


# ------------------------------------------------------------------ Parquet
def test_a_graph_is_restored_from_parquet(accelerator, tmp_path):
    for _ in range(2):  # overwrites its own files, too
        accelerator.to_parquet(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "nodes.parquet",
        "relationships.parquet",
    ]
    with gpugda.connect(tmp_path / "out") as again:
        assert contents(again) == contents(accelerator)


def test_other_programs_read_the_parquet(accelerator, tmp_path):
    accelerator.to_parquet(tmp_path)
    rows = pyarrow.parquet.read_table(tmp_path / "relationships.parquet").to_pylist()
    assert rows[0] == {"_source": 0, "_target": 2, "_type": "ACTED_IN", "year": 2009}
    rows = pyarrow.parquet.read_table(tmp_path / "nodes.parquet").to_pylist()
    assert (rows[0]["_id"], rows[0]["_labels"], rows[1]["_labels"]) == (0, ["Person", "Actor"], [])


def test_an_empty_graph_is_written_as_parquet(tmp_path):
    with gpugda.connect(gpugda.graph([], [])) as accelerator:
        accelerator.to_parquet(tmp_path / "out")
    with gpugda.connect(tmp_path / "out") as again:
        assert run(again, "MATCH (n) RETURN count(*)").single().value() == 0


def test_an_unwritable_folder_of_parquet_is_refused(accelerator, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SourceError, match=r"holds something else \(notes\.txt\)"):
        accelerator.to_parquet(tmp_path)
    with pytest.raises(SourceError, match="cannot be made"):
        accelerator.to_parquet(tmp_path / "none" / "out")
    with (
        gpugda.connect(gpugda.graph({"id": [1], "_labels": ["x"]}, labels="label")) as other,
        pytest.raises(ConfigurationError, match="the property '_labels' is called like"),
    ):
        other.to_parquet(tmp_path / "out")


def test_a_result_is_written_as_parquet(accelerator, tmp_path):
    result = run(accelerator, "MATCH (n) RETURN n.id AS id, n.born AS born, n")
    result.to_parquet(tmp_path / "rows.parquet")
    rows = pyarrow.parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert [(row["id"], row["born"]) for row in rows] == [
        ("ann", 1961),
        ("bob", None),
        ("up", 1970),
    ]
    assert rows[0]["n"]["labels"] == ["Person", "Actor"]
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]
    with pytest.raises(SourceError, match="cannot be written"):
        run(accelerator, "MATCH (n) RETURN n.id").to_parquet(tmp_path / "none" / "x.parquet")


# ------------------------------------------------------------------ NetworkX
def test_a_graph_is_exported_to_networkx(accelerator):
    graph = accelerator.to_networkx(id="id")
    assert isinstance(graph, nx.MultiDiGraph)
    assert list(graph.nodes) == ["ann", "bob", "up"]
    assert graph.nodes["ann"]["labels"] == ["Person", "Actor"]
    assert "labels" not in graph.nodes["bob"]
    assert "born" not in graph.nodes["bob"]
    assert [data for *_, data in graph.edges("ann", data=True)] == [
        {"type": "ACTED_IN", "year": 2009}
    ]
    assert graph.number_of_edges("bob", "up") == 2


def test_a_networkx_graph_is_restored(accelerator):
    again = gpugda.connect(accelerator.to_networkx(id="id"))
    nodes, labels, rows = contents(accelerator)
    found = contents(again)
    assert found[1:] == (labels, rows)
    assert {key: found[0][key] for key in nodes} == nodes


def test_a_result_is_exported_to_networkx(accelerator):
    result = run(accelerator, "MATCH (a:Person)-[r:ACTED_IN]->(b) RETURN a, r, b")
    graph = result.to_networkx(id="id")
    assert sorted(graph.nodes) == ["ann", "up"]
    assert [data["type"] for *_, data in graph.edges(data=True)] == ["ACTED_IN"]
    graph = run(accelerator, "MATCH (a:Person)-[r]->(b) RETURN r").to_networkx()
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (2, 1)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"id": "born"}, "has no such property"),
        ({"labels": "born"}, "labels='born': there is a property of that name"),
        ({"type": "year"}, "type='year': there is a property of that name"),
    ],
)
def test_wrong_names_are_refused(accelerator, names, message):
    with pytest.raises(ConfigurationError, match=message):
        accelerator.to_networkx(**names)


def test_ids_shared_by_two_nodes_are_refused():
    with (
        gpugda.connect(gpugda.graph({"id": [1, 2], "x": [5, 5]})) as accelerator,
        pytest.raises(ConfigurationError, match="two nodes have the value 5"),
    ):
        accelerator.to_networkx(id="x")
