import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import gpugda
from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import to_values
from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import SilentProgress

PEOPLE = "key,kind,name,zip,height,tall,born\n1,Person,Ann,01234,1.5,true,1961\n2,,Bob,,2,false,\n"
KNOWS = "a,b,how,since\n1,2,LIKES,1999\n2,1,KNOWS,\n"


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        path = tmp_path / name
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_file


def load(nodes=None, relationships=None, **names):
    with gpugda.graph(nodes, relationships, **names).read(SilentProgress()) as batches:
        return build_data_graph(batches)


def nodes_of(graph):
    columns = {key: to_values(column) for key, column in graph.node_properties.items()}
    labels = graph.labels_of(np.arange(graph.node_count)) if graph.node_count else []
    return labels, columns


def ends_of(graph):
    starts, ends = graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist()
    types = [graph.types.names[each] for each in graph.relationship_types().tolist()]
    return sorted(zip(starts, types, ends, strict=True))


NAMES = {"id": "key", "labels": "kind", "source": "a", "target": "b", "type": "how"}


# ------------------------------------------------------------------ mapping of columns
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", ".feather", "frame"])
def test_columns_are_mapped_by_name(write, tmp_path, suffix):
    texts = {"nodes": PEOPLE, "relationships": KNOWS}
    if suffix.startswith((".csv", ".tsv")):
        mark = "\t" if suffix == ".tsv" else ","
        given = [write(f"{key}{suffix}", text.replace(",", mark)) for key, text in texts.items()]
    else:
        given = []
        for key, text in texts.items():
            path = write(f"{key}.csv", text)
            frame = pd.read_csv(path, dtype={"zip": str, "born": "Int64", "since": "Int64"})
            if suffix == ".parquet":
                frame.to_parquet(path := tmp_path / f"{key}.parquet")
            elif suffix == ".feather":
                frame.to_feather(path := tmp_path / f"{key}.feather")
            given.append(frame if suffix == "frame" else path)
    graph = load(*given, **NAMES)
    labels, columns = nodes_of(graph)
    assert labels == [("Person",), ()]
    assert columns == {
        "key": [1, 2],
        "name": ["Ann", "Bob"],
        "zip": ["01234", None],
        "height": [1.5, 2.0],
        "tall": [True, False],
        "born": [1961, None],
    }
    assert ends_of(graph) == [(0, "LIKES", 1), (1, "KNOWS", 0)]
    assert to_values(graph.relationship_properties["since"]) == [1999, None]


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["01", "2"], ["01", "2"]),
        (["-0"], [-0.0]),
        (["+1"], ["+1"]),
        (["9223372036854775807"], [2**63 - 1]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["-9223372036854775808"], [-(2**63)]),
        (["1.5", "2", "1e3", "-2.5E-1"], [1.5, 2.0, 1000.0, -0.25]),
        (["1.5", "NaN"], ["1.5", "NaN"]),
        (["9007199254740993", "0.5"], ["9007199254740993", "0.5"]),
        (["-9007199254740993", "0.5"], ["-9007199254740993", "0.5"]),
        (["9007199254740991", "0.5"], [9007199254740991.0, 0.5]),
        (["1e400", "0.5"], ["1e400", "0.5"]),
        (["1e300", "", "0.5"], [1e300, None, 0.5]),
        (["True", "FALSE"], [True, False]),
        (["true", "1"], ["true", "1"]),
        (["2001-02-03"], ["2001-02-03"]),
        (["1", ""], [1, None]),
        (['""', "1"], ["", "1"]),
        (['"1"', "2"], [1, 2]),
        (["", ""], [None, None]),
    ],
)
def test_column_types_are_inferred_from_the_text(write, fields, values):
    rows = "".join(f"{row},{field}\n" for row, field in enumerate(fields))
    found = nodes_of(load(write("n.csv", f"id,x\n{rows}")))[1]["x"]
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


def test_late_rows_can_change_a_column_type(write):
    rows = "".join(f"{row},{row}\n" for row in range(200))
    assert nodes_of(load(write("n.csv", f"id,x\n{rows}200,x\n")))[1]["x"][:2] == ["0", "1"]


def test_ids_are_texts_if_one_is(write):
    people = write("n.csv", "id\n1\nx\n")
    knows = write("r.csv", "source,target,type\n1,1,R\n")
    graph = load(people, knows)
    assert nodes_of(graph)[1]["id"] == ["1", "x"]
    assert ends_of(graph) == [(0, "R", 0)]
    # The type of a data frame's column is fixed.
    graph = load({"id": ["1", "2"]}, knows)
    assert ends_of(graph) == [(0, "R", 0)]
    graph = load({"id": [1, 2]}, knows)
    assert ends_of(graph) == [(0, "R", 0)]


def test_the_delimiter_is_recognised_in_the_header(write):
    for mark in ";|\t,":
        graph = load(write("n.csv", f"id{mark}x\n1{mark}2\n"))
        assert nodes_of(graph)[1] == {"id": [1], "x": [2]}


# ------------------------------------------------------------------ labels and types as keys
def test_keys_of_tables_are_labels_and_types(write):
    people = write("p.csv", "id,labels\n1,Actor\n2,\n")
    graph = load(
        {"Person": people, "Film": {"id": [3]}},
        [("SAW", {"source": [1], "target": [3]}), ("SAW", write("s.csv", "source,target\n2,3\n"))],
    )
    assert nodes_of(graph)[0] == [("Person", "Actor"), ("Person",), ("Film",)]
    assert ends_of(graph) == [(0, "SAW", 2), (1, "SAW", 2)]


def test_a_type_column_overrides_the_key(write):
    graph = load({"id": [1]}, {"R": {"source": [1, 1], "target": [1, 1], "type": ["S", None]}})
    assert ends_of(graph) == [(0, "R", 0), (0, "S", 0)]


def test_each_label_can_have_its_own_ids():
    graph = load(
        {"Person": {"id": [1, 2]}, "City": {"id": [1]}, "Team": {"id": ["x"]}},
        {
            ("Person", "LIVES_IN", "City"): {"source": [2], "target": [1]},
            ("Person", "PLAYS_FOR", "Team"): {"source": [1], "target": ["x"], "since": [3]},
        },
    )
    assert ends_of(graph) == [(0, "PLAYS_FOR", 3), (1, "LIVES_IN", 2)]
    assert nodes_of(graph)[0] == [("Person",), ("Person",), ("City",), ("Team",)]


@pytest.mark.parametrize(
    ("nodes", "relationships", "message"),
    [
        (
            {"A": {"id": [1]}},
            {("A", "R", "B"): {"source": [1], "target": [1]}},
            "no table of nodes",
        ),
        ({"A": {"id": [1]}}, {("A", "R"): {"source": [1], "target": [1]}}, "is not a type or"),
        ({("A", "B"): {"id": [1]}}, None, "is not a label"),
        ({3: {"id": [1]}}, None, "the key 3 is no text"),
        (
            {"A": {"id": [1]}},
            [(("A", "R", "A"), {"source": [1], "target": [1]}), ("S", {"source": [1]})],
            "'S' says not whose ids",
        ),
    ],
)
def test_wrong_keys_are_refused(nodes, relationships, message):
    with pytest.raises(ConfigurationError, match=message):
        gpugda.graph(nodes, relationships)


# ------------------------------------------------------------------ without nodes
def test_relationships_alone_define_the_nodes(write):
    graph = load(relationships={"KNOWS": write("k.csv", "source,target,w\n5,3,1\n3,7,2\n")})
    assert nodes_of(graph) == ([(), (), ()], {"id": [5, 3, 7]})
    assert ends_of(graph) == [(0, "KNOWS", 1), (1, "KNOWS", 2)]
    assert to_values(graph.relationship_properties["w"]) == [1, 2]


def test_labels_come_from_the_keys_if_no_nodes_are_given():
    graph = load(relationships={("A", "R", "B"): {"source": [1], "target": [1]}})
    assert nodes_of(graph) == ([("A",), ("B",)], {"id": [1, 1]})
    assert ends_of(graph) == [(0, "R", 1)]


def test_a_pattern_with_a_key_is_no_pair_of_ids(write):
    for place in (1, 2):
        path = write(f"knows_{place}.csv", f"source,target\n{place},3\n")
    graph = load(relationships=[("KNOWS", str(path.parent / "knows_*"))])
    assert ends_of(graph) == [(0, "KNOWS", 1), (2, "KNOWS", 1)]
    graph = load(relationships=[("a", "b"), ("b", "c")])
    assert ends_of(graph) == [(0, "RELATED", 1), (1, "RELATED", 2)]


def test_relationships_to_unknown_nodes_are_refused():
    with pytest.raises(SourceError, match="no node has the id 2"):
        load({"id": [1]}, {"R": {"source": [1], "target": [2]}})
    assert load([], []).node_count == 0


def test_ids_of_different_kinds_are_refused():
    with pytest.raises(SourceError, match="some ids are integers and others are texts"):
        load(relationships={"R": {"source": [1], "target": ["x"]}})


def test_ids_of_different_widths_are_joined():
    ends = {"source": np.array([1, 2], np.int32), "target": np.array([3, 1], np.int64)}
    assert nodes_of(load(relationships={"R": ends}))[1] == {"id": [1, 2, 3]}


def test_an_edge_list_is_read(tmp_path):
    path = tmp_path / "edges.txt.gz"
    path.write_bytes(
        gzip.compress(b"# Directed graph\n# FromNodeId\tToNodeId\n10\t30\n 10  20 \r\n30\t10\n")
    )
    accelerator = gpugda.connect(gpugda.read_edges(path, type="LINK"))
    text = "MATCH (a)-[:LINK]->(b) RETURN a.id, b.id"
    assert accelerator.run(text, engine="reference").values() == [[10, 30], [10, 20], [30, 10]]


def test_an_edge_list_may_have_properties(tmp_path):
    (tmp_path / "part1.csv").write_text("% weighted\na;b;1.5\n")
    (tmp_path / "part2.csv").write_text("b;c;2\n")
    source = gpugda.read_edges(
        str(tmp_path / r"part\d\.csv"),
        columns=["source", "target", "weight"],
        delimiter=";",
        comments="%",
    )
    with source.read(SilentProgress()) as batches:
        graph = build_data_graph(batches)
    assert ends_of(graph) == [(0, "RELATED", 1), (1, "RELATED", 2)]
    assert to_values(graph.relationship_properties["weight"]) == [1.5, 2]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("1 2 {}\n2 3 {} \n", {}, [[1, 2], [2, 3]]),
        ("1\t2\t{}\r\n", {}, [[1, 2]]),
        ("1,2,{}\n", {"delimiter": ","}, [[1, 2]]),
        ("#a b\n", {"comments": None}, [["#a", "b"]]),
        ("#a b\n", {"comments": ""}, [["#a", "b"]]),
    ],
)
def test_edge_lists_of_networkx_and_without_comments_are_read(tmp_path, text, options, expected):
    path = tmp_path / "edges.txt"
    path.write_text(text, newline="")
    accelerator = gpugda.connect(gpugda.read_edges(path, **options))
    found = accelerator.run("MATCH (a)-->(b) RETURN a.id, b.id", engine="reference").values()
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 2 {'w': 1}\n2 3 {'w': 2}\n", [[1, 2, {"w": 1}], [2, 3, {"w": 2}]]),
        ("1 2 {'w':1.5, 'name': 'a b'}\n", [[1, 2, {"w": 1.5, "name": "a b"}]]),
        ("# x\n1 2 {}\r\n2 3 {'w': [1, 2], 'x': None}\r\n", [[1, 2, {}], [2, 3, {"w": [1, 2]}]]),
        ("a,b,{'w': 'x'}\nb,c", [["a", "b", {"w": "x"}], ["b", "c", {}]]),
    ],
)
def test_edges_with_attributes_of_networkx_are_read(tmp_path, text, expected):
    path = tmp_path / "edges.txt"
    path.write_text(text, newline="")
    accelerator = gpugda.connect(gpugda.read_edges(path))
    query = "MATCH (a)-[r]->(b) RETURN a.id, b.id, properties(r)"
    assert accelerator.run(query, engine="reference").values() == expected


def test_an_edge_list_is_read_in_blocks(tmp_path, monkeypatch):
    from gpugda_adapters import csv_records

    monkeypatch.setattr(csv_records, "BLOCK_BYTES", 5)
    path = tmp_path / "edges.txt"
    path.write_text("".join(f"{row} {row + 1}\n" for row in range(40)) + "40 0")
    with gpugda.read_edges(path).read(SilentProgress()) as batches:
        graph = build_data_graph(batches)
    assert (graph.node_count, graph.relationship_count) == (41, 41)


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("1 2\n1 2 3\n", {}, SourceError, "row 2: has 3 fields where the header has 2"),
        ("1 2 3 {'w': 1}\n", {}, SourceError, "edge 1: .* is not two ids and a dict"),
        ("1 2 {'w': 1}\n2 3 4", {}, SourceError, "edge 2: .* is not two ids and a dict"),
        ("1 2 {'w': f()}\n", {}, SourceError, "edge 1: .* is not two ids and a dict"),
        ("1 2 {1: 1}\n", {}, SourceError, "edge 1: .* is not two ids and a dict"),
        ("1 2 {'source': 1}\n", {}, SourceError, "edge 1: .* a dict of other attributes"),
        ("1 2\n", {"columns": ["source"]}, ConfigurationError, "must name 'source' and 'target'"),
        ("1 2\n", {"columns": ["source", "target", "source"]}, ConfigurationError, "same name"),
        ("1 2\n", {"type": ""}, ConfigurationError, "has a type"),
    ],
)
def test_bad_edge_lists_are_refused(tmp_path, text, options, error, message):
    path = tmp_path / "edges.txt"
    path.write_text(text)
    with pytest.raises(error, match=message):
        gpugda.connect(gpugda.read_edges(path, **options))


# ------------------------------------------------------------------ bad files
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("n.csv", "", "the file is empty"),
        ("n.csv", "id:ID,name\n1,x\n", r"n\.csv: the header is that of an import file \(id:ID\)"),
        ("n.csv", "id,,x\n1,2,3\n", "column 2 has no name"),
        ("n.csv", "id,x,x\n1,2,3\n", "'x' stands there 2 times"),
        ("n.csv", "id,x\n1\n", "row 2: has 1 fields where the header has 2"),
        ("n.csv", 'id,x\n1,"a\n', "does not end with it"),
        ("n.csv", "key\n1\n", "has no column 'id'"),
        ("n.parquet", "no such thing", r"n\.parquet: cannot be read"),
        ("n.feather", "no such thing", r"n\.feather: cannot be read"),
        ("n.xlsx", "", r"n\.xlsx: is no table that can be read"),
    ],
)
def test_bad_files_are_refused(write, name, text, message):
    with pytest.raises(SourceError, match=message):
        load(write(name, text))


def test_a_folder_of_parquet_is_read(tmp_path):
    pa.parquet.write_table(pa.table({"id": [1, 2], "x": ["a", "b"]}), tmp_path / "Person.parquet")
    pa.parquet.write_table(
        pa.table({"id": [3], "labels": [["Film", "Old"]]}), tmp_path / "more.parquet"
    )
    pa.parquet.write_table(pa.table({"source": [1], "target": [3]}), tmp_path / "SAW.parquet")
    accelerator = gpugda.connect(os.fspath(tmp_path))
    text = "MATCH (p:Person)-[:SAW]->(f:Film:Old) RETURN p.x, f.id"
    assert accelerator.run(text, engine="reference").values() == [["a", 3]]
    pa.parquet.write_table(pa.table({"y": [1]}), tmp_path / "other.parquet")
    with pytest.raises(SourceError, match=r"other\.parquet: has neither a column 'id'"):
        gpugda.connect(tmp_path)
