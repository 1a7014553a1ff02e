"""Snapshots kept on disk between processes."""

import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
from graphs import ListedBatches, make_graph, node_batch, relationship_batch

from gpugda.data.build import build_data_graph
from gpugda.data.columns import column_from_values, to_values
from gpugda.data.property_store import PropertyNotReadError
from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import IdentifierPrefixes, Projection
from gpugda.snapshot.cache import CacheKey, SnapshotCache, open_cache
from gpugda.snapshot.store import open_snapshot, save_snapshot

KEY = CacheKey("bolt://host:7687", "a-uuid", 7, "ann")


def server_graph():
    """A graph of a server: with ids, and with properties that were not read."""
    from dataclasses import replace

    import pyarrow as pa

    nodes = node_batch([("A", {}), ("B", {}), ("", {})])
    nodes = replace(nodes, ids=pa.array([3, 17, 90]))
    relationships = relationship_batch([(0, "R", 1, {}), (1, "R", 0, {}), (0, "R", 1, {})])
    ends = {0: 3, 1: 17}
    relationships = replace(
        relationships,
        source_ids=pa.array([ends[0], ends[1], ends[0]]),
        target_ids=pa.array([ends[1], ends[0], ends[1]]),
        relationship_ids=np.array([8, 9, 5]),
    )
    return build_data_graph(
        ListedBatches(
            [nodes], [relationships], IdentifierPrefixes("4:u:", "5:u:"), properties_complete=False
        )
    )


@pytest.fixture
def cache(tmp_path):
    return SnapshotCache(tmp_path / "cache")


def test_what_is_kept_is_found_and_equal(cache):
    graph = server_graph()
    graph.add_properties({"x": column_from_values([1, None, 3])}, ["x", "y"], of_nodes=True)
    assert cache.find(KEY) is None
    cache.put(KEY, graph)
    found = open_snapshot(cache.find(KEY))
    assert found.external_ids.nodes.tolist() == [3, 17, 90]
    assert sorted(found.external_ids.relationships.tolist()) == [5, 8, 9]
    assert found.element_id_of_node(1) == "4:u:17"
    assert found.index_of_element_id("5:u:9", of_nodes=False) == 2
    assert to_values(found.node_properties["x"]) == [1, None, 3]
    assert "y" not in found.node_properties
    for store in (found.node_properties, found.relationship_properties):
        assert not store.complete
        with pytest.raises(PropertyNotReadError):
            store.get("z")
    assert "z" in found.statistics.distinct_counts


@pytest.mark.parametrize(
    "other",
    [
        CacheKey("bolt://other:7687", "a-uuid", 7, "ann"),
        CacheKey("bolt://host:7687", "b-uuid", 7, "ann"),
        CacheKey("bolt://host:7687", "a-uuid", 8, "ann"),
        CacheKey("bolt://host:7687", "a-uuid", 7, "bob"),
        CacheKey("bolt://host:7687", "a-uuid", 7, "ann", "bob"),
        CacheKey("bolt://host:7687", "a-uuid", 7, "ann", projection=Projection(("A",))),
    ],
)
def test_nothing_is_found_for_another_server_state_user_or_part(cache, other):
    cache.put(KEY, server_graph())
    assert cache.find(other) is None


def test_names_on_disk_tell_nothing(cache, tmp_path):
    cache.put(KEY, server_graph())
    names = " ".join(str(path) for path in tmp_path.rglob("*"))
    assert "host" not in names
    assert "ann" not in names


def test_a_newer_state_replaces_an_older_one(cache):
    older = CacheKey("bolt://host:7687", "a-uuid", 6, "ann")
    someone_elses = CacheKey("bolt://host:7687", "a-uuid", 6, "bob")
    for key in (older, someone_elses, KEY):
        cache.put(key, server_graph())
    assert cache.find(older) is None
    assert cache.find(someone_elses) is not None
    assert cache.find(KEY) is not None


def test_the_same_state_is_kept_again_with_more_properties(cache):
    graph = server_graph()
    cache.put(KEY, graph)
    graph.add_properties({"x": column_from_values([1, 2, 3])}, ["x"], of_nodes=True)
    cache.put(KEY, graph)
    assert to_values(open_snapshot(cache.find(KEY)).node_properties["x"]) == [1, 2, 3]


def test_beyond_the_limit_the_longest_unused_go(tmp_path):
    one = SnapshotCache(tmp_path / "cache")
    keys = [CacheKey("bolt://host:7687", f"database {i}", 1) for i in range(4)]
    one.put(keys[0], server_graph())
    size = one.size()
    cache = SnapshotCache(tmp_path / "cache", size_limit=3 * size + size // 2)
    now = time.time()
    for age, key in enumerate(keys):
        cache.put(key, server_graph())
        if cache.find(key):
            os.utime(cache.find(key), (now - 100 + age, now - 100 + age))
    assert [cache.find(key) is not None for key in keys] == [False, True, True, True]


def test_what_is_larger_than_the_limit_is_not_kept(tmp_path):
    cache = SnapshotCache(tmp_path / "cache", size_limit=10)
    cache.put(KEY, server_graph())
    assert cache.find(KEY) is None


def test_the_folder_is_private(cache, tmp_path):
    cache.put(KEY, server_graph())
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def test_a_folder_that_others_may_write_is_not_used(cache, tmp_path, caplog):
    cache.put(KEY, server_graph())
    (tmp_path / "cache").chmod(0o777)
    assert cache.find(KEY) is None
    cache.put(KEY, server_graph())
    assert "make it private" in caplog.text


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    SnapshotCache(tmp_path / "file" / "cache").put(KEY, server_graph())
    assert "not kept in the cache" in caplog.text


def test_a_damaged_entry_is_refused_and_can_be_dropped(cache):
    cache.put(KEY, server_graph())
    victim = next(cache.find(KEY).glob("arrays-*.arrow"))
    victim.write_bytes(victim.read_bytes()[:-7])
    with pytest.raises(SourceError, match="damaged"):
        open_snapshot(cache.find(KEY))
    cache.drop(KEY)
    assert cache.find(KEY) is None


_KEEPING = """
import sys
sys.path.insert(0, {tests!r})
from unit_cache import KEY, server_graph
from pathlib import Path
from gpugda.snapshot.cache import SnapshotCache
cache = SnapshotCache(Path({folder!r}))
graph = server_graph()
print("ready", flush=True)
while True:
    cache.put(KEY, graph)
"""


def test_a_killed_process_leaves_a_cache_that_can_be_used(tmp_path):
    folder = tmp_path / "cache"
    (tmp_path / "unit_cache.py").write_text(
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('unit_cache_tests', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
        "KEY, server_graph = module.KEY, module.server_graph\n"
    )
    from pathlib import Path

    tests = str(Path(__file__).parents[2])
    program = _KEEPING.format(tests=str(tmp_path), folder=str(folder))
    for pause in (0.01, 0.05):
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": tests},
        )
        process.stdout.readline()
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        cache = SnapshotCache(folder)
        found = cache.find(KEY)
        if found is not None:
            assert open_snapshot(found).node_count == 3
        cache.put(KEY, server_graph())
        assert open_snapshot(cache.find(KEY)).node_count == 3
        assert not list(folder.glob(".*.gone"))


def test_the_environment_says_where_and_how_much(tmp_path):
    for off in ("", "off", "None", "0"):
        assert open_cache({"GPUGDA_CACHE_DIR": off}) is None
    assert open_cache({}) is not None
    assert open_cache({"GPUGDA_CACHE_DIR": str(tmp_path)}) is not None
    with pytest.raises(ConfigurationError, match="absolute"):
        open_cache({"GPUGDA_CACHE_DIR": "here"})
    with pytest.raises(ConfigurationError, match="GPUGDA_CACHE_SIZE"):
        open_cache({"GPUGDA_CACHE_DIR": str(tmp_path), "GPUGDA_CACHE_SIZE": "much"})


def test_a_graph_whose_properties_were_not_all_read_is_saved_only_on_request(tmp_path):
    with pytest.raises(SourceError, match="not all properties"):
        save_snapshot(server_graph(), tmp_path / "s")
    save_snapshot(make_graph([("A", {"x": 1})]), tmp_path / "s")
