import zipfile
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

import gpugda
from gpugda.errors import ConfigurationError, SourceError
from gpugda.sources import adapter, with_decimals


def rows(source, query="MATCH (a)-[r]->(b) RETURN a.id, type(r), b.id"):
    with gpugda.connect(source) as accelerator:
        return accelerator.run(query, engine="reference").values()


PATTERN = "%%MatrixMarket matrix coordinate pattern general\n"


# ------------------------------------------------------------------ one file
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.csv", "source,target\n1,2\n2,3\n"),
        ("e.csv", "From,To\n1,2\n2,3\n"),
        ("e.csv", "to;from;w\n2;1;x\n3;2;y\n"),
        ("e.csv", "1,2\n2,3\n"),
        ("e.csv", "id,src_id,dst_id\n7,1,2\n8,2,3\n"),
        ("e.tsv", "~from\t~to\n1\t2\n2\t3\n"),
        ("e.txt", "# a comment\n1 2\n2\t3\n"),
        ("e.txt", "FromNodeId\tToNodeId\n1\t2\n2\t3\n"),
        ("e.txt", "person friend\n1 2\n2 3\n"),
        ("e.txt", "1, 2\n2, 3\n"),
        ("e.txt", "1,2 \n  2,3\t\r\n \n"),
        ("e.txt", "1\t2 \n 2\t3"),
        ("e.txt", "# a comment\r1 2\r# another\r2 3 \r"),
        ("e.txt", "% c\r1 , 2 \r 2, 3\r"),
        ("e.txt", "# c\r1 2 {}\r2 3 {}\r"),
        ("e.txt", "# c\r1 2 {'w': 1}\r2 3 {'w': 2}\r"),
        ("e.txt", "source target\n1 2 {'w': 1}\n2 3\n"),
        ("e.txt", "to,from\n2,1,{'w': 1}\n3,2,{'w': 2}\n"),
        ("e.txt", "from\tto\tdata\n1\t2\t{'w': 1}\n2\t3\t{'w': 2}\n"),
        ("e.txt", "\ufeff1 2\n2 3\n"),
        ("e.txt", "\ufeff# a comment\n1 2 {'w': 1}\n2 3\n"),
        ("e.txt", "1 2 0,5\n2 3 0,7\n"),
        ("e.txt", "1;2;0,5\n2;3;0,7\n"),
        ("e.csv", "id,start_id,end_id\n7,1,2\n8,2,3\n"),
        ("e.csv", "id,start,end,src,dst\n7,5,6,1,2\n8,5,6,2,3\n"),
        ("e.csv", "id,start,end,start_node,end_node\n7,5,6,1,2\n8,5,6,2,3\n"),
        ("edges.csv", "id,start,end\n7,1,2\n8,2,3\n"),
        ("e.csv", "name,start,end\nx,1,2\ny,2,3\n"),
        ("e.edges", "% sym unweighted\n1;2;0.5\n2;3;1\n"),
        ("e.mtx", "%%MatrixMarket matrix coordinate pattern general\n% c\n3 3 2\n1 2\n2 3\n"),
        ("e.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 2 0.5\n2 3 1e3\n"),
    ],
)
def test_a_list_of_edges_is_a_graph(tmp_path, name, text):
    (tmp_path / name).write_text(text, newline="")
    assert rows(str(tmp_path / name)) == [[1, "RELATED", 2], [2, "RELATED", 3]]


def test_a_file_with_types_and_further_columns(tmp_path):
    (tmp_path / "e.csv").write_text("source,target,type,since\na,b,KNOWS,1999\n")
    query = "MATCH (a {id: 'a'})-[r:KNOWS]->(b) RETURN b.id, r.since"
    assert rows(tmp_path / "e.csv", query) == [["b", 1999]]


def test_the_first_edge_of_a_list_with_dicts_is_no_header(tmp_path):
    (tmp_path / "e.txt").write_text("a b {}\n1 2 {'w': 1}\n")
    found = rows(tmp_path / "e.txt", "MATCH (a)-->(b) RETURN a.id, b.id")
    assert sorted(found) == [["1", "2"], ["a", "b"]]


def test_the_weight_of_an_edge_list_without_header_is_named(tmp_path):
    (tmp_path / "e.txt").write_text("a b 1.5\nb c 2\n")
    assert rows(tmp_path / "e.txt", "MATCH ()-[r]->() RETURN r.weight") == [[1.5], [2.0]]


def test_fields_with_blanks_are_separated_by_tabs(tmp_path):
    (tmp_path / "e.txt").write_text("Ann Lee\tBo\nBo\tCy Day\n")
    assert rows(tmp_path / "e.txt")[0] == ["Ann Lee", "RELATED", "Bo"]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("a,b\tc,d\n", ["a,b", "c,d"]),
        ("a,b\tc,d\t{'w': 1}\n", ["a,b", "c,d"]),
        ("http://x/1,2 http://y\nhttp://y http://z\n", ["http://x/1,2", "http://y"]),
        ("Ann Lee,Bo\nBo,Cy\n", ["Ann Lee", "Bo"]),
        ("Ann Lee,Bo,{'w': 1}\nBo,Cy,{'w': 1}\n", ["Ann Lee", "Bo"]),
    ],
)
def test_ids_may_have_delimiters_within(tmp_path, text, ends):
    (tmp_path / "e.txt").write_text(text)
    assert rows(tmp_path / "e.txt", "MATCH (a)-->(b) RETURN a.id, b.id")[0] == ends


def test_a_header_that_is_guessed_is_reported(tmp_path, caplog):
    (tmp_path / "e.txt").write_text("Ann Bo\n1 2\n")
    assert rows(tmp_path / "e.txt") == [[1, "RELATED", 2]]
    assert "e.txt: the first line is read as a header: Ann Bo" in caplog.text
    caplog.clear()
    (tmp_path / "e.txt").write_text("source target\n1 2\n")
    assert rows(tmp_path / "e.txt") == [[1, "RELATED", 2]]
    assert not caplog.text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("e.txt", b"1 2 {'w': '\xe9'}\n"),
        ("e.txt", b"source target \xe9\n1 2 3\n"),
        ("e.txt", b"\xe9 2\n"),
        ("e.csv", b"source,target,\xe9\n1,2,3\n"),
        ("e.csv", b"source,target,x\n1,2,\xe9\n"),
    ],
)
def test_texts_that_are_not_utf8_are_refused(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match="not UTF-8"):
        gpugda.connect(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("projects.csv", "id,name,start,end"),
        ("mail.csv", "id,name,subject,object"),
        ("Person.csv", "personId,name,head,tail"),
        ("coins.csv", "Head,Tail,name,nodeId"),
    ],
)
def test_nodes_may_have_starts_and_ends(tmp_path, name, header):
    (tmp_path / name).write_text(f"{header}\n1,1,1,1\n")
    query = "MATCH (n) RETURN count(n), count { ()-->() }"
    assert rows(tmp_path / name, query) == [[1, 0]]
    (tmp_path / "KNOWS.csv").write_text("start,end\n1,1\n")
    assert rows(tmp_path, query) == [[1, 1]]


def test_all_rows_of_a_matrix_are_nodes(tmp_path):
    (tmp_path / "e.mtx").write_text(
        "%%MatrixMarket matrix coordinate pattern general\n5 5 1\n1 4\n"
    )
    assert rows(tmp_path / "e.mtx", "MATCH (n) RETURN count(n)") == [[5]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n", "coordinates|no graph"),
        ("e.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 0 0\n", "no graph"),
        ("e.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 0\n", "not the same"),
        ("e.mtx", "1 2\n", "no Matrix Market"),
        ("e.mtx", f"{PATTERN}3 3 3\n1 2\n2 3\n", "has 2 entries where its header has 3"),
        ("e.mtx", f"{PATTERN}3 3 1\n1 2\n2 3\n", "has 2 entries where its header has 1"),
        ("e.mtx", f"{PATTERN}{10**12} {10**12} 1\n1 2\n", "1,000,000,000,000 rows are more"),
        ("e.txt", "Ann Lee,Bo\nBo Day,Cy\n", "delimiter of 'Ann Lee,Bo' may be ',' or ' '"),
        ("e.txt", "a|b;c\n", "may be ';' or '|'"),
        ("e.csv", "project_id,start,end\n7,2020,2021\n", "has neither a column 'id'"),
        (
            "e.csv",
            "person,friend\n1,2\n",
            "has neither a column 'id'.*'person', 'friend'.*gpugda.graph",
        ),
        ("e.pdf", "x", "no table that can be read"),
    ],
)
def test_other_files_are_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(SourceError, match=message):
        gpugda.connect(tmp_path / name)


# ------------------------------------------------------------------ folders
def test_a_folder_of_tables_is_a_graph(tmp_path):
    (tmp_path / "Person.csv").write_text("personId,name\n1,Ann\n2,Bo\n")
    (tmp_path / "nodes.csv").write_text("id,label\n3,Film\n")
    table = pa.table({"src": [1, 2], "dst": [2, 3], "year": [1999, 2000]})
    arrow_parquet.write_table(table, tmp_path / "KNOWS.parquet")
    query = "MATCH (p:Person {name: 'Bo'})-[r:KNOWS]->(f:Film) RETURN p.personId, r.year, f.id"
    assert rows(tmp_path, query) == [[2, 2000, 3]]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in sorted(tmp_path.glob("*.[cp]*")):
            archive.write(path, path.name)
    assert rows(tmp_path / "all.zip", query) == [[2, 2000, 3]]


def test_a_pattern_of_names_is_a_graph(tmp_path):
    for place in (1, 2, 10):
        (tmp_path / f"part_{place}.csv").write_text(f"source,target,type\n{place},0,R\n")
    (tmp_path / "part.csv").write_text("not,read\n")
    assert [row[0] for row in rows(f"{tmp_path}/part_*.csv")] == [1, 2, 10]
    assert len(rows(gpugda.graph(relationships=f"{tmp_path}/part_*.csv"))) == 3
    # neo4j-admin's patterns are regular expressions.
    assert len(rows(gpugda.graph(relationships=f"{tmp_path}/part_\\d+.csv"))) == 3


def test_columns_with_an_underscore_are_preferred_and_no_properties(tmp_path):
    table = pa.table({"_id": [1], "_labels": [["A"]], "id": ["x"], "source": [0], "target": [0]})
    arrow_parquet.write_table(table, tmp_path / "nodes.parquet")
    assert rows(tmp_path, "MATCH (n:A) RETURN n.id, n.source, keys(n)")[0][:2] == ["x", 0]


# ------------------------------------------------------------------ files by label and type
def given(nodes, relationships, **options):
    return adapter("groups")(nodes, relationships, **options)


def test_files_by_label_have_ordinary_headers(tmp_path):
    (tmp_path / "people.csv").write_text("ID;name\n1;Ann\n2;Bo\n")
    (tmp_path / "knows.csv").write_text("from;to\n1;2\n")
    query = "MATCH (a:Person)-[:KNOWS]->(b:Person) RETURN a.name, b.ID"
    files = {"Person": f"{tmp_path}/people.csv"}, {"KNOWS": f"{tmp_path}/knows.csv"}
    assert rows(given(*files), query) == [["Ann", 2]]
    assert rows(given(*files, delimiter=";"), query) == [["Ann", 2]]
    assert rows(given({}, files[1])) == [[1, "KNOWS", 2]]


@pytest.mark.parametrize("mark", ["^", "TAB", ":", ","])
def test_the_delimiter_given_for_ordinary_headers_is_used(tmp_path, mark):
    written = "\t" if mark == "TAB" else mark
    text = "id^name;a;b;c\n1^x,,,y\n".replace(",", "." if mark == "," else ",")
    (tmp_path / "people.csv").write_text(text.replace("^", written))
    source = given({"Person": f"{tmp_path}/people.csv"}, {}, delimiter=mark)
    value = "x...y" if mark == "," else "x,,,y"
    assert rows(source, "MATCH (n:Person) RETURN n.id, n.`name;a;b;c`") == [[1, value]]


@pytest.mark.parametrize("option", [{"quote": "'"}, {"array_delimiter": "|"}])
def test_options_without_a_meaning_for_ordinary_headers_are_refused(tmp_path, option):
    (tmp_path / "people.csv").write_text("id,name\n1,Ann\n")
    with pytest.raises(ConfigurationError, match=f"{next(iter(option))}: only for files with"):
        given({"Person": f"{tmp_path}/people.csv"}, {}, **option)
    assert rows(given({"Person": f"{tmp_path}/people.csv"}, {}, quote='"'), "MATCH (n) RETURN n.id")


@pytest.mark.parametrize("header", ["id,name", "id:ID,name"])
def test_floats_for_decimals_are_refused_for_files_without_decimals(tmp_path, header):
    (tmp_path / "people.csv").write_text(f"{header}\n1,Ann\n")
    with pytest.raises(ConfigurationError, match="decimals: only for Parquet and Arrow"):
        given({"Person": f"{tmp_path}/people.csv"}, {}, decimals="float")


def _write_prices(folder):
    """Two tables with decimal numbers, one of nodes and one of relationships."""
    prices = pa.array([Decimal("1.50"), Decimal("2.25")])
    arrow_parquet.write_table(pa.table({"id": [1, 2], "price": prices}), folder / "p.parquet")
    ends = pa.table({"source": [1, 2], "target": [2, 1], "price": prices})
    arrow_parquet.write_table(ends, folder / "edges.parquet")


@pytest.mark.parametrize("address", ["", "/p.parquet", "/*.parquet"])
def test_decimals_of_files_at_an_address_become_floats_by_request(tmp_path, address):
    _write_prices(tmp_path)
    query = "MATCH (n) WHERE n.price > 1 RETURN n.price AS price ORDER BY price"
    assert rows(with_decimals(f"{tmp_path}{address}", "float"), query) == [[1.5], [2.25]]
    with pytest.raises(SourceError, match="decimals='float'"):
        rows(f"{tmp_path}{address}", query)


def test_decimals_of_relationships_become_floats_by_request(tmp_path):
    _write_prices(tmp_path)
    source = with_decimals(f"{tmp_path}/edges.parquet", "float")
    query = "MATCH ()-[r]->() RETURN r.price AS price ORDER BY price"
    assert rows(source, query) == [[1.5], [2.25]]


@pytest.mark.parametrize(
    "address",
    ["sample:wordnet", "bolt://u:secret@host", "e.csv", "e.txt", "g.graphml", "folder", "snapshot"],
)
def test_decimals_of_an_address_without_such_tables_are_refused(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("source,target\n1,2\n")
    (tmp_path / "e.txt").write_text("1 2\n")
    (tmp_path / "g.graphml").write_text("<graphml/>")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/e.csv").write_text("source,target\n1,2\n")
    with gpugda.connect("e.csv") as accelerator:
        accelerator.save("snapshot")
    with pytest.raises(ConfigurationError, match=r"decimals: only for Parquet and Arrow files$"):
        with_decimals(address, "float")


@pytest.mark.parametrize("decimals", ["floats", ""])
def test_other_words_for_decimals_are_refused(tmp_path, decimals):
    _write_prices(tmp_path)
    with pytest.raises(ConfigurationError, match="choose 'exact' or 'float'"):
        rows(with_decimals(f"{tmp_path}/p.parquet", decimals))


def test_files_by_label_may_have_headers_of_an_import(tmp_path):
    (tmp_path / "people.csv").write_text("id:ID,name\n1,Ann\n")
    (tmp_path / "other.csv").write_text("id:ID^name\n1^Ann\n")
    for name, options in (("people.csv", {}), ("other.csv", {"delimiter": "^"})):
        source = given({"Person": f"{tmp_path}/{name}"}, {}, **options)
        assert rows(source, "MATCH (n:Person) RETURN n.id, n.name") == [["1", "Ann"]]


# ------------------------------------------------------------------ other machines
@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("uninstalled://user:secret@bucket/e.csv", ConfigurationError),
        ("ext://user:secret@host/*.csv", ConfigurationError),
        ("ftp://user:secret@localhost:1/e.csv", SourceError),
        ("memory://user:secret@host/e.csv", SourceError),
        ("memory://user:secret@host/*.csv", SourceError),
    ],
)
def test_addresses_that_cannot_be_read_are_refused(address, error):
    pytest.importorskip("upath", reason="universal-pathlib (gpugda[remote]) is missing")
    fsspec = pytest.importorskip("fsspec", reason="fsspec (gpugda[remote]) is missing")
    fsspec.register_implementation("uninstalled", "uninstalled.Files", errtxt="Install it")
    with pytest.raises(error) as caught:
        gpugda.connect(address)
    assert "secret" not in str(caught.value)
    assert ("gpugda[remote]" in str(caught.value)) == (error is ConfigurationError)


def test_files_are_read_through_fsspec():
    upath = pytest.importorskip("upath", reason="universal-pathlib (gpugda[remote]) is missing")
    folder = upath.UPath("memory:///graph")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "e.csv").write_text("source,target\n1,2\n")
    with (folder / "K.parquet").open("wb") as file:
        arrow_parquet.write_table(pa.table({"from": [2], "to": [1]}), file)
    assert rows("memory:///graph/e.csv") == [[1, "RELATED", 2]]
    assert rows("memory:///graph/*.parquet") == [[2, "RELATED", 1]]
    assert rows(gpugda.graph(relationships={"X": "memory:///graph/e.csv"})) == [[1, "X", 2]]
    assert sorted(rows("memory:///graph/")) == [[1, "e", 2], [2, "K", 1]]
    with pytest.raises(ConfigurationError, match=r"nosuch.*gpugda\[remote\]"):
        gpugda.connect("nosuch://bucket/e.csv")
