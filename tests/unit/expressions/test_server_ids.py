"""Queries about server ids: on the device's columns and by the reference."""

import numpy as np
import pytest
from server_ids import ListedSource, server_graph

import gpugda
from gpugda.data.values.column import Column, ColumnKind
from gpugda.data.values.columns import to_values
from gpugda.data.values.dictionaries import ObjectDictionary
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate
from gpugda.expressions.id_order import by_ids
from gpugda.expressions.label_columns import FUNCTIONS
from gpugda.expressions.parameters import Parameters
from gpugda.values import Entity
from tests.one_pattern import query_of

NODES = [("A", {"k": 0}), ("A", {"k": 1}), ("B", {"k": 2})]
NODE_IDS = [4, 17, 2**40]
# By index: 0 (0→1), 1 (0→1), 2 (0→2), 3 (1→0), 4 (2→2); two parallel ones.
RELATIONSHIPS = [
    (2, "R", 2, {"w": "e"}),
    (0, "R", 1, {"w": "a"}),
    (0, "R", 2, {"w": "c"}),
    (1, "R", 0, {"w": "d"}),
    (0, "R", 1, {"w": "b"}),
]
IDS = [0, 50, 7, 2**33, 8]  # by id: e, c, b, a, d
BY_ID = ["e", "c", "b", "a", "d"]


@pytest.fixture(scope="module")
def accelerator():
    source = ListedSource(NODES, RELATIONSHIPS, NODE_IDS, IDS)
    with gpugda.connect(source) as made:
        yield made


@pytest.fixture(params=["reference", "gpu"])
def ask(request, accelerator):
    def run(query, **parameters):
        return accelerator.run(query, parameters, engine=request.param).values()

    return run


def test_id_and_element_id(ask):
    rows = ask("MATCH (a)-[r]->() RETURN id(a), elementId(a), r.w, id(r), elementId(r)")
    assert sorted(rows, key=lambda row: row[2]) == [
        [4, "4:db:4", "a", 50, "5:db:50"],
        [4, "4:db:4", "b", 8, "5:db:8"],
        [4, "4:db:4", "c", 7, "5:db:7"],
        [17, "4:db:17", "d", 2**33, f"5:db:{2**33}"],
        [2**40, f"4:db:{2**40}", "e", 0, "5:db:0"],
    ]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("id(n) = 17", [1]),
        ("17.0 = id(n)", [1]),
        ("id(n) = 1", []),
        ("id(n) = 17.5", []),
        ("id(n) = '17'", []),
        ("id(n) = true", []),
        ("id(n) = null", []),
        ("id(n) <> null", []),
        ("id(n) = 1e300", []),
        ("id(n) = $nan", []),
        ("id(n) <> $nan", [0, 1, 2]),
        ("id(n) = -1", []),
        ("id(n) <> 17", [0, 2]),
        ("id(n) <> -1", [0, 1, 2]),
        ("id(n) <> '17'", [0, 1, 2]),
        ("NOT id(n) = 17", [0, 2]),
        ("id(n) > 4", [1, 2]),
        ("4 < id(n) <= 17", [1]),
        ("id(n) IN [4, 1099511627776.0, 1, 'x']", [0, 2]),
        ("id(n) IN $ids", [0, 1]),
        ("NOT id(n) IN $ids", [2]),
        ("NOT id(n) IN [4, null]", []),
        ("id(n) IN []", []),
        ("id(n) IN [n.k, 17]", [1]),
        ("id(n) = n.k", []),
        ("elementId(n) = '4:db:17'", [1]),
        ("elementId(n) = '5:db:17'", []),
        ("elementId(n) = 17", []),
        ("elementId(n) <> 1", [0, 1, 2]),
        ("elementId(n) <> '4:db:4'", [1, 2]),
        ("elementId(n) IN ['4:db:4', '4:db:1', null]", [0]),
        ("NOT elementId(n) IN ['4:db:4', 1]", [1, 2]),
        ("elementId(n) STARTS WITH '4:db:1'", [1, 2]),
        ("elementId(n) = n.k", []),
    ],
)
def test_conditions_on_node_ids_are_tested(ask, condition, expected):
    rows = ask(f"MATCH (n) WHERE {condition} RETURN n.k", ids=[17, 4, 4], nan=float("nan"))
    assert sorted(row[0] for row in rows) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("id(r) = 8", ["b"]),
        ("id(r) = 1", []),
        ("id(r) IN [50, 0, 3]", ["a", "e"]),
        ("elementId(r) = '5:db:7'", ["c"]),
        ("id(r) < 8", ["c", "e"]),
    ],
)
def test_conditions_on_relationship_ids_are_tested(ask, condition, expected):
    rows = ask(f"MATCH ()-[r]->() WHERE {condition} RETURN r.w")
    assert sorted(row[0] for row in rows) == expected


@pytest.mark.parametrize("key", ["r", "[r]", "[1, [r]]"])
@pytest.mark.parametrize("descending", [False, True])
def test_relationships_are_ordered_by_their_ids(ask, key, descending):
    way = " DESC" if descending else ""
    rows = ask(f"MATCH ()-[r]->() RETURN r.w ORDER BY {key}{way}")
    assert [row[0] for row in rows] == (BY_ID[::-1] if descending else BY_ID)
    rows = ask(f"MATCH ()-[r]->() RETURN r.w ORDER BY {key}{way} SKIP 1 LIMIT 2")
    assert [row[0] for row in rows] == (BY_ID[::-1] if descending else BY_ID)[1:3]


def test_grouped_relationships_are_ordered_by_their_ids(ask):
    rows = ask("MATCH ()-[r]->() RETURN r, count(*) AS c ORDER BY r")
    assert [row[0]["w"] for row in rows] == BY_ID
    rows = ask("MATCH ()-[r]->() RETURN DISTINCT r AS s ORDER BY s DESC")
    assert [row[0]["w"] for row in rows] == BY_ID[::-1]


def test_nodes_are_ordered_by_their_ids(ask):
    rows = ask("MATCH (n) RETURN n.k ORDER BY n DESC")
    assert [row[0] for row in rows] == [2, 1, 0]
    rows = ask("MATCH (n)-[r]->() RETURN r.w ORDER BY [n, r]")
    assert [row[0] for row in rows] == ["c", "b", "a", "d", "e"]


@pytest.mark.parametrize(("left", "right"), [("r", "s"), ("[r]", "[s]")])
@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
def test_relationships_are_compared_by_their_ids(ask, left, right, sign):
    query = f"MATCH ()-[r]->() MATCH ()-[s]->() WHERE {left} {sign} {right} RETURN r.w, s.w"
    place = BY_ID.index
    expected = [
        [a, b]
        for a in BY_ID
        for b in BY_ID
        if {"<": place(a) < place(b), ">": place(a) > place(b)}.get(sign[0])
        or (len(sign) == 2 and a == b)
    ]
    assert sorted(ask(query)) == sorted(expected)


def test_a_comparison_may_be_returned(ask):
    rows = ask("MATCH ()-[r {w: 'c'}]->() MATCH ()-[s {w: 'a'}]->() RETURN r < s, r = s, r <> s")
    assert rows == [[True, False, True]]
    assert ask("MATCH (n {k: 0})-[r {w: 'c'}]->() RETURN n < r, r < 8, r >= 'x'") == [[None] * 3]


def test_returned_entities_have_the_servers_ids(accelerator):
    query = "MATCH (a)-[r {w: 'b'}]->(b) RETURN a, r, b"
    result = accelerator.run(query, engine="gpu")
    a, r, b = result.single()
    assert [each.element_id for each in (a, r, b)] == ["4:db:4", "5:db:8", "4:db:17"]
    assert r.nodes == (a, b)
    with pytest.warns(DeprecationWarning, match="id"):
        assert [each.id for each in (a, r, b)] == [4, 8, 17]
    table = accelerator.run(query, engine="gpu").to_arrow(nodes="id")
    assert [column[0].as_py() for column in table] == ["4:db:4", "5:db:8", "4:db:17"]


# ------------------------------------------------------------------ columns alone
GRAPH = server_graph(NODES, RELATIONSHIPS, NODE_IDS, IDS)
NULLS = Column(
    ColumnKind.RELATIONSHIP, np.array([2**32 - 1, 3], dtype=np.uint32), np.array([False, True])
)


def test_the_placeholder_of_a_null_is_never_looked_up():
    assert to_values(by_ids(NULLS, GRAPH)) == [None, 2**33]
    for name, expected in (("id", 2**33), ("elementid", f"5:db:{2**33}")):
        assert to_values(FUNCTIONS[name][1](GRAPH, NULLS, {})) == [None, expected]


def test_lists_and_maps_are_ordered_by_the_ids_in_them():
    entity = Entity(False, 3)
    values = [[1, entity], {"a": [entity], "n": Entity(True, 1)}, "x", None]
    codes = np.array([3, 1, 0, 1, 2], dtype=np.int32)
    column = Column(ColumnKind.OBJECT, codes, None, ObjectDictionary(values))
    by_id = Entity(False, 2**33)
    a_map = {"a": [by_id], "n": Entity(True, 1)}
    assert to_values(by_ids(column, GRAPH)) == [None, a_map, [1, by_id], a_map, "x"]
    nodes = Column(ColumnKind.OBJECT, codes[:1] * 0, None, ObjectDictionary([[Entity(True, 1)]]))
    assert by_ids(nodes, GRAPH) is nodes
    assert by_ids(column, None) is column


def test_finding_an_element_id_makes_no_text_per_node(monkeypatch):
    def fail(*arguments):
        raise AssertionError("a text was made")

    monkeypatch.setattr(type(GRAPH), "element_id_of_node", fail)
    monkeypatch.setattr(type(GRAPH), "ids_of", fail)
    column = Column(ColumnKind.NODE, np.arange(3, dtype=np.uint32))
    for condition in ("elementId(n) = '4:db:17'", "id(n) = 17", "id(n) IN [17, 3]"):
        (expression,) = query_of(f"MATCH (n) WHERE {condition} RETURN n").graph.predicates
        environment = Environment(3, Parameters({}, ""), "", GRAPH, {"n": column})
        assert to_values(evaluate(expression, environment)) == [False, True, False]
