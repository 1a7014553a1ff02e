"""Further peers that run in a process: ArcadeDB, NeuG, TuringDB, and GFQL on Polars."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

if TYPE_CHECKING:
    from benchmarks.peer_graphs import PeerGraph

PEER_MEMORY = 6 << 30
_ROWS = 50_000
_WARM_UP = 20


def node_table(graph: PeerGraph) -> pa.Table:
    return pa.table({"id": np.arange(len(graph.label_set_of)), **graph.node_columns})


def relationship_table(graph: PeerGraph) -> pa.Table:
    rids = np.arange(len(graph.source))
    ends = {"source": graph.source, "target": graph.target}
    return pa.table({"rid": rids, **ends, **graph.relationship_columns})


def quiet_process() -> None:
    """Silences these peers, which log to the terminal and have no limits of memory or time."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (PEER_MEMORY, PEER_MEMORY))


def scratch() -> Path:
    """A benchmark's folder for its child processes: they reopen what a killed one has loaded."""
    parent = multiprocessing.parent_process()
    return Path(tempfile.gettempdir(), f"gpugda-peers-{parent.pid if parent else os.getpid()}")


class Embedded:
    """A peer that is killed at the time limit, because it cannot be interrupted."""

    stops = False
    """True if it ends a query by itself at the time limit."""
    leaves_files = False
    """True if it writes to the folder `scratch`, which is removed at the end."""


class ArcadeDB(Embedded):
    """A node type per label set, with its other labels as parents; one graph analytical view of all."""

    leaves_files = True

    def __init__(self, graph: PeerGraph, where: str | None) -> None:
        quiet_process()
        import arcadedb_embedded as arcadedb

        scratch().mkdir(mode=0o700, exist_ok=True)
        os.chdir(scratch())  # it writes logs to its working directory
        options = {"heap_size": f"{PEER_MEMORY >> 20}m"}
        loaded = Path("loaded")
        if loaded.exists():  # by a killed process: loading takes minutes
            self._database = arcadedb.open_database("graph", jvm_kwargs=options)
            self._sql("DROP GRAPH ANALYTICAL VIEW IF EXISTS everything")
        else:
            shutil.rmtree("graph", ignore_errors=True)
            self._database = arcadedb.create_database("graph", jvm_kwargs=options)
            self._create_types(graph)
            self._load(graph)
            loaded.touch()
        self._sql("CREATE GRAPH ANALYTICAL VIEW everything")
        while self._status() == "BUILDING":
            time.sleep(0.05)
        if self._status() != "READY":
            raise RuntimeError(f"the graph analytical view is {self._status()}")
        # In a new Java virtual machine, the first runs take seconds instead of milliseconds.
        label, name = graph.label_sets[0][-1], graph.types[0]
        for _ in range(_WARM_UP):
            path = f"MATCH (a:`{label}`)-[r:`{name}`]->(b)"
            self.count(f"{path} RETURN count(*)", 0)
            self.count(f"{path} WHERE a.id < 100 RETURN count(*)", 0)
            self.count(f"{path}, (a)-[s:`{name}`]->(c) WHERE a.id < 100 RETURN count(*)", 0)

    def _create_types(self, graph: PeerGraph) -> None:
        for label in dict.fromkeys(label for labels in graph.label_sets for label in labels[:-1]):
            self._sql(f"CREATE VERTEX TYPE `{label}`")
        for *above, label in graph.label_sets:
            extends = f" EXTENDS {', '.join(f'`{each}`' for each in above)}" if above else ""
            self._sql(f"CREATE VERTEX TYPE `{label}`{extends}")
        for name in graph.types:
            self._sql(f"CREATE EDGE TYPE `{name}`")

    def _load(self, graph: PeerGraph) -> None:
        places = np.empty(len(graph.label_set_of), dtype=object)
        nodes = node_table(graph).to_pylist()
        relationships = relationship_table(graph).drop_columns(["source", "target"])
        with self._database.graph_batch() as batch:
            for at, labels in enumerate(graph.label_sets):
                for part in _parts(np.flatnonzero(graph.label_set_of == at)):
                    rows = [nodes[each] for each in part]
                    places[part] = list(batch.create_vertices(labels[-1], rows))
            for at, name in enumerate(graph.types):
                for part in _parts(np.flatnonzero(graph.type_of == at)):
                    ends = [places[each[part]].tolist() for each in (graph.source, graph.target)]
                    batch.new_edges(ends[0], name, ends[1], relationships.take(part).to_pylist())

    def _sql(self, text: str) -> Any:
        return self._database.command("sql", text)

    def _status(self) -> str:
        rows = self._database.query("sql", "SELECT FROM schema:graphAnalyticalViews")
        return str(next(iter(rows)).get("status"))

    def count(self, text: str, seconds: float) -> int:
        found: int = next(iter(self._database.query("opencypher", text))).get("count(*)")
        return found


class NeuG(Embedded):
    """A node table per label set, a relationship table per type, in memory."""

    def __init__(self, graph: PeerGraph, where: str | None) -> None:
        quiet_process()
        limit_memory()
        import neug

        self._database = neug.Database("", mode="w")
        self._connection = self._database.connect()
        names = [labels[-1] for labels in graph.label_sets]
        nodes, relationships = node_table(graph), relationship_table(graph)
        with tempfile.TemporaryDirectory(prefix="gpugda-neug-") as folder:
            for at, name in enumerate(names):
                self._run(f"CREATE NODE TABLE `{name}`({_columns(nodes)}, PRIMARY KEY(id))")
                self._copy(name, nodes.filter(pa.array(graph.label_set_of == at)), folder)
            for at, name in enumerate(graph.types):
                self._copy_type(graph, at, name, names, relationships, folder)

    def _copy_type(
        self,
        graph: PeerGraph,
        at: int,
        name: str,
        names: list[str],
        relationships: pa.Table,
        folder: str,
    ) -> None:
        mine = np.flatnonzero(graph.type_of == at)
        froms = graph.label_set_of[graph.source[mine]]
        tos = graph.label_set_of[graph.target[mine]]
        ends = np.unique(np.column_stack([froms, tos]), axis=0).tolist()
        pairs = ", ".join(f"FROM `{names[a]}` TO `{names[b]}`" for a, b in ends)
        columns = _columns(relationships.drop_columns(["source", "target"]))
        self._run(f"CREATE REL TABLE `{name}`({pairs}, {columns})")
        order = list(dict.fromkeys(["source", "target", *relationships.column_names]))
        for a, b in ends:
            rows = relationships.select(order).take(mine[(froms == a) & (tos == b)])
            self._copy(name, rows, folder, f"from='{names[a]}', to='{names[b]}', ")

    def _copy(self, name: str, rows: pa.Table, folder: str, ends: str = "") -> None:
        path = Path(folder, "rows.csv")
        pyarrow.csv.write_csv(rows, path, pyarrow.csv.WriteOptions(delimiter="|"))
        self._run(f"COPY `{name}` FROM '{path}' ({ends}HEADER=true, DELIM='|')")

    def _run(self, text: str) -> Any:
        return self._connection.execute(text)

    def count(self, text: str, seconds: float) -> int:
        found: int = next(iter(self._run(text)))[0]
        return found


class TuringDB(Embedded):
    """Labels and types unchanged, in memory."""

    def __init__(self, graph: PeerGraph, where: str | None) -> None:
        quiet_process()
        limit_memory()
        from turingdb import EmbeddedClient

        with tempfile.TemporaryDirectory(prefix="gpugda-turingdb-") as folder:
            Path(folder, "data").mkdir()
            _write_json_lines(graph, Path(folder, "data", "graph.jsonl"))
            self._client = EmbeddedClient(folder)
            self._client.query("LOAD JSONL 'graph.jsonl' AS peers")
        self._client.set_graph("peers")

    def count(self, text: str, seconds: float) -> int:
        return int(self._client.query(text).iloc[0, 0])


class Gfql(Embedded):
    """Polars data frames of nodes, with a column per label, and of relationships."""

    def __init__(self, graph: PeerGraph, where: str | None) -> None:
        quiet_process()
        limit_memory()
        import graphistry
        import polars as pl

        labels = {
            f"label__{label}": np.array([label in labels for labels in graph.label_sets])[
                graph.label_set_of
            ]
            for label in {label for labels in graph.label_sets for label in labels}
        }
        types = np.array(graph.types, dtype=object)[graph.type_of]
        nodes = pl.from_arrow(node_table(graph)).with_columns(**labels)
        edges = pl.from_arrow(relationship_table(graph)).with_columns(type=pl.Series(types))
        self._graph = graphistry.nodes(nodes, "id").edges(edges, "source", "target", edge="rid")

    def count(self, text: str, seconds: float) -> int:
        found = self._graph.gfql(text, engine="polars")._nodes["found"]
        # There is no row if the first step finds nothing.
        return int(found[0]) if len(found) else 0


def _parts(places: np.ndarray) -> list[np.ndarray]:
    return [places[at : at + _ROWS] for at in range(0, len(places), _ROWS)]


def _columns(table: pa.Table) -> str:
    return ", ".join(
        f"`{each.name}` {'STRING' if pa.types.is_string(each.type) else 'INT64'}"
        for each in table.schema
    )


def _write_json_lines(graph: PeerGraph, path: Path) -> None:
    """Writes a graph in the format of ``apoc.export.json``."""
    with path.open("w", encoding="utf-8") as file:
        for at, row in enumerate(node_table(graph).to_pylist()):
            labels = graph.label_sets[graph.label_set_of[at]]
            made = {
                "type": "node",
                "id": str(at),
                "labels": labels,
                "properties": _without_none(row),
            }
            file.write(json.dumps(made) + "\n")
        for at, row in enumerate(relationship_table(graph).to_pylist()):
            ends = {"start": {"id": str(row.pop("source"))}, "end": {"id": str(row.pop("target"))}}
            label = graph.types[graph.type_of[at]]
            made = {"type": "relationship", "id": str(at), "label": label, **ends}
            file.write(json.dumps({**made, "properties": _without_none(row)}) + "\n")


def _without_none(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None}
