import os
from pathlib import Path

import pytest
from graphs import design_graph
from server_ids import server_graph

import gpugda
from gpugda.snapshot.store import save_snapshot
from gpugda.sources import SnapshotSource, resolve_source


class PathText(os.PathLike):
    def __init__(self, text):
        self.text = text

    def __fspath__(self):
        return self.text


@pytest.mark.parametrize("empty", ["", "  ", PathText("")])
def test_an_empty_path_is_refused(empty):
    with pytest.raises(gpugda.ConfigurationError, match="empty"):
        gpugda.connect(empty)


@pytest.mark.parametrize("name", ["a" * 5000, "x:" + "a" * 5000, Path("a" * 5000)])
def test_a_name_that_is_too_long_is_refused(name):
    with pytest.raises(gpugda.SourceError, match="cannot be looked up") as raised:
        gpugda.connect(name)
    assert len(str(raised.value)) < 400


def test_the_home_of_an_unknown_user_is_refused():
    with pytest.raises(gpugda.SourceError, match="cannot be looked up"):
        gpugda.connect("~no-such-user-here/graph")


def test_the_error_of_a_folder_without_a_graph_names_what_is_read(tmp_path):
    (tmp_path / "notes.txt").write_text("no graph")
    with pytest.raises(
        gpugda.SourceError, match=r"no snapshot, .*\.csv.* and no Parquet"
    ) as raised:
        gpugda.connect(tmp_path)
    assert repr(str(tmp_path)) in str(raised.value)


@pytest.mark.parametrize("made", [PathText, Path, str])
def test_paths_of_all_kinds_are_accepted(tmp_path, made):
    save_snapshot(design_graph(), tmp_path / "saved")
    assert isinstance(resolve_source(made(str(tmp_path / "saved"))), SnapshotSource)


def test_a_snapshot_without_manifest_is_refused_as_a_snapshot(tmp_path):
    save_snapshot(design_graph(), tmp_path / "saved")
    (tmp_path / "saved/manifest.json").unlink()
    with pytest.raises(gpugda.SourceError, match=r"is not a snapshot: it has no manifest\.json"):
        gpugda.connect(tmp_path / "saved")


@pytest.mark.parametrize("keep", [True, False])
def test_a_manifest_of_another_format_is_refused(tmp_path, keep):
    folder = tmp_path / "saved"
    save_snapshot(design_graph(), folder)
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace("gpugda-snapshot", "other"))
    if not keep:
        for path in folder.glob("*.arrow"):
            path.unlink()
    with pytest.raises(gpugda.SourceError, match="snapshot"):
        gpugda.connect(folder)


def test_files_to_import_may_have_a_manifest(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "Person.csv").write_text("id:ID\na\n")
    with gpugda.connect(tmp_path) as accelerator:
        assert accelerator.run("MATCH (n:Person) RETURN n.id").values() == [["a"]]


def test_server_options_are_refused_for_other_sources():
    with pytest.raises(
        gpugda.ConfigurationError, match="database: only for a source that is a database"
    ):
        resolve_source("sample:wordnet", database="neo4j")


def test_trust_applies_to_saved_snapshots_only(tmp_path):
    save_snapshot(design_graph(), tmp_path / "saved")
    with gpugda.connect(tmp_path / "saved", trust=True) as opened:
        assert opened.run("MATCH (n) RETURN count(*)").single().value() == 2
    for other in ("sample:wordnet", gpugda.graph(nodes={"id": [1]}), "bolt://localhost"):
        with pytest.raises(gpugda.ConfigurationError, match="trust=True"):
            gpugda.connect(other, trust=True)


def test_a_snapshot_without_all_properties_is_refused(tmp_path):
    graph = server_graph([("A", {})], [], [3], [], complete=False)
    save_snapshot(graph, tmp_path / "saved", partial=True)
    with pytest.raises(gpugda.SourceError, match="lacks properties"):
        gpugda.connect(tmp_path / "saved")


def test_import_options_are_passed_on(tmp_path):
    for name, title in (("a.csv", "id:ID,name"), ("b.csv", "id:ID,name")):
        (tmp_path / name).write_text(f'{title}\n{name}," x "\n{name}2,""\n')
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    graph = gpugda.read_import(
        [("A", files)],
        trim_strings=True,
        ignore_empty_strings=True,
        auto_skip_subsequent_headers=True,
    )
    rows = gpugda.connect(graph).run("MATCH (n:A) RETURN n.name", engine="reference").value()
    assert rows == ["x", None, "x", None]


@pytest.mark.parametrize("address", ["http://x", "https://x:7474", "file:///tmp/x", "neo4js://x"])
def test_the_error_of_an_unknown_scheme_names_known_ones(address):
    with pytest.raises(gpugda.ConfigurationError, match=r"no known scheme.*bolt://"):
        resolve_source(address)


def test_the_error_of_an_unknown_scheme_hides_the_password():
    with pytest.raises(gpugda.ConfigurationError, match="credentials do not belong") as caught:
        resolve_source("http://ann:secret@x")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "neo4j:secret@localhost:7687",
        "neo4j//neo4j:secret@localhost:7687",
        "neo4j:secret*@localhost",
        "neo4j:se/secret@localhost",
        f"~neo4j:secret@{'x' * 300}",
    ],
)
def test_the_error_of_an_address_without_scheme_hides_the_password(address):
    with pytest.raises(gpugda.ConfigurationError, match="credentials do not belong") as caught:
        resolve_source(address)
    assert "secret" not in str(caught.value)


def test_a_file_may_be_named_as_if_with_a_password(tmp_path):
    (tmp_path / "a:b@c.csv").write_text("source,target\n1,2\n")
    for name in ("a:b@c.csv", "a:b@*.csv"):
        assert gpugda.connect(str(tmp_path / name)).run("MATCH (n) RETURN n").summary.rows == 2


def test_a_missing_file_names_one_that_may_be_meant(tmp_path):
    (tmp_path / "people.csv").write_text("id\n1\n")
    with pytest.raises(gpugda.SourceError, match=r"did you mean '.*people\.csv'\?"):
        gpugda.connect(tmp_path / "poeple.csv")
    with pytest.raises(gpugda.SourceError, match="nor is there a folder"):
        gpugda.connect(tmp_path / "nowhere" / "people.csv")
    with pytest.raises(gpugda.SourceError, match="scheme: bolt://localhost:7687"):
        gpugda.connect("localhost:7687")
    with pytest.raises(gpugda.SourceError, match=r"scheme: bolt://localhost:7687$"):
        gpugda.connect("localhost:7687/neo4j")


def test_a_damaged_archive_is_named(tmp_path):
    (tmp_path / "tables.zip").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(gpugda.SourceError, match=r"tables\.zip: cannot be read"):
        gpugda.connect(tmp_path / "tables.zip")
