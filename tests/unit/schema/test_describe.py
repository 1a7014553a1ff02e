from __future__ import annotations

import pytest
from graphs import make_graph
from hypothesis import given

import gpugda
from gpugda.schema.describe import schema_of
from gpugda.schema.graph_schema import Connection
from strategies import multigraphs

NODES = {
    "id": [1, 2, 3, 4],
    "labels": [["Person", "Actor"], ["Person"], ["Film"], []],
    "name": ["Ann", "Bob", "Alien", None],
    "born": [1970, None, 1979, None],
    "scores": [[1, 2], None, None, None],
    "ratio": [float("nan"), 0.5, None, None],
}
RELATIONSHIPS = {
    "source": [1, 1, 2, 4],
    "target": [3, 2, 2, 3],
    "type": ["ACTED_IN", "KNOWS", "KNOWS", "ABOUT"],
    "since": [None, 2001, 2005, None],
}


@pytest.fixture(scope="module")
def accelerator():
    with gpugda.connect(gpugda.graph(nodes=NODES, relationships=RELATIONSHIPS)) as opened:
        yield opened


def test_labels_have_counts_and_properties(accelerator):
    schema = accelerator.schema
    assert [(each.name, each.count) for each in schema.labels] == [
        ("Person", 2),
        ("Actor", 1),
        ("Film", 1),
    ]
    assert schema.unlabelled == 1
    person = {one.key: one for one in schema.labels[0].properties}
    assert person["name"].types == ("STRING",)
    assert (person["name"].minimum, person["name"].maximum) == ("Ann", "Bob")
    assert (person["born"].count, person["born"].nulls, person["born"].null_share) == (1, 1, 0.5)
    assert person["scores"].types == ("LIST<INTEGER>",)
    assert person["scores"].sample == [1, 2]
    assert person["scores"].minimum is None
    assert person["ratio"].distinct == 2
    assert person["ratio"].minimum == person["ratio"].maximum == 0.5  # NaN has no place in a range


def test_types_have_connections(accelerator):
    types = {each.name: each for each in accelerator.schema.types}
    assert types["ACTED_IN"].connections == (
        Connection("Person", "Film", 1),
        Connection("Actor", "Film", 1),
    )
    assert types["ABOUT"].connections == (Connection(None, "Film", 1),)
    assert sum(one.count for one in types["KNOWS"].connections) == 3  # one of them twice
    assert types["KNOWS"].properties[0].minimum == 2001


def test_text_data_frame_and_page(accelerator):
    schema = accelerator.schema
    text = str(schema)
    assert text.startswith("4 nodes, 4 relationships\n")
    assert "(:Person)-[:ACTED_IN]->(:Film)  1" in text
    assert '.name    STRING, 2 distinct, "Ann" to "Bob"' in text
    frame = schema.to_df()
    assert set(frame["name"]) == {"Person", "Actor", "Film", "ACTED_IN", "KNOWS", "ABOUT"}
    page = schema._repr_html_()
    assert page.count("<table>") == 2
    assert "<svg" in page
    assert "Person" in page


def test_names_are_escaped():
    nodes = {"id": [1], "labels": ["<b>"], "x": ["<script>"]}
    relationships = {"source": [1], "target": [1], "type": ["a&b"]}
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as opened:
        page = opened.schema._repr_html_()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "a&amp;b" in page


def test_an_empty_graph():
    with gpugda.connect(gpugda.graph(nodes={"id": []})) as opened:
        schema = opened.schema
    assert (schema.node_count, schema.labels, schema.types) == (0, (), ())
    assert str(schema) == "0 nodes, 0 relationships"
    assert "<svg" not in schema._repr_html_()
    assert schema.property_keys == ()


@given(multigraphs())
def test_random_graphs_are_described_as_their_statistics_count(specs):
    graph = make_graph(*specs)
    schema = schema_of(graph)
    labels = {each.name: each.count for each in schema.labels}
    counted = dict(zip(graph.labels.names, graph.statistics.label_counts, strict=True))
    assert labels == {name: count for name, count in counted.items() if count}
    types = {each.name: each for each in schema.types}
    for name, count in zip(graph.types.names, graph.statistics.type_counts, strict=True):
        assert (types[name].count if name in types else 0) == count
    for label in schema.labels:
        members = [v for v in range(graph.node_count) if label.name in graph.node_labels(v)]
        for one in label.properties:
            assert one.count + one.nulls == len(members)
    assert str(schema)
    assert schema._repr_html_()
