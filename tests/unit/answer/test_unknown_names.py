"""Notifications about names that do not occur in the graph, as Neo4j 5.26 sends them."""

from datetime import UTC, datetime

import pytest
from server_ids import server_graph

import gpugda
from gpugda.answer.unknown_names import names_to_look_up, remarks_on_names
from gpugda.data.values.columns import column_from_values
from gpugda.loading import LoadedGraph, load
from gpugda.ports import SilentProgress
from gpugda.query.prepare import prepare

PEOPLE = {"id": [1, 2], "labels": ["Person", "Person"], "name": ["Ann", "Bo"]}
KNOWS = {"source": [1], "target": [2], "type": ["KNOWS"], "since": [1999]}
CODE = "Neo.ClientNotification.Statement.Unknown"


@pytest.fixture(scope="module")
def people():
    with gpugda.connect(gpugda.graph(PEOPLE, KNOWS)) as opened:
        yield opened


@pytest.mark.parametrize("engine", ["gpu", "reference"])
@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        (
            "MATCH (n:Persn) RETURN n",
            ["no node has the label :Persn (line 1, column 10); did you mean :Person?"],
        ),
        (
            "MATCH (n:person) RETURN n",
            ["no node has the label :person (line 1, column 10); did you mean :Person?"],
        ),
        ("MATCH (n:Zebra) RETURN n", ["no node has the label :Zebra (line 1, column 10)"]),
        (
            "MATCH (n:Person)-[:KNOW]->() RETURN n.name",
            ["no relationship has the type :KNOW (line 1, column 20); did you mean :KNOWS?"],
        ),
        (
            "MATCH (n:Person)\n  WHERE n.nam = 'x' RETURN n.nam",
            ["nothing has the property nam (line 2, column 11); did you mean name?"],
        ),
        ("MATCH (n:Person)-[r:KNOWS {since: 1999}]->() WHERE r.name = 1 RETURN n.since", []),
        ("MATCH (n:Person) RETURN n.name AS x ORDER BY x", []),
    ],
)
def test_warnings_name_place_and_similar_names(people, engine, text, warnings):
    assert list(people.run(text, engine=engine).summary.warnings) == warnings


# Neo4j 5.26.0's notifications for these texts: code, offset, line, column, and the name.
SENT = [
    ("MATCH (n:Persn) RETURN n", [("Label", 9, 1, 10, "Persn")]),
    (
        "MATCH (n:Person)\n  WHERE n.nam = 'x' RETURN n.nam, n.foo",
        [
            ("PropertyKey", 27, 2, 11, "nam"),
            ("PropertyKey", 46, 2, 30, "nam"),
            ("PropertyKey", 53, 2, 37, "foo"),
        ],
    ),
    (
        "MATCH (n {nam:1})-[:`KN OW`]->() RETURN 1",
        [("PropertyKey", 10, 1, 11, "nam"), ("RelationshipType", 20, 1, 21, "KN OW")],
    ),
    ("MATCH (n:Person) RETURN n.`na``m`", [("PropertyKey", 26, 1, 27, "na`m")]),
    (
        "MATCH (n) WHERE n:Nope OR (n.a=1 AND n.a=2) RETURN n",
        [
            ("Label", 18, 1, 19, "Nope"),
            ("PropertyKey", 29, 1, 30, "a"),
            ("PropertyKey", 39, 1, 40, "a"),
        ],
    ),
    (
        "MATCH (n:Person)-[r:KNOW|KNOWS]->(m:Nope:Persn) WHERE r.x=1 RETURN n, r.x",
        [
            ("RelationshipType", 20, 1, 21, "KNOW"),
            ("Label", 36, 1, 37, "Nope"),
            ("Label", 41, 1, 42, "Persn"),
            ("PropertyKey", 56, 1, 57, "x"),
            ("PropertyKey", 72, 1, 73, "x"),
        ],
    ),
    ("MATCH (n:Nope|Person) RETURN n", [("Label", 9, 1, 10, "Nope")]),
]


@pytest.mark.parametrize(("text", "sent"), SENT)
def test_notifications_have_neo4js_fields(people, text, sent):
    found = people.run(text, engine="gpu").summary.notifications
    assert [
        (each["code"].removeprefix(CODE).removesuffix("Warning"), *each["position"].values())
        for each in found
    ] == [each[:4] for each in sent]
    for each, (_, _, _, _, name) in zip(found, sent, strict=True):
        assert each["description"].endswith(f"is: {name})")
        assert each["severity"] == "WARNING"
        assert each["category"] == "UNRECOGNIZED"


def test_notifications_have_neo4js_wording(people):
    (found,) = people.run("MATCH (n:Persn) RETURN n").summary.notifications
    assert found["title"] == "The provided label is not in the database."
    assert found["description"] == (
        "One of the labels in your query is not available in the database, make sure you didn't "
        "misspell it or that the label is available when you run this statement in your "
        "application (the missing label name is: Persn)"
    )
    (notice,) = people.run("MATCH (n:Persn) RETURN n").summary.notices
    assert notice.gql_status == "01N50"
    assert notice.status == (
        "warn: label does not exist. The label `Persn` does not exist. Verify that the spelling is "
        "correct."
    )


def test_notebooks_show_warnings(people):
    shown = people.run("MATCH (n:Persn) RETURN n.name")._repr_html_()
    assert "warning: no node has the label :Persn" in shown


def test_a_partial_graph_gives_no_warnings(people, monkeypatch):
    from gpugda.answer.unknown_names import remarks_on_names
    from gpugda.loading import LoadedGraph
    from gpugda.ports import Projection

    loaded = people._answers.loaded
    part = LoadedGraph(
        loaded.graph, "part", 0.0, loaded.loaded_at, projection=Projection(labels=("Person",))
    )
    text = "MATCH (n:Person:Nope) RETURN n"
    assert remarks_on_names(text, part) == {"warnings": (), "notices": ()}
    assert remarks_on_names(text, loaded)["warnings"]


@pytest.mark.parametrize("of_nodes", [True, False])
def test_a_requested_key_without_values_is_warned_of(of_nodes):
    graph = server_graph([("A", {}), ("A", {})], [(0, "R", 1, {})], [3, 5], [7], complete=False)
    rows = graph.node_count if of_nodes else graph.relationship_count
    columns = {"name": column_from_values(["x"] * rows), "nmae": column_from_values([None] * rows)}
    graph.add_properties(columns, list(columns), of_nodes=of_nodes)
    text = f"MATCH (x)-[y]->() RETURN {'x' if of_nodes else 'y'}.nmae"
    said = remarks_on_names(text, LoadedGraph(graph, "made", 0.0, datetime.now(UTC)))
    assert [each.code for each in said["notices"]] == ["UnknownPropertyKeyWarning"]
    (warning,) = said["warnings"]
    assert "nothing has the property nmae" in warning
    assert "did you mean name?" in warning


@pytest.mark.parametrize("more", ["", " WITH n MATCH (n)-->(m:Persn)"])
def test_known_names_are_not_looked_up_in_each_run(more):
    """Except property keys: they may be loaded later, so each run looks them up."""
    query = prepare(f"MATCH (n:Person|Zebra)-[:KNOWS]->(){more} RETURN n.name")
    graph = load(gpugda.graph(PEOPLE, KNOWS), SilentProgress()).graph
    found = names_to_look_up(query, graph)
    unknown = {("label", "Zebra", False), ("property", "name", False)}
    assert set(found) == unknown | ({("label", "Persn", False)} if more else set())
