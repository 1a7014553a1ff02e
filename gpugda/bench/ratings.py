"""Reads movies, people, genres, users and ratings from two CSV files into one graph."""

from __future__ import annotations

import csv
import lzma
from typing import TYPE_CHECKING, Any

from gpugda.api import graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gpugda.ports import GraphSource

__all__ = ["rating_graph"]

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
