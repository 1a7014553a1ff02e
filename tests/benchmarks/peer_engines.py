"""gpugda and its peers, each in a child process, which can be killed if it does not end."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from benchmarks.peer_embedded import (
    PEER_MEMORY,
    ArcadeDB,
    Gfql,
    NeuG,
    TuringDB,
    node_table,
    relationship_table,
    scratch,
)
from benchmarks.peer_queries import (
    Motif,
    arcadedb_text,
    gfql_text,
    homomorphic_text,
    ladybug_text,
    sql_text,
)

import gpugda

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from benchmarks.peer_graphs import PeerGraph

GRACE = 10.0
"""Seconds that an engine may take to notice the time limit."""
LOADING = 600.0


class TooLongError(Exception):
    """The engine aborted the query at the time limit."""


class Engine(Protocol):
    """Loads a graph, then counts; `count` does only the counting.

    ``where`` is gpugda's device, or a server's address.
    """

    def __init__(self, graph: PeerGraph, where: str | None) -> None: ...

    def count(self, text: str, seconds: float) -> int:
        """Raises `TooLongError` at the time limit, other errors on failure."""


class Gpugda:
    """gpugda on its device; ``strategy`` is None for its own choice."""

    strategy: str | None = None

    def __init__(self, graph: PeerGraph, where: str | None) -> None:
        ids = np.arange(len(graph.label_set_of))
        labels = np.empty(len(graph.label_sets), dtype=object)
        labels[:] = [list(each) for each in graph.label_sets]
        types = np.array(graph.types, dtype=object)
        source = gpugda.graph(
            {"id": ids, "labels": labels[graph.label_set_of].tolist(), **graph.node_columns},
            {
                "source": graph.source,
                "target": graph.target,
                "type": types[graph.type_of],
                **graph.relationship_columns,
            },
        )
        self._accelerator = gpugda.connect(source, device=where)
        # The first query uploads the graph, which is part of loading it.
        self._accelerator.run("MATCH (a)-->(b) RETURN count(*)", engine="gpu")

    def count(self, text: str, seconds: float) -> int:
        try:
            result = self._accelerator.run(
                text, engine="gpu", strategy=self.strategy, timeout=seconds
            )
            found: int = result.values()[0][0]
        except gpugda.QueryTimeoutError as error:
            raise TooLongError from error
        return found


class Gpsm(Gpugda):
    """gpugda with its other strategy: a substitute where no peer finishes."""

    strategy = "gpsm"


class Ladybug:
    """A node table per label set, a relationship table per type, in memory."""

    def __init__(self, graph: PeerGraph, where: str | None) -> None:
        import ladybug

        self._connection = ladybug.Connection(ladybug.Database(buffer_pool_size=PEER_MEMORY))
        nodes, relationships = node_table(graph), relationship_table(graph)
        names = [labels[-1] for labels in graph.label_sets]
        for at, name in enumerate(names):
            columns = _ladybug_columns(nodes)
            self._run(f"CREATE NODE TABLE `{name}`({columns}, PRIMARY KEY(id))")
            mine = nodes.filter(pa.array(graph.label_set_of == at))
            self._run(f"COPY `{name}` FROM $rows", rows=mine)
        for at, name in enumerate(graph.types):
            self._copy_type(graph, at, name, names, relationships)

    def _copy_type(
        self, graph: PeerGraph, at: int, name: str, names: list[str], relationships: pa.Table
    ) -> None:
        mine = np.flatnonzero(graph.type_of == at)
        froms = graph.label_set_of[graph.source[mine]]
        tos = graph.label_set_of[graph.target[mine]]
        ends = np.unique(np.column_stack([froms, tos]), axis=0).tolist()
        pairs = ", ".join(f"FROM `{names[a]}` TO `{names[b]}`" for a, b in ends)
        columns = _ladybug_columns(relationships.drop_columns(["source", "target"]))
        self._run(f"CREATE REL TABLE `{name}`({pairs}, {columns})")
        order = ["source", "target", *relationships.column_names]
        ordered = relationships.select(list(dict.fromkeys(order)))
        for a, b in ends:
            rows = ordered.take(mine[(froms == a) & (tos == b)])
            self._run(f"COPY `{name}` FROM $rows (from='{names[a]}', to='{names[b]}')", rows=rows)

    def _run(self, text: str, **parameters: Any) -> Any:
        return self._connection.execute(text, parameters)

    def count(self, text: str, seconds: float) -> int:
        self._connection.set_query_timeout(int(seconds * 1000))
        try:
            found: int = self._run(text).get_next()[0]
        except RuntimeError as error:
            if "nterrupted" in str(error):
                raise TooLongError from error
            raise
        return found


class DuckDB:
    """Tables of relationships by type and of nodes by label, and one each of all, in memory."""

    def __init__(self, graph: PeerGraph, where: str | None) -> None:
        import duckdb

        self._interrupted = duckdb.InterruptException
        # A killed child would otherwise leave spilled files in the working directory.
        spilled = str(Path(tempfile.gettempdir(), "gpugda-duckdb"))
        self._connection = duckdb.connect(
            config={"memory_limit": f"{PEER_MEMORY}B", "temp_directory": spilled}
        )
        nodes, relationships = node_table(graph), relationship_table(graph)
        self._create("nodes", nodes)
        self._create("relationships", relationships)
        for label in sorted({label for labels in graph.label_sets for label in labels}):
            has = np.array([label in labels for labels in graph.label_sets])
            self._create(label, nodes.filter(pa.array(has[graph.label_set_of])))
        if len(graph.types) > 1:
            for at, name in enumerate(graph.types):
                self._create(name, relationships.filter(pa.array(graph.type_of == at)))

    def _create(self, name: str, rows: pa.Table) -> None:
        self._connection.register("arriving", rows)
        self._connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM arriving')
        self._connection.unregister("arriving")

    def count(self, text: str, seconds: float) -> int:
        timer = threading.Timer(seconds, self._connection.interrupt)
        timer.start()
        try:
            found: int = self._connection.execute(text).fetchall()[0][0]
        except self._interrupted as error:
            raise TooLongError from error
        finally:
            timer.cancel()
            timer.join()
        return found


class Neo4j:
    """A server, written to only if it is empty or holds a graph of this benchmark.

    User and password are `NEO4J_USERNAME` and `NEO4J_PASSWORD`. Its relationships are distinct by
    definition; labels have indexes on their properties.
    """

    batch = 20_000

    def __init__(self, graph: PeerGraph, where: str | None) -> None:
        import neo4j

        user, password = os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD")
        self._query, self._error = neo4j.Query, neo4j.exceptions.Neo4jError
        driver = neo4j.GraphDatabase.driver(
            where or "",
            auth=(user, password) if password else None,
            notifications_min_severity="OFF",
        )
        self._session = driver.session()
        self._wipe()
        ids = self._create_nodes(graph)
        self._create_relationships(graph, ids)

    def _wipe(self) -> None:
        """Deletes the graph; raises RuntimeError if the data is not from this benchmark."""
        if self._rows("MATCH (n) RETURN 1 LIMIT 1"):
            if not self._rows("MATCH (n:GpugdaPeers) RETURN 1 LIMIT 1"):
                raise RuntimeError("the database is not empty: nothing was written")
            self._rows("MATCH (n) CALL { WITH n DETACH DELETE n } IN TRANSACTIONS OF 20000 ROWS")
        self._rows("CREATE (:GpugdaPeers)")

    def _create_nodes(self, graph: PeerGraph) -> np.ndarray:
        rows, ids = node_table(graph).to_pylist(), np.zeros(len(graph.label_set_of), np.int64)
        for at, labels in enumerate(graph.label_sets):
            mine = np.flatnonzero(graph.label_set_of == at)
            made = "UNWIND $rows AS row CREATE (n:" + ":".join(labels) + ") SET n = row"
            for part in self._parts(mine):
                found = self._rows(f"{made} RETURN id(n)", rows=[rows[each] for each in part])
                ids[part] = [each[0] for each in found]
            for key in graph.node_columns:
                self._rows(f"CREATE INDEX IF NOT EXISTS FOR (n:{labels[-1]}) ON (n.{key})")
        self._rows("CALL db.awaitIndexes()")
        return ids

    def _create_relationships(self, graph: PeerGraph, ids: np.ndarray) -> None:
        rows = pa.table({"rid": np.arange(len(graph.source)), **graph.relationship_columns})
        properties = rows.drop_columns("rid").to_pylist()
        source, target = ids[graph.source].tolist(), ids[graph.target].tolist()
        for at, name in enumerate(graph.types):
            made = (
                "UNWIND $rows AS row MATCH (a) WHERE id(a) = row[0] MATCH (b) WHERE id(b) = row[1] "
                f"CREATE (a)-[r:`{name}`]->(b) SET r = row[2]"
            )
            for part in self._parts(np.flatnonzero(graph.type_of == at)):
                chosen = [(source[each], target[each], properties[each]) for each in part]
                self._rows(made, rows=chosen)

    def _parts(self, places: np.ndarray) -> list[np.ndarray]:
        return [places[at : at + self.batch] for at in range(0, len(places), self.batch)]

    def _rows(self, text: str, **parameters: Any) -> list[list[Any]]:
        return [record.values() for record in self._session.run(text, parameters)]

    def count(self, text: str, seconds: float) -> int:
        try:
            found: int = self._session.run(self._query(text, timeout=seconds)).single()[0]
        except self._error as error:
            if "TimedOut" in (error.code or ""):
                raise TooLongError from error
            raise
        return found


def _ladybug_columns(table: pa.Table) -> str:
    return ", ".join(
        f"`{each.name}` {'STRING' if pa.types.is_string(each.type) else 'INT64'}"
        for each in table.schema
    )


# ------------------------------------------------------------------ engines and their languages
ENGINES: dict[str, type[Engine]] = {
    "gpugda": Gpugda,
    "ladybug": Ladybug,
    "duckdb": DuckDB,
    "arcadedb": ArcadeDB,
    "gfql": Gfql,
    "turingdb": TuringDB,
    "neug": NeuG,
    "neo4j": Neo4j,
    "gpsm": Gpsm,
}
TEXTS: dict[str, Callable[[Motif, PeerGraph], str]] = {
    "ladybug": ladybug_text,
    "duckdb": sql_text,
    "arcadedb": arcadedb_text,
    "gfql": gfql_text,
    "turingdb": homomorphic_text,
    "neug": ladybug_text,
}
"""Translations for engines that do not accept the query unchanged."""


class Answer:
    """Result of one run: ``outcome`` is ``ok``, ``too long``, or the reason of the failure."""

    def __init__(self, outcome: str, count: int | None, seconds: float) -> None:
        self.outcome, self.count, self.seconds = outcome, count, seconds


class Child:
    """An engine in its own process, which starts and loads at the first query."""

    def __init__(self, name: str, graph: PeerGraph, where: str | None) -> None:
        self.name, self.load_seconds = name, 0.0
        self.graph, self._where = graph, where
        self._process: multiprocessing.process.BaseProcess | None = None

    def ask(self, motif: Motif, seconds: float) -> Answer:
        """Runs a query once; a process that exceeds the time is killed, and restarted at the next run."""
        self.start()
        text = TEXTS[self.name](motif, self.graph) if self.name in TEXTS else motif.text
        self._pipe.send((text, seconds))
        grace = GRACE if getattr(ENGINES[self.name], "stops", True) else 0.2
        answer = self._receive(seconds + grace)
        return Answer("too long", None, seconds) if answer is None else answer

    def start(self) -> None:
        """Loads the graph.

        Raises:
            RuntimeError: The engine cannot load it.
        """
        if self._process is not None:
            return
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        arguments = (other, ENGINES[self.name], self.graph, self._where)
        self._process = context.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        other.close()
        loaded = self._receive(LOADING)
        if loaded is None or loaded.outcome != "ok":
            raise RuntimeError(f"{self.name}: {loaded.outcome if loaded else 'loads for too long'}")
        self.load_seconds = loaded.seconds

    def _receive(self, seconds: float) -> Answer | None:
        if not self._pipe.poll(seconds):
            self._kill()
            return None
        try:
            answer: Answer = self._pipe.recv()
        except EOFError:
            self._kill()
            return Answer("its process died", None, 0.0)
        return answer

    def stop(self) -> None:
        """Ends the process, and removes its files."""
        self._kill()
        if getattr(ENGINES[self.name], "leaves_files", False):
            shutil.rmtree(scratch(), ignore_errors=True)

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
            self._pipe.close()


def serve(pipe: Connection, engine: type[Engine], graph: PeerGraph, where: str | None) -> None:
    """The child process: loads, then answers until it is killed or the parent ends."""
    try:
        started = time.perf_counter()
        loaded = engine(graph, where)
        pipe.send(Answer("ok", None, time.perf_counter() - started))
        while True:
            text, limit = pipe.recv()
            pipe.send(timed(loaded, text, limit))
    except EOFError:
        return
    except Exception as error:
        traceback.print_exc()
        pipe.send(Answer(f"{type(error).__name__}: {error}", None, 0.0))


def timed(engine: Engine, text: str, limit: float) -> Answer:
    started = time.perf_counter()
    try:
        count = engine.count(text, limit)
    except TooLongError:
        return Answer("too long", None, limit)
    except Exception as error:
        return Answer(f"{type(error).__name__}: {error}"[:300], None, 0.0)
    seconds = time.perf_counter() - started
    # An engine that notices the time limit late counts as too slow, but its count is compared.
    return Answer("ok" if seconds <= limit else "too long", count, min(seconds, limit))
