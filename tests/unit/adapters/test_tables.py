import math
from decimal import Decimal

import neo4j.spatial
import neo4j.time
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from gpugda_adapters.table_columns import TableColumns
from gpugda_adapters.tables import TablesSource

from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import ColumnKind, to_values
from gpugda.errors import SourceError
from gpugda.ports import GraphSource, SilentProgress

NODES = {
    "id": [10, 20, 30],
    "labels": ["Person:Actor", None, ":Film"],
    "name": ["Ann", "Bob", None],
    "age": [33, 44, 55],
}
RELATIONSHIPS = {
    "source": [10, 10, 20],
    "target": [30, 30, 20],
    "type": ["KNOWS", "LIKES", "KNOWS"],
    "since": [1.5, 2.5, 3.5],
}
MAKERS = [dict, pd.DataFrame, pl.DataFrame, pa.table, lambda d: pa.RecordBatch.from_pydict(d)]


def load(nodes=None, relationships=None):
    with TablesSource(nodes, relationships).read(SilentProgress()) as batches:
        return build_data_graph(batches)


def labels_of(graph, node):
    first, last = graph.label_offsets[node : node + 2]
    return [graph.labels.name(label) for label in graph.label_ids[first:last]]


def properties(graph):
    return {key: to_values(column) for key, column in graph.node_properties.items()}


@pytest.mark.parametrize("make", MAKERS, ids=["dict", "pandas", "polars", "arrow", "batch"])
def test_every_kind_of_table_gives_the_same_graph(make):
    graph = load(make(NODES), make(RELATIONSHIPS))
    assert graph.node_count == 3
    assert [labels_of(graph, node) for node in range(3)] == [["Person", "Actor"], [], ["Film"]]
    assert properties(graph) == {key: NODES[key] for key in ("id", "name", "age")}
    assert graph.types.names == ("KNOWS", "LIKES")
    assert list(graph.outgoing.neighbours) == [2, 2, 1]
    assert to_values(graph.relationship_properties["since"]) == [1.5, 2.5, 3.5]


@pytest.mark.parametrize("make", [lambda frame: frame, pa.table], ids=["pandas", "arrow"])
def test_periods_are_refused(make):
    frame = pd.DataFrame({"id": [1, 2], "month": pd.period_range("2020-01", periods=2, freq="M")})
    with pytest.raises(SourceError, match=r"nodes, column 'month': .* pandas periods .*astype"):
        load(make(frame))
    frame["month"] = frame["month"].dt.to_timestamp()
    assert properties(load(make(frame)))["month"][1].month == 2


POINT = {"srid": 4326, "x": 1.0, "y": 2.0, "z": None}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({**POINT, "z": 3.0}, "a point of 3 coordinates with srid 4326 is none"),
        ({**POINT, "srid": 1}, "a point of 2 coordinates with srid 1 is none"),
        ({"a": 1}, "column 'x': a column of structs or maps"),
    ],
)
def test_structs_that_are_no_values_are_refused(value, message):
    with pytest.raises(SourceError, match=message):
        load(pa.table({"id": [1], "x": [value]}))


def test_boolean_bytes_are_booleans():
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8()))
    assert properties(load({"id": [1, 2, 3], "x": flags}))["x"] == [True, False, None]


def test_a_tables_source_is_a_graph_source():
    source = TablesSource(NODES)
    assert isinstance(source, GraphSource)
    assert source.name == "tables"


def test_no_tables_give_an_empty_graph():
    assert load().node_count == 0
    assert load({"id": []}, {"source": [], "target": [], "type": []}).relationship_count == 0


def test_several_tables_become_one_graph():
    graph = load(
        [{"id": ["a"], "x": [1]}, {"id": ["b"], "y": [2]}],
        [
            {"source": ["a"], "target": ["b"], "type": ["R"]},
            {"source": ["b"], "target": ["a"], "type": ["S"]},
        ],
    )
    assert properties(graph) == {"id": ["a", "b"], "x": [1, None], "y": [None, 2]}
    assert graph.relationship_count == 2


def test_labels_may_be_lists():
    lists = [["A", "B:C"], [], None, ["A", "A"]]
    for labels in (lists, pa.array(lists), pl.Series(lists)):
        graph = load({"id": range(4), "labels": labels})
        assert [labels_of(graph, node) for node in range(4)] == [["A", "B:C"], [], [], ["A"]]


def test_labels_may_be_categorical():
    graph = load(pd.DataFrame({"id": [1, 2], "labels": pd.Categorical(["A", "B"])}))
    assert labels_of(graph, 1) == ["B"]


def encoded(codes, texts, kind="int8"):
    return pa.DictionaryArray.from_arrays(pa.array(codes, kind), pa.array(texts))


@pytest.mark.parametrize(
    "types",
    [
        encoded([2, 0, 2, 3], ["R", "unused", "S", "R"]),
        encoded([0, 1, 0, 1], ["S", "R"], "int32"),
        encoded([9, 1, 0, 1, 0], ["S", "R"] + ["T"] * 8)[1:],
        pa.chunked_array([encoded([0, 1], ["S", "R"]), encoded([1, 0], ["R", "S"])]),
        pa.chunked_array([encoded([1, 0, 1, 0], ["R", "S"]), encoded([], ["Q"])]),
    ],
)
def test_types_may_be_encoded_in_a_dictionary(types):
    relationships = pa.table({"source": [1, 2, 1, 2], "target": [2, 2, 1, 1], "type": types})
    graph = load(pa.table({"id": [1, 2]}), relationships)
    names = [graph.types.names[each] for each in graph.relationship_types().tolist()]
    ends = zip(graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist(), names, strict=True)
    expected = [(0, 1), (1, 1), (0, 0), (1, 0)]
    plain = (["S", "R", "S", "R"], ["R", "S", "R", "S"])[types.to_pylist()[0] == "R"]
    assert sorted(ends) == sorted((*pair, kind) for pair, kind in zip(expected, plain, strict=True))
    assert set(graph.types.names) == {"R", "S"}


def test_texts_of_a_dictionary_have_offsets_of_64_bits():
    """Together they may be longer than 2 GB, whatever their dictionary's offsets are."""
    for column in (encoded([0, None, 1], ["a", "b"]), pa.chunked_array([encoded([0], ["a"])])):
        plain = TableColumns("nodes", {"p": column}, len(column)).plain("p")
        assert pa.types.is_large_string(plain.type)
        assert plain.to_pylist() == column.to_pylist()


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (encoded([0, None], ["R"]), "row 2: 'type' is null or empty"),
        (encoded([0, 1], ["R", ""]), "row 2: 'type' is null or empty"),
        (encoded([0, 1], ["R", None]), "row 2: 'type' is null or empty"),
    ],
)
def test_types_in_a_dictionary_without_a_text_are_refused(types, message):
    relationships = pa.table({"source": [1, 1], "target": [1, 1], "type": types})
    with pytest.raises(SourceError, match=message):
        load(pa.table({"id": [1]}), relationships)


def test_mixed_properties_keep_their_types():
    values = properties(load({"id": [1, 2, 3], "x": [1, 1.0, True], "tags": [["a"], None, [1, 2]]}))
    assert [type(value) for value in values["x"]] == [int, float, bool]
    assert values["tags"] == [["a"], None, [1, 2]]


def test_only_nan_of_pandas_is_null():
    column = [1.5, math.nan]
    assert properties(load(pd.DataFrame({"id": [1, 2], "x": column})))["x"] == [1.5, None]
    for table in ({"id": [1, 2], "x": column}, pl.DataFrame({"id": [1, 2], "x": column})):
        first, second = properties(load(table))["x"]
        assert first == 1.5
        assert math.isnan(second)


def test_nullable_types_of_pandas_are_exact():
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "n": pd.array([2**53 + 1, None], dtype="Int64"),
            "b": pd.array([True, None], dtype="boolean"),
            "o": pd.Series(["x", np.nan], dtype=object),
            "t": pd.to_datetime(["2020-01-02", None]),
        }
    )
    values = properties(load(frame))
    assert values["n"] == [2**53 + 1, None]
    assert values["b"] == [True, None]
    assert values["o"] == ["x", None]
    assert str(values["t"][0]).startswith("2020-01-02T00:00")
    assert values["t"][1] is None


def test_numpy_columns_and_small_integers_are_read():
    graph = load({"id": np.array([1, 2], dtype=np.uint8), "x": np.array([[1, 2], [3, 4]])})
    assert properties(graph) == {"id": [1, 2], "x": [[1, 2], [3, 4]]}
    assert graph.node_properties["id"].kind is ColumnKind.INTEGER


BAD_NODES = [
    ({"idd": [1]}, r"nodes: has no column 'id'; did you mean 'idd'\?"),
    ({"id": [1, None]}, "nodes, row 2: 'id' is null"),
    ({"id": pa.array([1, None])}, "nodes, row 2: 'id' is null"),
    ({"id": [1, [2]]}, r"nodes, row 2: 'id' is a list \(\[2\]\); ids are integers or text"),
    ({"id": [1, "b"]}, "nodes, row 2: 'id' is a text"),
    ({"id": ["b", 1]}, "nodes, row 2: 'id' is an integer"),
    ({"id": [True]}, "nodes, row 1: 'id' is a bool"),
    ({"id": [1, 2**63]}, "nodes, row 2: 'id' is beyond 64 bit"),
    ({"id": np.array([1, 2**63], dtype=np.uint64)}, "nodes, row 2: 'id' is beyond 64 bit"),
    ({"id": np.array([1.5])}, "nodes, column 'id': ids are integers or text, not double"),
    ({"id": [1, 2], "x": [1]}, "nodes: the columns have different lengths: 'id' 2, 'x' 1"),
    ({"id": [1], "x": [{"a": 1}]}, "nodes, column 'x'"),
    ({"id": [1], "labels": [7]}, "nodes, row 1: 'labels' is 7"),
    ({"id": [1], 5: [1]}, "column name 5 is no text"),
    ({"id": 1}, r"column 'id': a int is no column"),
    ("people.csv", "people.csv: there is no such file"),
    (b"people.csv", "builtins.bytes is no table"),
    (pd.DataFrame([[1, 2]], columns=["id", "id"]), "2 columns are named 'id'"),
    (
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["id", "id"]),
        "2 columns are named 'id'",
    ),
    ({"id": [1, 1]}, "row 2"),
    ([{"id": [1]}, {"id": [None]}], r"nodes\[1\], row 1: 'id' is null"),
]


@pytest.mark.parametrize(("table", "message"), BAD_NODES)
def test_bad_node_tables_are_refused(table, message):
    with pytest.raises(SourceError, match=message):
        load(table)


BAD_RELATIONSHIPS = [
    ({"source": [10], "target": [10]}, "relationships: has no column 'type'"),
    ({"source": [10], "target": [10], "type": [""]}, "relationships, row 1: 'type' is null or"),
    ({"source": [10], "target": [10], "type": [None]}, "relationships, row 1: 'type' is null or"),
    ({"source": [10], "target": [10], "type": [3]}, "relationships, row 1: 'type' is 3"),
    ({"source": [None], "target": [10], "type": ["R"]}, "relationships, row 1: 'source' is null"),
    ({"source": [10], "target": [11], "type": ["R"]}, "relationships, row 1"),
    ({"source": ["10"], "target": ["10"], "type": ["R"]}, "relationships"),
]


@pytest.mark.parametrize(("table", "message"), BAD_RELATIONSHIPS)
def test_bad_relationship_tables_are_refused(table, message):
    with pytest.raises(SourceError, match=message):
        load(NODES, table)


POINTS = [neo4j.spatial.CartesianPoint((1, 2)), neo4j.spatial.WGS84Point((1, 2))]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([[1]], "list of lists"),
        ([1, None], "nulls"),
        ([1, "a"], r"several types \(number, string\)"),
        ([True, 1], "several types"),
        (POINTS, "several types"),
        ([2**53 + 1, 1.5], "9007199254740993 .* rounded"),
    ],
)
@pytest.mark.parametrize("of_nodes", [True, False])
def test_lists_that_neo4j_does_not_store_are_refused(items, message, of_nodes):
    tags = {"tags": [[1], None, items, items]}
    nodes = {"id": [1, 2, 3, 4]}
    ends = {"source": [1, 1, 1, 1], "target": [1, 1, 1, 1], "type": ["R"] * 4}
    with pytest.raises(SourceError, match=rf"row 3, column 'tags': .*{message}"):
        load({**nodes, **tags}, ends) if of_nodes else load(nodes, {**ends, **tags})


def test_arrow_lists_that_neo4j_does_not_store_are_refused():
    with pytest.raises(SourceError, match=r"row 2, column 'tags': .*nulls"):
        load(pa.table({"id": [1, 2], "tags": [[1], [None]]}))


def test_a_list_that_contains_itself_is_refused():
    items = []
    items.append(items)
    with pytest.raises(SourceError, match="column 'tags'"):
        load({"id": [1], "tags": [items]})


def test_integers_beside_floats_in_a_list_become_floats():
    found = load({"id": [1, 2, 3], "tags": [[1, 1.5], [1.0, 1.5], [1, 2]]})
    (first, second, third) = to_values(found.node_properties["tags"])
    assert [type(item) for item in first + second + third] == [float] * 4 + [int] * 2
    assert first == second == [1.0, 1.5]
    codes = found.node_properties["tags"].values
    assert codes[0] == codes[1] != codes[2]


# ------------------------------------------------------------------ memory
@pytest.mark.parametrize("make", [dict, pd.DataFrame], ids=["dict", "pandas"])
def test_the_graph_keeps_its_values_when_the_table_changes(make):
    columns = {"id": np.arange(3), "x": np.arange(3), "y": np.arange(3.0), "b": np.ones(3, bool)}
    table = make(columns)
    graph = load(table)
    for name in columns:
        if make is dict:
            table[name][0] = 0 if name == "b" else 9
        else:
            table.loc[0, name] = False if name == "b" else 9
    assert properties(graph) == {
        "id": [0, 1, 2],
        "x": [0, 1, 2],
        "y": [0.0, 1.0, 2.0],
        "b": [True, True, True],
    }


@pytest.mark.parametrize("kind", ["int64", "int32", "int16", "int8", "uint8", "uint16", "uint32"])
def test_ids_of_relationships_are_not_copied(kind):
    from gpugda_adapters.column_names import ColumnNames
    from gpugda_adapters.table_batches import relationship_batch
    from gpugda_adapters.table_columns import open_table

    ends = np.array([1, 0, 2], dtype=kind)
    for table in (
        {"source": ends, "target": ends, "type": ["R"] * 3},
        pa.table({"source": pa.array(ends), "target": pa.array(ends), "type": ["R"] * 3}),
    ):
        batch = relationship_batch(open_table(table, "relationships"), ColumnNames())
        assert batch.source_ids.buffers()[1].address == ends.ctypes.data
    graph = load({"id": np.arange(3, dtype=kind)}, table)
    assert graph.start_nodes().tolist() == [0, 1, 2]
    assert properties(graph)["id"] == [0, 1, 2]


@pytest.mark.parametrize("kind", ["int8", "uint64", "int64"])
@pytest.mark.parametrize("first", [0, -3, 100, 2**40])
def test_ends_may_have_another_width_than_the_ids(kind, first):
    ids = first + np.arange(4)
    ends = np.array([1, 3], dtype=kind)
    found = [number for number in ends.tolist() if number in ids]
    relationships = {"source": ends, "target": ends, "type": ["R", "R"]}
    if len(found) < 2:
        with pytest.raises(SourceError, match="no node has the id"):
            load({"id": ids}, relationships)
        return
    assert load({"id": ids}, relationships).start_nodes().tolist() == [1, 3]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b", "P", "T"])])
@pytest.mark.parametrize("make", [pl.DataFrame, dict])
def test_categories_of_polars_may_be_any_column(kind, make):
    def column(*texts):
        return pl.Series(texts, dtype=kind)

    graph = load(
        make({"id": column("a", "b"), "labels": column("P", None), "x": column(None, "a")}),
        make({"source": column("b"), "target": column("a"), "type": column("T")}),
    )
    assert properties(graph) == {"id": ["a", "b"], "x": [None, "a"]}
    assert [labels_of(graph, node) for node in (0, 1)] == [["P"], []]
    assert (graph.relationship_count, graph.types.name(0)) == (1, "T")


def test_sparse_columns_of_pandas_are_read():
    sparse = pd.arrays.SparseArray
    frame = pd.DataFrame(
        {"id": sparse([1, 2]), "x": sparse([1.5, math.nan]), "b": sparse([True, False])}
    )
    assert properties(load(frame)) == {"id": [1, 2], "x": [1.5, None], "b": [True, False]}
    assert properties(load({"id": [1, 2], "x": sparse([0, 3])}))["x"] == [0, 3]


def test_arrays_of_pandas_may_be_columns():
    integers, texts = pd.array([7, None], dtype="Int64"), pd.Categorical(["a", "b"])
    columns = {"id": [1, 2], "x": integers, "c": texts}
    assert properties(load(columns)) == {"id": [1, 2], "x": [7, None], "c": ["a", "b"]}


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "m", "s", "ms", "us", "ns"])
@pytest.mark.parametrize("make", [np.array, lambda items, kind: list(np.array(items, kind))])
def test_times_of_numpy_are_local_date_times_whatever_their_unit(unit, make):
    days = make(["2020-01-01", "NaT"], f"datetime64[{unit}]")
    found = properties(load({"id": [1, 2], "x": days}))["x"]
    assert found == [neo4j.time.DateTime(2020, 1, 1), None]


def test_timedeltas_of_pandas_have_seconds_but_no_days():
    day = pd.Timedelta("1D")
    expected = neo4j.time.Duration(seconds=86_400)
    for column in ([day, None], pd.Series([day, None]), pd.Series([day, None], dtype=object)):
        frame = pd.DataFrame({"id": [1, 2], "x": column})
        assert [tuple(each) for each in properties(load(frame))["x"][:1]] == [tuple(expected)]


@pytest.mark.parametrize("unit", ["W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_timedeltas_of_numpy_are_those_of_pandas(unit):
    weeks = np.array([1, "NaT"], "timedelta64[W]").astype(f"timedelta64[{unit}]")
    found = properties(load({"id": [1, 2], "x": weeks}))["x"]
    assert found == [neo4j.time.Duration(seconds=7 * 86_400), None]


@pytest.mark.parametrize("wrong", [(2**62, "s"), (1, "ps"), (1, "M"), (1, "Y")])
def test_timedeltas_that_nanoseconds_do_not_hold_are_refused(wrong):
    with pytest.raises(SourceError, match=r"column 'x': .*timedelta64"):
        load({"id": [1], "x": np.array([wrong[0]], f"timedelta64[{wrong[1]}]")})


# ------------------------------------------------------------------ names and forms
def test_columns_are_found_by_usual_names():
    graph = load({"Node_ID": [1, 2]}, {"R": {"Src": [1], "Dst": [2], "id": [7]}})
    assert properties(graph) == {"Node_ID": [1, 2]}
    assert to_values(graph.relationship_properties["id"]) == [7]
    both = {"source": [1], "target": [2], "from": ["x"], "to": ["y"], "type": ["R"]}
    assert to_values(load(None, both).relationship_properties["from"]) == ["x"]


@pytest.mark.parametrize("labels", ["Person", "Person:Actor"])
def test_labels_and_type_may_be_given_for_all(labels):
    nodes, pairs = pd.DataFrame({"id": [1, 2], "label": ["x", "y"]}), {"from": [1], "to": [2]}
    source = TablesSource(nodes, pairs, labels=labels, type="KNOWS")
    with source.read(SilentProgress()) as batches:
        graph = build_data_graph(batches)
    assert labels_of(graph, 1) == labels.split(":")
    assert graph.types.names == ("KNOWS",)


def test_rows_are_tables():
    people = [{"id": 1, "name": "Ann", "tags": ["a"]}, {"id": 2, "age": 7}]
    for nodes in (people, {"Person": people}, [("Person", people)]):
        for pairs in ([(1, 2), (2, 1)], [[1, 2], [2, 1]]):
            for relationships in ({"R": pairs}, [("R", pairs)]):
                graph = load(nodes, relationships)
                assert properties(graph)["name"] == ["Ann", None]
                assert properties(graph)["age"] == [None, 7]
                assert graph.relationship_count == 2
    assert load(None, {"R": [("ann", "bo"), ("bo", "cy")]}).node_count == 3
    with pytest.raises(SourceError, match="no such file"):
        load(None, [("KNOWS", "knows.csv")])


def test_pairs_alone_are_related():
    assert load(None, [("ann", "bo")]).types.names == ("RELATED",)


def test_tables_that_are_not_in_memory_are_loaded(tmp_path):
    import pyarrow.dataset as arrow_dataset
    import pyarrow.parquet as arrow_parquet

    table = pa.table({"id": [1, 2], "x": [3, 4]})
    arrow_parquet.write_table(table, tmp_path / "n.parquet")
    lazy = pl.scan_parquet(tmp_path / "n.parquet").filter(pl.col("id") > 0)
    for nodes in (lazy, arrow_dataset.dataset(tmp_path), table.to_reader()):
        for form in (nodes, {"A": nodes}):
            if not isinstance(nodes, pa.RecordBatchReader) or form is nodes:
                assert properties(load(form)) == {"id": [1, 2], "x": [3, 4]}


def decimals(*values, scale=2, precision=20):
    return pa.array([Decimal(value) for value in values], pa.decimal128(precision, scale))


def test_decimal_integers_are_integers():
    huge = pa.array([Decimal(2), None]).cast(pa.decimal128(38, 0))
    nodes = {"id": huge.slice(0, 1), "x": decimals(7), "y": [Decimal("5.00")]}
    assert repr(properties(load(nodes))) == "{'id': [2], 'x': [7], 'y': [5]}"


@pytest.mark.parametrize(
    "column",
    [decimals(Decimal("1.5")), [Decimal("1.50")], decimals(Decimal(2**64), scale=0, precision=38)],
)
def test_other_decimals_are_floats_by_request_only(column):
    nodes = {"id": [1], "x": column}
    with pytest.raises(SourceError, match=r"column 'x': .*decimals='float'"):
        load(nodes)
    with TablesSource(nodes, decimals="float").read(SilentProgress()) as batches:
        (value,) = properties(build_data_graph(batches))["x"]
    assert value == float(column[0] if isinstance(column, list) else column[0].as_py())
    assert isinstance(value, float)


def test_floating_ids_say_the_cure():
    frame = pd.DataFrame({"id": [1, 2, None]})
    for table in (frame, frame.dropna()):
        with pytest.raises(SourceError, match=r"dropna.*astype\('int64'\)"):
            load(table)
