import csv
import gzip
import io
import math
import os
import zipfile
from pathlib import Path

import neo4j.spatial
import neo4j.time
import pytest
from gpugda_adapters import csv_records
from gpugda_adapters.read_import import ImportSource
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import ColumnKind, to_values
from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import GraphSource, SilentProgress
from strategies import examples

SHARED = Path(os.environ.get("GPUGDA_SHARED", Path(__file__).parents[3] / "../shared")).resolve()


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="people.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_file


def build(source):
    with source.read(SilentProgress()) as batches:
        return build_data_graph(batches)


def load(nodes=None, relationships=None, **options):
    return build(ImportSource(nodes, relationships, **options))


def properties(graph):
    return {key: to_values(column) for key, column in graph.node_properties.items()}


def labels_of(graph, node):
    first, last = graph.label_offsets[node : node + 2]
    return [graph.labels.name(label) for label in graph.label_ids[first:last]]


def column(write, type_name, *texts, **options):
    """Reads one property column whose fields are the given texts."""
    rows = "".join(f"{row},{text}\n" for row, text in enumerate(texts))
    graph = load({"P": write(f":ID,x:{type_name}\n{rows}")}, **options)
    return properties(graph)["x"]


# ------------------------------------------------------------------ headers, labels, types, ids
def test_a_small_graph_is_read(write):
    people = write("id:ID,name,age:int,:LABEL\na,Ann,33,Actor;Singer\nb,Bob,,\n")
    knows = write(":START_ID,since:int,:END_ID\na,1999,b\nb,,b\n", "knows.csv")
    graph = load({"Person": people}, {"KNOWS": knows})
    assert properties(graph) == {"id": ["a", "b"], "name": ["Ann", "Bob"], "age": [33, None]}
    assert [labels_of(graph, 0), labels_of(graph, 1)] == [["Person", "Actor", "Singer"], ["Person"]]
    assert graph.types.names == ("KNOWS",)
    assert list(graph.outgoing.neighbours) == [1, 1]
    assert to_values(graph.relationship_properties["since"]) == [1999, None]


def test_an_import_source_is_a_graph_source(write):
    source = ImportSource({"P": write(":ID\n1\n")})
    assert isinstance(source, GraphSource)
    assert source.name == "import files"


def test_labels_and_types_come_from_columns_alone(write):
    nodes = write(":ID,:LABEL,x:IGNORE,\n1,A;B;A,z,z\n2,,z,z\n")
    links = write(":START_ID,:END_ID,:TYPE\n1,2,R\n2,1,S\n", "links.csv")
    graph = load({"": nodes}, {"": links})
    assert [labels_of(graph, 0), labels_of(graph, 1)] == [["A", "B"], []]
    assert graph.types.names == ("R", "S")
    assert properties(graph) == {}


def test_a_type_column_overrides_the_given_type(write):
    links = write(":START_ID,:END_ID,:TYPE\n1,1,R\n1,1,\n", "links.csv")
    assert load({"": write(":ID\n1\n")}, {"T": links}).types.names == ("R", "T")


def test_a_separate_header_applies_to_several_files(write):
    write("id:ID,n:int\n", "header.csv")
    for part in (1, 2, 10):
        write(f"{part},{part}0\n", f"part{part}.csv")
    folder = write("", "unused").parent
    expected = {"id": ["1", "2", "10"], "n": [10, 20, 100]}
    parts = [folder / f"part{part}.csv" for part in (1, 2, 10)]
    for files in (
        [folder / "header.csv", *parts],
        f"{folder}/header.csv,{folder}/part\\d+.csv",
        ",".join(map(str, [folder / "header.csv", *parts])),
    ):
        assert properties(load({"P": files})) == expected


def test_equal_ids_in_different_spaces_are_different_nodes(write):
    films = write("id:ID(Film),title\n1,Up\n", "films.csv")
    people = write("id:ID(Person)\n1\n2\n")
    links = write(":START_ID(Person),:END_ID(Film)\n2,1\n", "links.csv")
    graph = load({"Film": films, "Person": people}, {"SAW": links})
    assert graph.node_count == 3
    assert list(graph.outgoing.neighbours) == [0]
    assert list(graph.outgoing.row_offsets) == [0, 0, 0, 1]


def test_ids_are_integers_by_option_or_header(write):
    links = write(":START_ID,:END_ID\n 01,2\n", "l.csv")
    graph = load({"P": write("id:ID\n1\n2\n")}, {"R": links}, id_type="integer")
    assert properties(graph) == {"id": [1, 2]}
    assert graph.relationship_count == 1
    assert properties(load({"P": write("id:ID{id-type:long}\n1\n")})) == {"id": [1]}


def test_header_types_are_case_insensitive(write):
    people = write("id:id,N:INT,a:b:long\n1,2,3\n")
    links = write("x:START_ID:int,:end_id\n1,1\n", "l.csv")
    graph = load({"P": people}, {"R": links})
    assert properties(graph) == {"id": ["1"], "N": [2], "a:b": [3]}
    assert graph.relationship_count == 1


def test_rows_without_id_become_nodes(write):
    graph = load({"P": write("id:ID,x\n1,a\n,b\n,c\n2,d\n")})
    assert sorted(properties(graph)["x"]) == ["a", "b", "c", "d"]
    assert sorted(properties(graph)["id"], key=str) == ["1", "2", None, None]


# ------------------------------------------------------------------ values
def test_empty_fields_are_null(write):
    assert column(write, "string", "", '""', "a") == [None, "", "a"]
    assert column(write, "string", "", '""', ignore_empty_strings=True) == [None, None]
    assert column(write, "int", "", '""', "1") == [None, None, 1]


def test_integers_have_64_bits(write):
    largest = 2**63 - 1
    texts = [" 7 ", "0012", "-0", str(largest), str(-largest - 1)]
    for type_name in ("int", "long", "short", "byte"):  # all are 64 bits wide in Neo4j
        assert column(write, type_name, *texts) == [7, 12, 0, largest, -largest - 1]


def test_floats_are_parsed(write):
    texts = [" 1.5", "1e3", ".5", "1.", "1.5f", "1d", "1E400", "-Infinity", "+2", "0.1"]
    values = [1.5, 1000.0, 0.5, 1.0, 1.5, 1.0, math.inf, -math.inf, 2.0, 0.1]
    assert column(write, "double", *texts) == values
    assert column(write, "float", *texts) == values
    assert math.isnan(column(write, "double", "NaN")[0])


def test_only_the_text_true_is_a_true_boolean(write):
    texts = ["true", " true ", "TRUE", "yes", "false", '""', ""]
    assert column(write, "boolean", *texts) == [True, True, False, False, False, None, None]


def test_texts_are_unquoted_and_trimmed(write):
    assert column(write, "string", " a ", '"a""b"', 'a"b', 'x""y') == [" a ", 'a"b', 'a"b', 'x""y']
    assert column(write, "string", " a ", trim_strings=True) == ["a"]
    assert column(write, "char", "a", "é") == ["a", "é"]


def test_arrays_are_split_and_typed(write):
    assert column(write, "string[]", '"x;y"', "a; b", ";", "", '""') == [
        ["x", "y"],
        ["a", " b"],
        ["", ""],
        None,
        None,
    ]
    assert column(write, "int[]", "1; 2", "", "-3") == [[1, 2], None, [-3]]
    assert column(write, "boolean[]", "true;no") == [[True, False]]
    assert column(write, "double[]", "0.1|1", array_delimiter="|") == [[0.1, 1.0]]
    narrow = column(write, "float[]", "0.1")[0][0]
    assert narrow == pytest.approx(0.1)
    assert narrow != 0.1
    assert column(write, "date[]", "2020-01-01;2020-01-02", "")[0][1] == neo4j.time.Date(2020, 1, 2)


def test_temporal_values_are_parsed(write):
    time = neo4j.time
    assert column(
        write, "date", "2018-05-10", "2018-W10-1", "2018-123", "20180305", "2018-Q2-91"
    ) == [
        time.Date(2018, 5, 10),
        time.Date(2018, 3, 5),
        time.Date(2018, 5, 3),
        time.Date(2018, 3, 5),
        time.Date(2018, 6, 30),
    ]
    assert column(write, "localtime", "10", "1011", "10:11:12.5") == [
        time.Time(10, 0, 0),
        time.Time(10, 11, 0),
        time.Time(10, 11, 12, 500_000_000),
    ]
    assert column(write, "localdatetime", "20200701T101112.123456789", "2020-07-01") == [
        time.DateTime(2020, 7, 1, 10, 11, 12, 123456789),
        time.DateTime(2020, 7, 1),
    ]
    shown = [value.iso_format() for value in column(write, "time", "10:00", "10:00+02:30")]
    assert shown == ["10:00:00.000000000+00:00", "10:00:00.000000000+02:30"]


def test_a_datetime_without_zone_has_the_zone_of_the_header(write):
    texts = ["2018-05-10T10:30", "2018-01-10T10:30[Europe/Berlin]", "2018-05-10T10:30-05:00"]
    values = column(write, "datetime{timezone:Europe/Stockholm}", *texts)
    assert [value.iso_format()[-6:] for value in values] == ["+02:00", "+01:00", "-05:00"]
    assert str(values[0].tzinfo) == "Europe/Stockholm"
    plain = column(write, "datetime", texts[0])[0]
    assert plain.iso_format() == "2018-05-10T10:30:00.000000000+00:00"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P1Y2M3W4DT5H6M7.5S", (14, 25, 18367, 500_000_000)),
        ("P1.5Y", (18, 0, 0, 0)),
        ("P0.5M", (0, 15, 18873, 0)),
        ("P0.75D", (0, 0, 64800, 0)),
        ("-P1D", (0, -1, 0, 0)),
        ("PT-1.5M", (0, 0, -90, 0)),
        ("P2012-02-02T14:37:21.545", (24146, 2, 52641, 545_000_000)),
    ],
)
def test_durations_are_parsed(write, text, expected):
    assert tuple(column(write, "duration", text)[0]) == expected


def test_points_are_parsed(write):
    maps = [
        '"{latitude:55.6, longitude:13.0}"',
        '"{y:51.5, x:-0.12}"',
        "\"{latitude:1,longitude:2,height:3,crs:'WGS-84-3D'}\"",
        '"{x:1,y:2,crs:cartesian}"',
    ]
    spatial = neo4j.spatial
    assert column(write, '"point{crs:WGS-84}"'.strip('"'), *maps) == [
        spatial.WGS84Point((13.0, 55.6)),
        spatial.WGS84Point((-0.12, 51.5)),
        spatial.WGS84Point((2, 1, 3)),
        spatial.CartesianPoint((1, 2)),
    ]
    assert column(write, "point", maps[1]) == [spatial.CartesianPoint((-0.12, 51.5))]


# ------------------------------------------------------------------ files
def test_delimiters_quotes_newlines_and_byte_order_mark_are_read(write):
    rows = "\ufeff'id':ID|t|tags:string[]\r\n1|'a|b\r\nc''d'|x,y\r\n\r\n2||\r\n".replace(
        "'id'", "id"
    )
    graph = load({"P": write(rows)}, delimiter="|", quote="'", array_delimiter=",")
    assert properties(graph) == {
        "id": ["1", "2"],
        "t": ["a|b\r\nc'd", None],
        "tags": [["x", "y"], None],
    }


@pytest.mark.parametrize("delimiter", ["TAB", "\t", "\\t", "U+0009", "\\9"])
def test_a_tab_can_be_given_in_several_forms(write, delimiter):
    assert properties(load({"P": write("id:ID\tx\n1\t2\n")}, delimiter=delimiter))["x"] == ["2"]


def test_an_empty_quote_turns_quoting_off(write):
    assert properties(load({"P": write('id:ID,x\n1,"a\n')}, quote=""))["x"] == ['"a']


def test_compressed_files_are_read(write):
    assert load({"P": write(":ID\n1\n2\n", "p.csv.gz")}).node_count == 2


def test_small_blocks_give_the_same_rows(write, monkeypatch):
    monkeypatch.setattr(csv_records, "BLOCK_BYTES", 7)
    text = 'id:ID,t,n:int\n1,"a\n""b""",1\n2,x"y,2\n3,"",3\n4,"a,b",\n5,longer than a block,5\n'
    assert properties(load({"P": write(text)})) == {
        "id": ["1", "2", "3", "4", "5"],
        "t": ['a\n"b"', 'x"y', "", "a,b", "longer than a block"],
        "n": [1, 2, 3, None, 5],
    }


def test_repeated_headers_are_refused_or_skipped(write):
    files = [write("id:ID\n1\n", "a.csv"), write("id:ID\n2\n", "b.csv")]
    with pytest.raises(SourceError, match=r"b\.csv: starts with a second header, the same"):
        load({"P": files})
    graph = load({"P": files}, auto_skip_subsequent_headers=True)
    assert properties(graph) == {"id": ["1", "2"]}


# ------------------------------------------------------------------ groups
def test_groups_may_have_their_own_headers(write):
    """Options of the command may repeat: files of one type may have different headers."""
    places = write("id:ID(Place),name\n1,Basel\n2,Switzerland\n3,Europe\n", "place.csv")
    first = write(":START_ID(Place),:END_ID(Place)\n1,2\n", "city_country.csv")
    second = write(":START_ID(Place),:END_ID(Place),since:int\n2,3,1848\n", "country_continent.csv")
    for pairs in ([("IN", first), ("IN", [second])], (["IN", str(first)], ("IN", second))):
        graph = load([("Place", places)], pairs)
        assert graph.types.names == ("IN",)
        assert list(graph.outgoing.neighbours) == [1, 2]
        assert to_values(graph.relationship_properties["since"]) == [None, 1848]


def test_groups_may_have_no_names(write):
    people = write(":ID,:LABEL\n1,Person\n", "people.csv")
    cities = write(":ID,:LABEL\n2,City\n", "cities.csv")
    lives = write(":START_ID,:END_ID,:TYPE\n1,2,LIVES_IN\n", "lives.csv")
    graph = load([people, str(cities)], [lives])
    assert graph.labels.names == ("Person", "City")
    assert graph.types.names == ("LIVES_IN",)


def test_another_header_in_a_group_is_refused(write):
    first = write(":START_ID(City),:END_ID(Country)\n1,2\n", "city_country.csv")
    second = write(":START_ID(Country),:END_ID(Continent)\n2,3\n", "country_continent.csv")
    for skip in (False, True):
        with pytest.raises(
            SourceError, match=r"country_continent\.csv: starts with a second header"
        ):
            load({}, {"IN": [first, second]}, auto_skip_subsequent_headers=skip)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("people.csv", "people.csv"),
        ([("Person",)], r"\('Person',\)"),
        ({3: "people.csv"}, "3"),
        ([(None, "people.csv")], "None"),
        (7, "7"),
    ],
)
def test_malformed_groups_are_refused(given, shown):
    with pytest.raises(ConfigurationError, match=f"nodes: '?{shown}'? names no group of files"):
        ImportSource(given)


def test_a_folder_or_zip_archive_is_read(write, tmp_path):
    write("id:ID\n1\n2\n", "in/Person.csv")
    write(":ID,n:int\n3,4\n", "in/x.nodes.Film.csv.gz")
    write(":START_ID,:END_ID\n1,3\n", "in/x.relationships.SAW.csv")
    write(":START_ID\t:END_ID\t:TYPE\n1\t2\tKNOWS\n", "in/y.tsv")
    write("id:ID,t\n", "in/Post_header.csv")
    write("7,a\n", "in/Post_1.csv")
    write("8,b\n", "in/Post_2.csv")
    write("no,table\n", "in/notes.txt")
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        for path in (tmp_path / "in").iterdir():
            if not path.name.endswith(".gz"):
                archive.write(path, f"sub/{path.name}")
        archive.writestr("sub/x.nodes.Film.csv", ":ID,n:int\n3,4\n")
    for place in ("in", "in.zip"):
        source = ImportSource.from_folder(tmp_path / place)
        assert source.name == place
        graph = build(source)
        assert set(graph.labels.names) == {"Person", "Film", "Post"}
        assert set(graph.types.names) == {"SAW", "KNOWS"}
        assert (graph.node_count, graph.relationship_count) == (5, 2)


def test_columns_have_the_kind_of_the_header(write):
    graph = load({"P": write(":ID,n:int,x:float,b:boolean,s\n1,2,3,true,x\n")})
    kinds = [graph.node_properties[key].kind for key in "nxbs"]
    assert kinds == [ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.BOOLEAN, ColumnKind.STRING]


# ------------------------------------------------------------------ bad input
BAD_NODE_FILES = [
    ("", "people.csv: the file is empty; its first line must be the header"),
    ("\n\n", "people.csv: the file is empty"),
    ("id,name\n1,a\n", "people.csv: the header has no :ID"),
    (b":ID,n\xe9\n", "people.csv: the header is not UTF-8"),
    (b":ID,name\n1,a\n2,\xff\n", "people.csv, row 3, column name: not UTF-8"),
    (":ID,n:int\n1,1\n2,x\n", "people.csv, row 3, column n: 'x' is no int"),
    (":ID,n:int\n1, \n", "row 2, column n: '' is no int"),
    (":ID,n:int\n1,1.0\n", "row 2, column n: '1.0' is no int"),
    (":ID,n:int\n1,+5\n", "row 2, column n: '\\+5' is no int"),
    (":ID,n:int\n1,0x10\n", "row 2, column n: '0x10' is no int"),
    (":ID,n:long\n1,9223372036854775808\n", "row 2, column n: .* is outside the range of 64 bit"),
    (":ID,n:short[]\n1,1;40000\n", "row 2, column n: '40000' is outside the range of 16 bit"),
    (":ID,n:int[]\n0,1;2\n1,1;;2\n", "row 3, column n: '' is no int within an array"),
    (":ID,x:double\n1,inf\n", "row 2, column x: 'inf' is no float"),
    (":ID,x:double\n1,1_0\n", "row 2, column x: '1_0' is no float"),
    (
        ":ID,d:date\n1,2020-13-01\n",
        "column d: '2020-13-01' is no date: a part is out of range",
    ),
    (":ID,d:date\n1,soon\n", "row 2, column d: 'soon' is no date"),
    (":ID,d:datetime\n1,2020-07-01 10:00\n", "row 2, column d: .* is no date"),
    (":ID,d:datetime\n1,2020-07-01T10:00[Mars/X]\n", "unknown time zone 'Mars/X'"),
    (":ID,d:date[]\n0,2020-01-01\n1,2020-01-01;x\n", "row 3, column d: 'x' is no date"),
    (':ID,p:point\n1,"{x:1}"\n', "row 2, column p: .* is no point: it needs x and y"),
    (":ID,a\n1,x\n2\n", "people.csv, row 3: has 1 fields where the header has 2: '2'"),
    (":ID,a\n1,x\n2,y,z\n", "people.csv, row 3: has 3 fields where the header has 2"),
    (":ID,name,name\n1,a,b\n", "the header has the name 'name' 2 times"),
    (":ID,:ID\n1,2\n", "the header has 2 columns :ID"),
    (":ID,x:foo\n1,2\n", "header column 'x:foo': there is no type 'foo'"),
    (":ID,:int\n1,2\n", "header column ':int' has a type but no name"),
    (':ID,a\n1,"ab"c\n', "people.csv: a field that starts with the quote"),
    (':ID,a\n1,"abc\n2,d\n', "people.csv: a field that starts with the quote"),
    ("id:ID\n1\n2\n1\n", "people.csv, row 4.*people.csv, row 2|people.csv, row 2.*row 4"),
    ("id:ID{id-type:int}\n1\nx\n", "row 3, column :ID: the id 'x' is no int"),
]


@pytest.mark.parametrize(("text", "message"), BAD_NODE_FILES)
def test_bad_node_files_are_refused(write, text, message):
    with pytest.raises(SourceError, match=message):
        load({"P": write(text)})


BAD_RELATIONSHIP_FILES = [
    (":START_ID,:TYPE\n1,R\n", "", "links.csv: the header has no :END_ID"),
    (":START_ID,:END_ID\n1,1\n", "", "links.csv: the header has no :TYPE, and no type is given"),
    (":START_ID,:END_ID,:TYPE\n1,1,R\n1,1,\n", "", "links.csv, row 3: :TYPE is empty"),
    (":START_ID,:END_ID\n1,\n", "R", "links.csv, row 2: :END_ID is empty"),
    (":START_ID,:END_ID\n1,1\n1,9\n", "R", "links.csv, row 3.*'9'"),
    (":START_ID(X),:END_ID\n1,1\n", "R", "links.csv, row 2"),
]


@pytest.mark.parametrize(("text", "type_name", "message"), BAD_RELATIONSHIP_FILES)
def test_bad_relationship_files_are_refused(write, text, type_name, message):
    with pytest.raises(SourceError, match=message):
        load({"P": write(":ID\n1\n")}, {type_name: write(text, "links.csv")})


def test_missing_and_damaged_files_are_refused(write, tmp_path):
    with pytest.raises(SourceError, match="no such file"):
        ImportSource({"P": tmp_path / "none.csv"})
    with pytest.raises(SourceError, match="neither a folder nor a zip"):
        ImportSource.from_folder(write("x", "in.csv"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="has no files named"):
        ImportSource.from_folder(tmp_path / "empty")
    write("a,b\n1,2\n", "folder/x.csv")
    with pytest.raises(SourceError, match=r"x\.csv: the header has no :ID \(a file of nodes\)"):
        ImportSource.from_folder(tmp_path / "folder")
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b":ID\n" + os.urandom(5000).hex().encode())[:-900])
    with pytest.raises(SourceError, match="cannot be read to its end"):
        load({"P": cut})


@pytest.mark.parametrize(
    "options",
    [
        {"nodes": "people.csv"},
        {"delimiter": ",,"},
        {"delimiter": "€"},
        {"delimiter": '"'},
        {"id_type": "uuid"},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ConfigurationError):
        ImportSource(**options)


# ------------------------------------------------------------------ round trip
TEXTS = st.text(st.sampled_from("ab\"'|;,\t\n\r xé€"), max_size=8)


@settings(deadline=None, max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(
        st.tuples(
            st.none() | TEXTS,
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.floats(allow_nan=False),
            st.none() | st.booleans(),
        ),
        min_size=1,
        max_size=20,
    ),
    delimiter=st.sampled_from(",;|\t "),
    quote=st.sampled_from("\"'"),
    line_end=st.sampled_from(["\n", "\r\n"]),
    block_bytes=st.sampled_from([16, 100, 1 << 20]),
)
def test_written_records_are_read_back(tmp_path, rows, delimiter, quote, line_end, block_bytes):
    buffer = io.StringIO()
    buffer.write(delimiter.join(["id:ID", "t", "n:int", "x:double", "b:boolean"]) + line_end)
    for number, (text, integer, real, boolean) in enumerate(rows):
        quoted = None if text is None else quote + text.replace(quote, quote * 2) + quote
        java = None if real is None else repr(real).replace("inf", "Infinity")
        truth = None if boolean is None else str(boolean).lower()
        fields = [str(number), quoted, integer, java, truth]
        buffer.write(delimiter.join("" if field is None else str(field) for field in fields))
        buffer.write(line_end)
    path = tmp_path / "t.csv"
    path.write_bytes(buffer.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "BLOCK_BYTES", block_bytes)
        graph = load({"P": path}, delimiter=delimiter, quote=quote)
    found = properties(graph)
    assert [found[key] for key in "tnxb"] == [list(values) for values in zip(*rows, strict=True)]


@settings(deadline=None, max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(
    fields=st.lists(st.lists(TEXTS, min_size=2, max_size=2), min_size=1, max_size=10),
    block_bytes=st.sampled_from([5, 30, 1 << 20]),
    last_line_end=st.sampled_from(["", "\n"]),
)
def test_a_block_holds_whole_records(fields, block_bytes, last_line_end):
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(fields)
    data = buffer.getvalue().removesuffix("\r\n").encode() + last_line_end.encode()
    reader = csv_records.RecordReader(io.BytesIO(data), csv_records.CsvFormat(), "t", block_bytes)
    blocks = list(reader)
    assert b"".join(blocks) == data
    read = [list(csv.reader(io.StringIO(block.decode(), newline=""))) for block in blocks]
    assert [row for rows in read for row in rows] == fields


# ------------------------------------------------------------------ real data
@pytest.mark.parametrize(
    ("file", "node_count", "relationship_count", "label_count", "type_count"),
    [
        ("pole/pole-data-importer.zip", 61_521, 105_840, 11, 17),
        ("healthcare/healthcare-analytics-data-importer.zip", 11_381, 61_453, 8, 11),
        ("star-wars/star-wars-data-importer.zip", 260, 611, 6, 4),
    ],
)
def test_real_graphs_are_read(file, node_count, relationship_count, label_count, type_count):
    path = SHARED / "data" / file
    if not path.exists():
        pytest.skip(f"no {path}")
    graph = build(ImportSource.from_folder(path))
    assert (graph.node_count, graph.relationship_count) == (node_count, relationship_count)
    assert (len(graph.labels.names), len(graph.types.names)) == (label_count, type_count)


@pytest.mark.parametrize("files", [None, 7, [None], {"a": "b"}, b"a.csv", [b"a.csv"]])
def test_files_that_are_not_paths_are_refused(files):
    with pytest.raises(ConfigurationError, match="a path or a sequence of paths"):
        ImportSource(nodes={"A": files})


def test_a_file_name_that_is_too_long_is_refused():
    with pytest.raises(SourceError, match="cannot be looked up"):
        ImportSource(nodes={"A": "a" * 5000})


def test_relationships_have_the_types_of_ids_that_the_nodes_headers_name(write):
    people = write("id:ID(P){id-type:int},name\n1,Ann\n2,Bob\n")
    films = write("id:ID(F),name\n01,Up\n", "films.csv")
    knows = write(":START_ID(P),:END_ID(P)\n1,2\n01,02\n", "knows.csv")
    saw = write(":START_ID(P),:END_ID(F)\n1,01\n", "saw.csv")
    graph = load({"P": people, "F": films}, {"KNOWS": knows, "SAW": saw})
    assert properties(graph)["id"] == [1, 2, "01"]
    assert graph.relationship_count == 3
