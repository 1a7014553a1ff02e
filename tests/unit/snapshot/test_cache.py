"""Snapshots kept on disk between processes."""

import logging
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from server_ids import server_graph as make_server_graph

from gpugda.data.values.columns import column_from_values, to_values
from gpugda.data.values.property_store import PropertyNotReadError
from gpugda.errors import ConfigurationError
from gpugda.folders import cache_folder
from gpugda.ports import Projection
from gpugda.process import host_token
from gpugda.snapshot import cache as cache_module
from gpugda.snapshot.cache import CacheKey, SnapshotCache, open_cache
from gpugda.snapshot.cache_folder import lock_folder
from gpugda.snapshot.manifest import MANIFEST, read_manifest
from gpugda.snapshot.opening import open_snapshot
from gpugda.snapshot.store import save_snapshot

KEY = CacheKey("bolt://host:7687", "a-uuid", 7, "ann")
TESTS = Path(__file__).parents[2]


def server_graph():
    """A graph of a server: with ids, and with properties that were not read."""
    return make_server_graph(
        [("A", {}), ("B", {}), ("", {})],
        [(0, "R", 1, {}), (1, "R", 0, {}), (0, "R", 1, {})],
        [3, 17, 90],
        [8, 9, 5],
        complete=False,
    )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def cache(folder):
    return SnapshotCache(folder)


# ------------------------------------------------------------------ keeping and finding
def test_a_stored_graph_is_found_and_equal(cache):
    graph = server_graph()
    graph.add_properties({"x": column_from_values([1, None, 3])}, ["x", "y"], of_nodes=True)
    assert cache.open(KEY) is None
    cache.put(KEY, graph)
    found = cache.open(KEY)
    assert found.external_ids.nodes.tolist() == [3, 17, 90]
    assert found.external_ids.relationships.tolist() == graph.external_ids.relationships.tolist()
    assert found.element_id_of_node(1) == "4:db:17"
    assert found.index_of_element_id("5:db:9", of_nodes=False) == 2
    assert to_values(found.node_properties["x"]) == [1, None, 3]
    assert "y" not in found.node_properties
    for store in (found.node_properties, found.relationship_properties):
        assert not store.complete
        with pytest.raises(PropertyNotReadError):
            store.get("z")
    assert "z" in found.statistics.distinct_counts
    assert "y" not in found.statistics.distinct_counts
    version = read_manifest(cache.find(KEY)).version
    assert (version.database_id, version.transaction) == ("a-uuid", 7)


def test_properties_can_be_added_to_a_cached_graph(cache):
    cache.put(KEY, server_graph())
    found = cache.open(KEY)
    found.add_properties({"x": column_from_values([1, 2, 3])}, None, of_nodes=True)
    assert found.node_properties.complete
    cache.put(KEY, found)
    assert cache.open(KEY).node_properties.complete
    assert to_values(found.node_properties["x"]) == [1, 2, 3]


OTHERS = [
    CacheKey("bolt://other:7687", "a-uuid", 7, "ann"),
    CacheKey("bolt://host:7687", "b-uuid", 7, "ann"),
    CacheKey("bolt://host:7687", "a-uuid", 8, "ann"),
    CacheKey("bolt://host:7687", "a-uuid", 7, "bob"),
    CacheKey("bolt://host:7687", "a-uuid", 7, "", "ann"),
    CacheKey("bolt://host:7687", "a-uuid", 7, "ann", "bob"),
    CacheKey("bolt://host:7687", "a-uuid", 7, "ann", projection=Projection(("A",))),
    CacheKey("bolt://host:7687", "a-uuid", 7, "ann", projection=Projection(None, ("A",))),
    CacheKey("bolt://host:7687", "a-uuid", 7, "ann", projection=Projection((), ())),
]


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_another_server_state_user_or_part_finds_nothing(cache, other):
    cache.put(KEY, server_graph())
    assert cache.find(other) is None
    assert cache.open(other) is None


def test_keys_do_not_collide():
    assert len({key.folder for key in [KEY, *OTHERS]}) == 1 + len(OTHERS)


def test_another_format_version_is_another_entry(cache, monkeypatch):
    cache.put(KEY, server_graph())
    monkeypatch.setattr(cache_module, "VERSION", cache_module.VERSION + 1)
    assert cache.find(KEY) is None


def test_a_database_without_id_is_not_stored(cache):
    key = CacheKey("bolt://host:7687", "", 7)
    cache.put(key, server_graph())
    assert cache.find(key) is None
    assert cache.size() == 0


def test_file_names_reveal_no_addresses_or_users(cache, tmp_path):
    cache.put(KEY, server_graph())
    names = " ".join(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert "host:" not in names
    assert "7687" not in names
    assert "ann" not in names
    assert "uuid" not in names


def test_an_entry_that_differs_from_its_name_is_not_opened(cache, caplog):
    other = CacheKey("bolt://host:7687", "a-uuid", 8, "ann")
    cache.put(KEY, server_graph())
    path = cache.find(KEY)
    path.rename(path.with_name(other.folder))
    assert cache.open(other) is None
    assert "differs from its name" in caplog.text
    assert cache.find(other) is None


# ------------------------------------------------------------------ what is removed
def test_a_newer_state_replaces_an_older_one(cache):
    older = CacheKey("bolt://host:7687", "a-uuid", 6, "ann")
    someone_elses = CacheKey("bolt://host:7687", "a-uuid", 6, "bob")
    for key in (older, someone_elses, KEY):
        cache.put(key, server_graph())
    assert cache.find(older) is None
    assert cache.find(someone_elses) is not None
    assert cache.find(KEY) is not None


def test_a_slow_process_does_not_remove_a_newer_state(cache):
    older = CacheKey("bolt://host:7687", "a-uuid", 6, "ann")
    cache.put(KEY, server_graph())
    cache.put(older, server_graph())
    assert cache.find(KEY) is not None


def test_the_same_state_is_stored_again_only_with_more_properties(cache):
    graph = server_graph()
    graph.add_properties({"x": column_from_values([1, 2, 3])}, ["x"], of_nodes=True)
    cache.put(KEY, graph)
    written = (cache.find(KEY) / MANIFEST).stat().st_mtime_ns
    cache.put(KEY, server_graph())
    cache.put(KEY, graph)
    assert (cache.find(KEY) / MANIFEST).stat().st_mtime_ns == written
    graph.add_properties({"y": column_from_values([4, 5, 6])}, ["y"], of_nodes=True)
    cache.put(KEY, graph)
    assert to_values(cache.open(KEY).node_properties["y"]) == [4, 5, 6]


def test_an_open_entry_stays_readable_after_removal(cache):
    cache.put(KEY, server_graph())
    found = cache.open(KEY)
    cache.put(CacheKey("bolt://host:7687", "a-uuid", 8, "ann"), server_graph())
    cache.clear()
    assert found.external_ids.nodes.tolist() == [3, 17, 90]
    assert cache.size() == 0


def test_beyond_the_limit_the_least_recently_used_are_removed(folder):
    one = SnapshotCache(folder)
    keys = [CacheKey("bolt://host:7687", f"database {i}", 1) for i in range(4)]
    one.put(keys[0], server_graph())
    size = one.size()
    cache = SnapshotCache(folder, size_limit=3 * size + size // 2)
    now = time.time()
    for age, key in enumerate(keys):
        cache.put(key, server_graph())
        os.utime(cache.find(key), (now - 100 + age, now - 100 + age))
    assert [cache.find(key) is not None for key in keys] == [False, True, True, True]
    for key in keys[1:]:
        os.utime(cache.find(key), (now - 100, now - 100))
    cache.find(keys[1])  # used, so another one is removed first
    cache.put(keys[0], server_graph())
    assert cache.find(keys[1]) is not None
    assert cache.size() <= 3 * size + size // 2


def test_an_entry_larger_than_the_limit_is_not_stored(folder):
    SnapshotCache(folder).put(KEY, server_graph())
    cache = SnapshotCache(folder, size_limit=10)
    other = CacheKey("bolt://host:7687", "other", 1)
    cache.put(other, server_graph())
    assert cache.find(other) is None
    assert cache.find(KEY) is not None


# ------------------------------------------------------------------ whose folder it is
def test_the_folder_is_private(cache, folder):
    cache.put(KEY, server_graph())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_created_parent_folders_are_private(tmp_path):
    SnapshotCache(tmp_path / "a" / "b" / "c").put(KEY, server_graph())
    for path in ("a", "a/b", "a/b/c"):
        assert stat.S_IMODE((tmp_path / path).stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755, 0o750, 0o701])
def test_a_folder_that_others_can_use_is_not_used(cache, folder, caplog, mode):
    cache.put(KEY, server_graph())
    folder.chmod(mode)
    assert cache.find(KEY) is None
    assert cache.open(KEY) is None
    folder.chmod(0o700)
    cache.clear()
    folder.chmod(mode)
    cache.put(KEY, server_graph())
    assert cache.size() == 0
    assert "chmod 700" in caplog.text
    assert stat.S_IMODE(folder.stat().st_mode) == mode


def test_a_folder_that_is_a_link_is_not_used(cache, folder, tmp_path, caplog):
    elsewhere = tmp_path / "elsewhere"
    SnapshotCache(elsewhere).put(KEY, server_graph())
    folder.symlink_to(elsewhere)
    assert cache.find(KEY) is None
    cache.put(KEY, server_graph())
    assert "is a link to elsewhere" in caplog.text


def test_a_folder_that_anybody_can_replace_is_not_used(cache, folder, tmp_path, caplog):
    cache.put(KEY, server_graph())
    tmp_path.chmod(0o777)
    assert cache.find(KEY) is None
    assert "other users may replace files" in caplog.text
    tmp_path.chmod(0o1777)  # as /tmp is
    assert cache.find(KEY) is not None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_used(cache, folder, caplog):
    cache.put(KEY, server_graph())
    os.chown(folder, 12345, 12345)
    assert cache.find(KEY) is None
    assert "belongs to another user" in caplog.text


def test_a_problem_of_the_folder_is_logged_once(cache, folder, caplog):
    cache.put(KEY, server_graph())
    folder.chmod(0o755)
    for _ in range(3):
        cache.find(KEY)
    assert caplog.text.count("chmod 700") == 1


def test_an_unwritable_folder_is_a_warning(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    SnapshotCache(tmp_path / "file" / "cache").put(KEY, server_graph())
    SnapshotCache(tmp_path / "file").put(KEY, server_graph())
    assert "not kept in the cache" in caplog.text
    assert "is not a folder" in caplog.text


# ------------------------------------------------------------------ damage
def test_a_damaged_entry_is_dropped(cache, caplog):
    cache.put(KEY, server_graph())
    victim = next(cache.find(KEY).glob("arrays-*.arrow"))
    victim.write_bytes(victim.read_bytes()[:-7])
    assert cache.open(KEY) is None
    assert "dropped" in caplog.text
    assert "damaged" in caplog.text
    assert cache.find(KEY) is None


def test_a_changed_byte_never_gives_another_graph(cache):
    graph = server_graph()
    graph.add_properties({"x": column_from_values(["a", None, "b"])}, ["x"], of_nodes=True)
    chooser = random.Random(5)
    for _ in range(40):
        cache.put(KEY, graph)
        files = sorted(path for path in cache.find(KEY).iterdir() if path.stat().st_size)
        victim = chooser.choice(files)
        content = bytearray(victim.read_bytes())
        content[chooser.randrange(len(content))] ^= 1 << chooser.randrange(8)
        victim.write_bytes(bytes(content))
        assert cache.open(KEY) is None, victim
        assert cache.find(KEY) is None


@pytest.mark.parametrize("missing", [MANIFEST, "arrays", "node_properties"])
def test_an_entry_with_a_missing_file_is_dropped(cache, missing):
    cache.put(KEY, server_graph())
    next(cache.find(KEY).glob(f"{missing}*")).unlink()
    assert cache.open(KEY) is None
    assert cache.find(KEY) is None
    cache.put(KEY, server_graph())
    assert cache.open(KEY) is not None


def test_a_full_disk_is_a_warning_before_writing(cache, folder, caplog, monkeypatch):
    free = shutil.disk_usage("/")._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free)
    cache.put(KEY, server_graph())
    assert "10 are free" in caplog.text
    assert cache.find(KEY) is None


_FULL = """
import resource
from unit_cache import KEY, server_graph, SnapshotCache, Path
resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
cache = SnapshotCache(Path({folder!r}))
cache.put(KEY, server_graph())
assert cache.find(KEY) is None
assert cache.size() == 0
"""


def test_a_disk_full_while_writing_is_a_warning_and_leaves_no_files(folder, tmp_path):
    assert resource.RLIMIT_FSIZE is not None
    done = subprocess.run(
        [sys.executable, "-c", _FULL.format(folder=str(folder))],
        env=_environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "not kept in the cache" in done.stderr
    assert [path.name for path in folder.iterdir()] == [".lock"]


# ------------------------------------------------------------------ several processes
def _environment(tmp_path):
    """An environment in which a child process can import this file."""
    (tmp_path / "unit_cache.py").write_text(
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('unit_cache_tests', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
        "globals().update(vars(module))\n"
    )
    path = os.pathsep.join([str(tmp_path), str(TESTS)])
    return {**os.environ, "PYTHONPATH": path}


_KEEPING = """
from unit_cache import *
cache = SnapshotCache(Path({folder!r}))
print("ready", flush=True)
number = 0
while True:
    number += 1
    graph = server_graph()
    graph.add_properties({{"x": column_from_values(["some text"] * 3)}}, ["x"], of_nodes=True)
    cache.put(CacheKey("a", "b", number), graph)
    cache.drop(CacheKey("a", "b", number - 1))
"""


@pytest.mark.slow
def test_a_killed_process_leaves_a_usable_cache(folder, tmp_path):
    environment = _environment(tmp_path)
    cache = SnapshotCache(folder)
    for pause in (0.01, 0.03, 0.05, 0.08):
        process = subprocess.Popen(
            [sys.executable, "-c", _KEEPING.format(folder=str(folder))],
            stdout=subprocess.PIPE,
            env=environment,
        )
        process.stdout.readline()
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for path in list(cache._entries()):
            assert open_snapshot(path).node_count == 3  # every entry that appears is complete
        cache.put(KEY, server_graph())
        assert cache.open(KEY).node_count == 3
        left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
        assert left == [".lock"]


_TOGETHER = """
from unit_cache import *
import random
cache = SnapshotCache(Path({folder!r}), size_limit=40_000)
chooser = random.Random({seed})
for step in range(60):
    key = CacheKey("a", str(chooser.randrange(3)), chooser.randrange(4))
    found = cache.open(key)
    if found is not None:
        keys = found.node_properties.loaded_keys
        assert all(to_values(found.node_properties[k]) == [k] * 3 for k in keys), keys
    graph = server_graph()
    name = f"{{key.database_id}} {{chooser.randrange(3)}}"
    graph.add_properties({{name: column_from_values([name] * 3)}}, [name], of_nodes=True)
    cache.put(key, graph)
"""


@pytest.mark.slow
def test_several_processes_use_the_cache_at_once(folder, tmp_path):
    environment = _environment(tmp_path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _TOGETHER.format(folder=str(folder), seed=seed)],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(3)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert "damaged" not in errors
    for path in SnapshotCache(folder)._entries():
        open_snapshot(path)


def test_nothing_is_stored_without_the_lock(cache, folder, monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="gpugda")
    monkeypatch.setattr(cache_module, "_LOCK_SECONDS", 0.1)
    cache.put(KEY, server_graph())
    cache.clear()
    with lock_folder(folder, 1.0) as locked:
        assert locked
        cache.put(KEY, server_graph())
    assert cache.find(KEY) is None
    assert "another process" in caplog.text
    cache.put(KEY, server_graph())
    assert cache.find(KEY) is not None


def test_leftovers_of_killed_processes_are_removed(cache, folder):
    cache.put(KEY, server_graph())
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    dead, here = int(ended.stdout), host_token()
    names = {
        f".x-1.snapshot.{here}.{dead}.abc.tmp": False,
        f".x-1.snapshot.{here}.{dead}.123.gone": False,
        f".x-1.snapshot.{here}.{os.getpid()}.abc.tmp": True,
        f".x-1.snapshot.00000000.{dead}.abc.tmp": True,
        f".x-2.snapshot.00000000.{dead}.abc.tmp": False,
        ".of somebody else": True,
    }
    for name in names:
        (folder / name / "x-1.snapshot").mkdir(parents=True)
    long_ago = time.time() - 100_000
    os.utime(folder / f".x-2.snapshot.00000000.{dead}.abc.tmp", (long_ago, long_ago))
    cache.put(CacheKey("bolt://host:7687", "a-uuid", 8, "ann"), server_graph())
    assert {name: (folder / name).exists() for name in names} == names


# ------------------------------------------------------------------ the environment
def test_the_environment_sets_folder_and_limit(tmp_path):
    for off in ("", "off", "None", "0"):
        assert open_cache({"GPUGDA_CACHE_DIR": off}) is None
        assert cache_folder({"GPUGDA_CACHE_DIR": off}) is None
    assert open_cache({}) is not None
    assert cache_folder({}).name == "gpugda"
    with pytest.raises(ConfigurationError, match="absolute"):
        open_cache({"GPUGDA_CACHE_DIR": "here"})
    with pytest.raises(ConfigurationError, match="GPUGDA_CACHE_SIZE"):
        open_cache({"GPUGDA_CACHE_DIR": str(tmp_path), "GPUGDA_CACHE_SIZE": "much"})


def test_a_folder_named_by_the_user_may_be_readable_by_others(tmp_path):
    tmp_path.chmod(0o755)
    cache = open_cache({"GPUGDA_CACHE_DIR": str(tmp_path)})
    cache.put(KEY, server_graph())
    assert cache.open(KEY) is not None
    assert stat.S_IMODE((tmp_path / "snapshots").stat().st_mode) == 0o700


def test_the_environment_is_read_at_each_opening(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUGDA_CACHE_DIR", "off")
    assert open_cache() is None
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path))
    assert open_cache() is not None


def test_a_cache_entry_can_be_opened_as_a_snapshot(cache, tmp_path):
    cache.put(KEY, server_graph())
    assert open_snapshot(cache.find(KEY)).node_count == 3
    save_snapshot(cache.open(KEY), tmp_path / "copy", partial=True)
    assert open_snapshot(tmp_path / "copy").element_id_of_node(2) == "4:db:90"
