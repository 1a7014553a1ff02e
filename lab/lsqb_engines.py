"""Engines for the nine queries: each loads the social network and counts."""

from __future__ import annotations

import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from gpugda.api import connect
from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.errors import QueryTimeoutError
from gpugda.ports import GraphBatches
from lab.social_network import social_network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gpugda.ports import Progress
    from lab.lsqb_queries import LsqbQuery
    from lab.social_network import SocialNetwork

__all__ = ["ENGINES", "PEER_MEMORY", "Engine", "SocialSource", "TooLongError"]

PEER_MEMORY = 3 << 30
"""Bytes of memory that Ladybug and DuckDB may each use."""

_MESSAGES = ("Post", "Comment")


class TooLongError(Exception):
    """The engine aborted the query at the time limit."""


class Engine(Protocol):
    """An engine that has loaded a graph."""

    def count(self, query: LsqbQuery, seconds: float) -> int:
        """The count of a query.

        Raises:
            TooLongError: The query exceeds the time limit.
        """


class SocialSource:
    """The generated graph as a source of gpugda.

    Args:
        scale: Scale of the graph; 1 has 4 million nodes.
        seed: Seed of the generator.
    """

    def __init__(self, scale: float = 1.0, seed: int = 1) -> None:
        self.name = f"social network, scale {scale:g}"
        self._made = scale, seed

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches]:
        """Generates the graph; nodes by label, relationships by type and labels of both ends."""
        progress.phase("generating the social network")
        graph = social_network(*self._made)
        nodes = (_nodes(label, *ends) for label, ends in graph.labels.items())
        yield GraphBatches(nodes, map(_relationships, graph.ends.items()))


def _nodes(label: str, first: int, last: int) -> NodeBatch:
    labels = ("Message", label) if label in _MESSAGES else (label,)
    ids, codes = pa.array(np.arange(first, last)), np.zeros(last - first, np.int32)
    return NodeBatch(last - first, ids, codes, (labels,), {}, origin=label)


def _relationships(
    item: tuple[tuple[str, str, str], tuple[np.ndarray, np.ndarray]],
) -> RelationshipBatch:
    (name, _, _), (source, target) = item
    codes = np.zeros(len(source), np.int32)
    return RelationshipBatch(
        len(source), pa.array(source), pa.array(target), codes, (name,), origin=name
    )


class Gpugda:
    """gpugda on its device.

    Args:
        scale: Scale of the graph.
        seed: Seed of the graph.
        options: Options of `gpugda.connect`.
    """

    def __init__(self, scale: float, seed: int, options: Mapping[str, Any]) -> None:
        self._accelerator = connect(SocialSource(scale, seed), **options)
        # The first query uploads the graph, which is part of loading it.
        self._accelerator.run("MATCH (:Forum)-->(:Post) RETURN count(*)", engine="gpu").values()

    def count(self, query: LsqbQuery, seconds: float) -> int:
        """See `Engine`."""
        try:
            result = self._accelerator.run(query.cypher, engine="gpu", timeout=seconds)
            return int(result.values()[0][0])
        except QueryTimeoutError as error:
            raise TooLongError from error


def _pairs(graph: SocialNetwork, name: str, *starts: str) -> tuple[np.ndarray, np.ndarray]:
    return graph.of_type(name, *starts)


def _both_directions(graph: SocialNetwork) -> tuple[np.ndarray, np.ndarray]:
    source, target = graph.of_type("KNOWS")
    return np.concatenate([source, target]), np.concatenate([target, source])


_RELATIONSHIPS: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    ("IsPartOf", "City", "Country", "IS_PART_OF", ("City",)),
    ("LivesIn", "Person", "City", "IS_LOCATED_IN", ("Person",)),
    ("HasMember", "Forum", "Person", "HAS_MEMBER", ()),
    ("ContainerOf", "Forum", "Message", "CONTAINER_OF", ()),
    ("ReplyOf", "Message", "Message", "REPLY_OF", ()),
    ("HasTag", "Message", "Tag", "HAS_TAG", _MESSAGES),
    ("HasType", "Tag", "TagClass", "HAS_TYPE", ()),
    ("HasCreator", "Message", "Person", "HAS_CREATOR", ()),
    ("Likes", "Person", "Message", "LIKES", ()),
    ("HasInterest", "Person", "Tag", "HAS_INTEREST", ()),
)
"""Ladybug's tables that the queries use: name, labels of the ends, type, start labels."""


class Ladybug:
    """Ladybug in memory; loads only the part of the graph that the queries use."""

    def __init__(self, scale: float, seed: int, options: Mapping[str, Any]) -> None:
        import ladybug

        self._connection = ladybug.Connection(ladybug.Database(buffer_pool_size=PEER_MEMORY))
        graph = social_network(scale, seed)
        ranges = {label: graph.labels[label] for label in graph.labels if label not in _MESSAGES}
        ranges["Message"] = graph.labels["Post"][0], graph.labels["Comment"][1]
        for label, (first, last) in ranges.items():
            self._run(f"CREATE NODE TABLE {label}(id INT64, PRIMARY KEY(id))")
            self._run(f"COPY {label} FROM $rows", rows=pa.table({"id": np.arange(first, last)}))
        for name, start, end, kind, starts in _RELATIONSHIPS:
            self._relate(name, start, end, _pairs(graph, kind, *starts))
        self._relate("ReplyOfPost", "Message", "Message", graph.ends["REPLY_OF", "Comment", "Post"])
        self._relate("Knows", "Person", "Person", _both_directions(graph))

    def _relate(self, name: str, start: str, end: str, ends: tuple[np.ndarray, np.ndarray]) -> None:
        self._run(f"CREATE REL TABLE {name}(FROM {start} TO {end})")
        self._run(f"COPY {name} FROM $rows", rows=pa.table({"a": ends[0], "b": ends[1]}))

    def _run(self, text: str, **parameters: Any) -> Any:
        return self._connection.execute(text, parameters)

    def count(self, query: LsqbQuery, seconds: float) -> int:
        """See `Engine`."""
        self._connection.set_query_timeout(int(seconds * 1000))
        try:
            return int(self._run(query.ladybug).get_next()[0])
        except RuntimeError as error:
            if "nterrupted" in str(error):
                raise TooLongError from error
            raise


class DuckDB:
    """DuckDB in memory; loads only the part of the graph that the queries use."""

    def __init__(self, scale: float, seed: int, options: Mapping[str, Any]) -> None:
        import duckdb

        spilled = str(Path(tempfile.gettempdir(), "gpugda-duckdb"))
        self._connection = duckdb.connect(
            config={"memory_limit": f"{PEER_MEMORY}B", "temp_directory": spilled}
        )
        self._interrupted = duckdb.InterruptException
        graph = social_network(scale, seed)
        for name, columns in _sql_tables(graph).items():
            self._connection.register("arriving", pa.table(columns))
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arriving")
            self._connection.unregister("arriving")

    def count(self, query: LsqbQuery, seconds: float) -> int:
        """See `Engine`."""
        timer = threading.Timer(seconds, self._connection.interrupt)
        timer.start()
        try:
            return int(self._connection.execute(query.sql).fetchall()[0][0])
        except self._interrupted as error:
            raise TooLongError from error
        finally:
            timer.cancel()
            timer.join()


def _sql_tables(graph: SocialNetwork) -> dict[str, dict[str, Any]]:
    """DuckDB's tables; a relationship that each node has exactly once is a column of its node."""
    ids = {label: np.arange(*ends) for label, ends in graph.labels.items()}
    both = {
        "knows": ("a", "b", _both_directions(graph)),
        "has_member": ("forum", "person", _pairs(graph, "HAS_MEMBER")),
        "creator": ("message", "person", _pairs(graph, "HAS_CREATOR")),
        "reply": ("comment", "parent", _pairs(graph, "REPLY_OF")),
        "message_tag": ("message", "tag", _pairs(graph, "HAS_TAG", *_MESSAGES)),
        "comment_tag": ("comment", "tag", _pairs(graph, "HAS_TAG", "Comment")),
        "likes": ("person", "message", _pairs(graph, "LIKES")),
        "interest": ("person", "tag", _pairs(graph, "HAS_INTEREST")),
    }
    found: dict[str, dict[str, Any]] = {
        name: {first: ends[0], second: ends[1]} for name, (first, second, ends) in both.items()
    }
    post, replied = graph.ends["REPLY_OF", "Comment", "Post"]
    answered: Any = pa.array(_filled(ids["Comment"], post, replied), mask=_absent(ids, post))
    return found | {
        "country": {"id": ids["Country"]},
        "city": {"id": ids["City"], "country": graph.ends["IS_PART_OF", "City", "Country"][1]},
        "person": {"id": ids["Person"], "city": graph.ends["IS_LOCATED_IN", "Person", "City"][1]},
        "forum": {"id": ids["Forum"]},
        "tag": {"id": ids["Tag"], "class": graph.ends["HAS_TYPE", "Tag", "TagClass"][1]},
        "tag_class": {"id": ids["TagClass"]},
        "post": {
            "id": ids["Post"],
            "forum": graph.ends["CONTAINER_OF", "Forum", "Post"][0],
            "creator": graph.ends["HAS_CREATOR", "Post", "Person"][1],
        },
        "comment": {
            "id": ids["Comment"],
            "creator": graph.ends["HAS_CREATOR", "Comment", "Person"][1],
            "post": answered,
        },
    }


def _filled(ids: np.ndarray, which: np.ndarray, values: np.ndarray) -> np.ndarray:
    found = np.zeros(len(ids), np.int64)
    found[which - ids[0]] = values
    return found


def _absent(ids: Mapping[str, np.ndarray], which: np.ndarray) -> np.ndarray:
    found: np.ndarray = ~np.isin(ids["Comment"], which)
    return found


ENGINES: dict[str, Callable[[float, int, Mapping[str, Any]], Engine]] = {
    "gpugda": Gpugda,
    "duckdb": DuckDB,
    "ladybug": Ladybug,
}
"""By package name: the class that loads the graph of a scale and a seed."""
