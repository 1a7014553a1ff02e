"""Queries during writes, on a server with gpugda's plugin: answering engine and time.

Run as a program, it prints two rows per rate of writes, in several rounds:
python tests/benchmarks/test_following.py [--relationships N] [--seconds S] [--rounds R] [--uri URI]
"strict" answers are as fresh as Neo4j's own; "manual" ones stay on the first state, so their ratio is
what the writer and the server take from the processors. Ratios compare with the median without
writes; processor time is the client's alone. The graph is made on a server of the benchmark's own, or
is one that ``--uri`` names: nodes ``(:P {i: 0 … n-1, x: i % 1000})``, relationships ``:R``, the plugin.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import neo4j_servers

import gpugda

RATES = (0, 1, 10, 100)
QUERY = "MATCH (a:P)-[:R]->(b:P)-[:R]->(c:P) WHERE a.x < 200 RETURN count(*) AS n"
WRITES = (
    "MATCH (a:P {i: $a}), (b:P {i: $b}) CREATE (a)-[:R]->(b)",
    "MATCH (a:P {i: $a}) SET a.x = $b",
    "MATCH (a:P {i: $a}) CREATE (a)-[:R]->(:P {i: -1, x: $b})",
    "MATCH (a:P {i: $a})-[r:R]->() WITH r LIMIT 1 DELETE r",
)


def fill(server, count):
    """Makes a graph with ``count`` relationships, ten per node."""
    server.wipe()
    server.run("CREATE INDEX people IF NOT EXISTS FOR (p:P) ON (p.i)")
    nodes = count // 10
    server.run(
        "UNWIND range(0, $n - 1) AS i CALL { WITH i CREATE (:P {i: i, x: i % 1000}) } "
        "IN TRANSACTIONS OF 20000 ROWS",
        n=nodes,
    )
    server.run("CALL db.awaitIndexes(300)")
    server.run(
        "UNWIND range(0, $m - 1) AS k CALL { WITH k "
        "MATCH (a:P {i: k % $n}), (b:P {i: (k * 7919 + k / $n * 13) % $n}) CREATE (a)-[:R]->(b) } "
        "IN TRANSACTIONS OF 20000 ROWS",
        m=count,
        n=nodes,
    )
    return nodes


def write(uri, auth, nodes, rate, stop, done):
    """Runs ``rate`` transactions per second until stopped; in its own process."""
    started, number = time.monotonic(), 0
    server = neo4j_servers.Server(uri, auth)
    with closing(server), server.driver.session() as session:
        while not stop.wait(max(0.0, started + number / rate - time.monotonic())):
            values = {"a": number * 7907 % nodes, "b": number * 104_729 % nodes}
            session.run(WRITES[number % len(WRITES)], **values).consume()
            number += 1
            done.value = number


@contextmanager
def writing(server, nodes, rate):
    """Runs a writer meanwhile; yields a function for the number of committed transactions."""
    context = multiprocessing.get_context("spawn")
    stop, done = context.Event(), context.Value("q", 0)
    arguments = (server.uri, server.auth, nodes, rate, stop, done)
    writer = context.Process(target=write, args=arguments, daemon=True)
    if rate:
        writer.start()
        while not done.value:
            if not writer.is_alive():
                raise RuntimeError(f"the writer ended with {writer.exitcode}")
            time.sleep(0.05)
    yield lambda: done.value
    stop.set()
    if rate:
        writer.join()


def measure(server, accelerator, nodes, rate, seconds):
    """Answers by the device, all answers, median time, processor time each, writes per second."""
    times, engines, reasons = [], [], {}
    with writing(server, nodes, rate) as written:
        before, used, started = written(), time.process_time(), time.monotonic()
        while time.monotonic() < started + seconds:
            begin = time.perf_counter()
            result = accelerator.run(QUERY)
            result.values()
            times.append(time.perf_counter() - begin)
            engines.append(result.summary.engine)
            if result.summary.engine != "gpu":
                reasons[result.summary.reason] = reasons.get(result.summary.reason, 0) + 1
        elapsed, used = time.monotonic() - started, time.process_time() - used
        writes = (written() - before) / elapsed
    median = statistics.median(times)
    return engines.count("gpu"), len(times), median, used / len(times), writes, reasons


def compare(server, nodes, seconds, rounds):
    """Prints the table ``rounds`` times, and checks the last answer."""
    started = time.perf_counter()
    server.run(QUERY)
    print(f"Neo4j alone, first: {time.perf_counter() - started:.2f} s")
    quiet = {}
    with (
        closing(gpugda.connect(server.uri, auth=server.auth, cache=False)) as strict,
        closing(
            gpugda.connect(server.uri, auth=server.auth, cache=False, freshness="manual")
        ) as manual,
    ):
        readers = {"manual": manual, "strict": strict}
        for reader in readers.values():
            reader.warm()
            for _ in range(3):
                reader.run(QUERY, engine="gpu").values()
                reader.run(QUERY, engine="native").values()
        print("writes/s  freshness  by the device  median ms  ratio  processor ms  written/s")
        for rate, (name, reader) in product(RATES * rounds, readers.items()):
            found = measure(server, reader, nodes, rate, seconds)
            by_device, asked, median, used, written, reasons = found
            quiet[name] = quiet[name] if rate else median
            share, ratio = f"{by_device} of {asked}", median / quiet[name]
            print(
                f"{rate:8}  {name:>9}  {share:>13}  {1000 * median:9.1f}  {ratio:5.2f}  "
                f"{1000 * used:12.1f}  {written:9.1f}  {reasons or ''}",
                flush=True,
            )
        status = strict.status()
        print({key: status[key] for key in ("transactions_applied", "changes_seconds")})
        (expected,) = server.run(QUERY)[0]
        assert strict.run(QUERY, engine="gpu").single()[0] == expected


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--relationships", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--uri", help="a server that holds the graph already")
    wanted = parser.parse_args()
    if wanted.uri:
        server = neo4j_servers.Server(wanted.uri, None)
        server.run("CREATE INDEX people IF NOT EXISTS FOR (p:P) ON (p.i)")
        server.run("CALL db.awaitIndexes(300)")
        (nodes,) = server.run("MATCH (p:P) WHERE p.i >= 0 RETURN count(p)")[0]
        with closing(server):
            compare(server, nodes, wanted.seconds, wanted.rounds)
        return
    jar = neo4j_servers.plugin_jar()
    server = neo4j_servers.open_server("benchmark-following", plugins=[jar])
    with closing(server):
        nodes = fill(server, wanted.relationships)
        compare(server, nodes, wanted.seconds, wanted.rounds)


if __name__ == "__main__":
    main()
