"""What gpugda's plugin saves in reading a Neo4j, and what it costs those who write.

As a program, on two servers beside this process, the first with the plugin, the second without:
python tests/benchmarks/test_plugin.py --uri bolt://localhost:7687 --pid PID --bare-uri bolt://localhost:7688
The first one holds a graph, such as that of test_export.py; the second one only takes commits. Pages
and plugin take turns, and so do the commits. With --pid the server's processor time is told, which says more than
seconds do where the machine is busy; with --bare-pid also that of commits. --turns 0 leaves the reading out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace

import numpy as np
import pytest
from neo4j import GraphDatabase

MIN_TIMES_FASTER = 2.0
MIN_COMMIT_RATIO = 0.9
_PROCESSOR_CLOCK = 2  # of a process, as in the system's clock numbers


def server_seconds(pid: int | None) -> float:
    """Processor seconds of the server; 0 if its process is unknown."""
    return 0.0 if pid is None else time.clock_gettime(~pid << 3 | _PROCESSOR_CLOCK)


# ------------------------------------------------------------------ reading
def measure_export(uri: str, pid: int | None, turns: int) -> dict[str, float]:
    """Best of some turns, in ns per relationship; RuntimeError if plugin and pages differ."""
    from gpugda_adapters.neo4j_bolt import BoltSource

    rows: dict[str, list[tuple[float, ...]]] = {"plugin": [], "pages": []}
    graphs = {}
    with closing(BoltSource(uri, environment=os.environ)) as source:
        if not source.facts.plugin:
            raise RuntimeError(f"{uri}: {source.facts.plugin_advice}")
        for way in ["plugin", "pages"] * turns:
            _force(source, way)
            found, graphs[way] = _read(source, pid)
            rows[way].append(found)
    _compare(graphs["plugin"], graphs["pages"])
    count = graphs["plugin"].relationship_count
    names = ("server", "client", "wall", "ready", "ready_server", "ready_client")
    best = {way: [min(column) for column in zip(*rows[way], strict=True)] for way in rows}
    told = {
        f"{way}_{name}_ns": round(best[way][place] / count * 1e9, 1)
        for way in rows
        for place, name in enumerate(names)
    }
    times = [best["pages"][place] / max(best["plugin"][place], 1e-9) for place in range(6)]
    processor = sum(best["pages"][:2]) / sum(best["plugin"][:2])
    return {
        **told,
        "times_faster_wall": round(times[2], 2),
        "times_faster_ready": round(times[3], 2),
        "times_less_processor": round(processor, 2),
        "ready_relationships_per_second": round(count / best["plugin"][3]),
    }


def _force(source, way: str) -> None:
    connection = source._connection
    find = type(connection).recheck

    def recheck() -> None:
        find(connection)
        if way == "pages":
            connection.facts = replace(connection.facts, plugin="")

    connection.recheck = recheck


def _read(source, pid: int | None):
    from gpugda.loading import load
    from gpugda.ports import SilentProgress

    with source.read(SilentProgress()) as batches:
        for _ in batches.nodes:
            pass
        marks = _marks(pid)
        for _ in batches.relationships:
            pass
        now = _marks(pid)
    marks, spent = _marks(pid), [b - a for a, b in zip(marks, now, strict=True)]
    graph = load(source, SilentProgress()).graph
    found = [b - a for a, b in zip(marks, _marks(pid), strict=True)]
    return (*spent, found[2], *found[:2]), graph


def _marks(pid: int | None) -> tuple[float, float, float]:
    return server_seconds(pid), time.process_time(), time.perf_counter()


def _compare(one, other) -> None:
    same = (
        np.array_equal(one.external_ids.nodes, other.external_ids.nodes)
        and np.array_equal(one.external_ids.relationships, other.external_ids.relationships)
        and all(
            np.array_equal(mine, theirs)
            for rows in ("outgoing", "incoming")
            for mine, theirs in zip(
                getattr(one, rows).parts, getattr(other, rows).parts, strict=True
            )
            if mine is not None or theirs is not None
        )
        and one.statistics == other.statistics
        and one.types.names == other.types.names
        and one.labels.names == other.labels.names
        and np.array_equal(one.label_ids, other.label_ids)
    )
    if not same:
        raise RuntimeError("the plugin and the pages read different graphs")


# ------------------------------------------------------------------ writing
def measure_commits(
    uri: str,
    bare_uri: str,
    commits: int,
    chunk: int = 1_000,
    pids: tuple[int | None, int | None] = (None, None),
) -> dict[str, float]:
    """Commits per second with a plugin that is followed, and without; in turns of a chunk each.

    With ``pids`` of both servers, also the processor time per commit.
    """
    with GraphDatabase.driver(uri) as plugged, GraphDatabase.driver(bare_uri) as bare:
        plugged.execute_query("CALL gpugda.follow(['x'], [])")
        drivers = {"plugin": plugged, "bare": bare}
        for driver in (*drivers.values(), *drivers.values()):
            _burst(driver, chunk)
        marks = [server_seconds(pid) for pid in pids]
        turns = []
        for turn in range(max(1, commits // chunk)):
            order = list(drivers) if turn % 2 else list(reversed(drivers))
            turns.append({way: _burst(drivers[way], chunk) for way in order})
        spent = [server_seconds(pid) - mark for pid, mark in zip(pids, marks, strict=True)]
    seconds = {way: sum(turn[way] for turn in turns) for way in drivers}
    processor = {"processor_ratio": round(spent[0] / spent[1], 3)} if all(pids) else {}
    return {
        **{
            f"{way}_commits_per_second": round(len(turns) * chunk / taken)
            for way, taken in seconds.items()
        },
        "ratio": round(seconds["bare"] / seconds["plugin"], 3),
        "median_ratio": round(statistics.median(t["bare"] / t["plugin"] for t in turns), 3),
        **processor,
    }


def _burst(driver, count: int) -> float:
    def write() -> None:
        with driver.session() as session:
            for number in range(count // 2):
                session.run("CREATE (:T {x: $i})-[:R]->(:U)", i=number).consume()

    writers = [threading.Thread(target=write) for _ in range(2)]
    begin = time.perf_counter()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return time.perf_counter() - begin


# ------------------------------------------------------------------
@pytest.mark.perf
@pytest.mark.slow
def test_the_plugin_reads_faster_and_costs_writers_little():
    uri, bare = os.environ.get("GPUGDA_BENCH_URI"), os.environ.get("GPUGDA_BENCH_BARE_URI")
    if not uri or not bare:
        pytest.skip("GPUGDA_BENCH_URI (with the plugin) or GPUGDA_BENCH_BARE_URI names no server")
    export = measure_export(uri, None, 3)
    commits = measure_commits(uri, bare, 100_000)
    print(json.dumps([export, commits], indent=1))
    assert export["times_faster_wall"] >= MIN_TIMES_FASTER
    assert commits["median_ratio"] >= MIN_COMMIT_RATIO


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--uri", required=True)
    parser.add_argument("--pid", type=int)
    parser.add_argument("--bare-uri")
    parser.add_argument("--bare-pid", type=int)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--commits", type=int, default=100_000)
    arguments = parser.parse_args()
    with suppress(KeyboardInterrupt):
        if arguments.turns:
            found = measure_export(arguments.uri, arguments.pid, arguments.turns)
            print(json.dumps(found, indent=1))
        if arguments.bare_uri:
            pids = arguments.pid, arguments.bare_pid
            found = measure_commits(arguments.uri, arguments.bare_uri, arguments.commits, pids=pids)
            print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
