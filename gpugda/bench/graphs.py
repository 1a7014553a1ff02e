"""The graphs of the comparison: read from a folder, and put into an empty database."""

from __future__ import annotations

import csv
import lzma
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.api import graph as graph_of_tables
from gpugda.errors import ConfigurationError, SourceError
from gpugda.loading import load
from gpugda.ports import SilentProgress
from gpugda.query.render import name_text
from gpugda.result.entities import properties_of
from gpugda.sources import resolve_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from gpugda.accelerator import Accelerator
    from gpugda.data.data_graph import DataGraph
    from gpugda.ports import GraphSource

__all__ = ["PRESETS", "put_into_database", "read_graph"]

_BATCH = 10_000


# ------------------------------------------------------------------ reading
def read_graph(name: str, folder: Path | None) -> DataGraph:
    """A graph by its name in the comparison, or any embedded source by its address.

    Raises:
        ConfigurationError: The folder of graphs is not named.
        SourceError: It is not there, or cannot be read.
    """
    if name not in PRESETS:
        return load(resolve_source(name), SilentProgress()).graph
    if folder is None:
        raise ConfigurationError(
            f"The graph {name!r} is read from a folder: name it with --graphs or GPUGDA_GRAPHS. "
            "The project does not ship it."
        )
    return load(PRESETS[name](folder), SilentProgress()).graph


def _drwho(folder: Path) -> GraphSource:
    return resolve_source(_existing(folder / "drwho" / "drwho.graphml.xz"))


def _yeast(folder: Path) -> GraphSource:
    return resolve_source(f"pajek:{_existing(folder / 'yeast-ppi' / 'Yeast.zip')}")


def _recommendations(folder: Path) -> GraphSource:
    """Movies, people, genres and ratings."""
    movies = _rows(folder / "recommendations" / "movies.csv.xz")
    ratings = _rows(folder / "recommendations" / "ratings.csv.xz")
    nodes: dict[str, tuple[set[str], str]] = {}
    links: list[tuple[str, str, str]] = []
    for row in movies:
        movie = f"movie {row['movieId']}"
        nodes[movie] = ({"Movie"}, row["title"])
        for column, kind, label in (
            ("actors", "ACTED_IN", "Actor"),
            ("director", "DIRECTED", "Director"),
            ("genres", "IN_GENRE", "Genre"),
        ):
            for name in filter(None, row[column].split("|")):
                other = f"genre {name}" if label == "Genre" else f"person {name}"
                labels = nodes.setdefault(other, (set(), name))[0]
                labels |= {label} if label == "Genre" else {"Person", label}
                ends = (movie, other) if label == "Genre" else (other, movie)
                links.append((ends[0], ends[1], kind))
    for row in ratings:
        user = f"user {row['userId']}"
        nodes.setdefault(user, ({"User"}, row["userId"]))
        links.append((user, f"movie {row['movieId']}", "RATED"))
    return graph_of_tables(
        {
            "id": list(nodes),
            "labels": [sorted(labels) for labels, _ in nodes.values()],
            "name": [name for _, name in nodes.values()],
        },
        {
            "source": [source for source, _, _ in links],
            "target": [target for _, target, _ in links],
            "type": [kind for _, _, kind in links],
        },
    )


PRESETS: dict[str, Callable[[Path], GraphSource]] = {
    "drwho": _drwho,
    "yeast": _yeast,
    "recommendations": _recommendations,
}
"""The graphs of the comparison, by name."""


def _existing(path: Path) -> Path:
    if not path.exists():
        raise SourceError(f"The folder of graphs has no {path.parent.name}/{path.name}.")
    return path


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with lzma.open(_existing(path), "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


# ------------------------------------------------------------------ into a database
def put_into_database(accelerator: Accelerator, graph: DataGraph) -> bool:
    """Makes the graph's nodes and relationships in an empty database; False if they are there.

    Raises:
        ConfigurationError: The database holds something else, which is left alone.
    """
    counts = (graph.node_count, graph.relationship_count)
    found = (
        _one(accelerator, "MATCH (n) RETURN count(n)"),
        _one(accelerator, "MATCH ()-[r]->() RETURN count(r)"),
    )
    if found == counts:
        return False
    if found != (0, 0):
        raise ConfigurationError(
            f"The database holds {found[0]:,} nodes and {found[1]:,} relationships of something "
            "else, which is left alone: give an empty one."
        )
    ids = _make_nodes(accelerator, graph)
    _make_relationships(accelerator, graph, ids)
    return True


def _one(accelerator: Accelerator, text: str) -> int:
    return int(accelerator.run(text, engine="native").value()[0])


def _make_nodes(accelerator: Accelerator, graph: DataGraph) -> list[int]:
    ids = [0] * graph.node_count
    codes, label_sets = graph.label_codes()
    for code, labels in enumerate(label_sets):
        nodes = np.flatnonzero(codes == code).astype(np.uint32)
        text = (
            "UNWIND $rows AS row CREATE (n"
            + "".join(f":{name_text(label)}" for label in labels)
            + ") SET n = row[1] RETURN row[0], id(n)"
        )
        properties = properties_of(graph, None, nodes, of_nodes=True)
        for rows in _batches(list(zip(nodes.tolist(), properties, strict=True))):
            for index, number in accelerator.run(text, {"rows": rows}, engine="native").values():
                ids[index] = number
    return ids


def _make_relationships(accelerator: Accelerator, graph: DataGraph, ids: Sequence[int]) -> None:
    starts, ends = graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist()
    kinds = graph.relationship_types()
    for type_id, name in enumerate(graph.types.names):
        chosen = np.flatnonzero(kinds == type_id).astype(np.uint32)
        text = (
            "UNWIND $rows AS row MATCH (a) WHERE id(a) = row[0] MATCH (b) WHERE id(b) = row[1] "
            f"CREATE (a)-[r:{name_text(name)}]->(b) SET r = row[2]"
        )
        properties = properties_of(graph, None, chosen, of_nodes=False)
        made = [
            (ids[starts[index]], ids[ends[index]], each)
            for index, each in zip(chosen.tolist(), properties, strict=True)
        ]
        for rows in _batches(made):
            accelerator.run(text, {"rows": rows}, engine="native")


def _batches(rows: Sequence[Any]) -> Iterator[list[Any]]:
    iterator = iter(rows)
    while batch := [list(row) for row in islice(iterator, _BATCH)]:
        yield batch
