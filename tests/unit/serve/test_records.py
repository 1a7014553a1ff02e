"""Rows as records: what the driver reads is what the result itself gives."""

import numpy as np
import pytest
from answers import comparable as comparable_entity
from graphs import make_graph

import gpugda
from gpugda.data.values.column import Column, ColumnKind
from gpugda.execute.result_table import ResultTable
from gpugda.serve import records
from gpugda.serve.framing import Dechunker
from gpugda.serve.packstream import unpack
from gpugda.serve.records import RecordWriter


def comparable(value):
    if type(value).__name__ == "Path":
        ends = [relationship.start_node.element_id for relationship in value.relationships]
        return ["path", *map(comparable, (*value.nodes, *value.relationships)), ends]
    if isinstance(value, list):
        return list(map(comparable, value))
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    return comparable_entity(value)


def rows_of(table, block=3, **form):
    writer = RecordWriter(table, **{"utc": True, "element_ids": True, **form})
    data = b"".join(
        writer.block(low, min(low + block, table.row_count))
        for low in range(0, table.row_count, block)
    )
    return [unpack(message).fields[0] for message in Dechunker(1 << 30).feed(data)]


def hydrated(row):
    """The fields as the driver makes values of them."""
    from neo4j._codec.hydration.bolt.v2 import HydrationHandler

    scope = HydrationHandler().new_hydration_scope()
    hooks = scope.hydration_hooks
    from neo4j._codec.packstream import Structure

    def value(one):
        if isinstance(one, list):
            return [value(item) for item in one]
        if isinstance(one, dict):
            return {key: value(item) for key, item in one.items()}
        if type(one).__name__ == "Structure":
            return hooks[Structure](Structure(bytes((one.tag,)), *map(value, one.fields)))
        return one

    return [comparable(value(one)) for one in row]


PEOPLE = {
    "id": [1, 2, 3, 4],
    "labels": [["A"], ["A", "B"], [], ["C"]],
    "name": ["Ann", "Bö", None, ""],
    "age": [1, -5, None, 2**40],
    "tall": [True, None, False, None],
    "size": [1.5, None, float("inf"), -0.0],
    "tags": [["x", "y"], None, [], ["z"]],
}
KNOWS = {
    "source": [1, 2, 2, 3],
    "target": [2, 1, 2, 4],
    "type": ["K", "K", "L", "M"],
    "since": [2000, None, 1, 2],
}


@pytest.fixture(scope="module")
def graph():
    with gpugda.connect(gpugda.graph(nodes=PEOPLE, relationships=KNOWS)) as accelerator:
        yield accelerator


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-[r]->(b) RETURN a, r, b, a.name, a.age, a.tall, a.size, a.tags",
        "MATCH (a) OPTIONAL MATCH (a)-[r:L|M]->(b) RETURN a.name, r, b",
        "MATCH p = (a)-[*1..3]-(b) RETURN p, nodes(p), relationships(p), length(p)",
        "MATCH p = (a:A) RETURN p, [a, {n: a}, null], labels(a)",
        "MATCH (a) RETURN null AS x, count(*) AS c, collect(a) AS all",
        "UNWIND [1, 200, -200, 70000, 5000000000, 'x', true, 1.5, null, [1, [2]]] AS x RETURN x",
        "RETURN date('2020-01-01') AS d, duration('P1M2DT3S') AS p, point({x: 1, y: 2}) AS q",
        "UNWIND range(1, 40) AS a RETURN " + ", ".join(f"a + {n} AS c{n}" for n in range(20)),
        "MATCH (a:Zorg) RETURN a",
    ],
)
def test_records_are_the_rows(graph, query):
    result = graph.run(query, engine="reference")
    expected = [[comparable(value) for value in row] for row in graph.run(query).values()]
    found = list(map(hydrated, rows_of(graph.run(query).table)))
    key = repr
    assert sorted(found, key=key) == sorted(expected, key=key)
    if "ORDER" not in query:
        again = list(map(hydrated, rows_of(result.table, block=1000)))
        assert sorted(again, key=key) == sorted(expected, key=key)


def test_bolt_4_4_has_no_element_ids(graph):
    query = "MATCH p = (a:A {name: 'Ann'})-[r:K]->(b) RETURN a, r, p"
    (row,) = rows_of(graph.run(query).table, element_ids=False)
    node, relationship, path = row
    assert [len(each.fields) for each in (node, relationship, path)] == [3, 5, 3]
    assert [len(each.fields) for each in (path.fields[0][0], path.fields[1][0])] == [3, 3]


def test_a_path_against_the_direction_has_a_negative_step(graph):
    query = "MATCH p = (b)<-[:M]-(a) RETURN p"
    (row,) = rows_of(graph.run(query).table)
    assert row[0].fields[2] == [-1, 1]


def test_a_record_longer_than_a_chunk(graph):
    result = graph.run("UNWIND range(1, 3) AS x RETURN x, range(1, 100000) AS y, 'z' AS z")
    assert [[x, len(y), z] for x, y, z in rows_of(result.table)] == [
        [x, 100_000, "z"] for x in (1, 2, 3)
    ]


def test_no_columns_and_no_rows():
    empty = make_graph([])
    assert (
        RecordWriter(ResultTable((), (), 0, empty), utc=True, element_ids=True).block(0, 0) == b""
    )
    assert rows_of(ResultTable((), (), 2, empty)) == [[], []]


def test_a_pool_that_is_full_starts_anew(graph, monkeypatch):
    monkeypatch.setattr(records, "_LARGEST_POOL", 1)
    query = "MATCH (a), (b) RETURN a, b.name"
    expected = sorted([[comparable(v) for v in row] for row in graph.run(query).values()], key=repr)
    assert sorted(map(hydrated, rows_of(graph.run(query).table)), key=repr) == expected


def test_a_pool_without_a_table(graph, monkeypatch):
    monkeypatch.setattr(records, "_LARGEST_TABLE", 1)
    query = "MATCH (a), (b) RETURN a, b.name"
    expected = sorted([[comparable(v) for v in row] for row in graph.run(query).values()], key=repr)
    assert sorted(map(hydrated, rows_of(graph.run(query).table)), key=repr) == expected


@pytest.mark.parametrize("bits", [7, 8, 15, 16, 31, 32, 62])
def test_integers_at_the_edges_of_their_widths(bits):
    values = np.array([-(2**bits) - 1, -(2**bits), 2**bits - 1, 2**bits], dtype=np.int64)
    for some in (values, values[1:], values[1:3], values[2:]):
        table = ResultTable(("x",), (Column(ColumnKind.INTEGER, some),), len(some), make_graph([]))
        assert [row[0] for row in rows_of(table)] == some.tolist()
