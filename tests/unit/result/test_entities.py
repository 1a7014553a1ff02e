from __future__ import annotations

import neo4j.graph
import pytest

from gpugda.result.entities import NodeValue, RelationshipValue
from gpugda.values import Entity

ANN, BOB, NOBODY = (Entity(True, index) for index in range(3))
KNOWS, AGAIN, LIKES = (Entity(False, index) for index in range(3))


@pytest.fixture(autouse=True, params=[True, False], ids=["known driver", "another driver"])
def driver(request, monkeypatch):
    """With the installed driver, and with a driver whose classes store their values elsewhere."""
    if not request.param:
        monkeypatch.setattr("gpugda.result.neo4j_entities._has_known_attributes", False)
        monkeypatch.setattr("gpugda.result.records._is_known", False)


def test_records_equal_those_of_the_constructor():
    from gpugda.result import records

    assert list(records.make_records(("a", "b"), [(1, 2)])) == [neo4j.Record([("a", 1), ("b", 2)])]
    assert records.make_records(("a",), [(1,)])[0].items() == [("a", 1)]


def test_entities_have_the_attributes_that_the_constructors_give(result_of):
    node, relationship = result_of(["n", "r"], [[Entity(True, 0), Entity(False, 1)]]).single()
    graph = node.graph
    again = neo4j.graph.Node(graph, "n0", 0, ["Boss", "Person"], dict(node))
    assert vars(node) == vars(again)
    other = type(relationship)(graph, "r1", 1, dict(relationship))
    other._start_node, other._end_node = relationship.nodes
    assert vars(relationship) == vars(other)


def test_nodes_are_neo4js(result_of):
    (record,) = result_of(["n"], [[ANN]])
    node = record["n"]
    assert type(node) is neo4j.graph.Node
    assert node.labels == {"Person", "Boss"}
    assert dict(node) == {"name": "Ann", "tags": ["x", "y"]}
    assert node.element_id.endswith("n0")


def test_null_properties_are_absent(result_of):
    node = result_of(["n"], [[NOBODY]]).single()["n"]
    assert dict(node) == {}
    assert "name" not in node
    assert node.labels == frozenset()


def test_relationships_are_neo4js(result_of):
    (record,) = result_of(["r"], [[AGAIN]])
    relationship = record["r"]
    assert isinstance(relationship, neo4j.graph.Relationship)
    assert relationship.type == "KNOWS"
    assert dict(relationship) == {"since": 2002}
    assert relationship.start_node.element_id.endswith("n0")
    assert relationship.end_node.element_id.endswith("n1")


def test_ends_that_are_not_returned_have_no_properties(result_of):
    relationship = result_of(["r"], [[KNOWS]]).single()["r"]
    assert relationship.start_node.labels == frozenset()
    assert dict(relationship.end_node) == {}


def test_a_returned_end_is_the_same_object(result_of):
    record = result_of(["r", "a"], [[KNOWS, ANN]]).single()
    assert record["r"].start_node is record["a"]
    assert record["a"].labels == {"Person", "Boss"}
    assert record["r"].end_node.labels == frozenset()


def test_an_end_returned_in_a_later_row_gets_its_properties(result_of):
    result = result_of(["x"], [[KNOWS], [BOB]])
    relationship, node = result.value()
    assert relationship.end_node is node
    assert node["name"] == 'Bob "B"'


def test_both_ends_of_a_loop_are_one_object(result_of):
    relationship = result_of(["r"], [[LIKES]]).single()["r"]
    assert relationship.start_node is relationship.end_node


def test_one_entity_is_one_object(result_of):
    first, second = result_of(["a", "b"], [[ANN, BOB], [ANN, ANN]])
    assert first["a"] is second["a"] is second["b"]
    assert first["a"] != first["b"]


def test_two_results_share_no_objects(result_of):
    one = result_of(["a"], [[ANN]]).single()["a"]
    other = result_of(["a"], [[ANN]]).single()["a"]
    assert one is not other
    one["tags"].append("changed")
    assert other["tags"] == ["x", "y"]
    assert result_of(["a"], [[ANN]]).single()["a"]["tags"] == ["x", "y"]


def test_nulls_between_entities_stay_null(result_of):
    result = result_of(["n", "r"], [[None, KNOWS], [BOB, None]])
    first, second = result
    assert first["n"] is None
    assert first["r"].type == "KNOWS"
    assert second["n"]["name"] == 'Bob "B"'
    assert second["r"] is None


def test_entities_in_lists_and_maps_are_objects(result_of):
    record = result_of(["x"], [[[ANN, {"r": KNOWS}, 1]]]).single()
    node, inner, number = record["x"]
    assert node["name"] == "Ann"
    assert inner["r"].start_node is node
    assert number == 1


def test_a_column_may_mix_entities(result_of):
    node, relationship, nothing = result_of(["x"], [[ANN], [KNOWS], [None]]).value()
    assert isinstance(node, neo4j.graph.Node)
    assert isinstance(relationship, neo4j.graph.Relationship)
    assert nothing is None


def test_the_graph_has_all_entities_of_the_result(result_of):
    result = result_of(["a", "r", "l"], [[ANN, KNOWS, [LIKES]], [NOBODY, AGAIN, []]])
    next(result)
    graph = result.graph()
    assert len(graph.nodes) == 3  # Bob as an end
    assert len(graph.relationships) == 3
    assert {node.element_id[-2:] for node in graph.nodes} == {"n0", "n1", "n2"}
    assert next(result)["a"].graph is graph


def test_plain_blocks(result_of):
    ((row,),) = result_of(["n", "r", "x"], [[ANN, AGAIN, 1.5]]).plain_blocks()
    node, relationship, number = row
    assert node == NodeValue("n0", ("Person", "Boss"), {"name": "Ann", "tags": ["x", "y"]})
    assert relationship == RelationshipValue("r1", "KNOWS", "n0", "n1", {"since": 2002})
    assert number == 1.5
