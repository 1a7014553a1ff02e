"""Reads the nodes of a database, in batches of increasing ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch

from .bolt_pages import Pace, cut
from .bolt_reading import Question
from .bolt_walk import PAGE, Space, occupied, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    import neo4j

    from .bolt_connection import BoltConnection
    from .bolt_pages import Page
    from .bolt_reading import PageReader

__all__ = [
    "NODES",
    "any_of",
    "listed_labels",
    "read_labelled_nodes",
    "read_nodes",
    "read_scattered_nodes",
]

# Seeking an unused id takes 30 ns, a row 20 µs.
_SCATTERED = 512
NODES = Space("(x)", _SCATTERED)


def read_nodes(
    reader: PageReader, count: int, *, moving: bool = False
) -> Generator[NodeBatch, None, None]:
    """All nodes; for ``moving`` see `walk`."""
    yield from _read(reader, NODES, count, None, moving=moving)


def read_scattered_nodes(reader: PageReader, first: int) -> Generator[NodeBatch, None, None]:
    """All nodes with ids from ``first`` on, where few ids are used: these are listed first."""
    yield from _read_listed(reader, NODES, first, _question(None))


def read_labelled_nodes(
    reader: PageReader, labels: tuple[str, ...], count: int
) -> Generator[NodeBatch, None, None]:
    """The nodes with one of these labels, of which there are up to ``count``."""
    space = Space(f"(x{any_of(labels)})", _SCATTERED)
    yield from _read(reader, space, count, labels)


def any_of(names: tuple[str, ...]) -> str:
    """Cypher for a disjunction of labels or types."""
    return ":" + "|".join("`" + name.replace("`", "``") + "`" for name in names)


def _read(
    reader: PageReader,
    space: Space,
    count: int,
    labels: tuple[str, ...] | None,
    *,
    moving: bool = False,
) -> Generator[NodeBatch, None, None]:
    question = _question(labels)
    first: int | None = 0
    if labels is None:
        first = yield from walk(reader, question, space, count, moving=moving)
    elif (pages := occupied(reader, space, 0, count)) is not None:
        yield from reader.answers(question, pages)
        first = None
    if first is not None:
        yield from _read_listed(reader, space, first, question)


def _question(labels: tuple[str, ...] | None) -> Question[NodeBatch]:
    if labels is None:
        return Question("(x)", "x", "RETURN labels(x) AS labels, collect(id(x)) AS ids", _batch)
    # Phrased so that the planner cannot choose a label scan for every page.
    rest = (
        "WITH x, labels(x) AS labels WHERE any(label IN labels WHERE label IN $labels) "
        "RETURN labels, collect(id(x)) AS ids"
    )
    return Question("(x)", "x", rest, _batch, {"labels": list(labels)})


def _read_listed(
    reader: PageReader, space: Space, first: int, question: Question[NodeBatch]
) -> Generator[NodeBatch, None, None]:
    numbers = reader.numbers(
        f"MATCH {space.pattern} WHERE id(x) >= $first RETURN id(x) AS id", first=first
    )
    numbers.sort()
    yield from reader.answers(question, cut(numbers, Pace(PAGE, PAGE, PAGE)))


def _batch(page: Page, records: list[neo4j.Record]) -> NodeBatch:
    columns = [record["ids"] for record in records]
    ids = [np.fromiter(column, dtype=np.int64, count=len(column)) for column in columns]
    codes = np.repeat(np.arange(len(ids), dtype=np.int32), [len(each) for each in ids])
    numbers = np.concatenate([np.empty(0, dtype=np.int64), *ids])
    order = np.argsort(numbers, kind="stable")
    return NodeBatch(
        count=len(numbers),
        ids=pa.array(numbers[order]),
        label_codes=codes[order],
        label_sets=tuple(tuple(record["labels"]) for record in records),
        properties={},
        origin=f"nodes of the database, {page.described}",
    )


def listed_labels(connection: BoltConnection, labels: Collection[str]) -> tuple[str, ...]:
    """See `gpugda.ports.DatabaseServer.listed_labels`."""
    names = "".join(":`" + name.replace("`", "``") + "`" for name in sorted(labels))
    query: Any = connection.prefix(f"MATCH (n{names}) RETURN labels(n) AS labels LIMIT 1")
    with connection.check("asking for the order of labels"), connection.session() as session:
        record = session.run(query).single()
    return () if record is None else tuple(record["labels"])
