"""The graphs of the experiments, and those with application queries, by name."""

from __future__ import annotations

import csv
import lzma
import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpugda.api import graph
from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import GraphBatches, SnapshotFolder
from gpugda.sources import resolve_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gpugda.data.batches import NodeBatch
    from gpugda.ports import GraphSource, Progress


__all__ = ["GRAPHS", "WithoutLabels", "graph_source", "graphs_folder", "rating_graph"]

_ROLES = {"actors": ("Actor", "ACTED_IN"), "director": ("Director", "DIRECTED")}


def rating_graph(movies: Path, ratings: Path) -> GraphSource:
    """A graph source of both files.

    Args:
        movies: File of ``movieId, released, title, actors, director, genres, imdbRating``; lists
            are separated by ``|``.
        ratings: File of ``userId, movieId, rating, timestamp``.
    """
    made = _read(movies)
    known = {row["movieId"] for row in made}
    # Ratings of movies that are missing in the other file have no target.
    rated = [row for row in _read(ratings) if row["movieId"] in known]
    people, genres, users = _labels_of_people(made), _genres(made), _users(rated)
    nodes: dict[str, Any] = {
        "Movie": _movies(made),
        "People": {
            "id": [f"p{name}" for name in people],
            "labels": list(people.values()),
            "name": list(people),
        },
        "Genre": {"id": [f"g{name}" for name in genres], "name": genres},
        "User": {"id": [f"u{number}" for number in users], "userId": users},
    }
    for label in ("Movie", "Genre", "User"):
        nodes[label]["labels"] = [[label]] * len(nodes[label]["id"])
    return graph(list(nodes.values()), {**_of_movies(made), "RATED": _ratings(rated)})


def _movies(rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
    return {
        "id": [f"m{row['movieId']}" for row in rows],
        "movieId": [int(row["movieId"]) for row in rows],
        "title": [row["title"] or None for row in rows],
        "released": [row["released"] or None for row in rows],
        "imdbRating": [float(row["imdbRating"]) if row["imdbRating"] else None for row in rows],
    }


def _read(path: Path) -> list[dict[str, str]]:
    with lzma.open(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _split(row: Mapping[str, str], key: str) -> list[str]:
    return list(dict.fromkeys(each for each in row[key].split("|") if each))


def _labels_of_people(movies: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """The labels of each person with a role, by name."""
    found: dict[str, list[str]] = {}
    for key, (label, _) in _ROLES.items():
        for row in movies:
            for name in _split(row, key):
                labels = found.setdefault(name, ["Person"])
                if label not in labels:
                    labels.append(label)
    return found


def _genres(movies: Sequence[Mapping[str, str]]) -> list[str]:
    return sorted({name for row in movies for name in _split(row, "genres")})


def _users(ratings: Sequence[Mapping[str, str]]) -> list[int]:
    return sorted({int(row["userId"]) for row in ratings})


def _of_movies(movies: Sequence[Mapping[str, str]]) -> dict[str, dict[str, list[Any]]]:
    found = {}
    for key, (_, name) in _ROLES.items():
        pairs = [(f"p{each}", f"m{row['movieId']}") for row in movies for each in _split(row, key)]
        found[name] = {"source": [a for a, _ in pairs], "target": [b for _, b in pairs]}
    pairs = [(f"m{row['movieId']}", f"g{each}") for row in movies for each in _split(row, "genres")]
    found["IN_GENRE"] = {"source": [a for a, _ in pairs], "target": [b for _, b in pairs]}
    return found


def _ratings(ratings: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
    return {
        "source": [f"u{row['userId']}" for row in ratings],
        "target": [f"m{row['movieId']}" for row in ratings],
        "rating": [float(row["rating"]) for row in ratings],
        "timestamp": [int(row["timestamp"]) for row in ratings],
    }


class WithoutLabels:
    """A source that removes the labels of all nodes.

    Args:
        source: The source.
    """

    def __init__(self, source: GraphSource) -> None:
        self._source = source
        self.name = source.name

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches | SnapshotFolder]:
        """Reads the same graph with empty label sets."""
        with self._source.read(progress) as content:
            if isinstance(content, SnapshotFolder):
                raise SourceError(f"{self.name}: labels cannot be taken from a saved snapshot.")
            yield replace(content, nodes=map(_bare, content.nodes))


def _bare(batch: NodeBatch) -> NodeBatch:
    return replace(batch, label_sets=tuple(() for _ in batch.label_sets))


def _drwho(path: Path) -> GraphSource:
    return WithoutLabels(resolve_source(path))


def _yeast(path: Path) -> GraphSource:
    return resolve_source(f"pajek:{path}")


def _recommendations(path: Path) -> GraphSource:
    return rating_graph(path, path.with_name("ratings.csv.xz"))


GRAPHS: dict[str, tuple[str, Callable[[Path], GraphSource]]] = {
    "drwho": ("drwho/drwho.graphml.xz", _drwho),
    "yeast": ("yeast-ppi/Yeast.zip", _yeast),
    "pole": ("pole/pole-data-importer.zip", resolve_source),
    "drwho-labelled": ("drwho/drwho.graphml.xz", resolve_source),
    "recommendations": ("recommendations/movies.csv.xz", _recommendations),
}
"""By name: the file in the folder of graphs, and the function that opens it."""


def graphs_folder(given: str | None) -> Path | None:
    """The folder of graphs: the given one, else ``data`` in the folder of ``GPUGDA_SHARED``."""
    if given is not None:
        return Path(given)
    shared = os.environ.get("GPUGDA_SHARED")
    return Path(shared) / "data" if shared else None


def graph_source(name: str, folder: Path | None) -> GraphSource:
    """One of the graphs of the experiments, or a sample that comes with the package.

    Raises:
        ConfigurationError: There is no graph of that name, or no folder was given.
        SourceError: The graph's file does not exist.
    """
    if name.startswith("sample:"):
        return resolve_source(name)
    if name not in GRAPHS:
        known = ", ".join([*GRAPHS, "sample:wordnet"])
        raise ConfigurationError(f"There is no graph {name!r} to compare on; there are: {known}.")
    file, read = GRAPHS[name]
    if folder is None:
        raise ConfigurationError(
            f"The graph {name!r} does not come with gpugda: name the folder that holds {file} with "
            "--graphs FOLDER, or use sample:wordnet."
        )
    path = next((each for each in (folder / file, folder / Path(file).name) if each.exists()), None)
    if path is None:
        raise SourceError(
            f"The graph {name!r} is not in the folder of --graphs: it should hold {file}. The "
            "graph does not come with gpugda; docs/benchmark.md says where it is from."
        )
    return read(path)
