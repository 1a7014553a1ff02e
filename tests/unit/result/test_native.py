from __future__ import annotations

from types import SimpleNamespace

import neo4j
import neo4j.exceptions
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from neo4j.graph import Graph, Node, Path
from neo4j.spatial import CartesianPoint
from neo4j.time import Date, DateTime, Duration

from gpugda.errors import ConfigurationError
from gpugda.ports import NativeAnswer
from gpugda.result.entities import NodeValue, PathValue, RelationshipValue
from gpugda.result.result import Result
from gpugda.result.rows import BLOCK_ROWS
from gpugda.result.summary import Summary

POINT = CartesianPoint((1.0, 2.0))


def driver_summary(**metadata):
    server = SimpleNamespace(protocol_version=(5, 0), agent="Neo4j/5.26.0")
    return neo4j.ResultSummary(None, True, True, {"server": server, **metadata})


def native(names, rows, **metadata):
    records = [neo4j.Record(zip(names, row, strict=True)) for row in rows]
    answer = NativeAnswer(tuple(names), records, driver_summary(**metadata), None)
    summary = Summary("native", "it writes", rows=len(rows), native=answer.summary)
    result = Result.from_native(answer, summary)
    return result, records


@pytest.fixture
def people():
    """Ann KNOWS Bob, as the driver's own objects."""
    graph = Graph()
    ann = Node(graph, "4:x:0", 0, ["Person", "Boss"], {"name": "Ann", "at": POINT})
    bob = Node(graph, "4:x:1", 1, ["Person"], {"name": "Bob", "born": Date(2000, 1, 2)})
    knows = graph.relationship_type("KNOWS")(graph, "5:x:7", 7, {"since": 2001})
    knows._start_node, knows._end_node = ann, bob
    for node in (ann, bob):
        graph._nodes[node.element_id] = node
    graph._relationships["5:x:7"] = knows
    return ann, bob, knows


@pytest.mark.parametrize(
    "read",
    [
        list,
        lambda result: result.fetch(5),
        lambda result: [next(result), result.peek(), next(result)][::2],
        lambda result: [result.fetch(1)[0], result.single()],
        lambda result: list(result.to_eager_result().records),
    ],
)
def test_records_are_the_drivers_own_objects(people, read):
    ann, bob, knows = people
    rows = [[ann, Path(ann, knows), POINT], [None, {"k": [bob]}, Duration(days=1)]]
    result, records = native(["n", "p", "x"], rows)
    found = read(result)
    assert [id(each) for each in found] == [id(each) for each in records]
    assert found[0]["n"] is ann
    assert found[1]["p"]["k"][0] is bob


def test_values_are_returned_unchanged(people):
    ann, _, knows = people
    path = Path(ann, knows)
    assert native(["p"], [[path]])[0].value()[0] is path
    assert native(["n", "p"], [[ann, path]])[0].values("p")[0][0] is path
    assert native(["n"], [[ann]])[0].value("missing", default=1) == [1]
    assert native(["n"], [[1]])[0].data() == [{"n": 1}]


def test_the_graph_has_the_entities_of_the_records(people):
    ann, _, knows = people
    assert native(["l"], [[None], [[{"k": knows}]]])[0].graph() is ann.graph
    assert native(["p"], [[Path(ann, knows)]])[0].graph() is ann.graph
    assert len(native(["n"], [[1]])[0].graph().nodes) == 0


def test_rows_are_read_across_blocks():
    count = 2 * BLOCK_ROWS + 3
    result, _ = native(["n"], [[number] for number in range(count)])
    taken = [next(result)["n"], *(record["n"] for record in result.fetch(BLOCK_ROWS))]
    assert result.peek()["n"] == BLOCK_ROWS + 1
    assert taken + result.value() == list(range(count))
    assert repr(result) == f"<Result of {count:,} rows (0 unread), keys=('n',), engine='native'>"


def test_nothing_can_be_read_after_consume():
    result, _ = native(["n"], [[1]], type="rw", stats={"nodes-created": 2}, db="people")
    summary = result.consume()
    assert result.closed()
    with pytest.raises(neo4j.exceptions.ResultConsumedError):
        result.values()
    assert summary.counters.nodes_created == 2
    assert (summary.query_type, summary.native.database) == ("rw", "people")


def test_no_rows_and_no_columns():
    result, _ = native([], [])
    assert (result.keys(), list(result), result.single()) == ((), [], None)
    assert native(["a", "b"], [])[0].to_df().shape == (0, 2)
    assert native(["a"], [])[0].to_arrow().num_rows == 0
    assert native([], [])[0].to_arrow().num_rows == 0


def test_numbers_in_data_frames_stay_exact(people):
    rows = [[2**60 + 1, 1, 1.5, "a", people[0], POINT], [None, 2, None, None, None, None]]
    frame = native(["i", "j", "f", "s", "n", "p"], rows)[0].to_df()
    assert frame["i"].tolist()[0] == 2**60 + 1
    assert [str(each) for each in frame.dtypes[:3]] == ["Int64", "int64", "float64"]
    assert frame["n"][0] is people[0]
    assert frame["p"][0] is POINT


def test_data_frames_expand_and_parse(people):
    ann, _, knows = people
    result, _ = native(["n", "r", "t"], [[ann, knows, DateTime(2020, 1, 2)]])
    row = result.to_df(expand=True, parse_dates=True).iloc[0]
    assert row["n().prop.name"] == "Ann"
    assert row["r->.end.element_id"] == "4:x:1"
    assert row["t"] == pd.Timestamp(2020, 1, 2)


def test_nodes_in_arrow_equal_those_of_the_device(people):
    ann, bob, knows = people
    table = native(["n", "r"], [[ann, knows], [bob, None], [None, knows], [ann, None]])[
        0
    ].to_arrow()
    nodes = table["n"].to_pylist()
    assert nodes[0] == nodes[3]
    assert nodes[1] == {
        "element_id": "4:x:1",
        "labels": ["Person"],
        "properties": {"name": "Bob", "at": None, "born": Date(2000, 1, 2).to_native()},
    }
    assert nodes[0]["properties"]["at"] == {"srid": 7203, "x": 1.0, "y": 2.0, "z": None}
    assert nodes[2] is None
    assert table["r"].to_pylist()[2] == {
        "element_id": "5:x:7",
        "type": "KNOWS",
        "start": "4:x:0",
        "end": "4:x:1",
        "properties": {"since": 2001},
    }


def test_arrow_types_equal_those_of_the_device(people, result_of, graph):
    from gpugda.values import Entity

    ann, _, knows = people
    ours = result_of(["n", "r"], [[Entity(True, 0), Entity(False, 0)]]).to_arrow().schema
    theirs = native(["n", "r"], [[ann, knows]])[0].to_arrow().schema
    for name in ("n", "r"):
        here, there = ours.field(name).type, theirs.field(name).type
        assert [field.name for field in here] == [field.name for field in there]
        assert [field.type for field in here][:-1] == [field.type for field in there][:-1]


def test_paths_and_lists_are_written_to_arrow(people):
    ann, _, knows = people
    result, _ = native(["p", "l"], [[Path(ann, knows), [ann, None]], [None, []]])
    table = result.to_arrow()
    path = table["p"].to_pylist()[0]
    assert [node["properties"]["name"] for node in path["nodes"]] == ["Ann", "Bob"]
    assert path["relationships"][0]["type"] == "KNOWS"
    assert table["p"].to_pylist()[1] is None
    assert table["l"].to_pylist()[0][0]["element_id"] == "4:x:0"


def test_entities_are_written_to_arrow_as_ids_on_request(people):
    ann, bob, knows = people
    rows = [[ann, [bob], Path(ann, knows)], [None, None, None]]
    table = native(["n", "l", "p"], rows)[0].to_arrow("id")
    assert table.schema.field("n").type == pa.large_string()
    assert table.to_pylist()[0] == {
        "n": "4:x:0",
        "l": ["4:x:1"],
        "p": ["4:x:0", "5:x:7", "4:x:1"],
    }
    result, _ = native(["l"], [[[ann]]])
    with pytest.raises(ConfigurationError, match="use nodes='id'"):
        result.to_arrow("index")
    assert result.value() == [[ann]], "a refused form takes no rows"
    assert native(["x"], [[1]])[0].to_arrow("index")["x"].to_pylist() == [1]


def test_mixed_columns_become_marked_text(people):
    table = native(["x"], [[1], [people[1]], [None], [{"k": "v"}]])[0].to_arrow()
    texts = ["1", '(:Person {name: "Bob", born: 2000-01-02})', None, '{k: "v"}']
    assert table["x"].to_pylist() == texts
    assert b"gpugda.mixed" in table.schema.field("x").metadata


def test_arrow_and_polars_hold_only_unread_rows():
    result, _ = native(["n"], [[1], [2], [None]])
    next(result)
    assert result.to_arrow()["n"].to_pylist() == [2, None]
    assert native(["n"], [[1], ["a"]])[0].to_polars().equals(pl.DataFrame({"n": ["1", '"a"']}))


def test_rows_are_written_as_plain_blocks_and_html(people):
    ann, bob, knows = people
    result, _ = native(["p", "x"], [[Path(ann, knows), [bob]]])
    html = result._repr_html_()
    assert "(:Boss:Person" in html
    assert "-[:KNOWS {since: 2001}]-&gt;(:Person" in html
    ((row,),) = result.plain_blocks()
    path, (node,) = row
    assert isinstance(path, PathValue)
    assert [type(part) for part in path.parts] == [NodeValue, RelationshipValue, NodeValue]
    assert node.properties["born"] == Date(2000, 1, 2)
    assert list(result) == []


def test_a_path_against_a_relationship_is_drawn_backwards(people):
    from gpugda.result.record_rows import plain_value
    from gpugda.result.text import format_value

    _, bob, knows = people
    text = format_value(plain_value(Path(bob, knows)))
    assert text.endswith('(:Boss:Person {name: "Ann", at: point({srid: 7203, x: 1.0, y: 2.0})})')
    assert "<-[:KNOWS {since: 2001}]-" in text


def test_the_table_has_all_rows():
    result, _ = native(["n", "s"], [[1, "a"], [2, None]])
    next(result)
    table = result.table
    assert (table.names, table.row_count, result.row_count) == (("n", "s"), 2, 2)
    assert table.columns[0].values.tolist() == [1, 2]
