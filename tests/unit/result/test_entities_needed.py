"""The nodes and relationships that a result shows with their properties."""

import numpy as np
import pytest
from server_ids import server_graph

from gpugda.data.values.column import Column, ColumnKind
from gpugda.data.values.columns import column_from_values
from gpugda.data.values.dictionaries import ObjectDictionary
from gpugda.data.values.property_store import EntityProperties, PropertyNotReadError
from gpugda.execute.result_table import ResultTable
from gpugda.live.entities import entities_in
from gpugda.result.arrow import arrow_table
from gpugda.result.entities import PlainEntities
from gpugda.result.neo4j_entities import Neo4jEntities
from gpugda.values import Entity

GRAPH = server_graph(
    [("A", {})] * 4,
    [(0, "R", 1, {}), (1, "R", 2, {})],
    [5, 9, 70, 71],
    [30, 8],
    complete=False,
)


def _table(*columns, read_later=None):
    names = tuple(f"c{i}" for i in range(len(columns)))
    return ResultTable(names, columns, len(columns[0]), GRAPH, read_later)


def _entities(kind, *indexes):
    valid = np.array([index is not None for index in indexes])
    values = np.array([index or 0 for index in indexes], dtype=np.uint32)
    return Column(kind, values, None if valid.all() else valid)


def _objects(*values):
    return Column(
        ColumnKind.OBJECT, np.arange(len(values), dtype=np.int32), None, ObjectDictionary(values)
    )


def _found(*columns):
    nodes, relationships = entities_in(_table(*columns))
    assert nodes.dtype == relationships.dtype == np.uint32
    return nodes.tolist(), relationships.tolist()


def test_columns_of_entities_need_their_entities():
    nodes = _entities(ColumnKind.NODE, 3, 1, 3)
    relationships = _entities(ColumnKind.RELATIONSHIP, 1, 1, 1)
    assert _found(nodes, relationships, nodes) == ([1, 3], [1])


def test_nulls_need_nothing():
    assert _found(_entities(ColumnKind.NODE, None, 2)) == ([2], [])
    assert _found(_entities(ColumnKind.NODE, None)) == ([], [])


def test_lists_and_maps_need_the_entities_in_them():
    column = _objects([Entity(True, 2), [Entity(False, 1)]], {"a": Entity(True, 0)}, [1, "x"], None)
    assert _found(column, _entities(ColumnKind.NODE, 2, 2, 2, 2)) == ([0, 2], [1])


def test_only_entities_of_rows_are_needed():
    column = _objects([Entity(True, 2)], [Entity(True, 3)])
    assert _found(column.take(np.array([1]))) == ([3], [])
    hidden = Column(column.kind, column.values, np.array([True, False]), column.dictionary)
    assert _found(hidden) == ([2], [])


def test_columns_without_entities_need_nothing():
    assert _found(column_from_values([1, 2]), column_from_values(["a", None])) == ([], [])
    empty = Column(ColumnKind.OBJECT, np.zeros(0, np.int32), None, ObjectDictionary([]))
    assert _found(empty) == ([], [])


# ------------------------------------------------------------------ properties read for a result
READ = EntityProperties({1: {"x": 1, "list": [1, 2]}, 3: {}}, {0: {"w": 2.5}})
NODES = _entities(ColumnKind.NODE, 1, 3)


def test_entities_have_the_properties_read_for_them():
    entities = Neo4jEntities(GRAPH, READ)
    one, other = entities.nodes(NODES.values)
    assert (one.element_id, dict(one)) == ("4:db:9", {"x": 1, "list": [1, 2]})
    assert dict(other) == {}
    (relationship,) = entities.relationships(np.array([0], dtype=np.uint32))
    assert (relationship.element_id, dict(relationship)) == ("5:db:30", {"w": 2.5})
    # An end has no properties, unless it was returned itself.
    assert dict(relationship.start_node) == {}
    assert relationship.start_node.element_id == "4:db:5"
    assert relationship.end_node is one


def test_changing_a_returned_value_changes_no_other():
    first = PlainEntities(GRAPH, READ).nodes(NODES.values)[0]
    first.properties["list"].append(3)
    assert PlainEntities(GRAPH, READ).nodes(NODES.values)[0].properties["list"] == [1, 2]


def test_arrow_has_the_properties_that_were_read():
    table = arrow_table(_table(NODES, read_later=READ), 0, "struct")
    assert table["c0"].to_pylist() == [
        {"element_id": "4:db:9", "labels": ["A"], "properties": {"x": 1, "list": [1, 2]}},
        {"element_id": "4:db:71", "labels": ["A"], "properties": {"x": None, "list": None}},
    ]
    short = arrow_table(_table(NODES), 0, "id")
    assert short["c0"].to_pylist() == ["4:db:9", "4:db:71"]
    assert arrow_table(_table(NODES), 0, "index")["c0"].to_pylist() == [1, 3]


@pytest.mark.parametrize("make", [PlainEntities, Neo4jEntities])
def test_an_unread_property_raises(make):
    with pytest.raises(PropertyNotReadError):
        make(GRAPH).nodes(NODES.values)
    with pytest.raises(PropertyNotReadError):
        make(GRAPH).relationships(np.array([0], dtype=np.uint32))
    with pytest.raises(PropertyNotReadError):
        arrow_table(_table(NODES), 0, "struct")


def test_complete_columns_override_properties_read_before():
    graph = server_graph([("A", {})] * 2, [], [5, 9], [], complete=False)
    graph.add_properties({"x": column_from_values([7, 8])}, None, of_nodes=True)
    read = EntityProperties({0: {"x": 7}})
    nodes = PlainEntities(graph, read).nodes(np.array([1, 0], dtype=np.uint32))
    assert [node.properties for node in nodes] == [{"x": 8}, {"x": 7}]
