from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import zlib

import numpy as np
import pytest
from graphs import design_graph, make_graph
from hypothesis import given
from hypothesis import strategies as st
from server_ids import server_graph

from gpugda.data.external_ids import ExternalIds
from gpugda.data.values.columns import column_from_values, to_values
from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import DatabaseVersion
from gpugda.process import host_token
from gpugda.snapshot import opening, store
from gpugda.snapshot.manifest import MANIFEST, is_snapshot, read_manifest
from gpugda.snapshot.opening import open_snapshot
from gpugda.snapshot.store import save_snapshot

VALUES = st.sampled_from(
    [1, 2, 1.0, -0.0, float("nan"), True, False, "a", "é😀", "", None, [1, 1.0], []]
)
PROPERTIES = st.dictionaries(st.sampled_from(["p", "key.values", ""]), VALUES)
ARRAYS = ("label_offsets", "label_ids")
ROWS = (
    "row_offsets",
    "neighbours",
    "relationship_indexes",
    "run_offsets",
    "run_types",
    "run_starts",
)


@st.composite
def data_graphs(draw):
    labels = st.lists(st.sampled_from(["A", "B c"]), unique=True)
    nodes = draw(st.lists(st.tuples(labels, PROPERTIES), max_size=5))
    if not nodes:
        return make_graph([])
    ends = st.integers(0, len(nodes) - 1)
    rows = st.tuples(ends, st.sampled_from(["R", "S"]), ends, PROPERTIES)
    return make_graph(nodes, draw(st.lists(rows, max_size=8)), element_id_prefix="x:")


def assert_same(found, expected):
    for name in ("node_count", "relationship_count", "statistics", "element_id_prefix"):
        assert getattr(found, name) == getattr(expected, name)
    assert found.labels.names == expected.labels.names
    assert found.types.names == expected.types.names
    for name in ARRAYS:
        assert_same_array(getattr(found, name), getattr(expected, name))
    for direction in ("outgoing", "incoming"):
        for name in ROWS:
            arrays = [getattr(getattr(graph, direction), name) for graph in (found, expected)]
            assert_same_array(*arrays)
    for kind in ("node_properties", "relationship_properties"):
        columns, old_columns = getattr(found, kind), getattr(expected, kind)
        assert list(columns) == list(old_columns)
        for key, column in columns.items():
            assert column.kind is old_columns[key].kind
            assert column.values.dtype == old_columns[key].values.dtype
            assert repr(to_values(column)) == repr(to_values(old_columns[key]))


def assert_same_array(found, expected):
    if expected is None:
        assert found is None
        return
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


@given(data_graphs(), st.sampled_from([None, "lz4", "zstd"]), st.booleans(), st.booleans())
def test_a_saved_graph_is_opened_unchanged(tmp_path_factory, graph, compression, incoming, verify):
    path = tmp_path_factory.mktemp("snapshots") / "s"
    save_snapshot(graph, path, compression=compression, incoming=incoming, source_name="here")
    assert is_snapshot(path)
    found = open_snapshot(path, verify=verify)
    found.incoming.check()
    assert_same(found, graph)
    assert os.listdir(path.parent) == ["s"]
    manifest = read_manifest(path)
    assert (manifest.source_name, manifest.has_incoming) == ("here", incoming)
    assert sorted(os.listdir(path)) == sorted(
        [MANIFEST, *(entry.name for entry in manifest.files.values())]
    )


def test_arrays_are_views_of_the_mapped_files(tmp_path):
    save_snapshot(make_graph([("A", {"b": True, "s": "x"})]), tmp_path / "s")
    graph = open_snapshot(tmp_path / "s")
    for array in (graph.outgoing.row_offsets, graph.node_properties["b"].values):
        assert not array.flags.owndata
        assert not array.flags.writeable
    assert graph.node_properties["b"].values.dtype == np.bool_


def test_opening_loads_no_further_library(tmp_path):
    # Above all pandas, which many functions of pyarrow import.
    save_snapshot(make_graph([("A", {"s": "x", "b": True, "l": [1]})]), tmp_path / "s")
    program = (
        "import sys; from gpugda.snapshot.opening import open_snapshot as o; "
        f"c = o({str(tmp_path / 's')!r}).node_properties['s']; "
        "c.dictionary.find('x'); c.dictionary.matching_suffix('x'); c.dictionary.values(c.values); "
        "print({'pandas', 'polars', 'neo4j', 'pyopencl'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "set()\n"


# ------------------------------------------------------------------ replacing
def test_a_snapshot_is_replaced_and_leaves_no_old_files(tmp_path):
    path = tmp_path / "s"
    save_snapshot(design_graph(), path)
    new = make_graph([("New", {"x": 1})])
    save_snapshot(new, path)
    assert_same(open_snapshot(path), new)
    assert len(os.listdir(path)) == 4
    assert os.listdir(tmp_path) == ["s"]


def test_an_open_snapshot_stays_readable_after_replacement(tmp_path):
    path = tmp_path / "s"
    old = make_graph([("A", {"t": f"text {number}"}) for number in range(5000)])
    save_snapshot(old, path)
    opened = open_snapshot(path, verify=False)  # so few pages were read yet
    save_snapshot(make_graph([("New", {})]), path)
    assert_same(opened, old)


def test_opening_during_a_replacement_gives_the_new_snapshot(tmp_path, monkeypatch):
    path = tmp_path / "s"
    save_snapshot(design_graph(), path)
    new = make_graph([("New", {})])
    manifests = []

    def read_then_replace(folder):
        manifests.append(read_manifest(folder))
        if len(manifests) == 1:
            monkeypatch.setattr(opening, "read_manifest", read_manifest)
            save_snapshot(new, path)
        return manifests[0]

    monkeypatch.setattr(opening, "read_manifest", read_then_replace)
    assert_same(open_snapshot(path), new)
    assert len(manifests) == 1


def test_a_crash_while_saving_leaves_no_snapshot(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_put_in_place", _fail)
    with pytest.raises(SourceError, match="cannot be saved: no room"):
        save_snapshot(design_graph(), tmp_path / "s")
    assert os.listdir(tmp_path) == []


def test_a_crash_while_replacing_leaves_the_old_snapshot(tmp_path, monkeypatch):
    path, old = tmp_path / "s", design_graph()
    save_snapshot(old, path)
    real_replace = os.replace

    def fail_at_manifest(source, target):
        if str(target).endswith(MANIFEST):
            _fail()
        real_replace(source, target)

    monkeypatch.setattr(os, "replace", fail_at_manifest)
    with pytest.raises(SourceError, match="no room"):
        save_snapshot(make_graph([("New", {})]), path)
    assert_same(open_snapshot(path), old)


def _fail(*arguments):
    raise OSError("no room")


def test_other_folders_are_never_overwritten(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "cat.jpg").write_bytes(b"cat")
    file = tmp_path / "letter"
    file.write_text("Dear Sir")
    for path in (folder, file):
        assert not is_snapshot(path)
        with pytest.raises(SourceError, match="not overwritten"):
            save_snapshot(design_graph(), path)
    assert (folder / "cat.jpg").read_bytes() == b"cat"
    assert file.read_text() == "Dear Sir"


def test_empty_folders_links_and_damaged_snapshots_can_be_saved_to(tmp_path):
    graph = design_graph()
    (tmp_path / "empty").mkdir()
    save_snapshot(graph, tmp_path / "empty")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    save_snapshot(graph, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "empty" / MANIFEST).write_text("{")
    save_snapshot(graph, tmp_path / "empty")
    assert_same(open_snapshot(tmp_path / "link"), graph)
    assert len(os.listdir(tmp_path / "empty")) == 4


def test_wrong_options_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="'gzip'"):
        save_snapshot(design_graph(), tmp_path / "s", compression="gzip")
    with pytest.raises(SourceError, match="check that the folder"):
        save_snapshot(design_graph(), tmp_path / "nowhere" / "s")
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------ damage
@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "s"
    save_snapshot(make_graph([("A", {"t": "x", "l": [1]})], [(0, "R", 0, {})]), path)
    return path


def file_of(path, kind="arrays"):
    return path / read_manifest(path).files[kind].name


def change_manifest(path, **changes):
    """Changes fields of the manifest and corrects its checksum."""
    content = json.loads((path / MANIFEST).read_text()) | changes
    body = {
        key: each for key, each in content.items() if key not in ("format", "version", "checksum")
    }
    content["checksum"] = zlib.crc32(
        json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    )
    (path / MANIFEST).write_text(json.dumps(content))


@pytest.mark.parametrize("size", [0, 10, -1])
@pytest.mark.parametrize("verify", [True, False])
def test_truncated_files_are_refused(saved, size, verify):
    file = file_of(saved)
    data = file.read_bytes()
    file.write_bytes(data[:size])
    with pytest.raises(
        SourceError, match=rf"{file.name} has .* as if cut short: save the snapshot"
    ):
        open_snapshot(saved, verify=verify)


def test_every_changed_byte_is_found(saved):
    file = file_of(saved, "node_properties")
    data = file.read_bytes()
    for place in range(0, len(data), 97):
        changed = bytearray(data)
        changed[place] ^= 1
        file.write_bytes(changed)
        with pytest.raises(SourceError, match=f"checksum of its file {file.name} is wrong"):
            open_snapshot(saved)


def test_an_error_names_the_missing_file(saved):
    file = file_of(saved, "relationship_properties")
    file.unlink()
    with pytest.raises(
        SourceError, match=f"its file {file.name} is missing: save the snapshot again"
    ):
        open_snapshot(saved)


def test_other_format_versions_are_refused(saved):
    change_manifest(saved, version=4)
    assert is_snapshot(saved)
    with pytest.raises(SourceError, match="format version 4, this program reads 3"):
        open_snapshot(saved)


def test_format_version_1_can_be_read(saved):
    expected = open_snapshot(saved)
    content = json.loads((saved / MANIFEST).read_text())
    for name in ("external_ids", "nodes_read", "relationships_read", "state", "part"):
        del content[name]
    (saved / MANIFEST).write_text(json.dumps(content))
    change_manifest(saved, version=1)
    assert read_manifest(saved).version is None
    found = open_snapshot(saved)
    assert_same(found, expected)
    assert found.node_properties.complete


# ------------------------------------------------------------------ of database servers
def test_ids_and_state_of_a_server_are_saved(tmp_path):
    graph = server_graph(
        [("A", {"x": 1}), ("", {})],
        [(1, "R", 0, {"w": "late"}), (0, "R", 1, {"w": "early"})],
        [3, 2**62],
        [7, 2**40],
    )
    version = DatabaseVersion("a-uuid", 2**40, "FB:bookmark")
    save_snapshot(graph, tmp_path / "s", version=version)
    found = open_snapshot(tmp_path / "s")
    assert_same(found, graph)
    assert found.node_properties.complete
    assert [found.element_id_of_node(index) for index in (0, 1)] == ["4:db:3", f"4:db:{2**62}"]
    assert found.element_id_of_relationship(0) == f"5:db:{2**40}"
    assert found.index_of_element_id("5:db:7", of_nodes=False) == 1
    saved_version = read_manifest(tmp_path / "s").version
    assert saved_version == version
    assert saved_version.bookmark == "FB:bookmark"


@pytest.mark.parametrize("of_nodes", [True, False])
def test_a_graph_whose_properties_were_not_all_read_is_saved_only_on_request(tmp_path, of_nodes):
    graph = server_graph([("A", {})], [(0, "R", 0, {})], [3], [4], complete=False)
    graph.add_properties({"x": column_from_values([1])}, None, of_nodes=of_nodes)
    with pytest.raises(SourceError, match="not all properties"):
        save_snapshot(graph, tmp_path / "s")
    assert not (tmp_path / "s").exists()
    save_snapshot(graph, tmp_path / "s", partial=True)
    found = open_snapshot(tmp_path / "s")
    assert found.node_properties.complete is of_nodes
    assert found.relationship_properties.complete is not of_nodes


def test_ids_that_do_not_fit_are_refused(tmp_path):
    graph = server_graph([("A", {}), ("A", {})], [(0, "R", 1, {})], [3, 5], [4])
    for field, wrong in (("nodes", [5, 3]), ("nodes", [3]), ("relationships", [4, 5])):
        right = graph.external_ids
        given = {"nodes": right.nodes, "relationships": right.relationships}
        ids = ExternalIds(
            **{**given, field: np.array(wrong)},
            node_prefix=right.node_prefix,
            relationship_prefix=right.relationship_prefix,
        )
        save_snapshot(dataclasses.replace(graph, external_ids=ids), tmp_path / "s")
        with pytest.raises(SourceError, match=r"damaged.* ids"):
            open_snapshot(tmp_path / "s")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "not JSON"),
        ('{"format": "gpugda-snapshot", "vers', "not JSON"),
        ("[]", "of something else"),
        ('{"name": "app"}', "of something else"),
    ],
)
def test_malformed_manifests_are_refused(saved, text, part):
    (saved / MANIFEST).write_text(text)
    with pytest.raises(SourceError, match=part):
        open_snapshot(saved)


def test_a_changed_manifest_is_refused(saved):
    text = (saved / MANIFEST).read_text()
    (saved / MANIFEST).write_text(text.replace('"labels": ["A"]', '"labels": ["B"]'))
    with pytest.raises(SourceError, match="was changed"):
        open_snapshot(saved)
    (saved / MANIFEST).write_bytes(b"\xff" + text.encode())
    with pytest.raises(SourceError, match="not JSON"):
        open_snapshot(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"node_count": 2},
        {"relationship_count": 0},
        {"has_incoming": False, "files": {}},
        {"node_properties": [{"key": "t", "kind": "float"}]},
        {"node_properties": [{"key": "t", "kind": "colour"}]},
        {"node_properties": [{"kind": "float"}]},
        {"statistics": {}},
        {"labels": None},
        {"external_ids": ["4:", "5:"]},
        {"external_ids": ["4:"]},
        {"state": {"transaction": 1}},
        {"nodes_read": 5},
    ],
)
def test_manifests_that_contradict_the_files_are_refused(saved, changes):
    change_manifest(saved, **changes)
    with pytest.raises(SourceError, match="damaged"):
        open_snapshot(saved)


def test_files_that_are_not_arrow_are_refused(saved):
    files = read_manifest(saved).files
    file = saved / files["arrays"].name
    file.write_bytes(b"x" * 1000)
    entries = {kind: dataclasses.asdict(entry) for kind, entry in files.items()}
    entries["arrays"] |= {"size_bytes": 1000, "checksums": [zlib.crc32(b"x" * 1000)]}
    change_manifest(saved, files=entries)
    with pytest.raises(SourceError, match="damaged"):
        open_snapshot(saved)


def test_other_folders_are_not_opened(tmp_path):
    with pytest.raises(SourceError, match="there is no such folder"):
        open_snapshot(tmp_path / "nowhere")
    with pytest.raises(SourceError, match=r"it has no manifest.json"):
        open_snapshot(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match="is not a snapshot"):
        open_snapshot(tmp_path / "file")
    assert not any(
        is_snapshot(path) for path in (tmp_path, tmp_path / "nowhere", tmp_path / "file")
    )


def test_an_unreadable_file_is_reported(saved, monkeypatch):
    # The file's mode is not changed, because a superuser could read it all the same.
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(opening, "map_file", refuse)
    with pytest.raises(SourceError, match="check the permissions"):
        open_snapshot(saved)


def leftover(tmp_path, name, process):
    folder = tmp_path / f".{name}.{host_token()}.{process}.abc_1.tmp"
    (folder / name).mkdir(parents=True)
    return folder


def test_the_next_save_removes_leftovers_of_killed_ones(tmp_path):
    code = "import os; print(os.getpid())"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    dead = leftover(tmp_path, "saved", int(ended.stdout))
    kept = [
        leftover(tmp_path, "saved", os.getpid()),
        leftover(tmp_path, "saved", os.getppid()),
        leftover(tmp_path, "other", int(ended.stdout)),
        tmp_path / f".saved.00000000.{int(ended.stdout)}.abc.tmp",  # of another machine
        tmp_path / ".saved.mine.tmp",
    ]
    for folder in kept:
        folder.mkdir(exist_ok=True)
    save_snapshot(design_graph(), tmp_path / "saved")
    assert not dead.exists()
    assert all(folder.exists() for folder in kept)


@pytest.mark.slow
def test_a_killed_save_leaves_no_snapshot_and_is_cleaned_up(tmp_path):
    code = """
import os, signal, sys
from graphs import design_graph
from gpugda.snapshot import store
store._write = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
store.save_snapshot(design_graph(), sys.argv[1])
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", code, str(tmp_path / "saved")]
    assert subprocess.run(arguments, env=environment, check=False).returncode < 0
    assert len(os.listdir(tmp_path)) == 1
    save_snapshot(design_graph(), tmp_path / "saved")
    assert os.listdir(tmp_path) == ["saved"]
