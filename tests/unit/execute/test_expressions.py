"""Expressions as users see them: rows, maps, paths, lists of entities, randomness."""

from __future__ import annotations

import datetime

import neo4j.graph
import pyarrow as pa
import pytest

import gpugda

PEOPLE = {
    "id": [1, 2, 3],
    "labels": [["P"], ["P", "Q"], ["Q"]],
    "name": ["Ann", "Bo", None],
    "age": [30, None, 25],
    "tags": [["a", "b"], [], ["c"]],
}
KNOWS = {"source": [1, 2], "target": [2, 3], "type": ["KNOWS", "LIKES"], "w": [1.5, None]}


@pytest.fixture(scope="module")
def accelerator():
    with gpugda.connect(gpugda.graph(nodes=PEOPLE, relationships=KNOWS)) as made:
        yield made


def values(accelerator, query, **parameters):
    return accelerator.run(query, parameters, engine="gpu").values()


ROWS = [
    ("UNWIND [1, 0, 2] AS x RETURN CASE WHEN x = 0 THEN null ELSE 10 / x END", [[10], [None], [5]]),
    ("UNWIND [0, 1] AS x RETURN CASE x WHEN 0 THEN 'zero' WHEN 1 THEN x END", [["zero"], [1]]),
    ("UNWIND [1, null] AS x RETURN coalesce(x, 1 / coalesce(x, 1))", [[1], [1]]),
    (
        "MATCH (n) RETURN [t IN n.tags WHERE t <> 'a' | t + n.id] AS t ORDER BY n.id",
        [[["b1"]], [[]], [["c3"]]],
    ),
    (
        "MATCH (n) RETURN reduce(s = n.id, t IN n.tags | s + size(t)) AS s ORDER BY n.id",
        [[3], [2], [4]],
    ),
    ("MATCH (n) WHERE any(t IN n.tags WHERE t > 'b') RETURN n.id", [[3]]),
    ("MATCH (n) WHERE size(n.tags) > 0 AND n.age + 1 > 26 RETURN n.id", [[1]]),
    ("MATCH (n) WHERE toUpper(n.name) = 'BO' RETURN n['id'], labels(n)[1]", [[2, "Q"]]),
    (
        "MATCH (n:P) RETURN n {.name, id: n.id + 1} AS m ORDER BY m.id",
        [[{"name": "Ann", "id": 2}], [{"name": "Bo", "id": 3}]],
    ),
    ("WITH date('2020-01-31') AS d RETURN d.year, d {.month}", [[2020, {"month": 1}]]),
    ("UNWIND ['a', 'B'] AS x RETURN x =~ '[a-z]', x IS :: STRING", [[True, True], [False, True]]),
    ("MATCH p = (:P)-[:KNOWS]->(b) RETURN length(p), [n IN nodes(p) | n.id]", [[1, [1, 2]]]),
    ("MATCH ()-[r]->() RETURN startNode(r).id, endNode(r).id ORDER BY id(r)", [[1, 2], [2, 3]]),
    (
        "MATCH (n) RETURN EXISTS { (n)-->() } AND n.id > 1 AS e ORDER BY n.id",
        [[False], [True], [False]],
    ),
    ("UNWIND [[1, 2]] AS l RETURN [x IN l | [y IN l WHERE y <> x]]", [[[[2], [1]]]]),
]


@pytest.mark.parametrize(("query", "rows"), ROWS)
def test_expressions_give_their_values(accelerator, query, rows):
    assert values(accelerator, query) == rows


def test_subqueries_see_elements(accelerator):
    query = "MATCH (n) RETURN [x IN [1, 2] WHERE EXISTS { (n)-->(m) WHERE m.id > x } | x] AS l"
    assert values(accelerator, f"{query} ORDER BY n.id") == [[[1]], [[1, 2]], [[]]]


def test_errors_of_unneeded_rows_are_not_raised(accelerator):
    query = "UNWIND [1, 0] AS x RETURN x = 0 OR 1 / x = 1, any(y IN [1, x] WHERE 1 / y = 1)"
    assert values(accelerator, query) == [[True, True], [True, True]]
    with pytest.raises(gpugda.QueryError, match="line 1, column 46"):
        values(accelerator, "UNWIND [1, 0] AS x RETURN all(y IN [x] WHERE 1 / y = 1)")


def test_an_error_within_a_condition_is_raised():
    with gpugda.connect(gpugda.graph(nodes=PEOPLE)) as accelerator:
        query = "UNWIND [1] AS x WITH x, {a: x}.a AS y RETURN [z IN [1] WHERE y | z] IS NULL OR y"
        with pytest.raises(gpugda.CypherTypeError, match="as a predicate"):
            values(accelerator, query)
        query = "UNWIND [null, [1]] AS l RETURN reduce(s = 1 / size(coalesce(l, [])), x IN l | s)"
        assert values(accelerator, query) == [[None], [1]]


def test_random_functions_are_evaluated_per_row(accelerator):
    query = "UNWIND range(1, 200) AS x MATCH (n) WHERE rand() < 0.5 RETURN x, count(*) AS c"
    counts = {count for _, count in values(accelerator, query)}
    assert {1, 2} <= counts
    found = values(accelerator, "UNWIND range(1, 50) AS x RETURN randomUUID()")
    assert len({uuid for (uuid,) in found}) == 50


def test_a_statement_has_one_instant(accelerator):
    query = (
        "UNWIND range(1, 3) AS x MATCH (n) WHERE datetime() = datetime() RETURN DISTINCT datetime()"
    )
    assert len(values(accelerator, query)) == 1


def test_unknown_functions_are_refused_with_their_place(accelerator):
    with pytest.raises(gpugda.UnsupportedQueryError, match=r"function nothing.known\(\).*column 8"):
        accelerator.explain("RETURN nothing.known(1)")


# ------------------------------------------------------------------ shown by results
def test_functions_of_paths(accelerator):
    query = "MATCH p = (a:P)-[:KNOWS]->(b) RETURN p, [p] AS l, {p: p} AS m, relationships(p) AS r"
    result = accelerator.run(query, engine="gpu")
    (row,) = result.values()
    path = row[0]
    assert isinstance(path, neo4j.graph.Path)
    assert [node["id"] for node in path.nodes] == [1, 2]
    assert [each["w"] for each in path.relationships] == [1.5]
    assert row[1] == [path]
    assert row[2] == {"p": path}
    assert row[3] == list(path.relationships)
    (data,) = accelerator.run(query, engine="gpu").data()
    assert [part if isinstance(part, str) else part["id"] for part in data["p"]] == [1, "KNOWS", 2]


def test_paths_are_written_to_arrow(accelerator):
    query = "MATCH p = (a:P)-[:KNOWS]->(b) RETURN p, nodes(p) AS n"
    table = accelerator.run(query, engine="gpu").to_arrow()
    kind = table.schema.field("p").type
    assert pa.types.is_struct(kind)
    assert [kind.field(place).name for place in range(kind.num_fields)] == [
        "nodes",
        "relationships",
    ]
    (row,) = table.to_pylist()
    assert [node["properties"]["id"] for node in row["p"]["nodes"]] == [1, 2]
    assert [node["element_id"] for node in row["n"]] == ["n0", "n1"]
    indexes = accelerator.run(query, engine="gpu").to_arrow(nodes="index").to_pylist()
    assert indexes == [{"p": [0, 0, 1], "n": [0, 1]}]


def test_maps_are_written_to_arrow(accelerator):
    query = "MATCH (n) RETURN CASE WHEN n.id > 1 THEN {a: n.id, n: n} END AS m ORDER BY n.id"
    table = accelerator.run(query, engine="gpu").to_arrow(nodes="id")
    assert table.to_pylist() == [
        {"m": None},
        {"m": {"a": 2, "n": "n1"}},
        {"m": {"a": 3, "n": "n2"}},
    ]


def test_nested_values_are_written_to_data_frames(accelerator):
    query = (
        "UNWIND [1, 2] AS x RETURN [[x], [x, 2]] AS l, {k: {x: x}} AS m, date({year: 2020}) AS d"
    )
    result = accelerator.run(query, engine="gpu")
    frame = result.to_df()
    assert frame["l"].tolist() == [[[1], [1, 2]], [[2], [2, 2]]]
    assert frame["m"].tolist() == [{"k": {"x": 1}}, {"k": {"x": 2}}]
    assert frame["d"][0].to_native() == datetime.date(2020, 1, 1)
