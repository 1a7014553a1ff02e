"""Reads the relationships of a database, by pages of their ids or of their start nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.batches import RelationshipBatch
from gpugda.errors import StaleSnapshotError

from .bolt_nodes import any_of
from .bolt_packing import WHOLE, Field, Packing
from .bolt_pages import IdList, IdRange, Pace, cut, parts_of_hub
from .bolt_reading import Question
from .bolt_walk import PAGE, PAGE_BITS, Space, occupied, walk
from .plugin_pages import PLUGIN_ROUND, plugin_page, plugin_relationships

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    import neo4j
    from numpy.typing import NDArray

    from .bolt_pages import Page
    from .bolt_reading import PageReader

__all__ = ["RelationshipReading"]

# Seeking an unused id takes 30 ns; reading a relationship from its node about 4 µs.
_SCATTERED = 128
_DEGREES_PAGE = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class RelationshipReading:
    """Reads relationships, packed into integers.

    Args:
        reader: Reads relationships.
        degree_reader: Reads degrees concurrently.
        types: All types, or those wanted.
        restricted: True if there are other types.
        largest_node: Largest node id, for packing; None if unknown, or if larger ids could be
            created undetected, which would not fit.
        moving: See `DatabaseServer.read`.
    """

    reader: PageReader
    degree_reader: PageReader
    types: tuple[str, ...]
    restricted: bool
    largest_node: int | None
    moving: bool = False

    def by_id(
        self, nodes: NDArray[np.int64], count: int
    ) -> Generator[RelationshipBatch, None, None]:
        """All ``count`` relationships (or those of the wanted types), by increasing id.

        Args:
            nodes: All nodes, increasing: used instead where relationship ids are scattered.
            count: Number of relationships, from the count store.
        """
        question = self._question("", [Field("ids", "id(r) - $first", PAGE_BITS)])
        first: int | None = 0
        if not self.restricted:
            first = yield from walk(self.reader, question, self._space, count, moving=self.moving)
        elif (pages := occupied(self.reader, self._space, 0, count)) is not None:
            yield from self.reader.answers(question, pages)
            first = None
        if first is not None:
            yield from self.by_node(nodes, first)

    def by_plugin(
        self, nodes: NDArray[np.int64], count: int
    ) -> Generator[RelationshipBatch, None, None]:
        """Like `by_id`, through gpugda's plugin in the server; relationships of all types."""
        first = yield from walk(
            self.reader,
            plugin_relationships(),
            self._space,
            count,
            plugin_page(count, self.reader.sessions),
            most=PLUGIN_ROUND,
            moving=self.moving,
        )
        if first is not None:
            yield from self.by_node(nodes, first)

    def by_node(
        self, nodes: NDArray[np.int64], first: int = 0
    ) -> Generator[RelationshipBatch, None, None]:
        """Relationships of these start nodes with ids from ``first`` on, in any order."""
        if self.moving:
            raise StaleSnapshotError(f"{_CHANGED} Their ids are too scattered to read it on.")
        own_id = [Field("ids", "id(r)", WHOLE)]
        hubs: list[tuple[int, int]] = []
        later = f"AND id(r) >= {first}"
        some = self._question(later, own_id)
        yield from self.reader.answers(some, self._pages(nodes, hubs))
        part = self._question(f"{later} AND (id(r) + id(m)) % $parts = $part", own_id)
        for node, degree in hubs:
            yield from self.reader.answers(part, parts_of_hub(node, degree, PAGE))

    @property
    def _space(self) -> Space:
        chosen = any_of(self.types) if self.restricted else ""
        return Space(f"()-[x{chosen}]->()", _SCATTERED)

    def _question(self, condition: str, own_id: list[Field]) -> Question[RelationshipBatch]:
        unknown = len(self.types)
        bits = WHOLE if self.largest_node is None else max(1, self.largest_node.bit_length())
        type_code = f"coalesce($codes[type(r)], {unknown})"
        packing = Packing(
            [
                Field("sources", "id(n)", bits),
                Field("targets", "id(m)", bits),
                Field("types", type_code, max(1, unknown.bit_length())),
                *own_id,
            ]
        )
        by_id = own_id[0].bits != WHOLE
        # Types are filtered after WITH, so that the planner cannot choose a type scan.
        chosen = "WITH n, r, m WHERE type(r) IN $types " if self.restricted else ""
        rest = f"{condition} {chosen}RETURN {packing.columns}"
        codes = {name: code for code, name in enumerate(self.types)}
        parameters: dict[str, Any] = {"codes": codes}
        if self.restricted:
            parameters["types"] = list(self.types)
        decode = _Decoder(packing, self.types)
        return Question("(n)-[r]->(m)", "r" if by_id else "n", rest, decode, parameters)

    def _pages(self, nodes: NDArray[np.int64], hubs: list[tuple[int, int]]) -> Iterator[IdList]:
        """Pages of nodes with about a page of relationships in total; hubs go to ``hubs``."""
        question = Question(
            "(x)",
            "x",
            "RETURN collect(id(x)) AS ids, collect(COUNT { (x)-->() }) AS degrees",
            _degrees,
        )
        pages = cut(nodes, Pace(_DEGREES_PAGE, _DEGREES_PAGE, _DEGREES_PAGE))
        for found, degrees in self.degree_reader.answers(question, pages):
            large = degrees > PAGE
            hubs += zip(found[large].tolist(), degrees[large].tolist(), strict=True)
            rest = (degrees > 0) & ~large
            # A page ends where the prefix sum passes a multiple of PAGE, so it has at most twice as
            # many; and at each hub, as a page may include the ids between its own.
            ends, hubs_before = np.cumsum(degrees[rest]) // PAGE, np.cumsum(large)[rest]
            borders = np.flatnonzero(np.diff(ends) | np.diff(hubs_before)) + 1
            yield from (IdList(some) for some in np.split(found[rest], borders) if len(some))


class _Decoder:
    """Decodes records into batches."""

    def __init__(self, packing: Packing, types: tuple[str, ...]) -> None:
        self._packing = packing
        self._types = types

    def __call__(self, page: Page, records: list[neo4j.Record]) -> RelationshipBatch:
        (record,) = records
        try:
            columns = self._packing.unpack(record)
        except ValueError:
            raise StaleSnapshotError(_CHANGED) from None
        codes, names = self._codes(columns["types"])
        ids = columns["ids"] + (page.first if isinstance(page, IdRange) else 0)
        return RelationshipBatch(
            count=len(ids),
            source_ids=pa.array(columns["sources"]),
            target_ids=pa.array(columns["targets"]),
            type_codes=codes,
            type_names=names,
            origin=f"relationships of the database, {page.described}",
            relationship_ids=ids,
        )

    def _codes(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """Codes and names of the types that occur."""
        found = np.flatnonzero(np.bincount(codes, minlength=1))
        if len(codes) == 0:
            return codes.astype(np.int32), ()
        if int(found[-1]) >= len(self._types):
            raise StaleSnapshotError(_CHANGED)
        places = np.zeros(int(found[-1]) + 1, dtype=np.int32)
        places[found] = np.arange(len(found), dtype=np.int32)
        return places[codes], tuple(self._types[code] for code in found.tolist())


_CHANGED = "The database changed while its relationships were read."


def _degrees(
    page: Page, records: list[neo4j.Record]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids and degrees of a page's nodes, without nodes between its ids."""
    (record,) = records
    ids = np.fromiter(record["ids"], dtype=np.int64)
    degrees = np.fromiter(record["degrees"], dtype=np.int64)
    assert isinstance(page, IdList)
    places = np.searchsorted(page.numbers, ids)
    places[places == len(page.numbers)] = 0
    wanted = page.numbers[places] == ids
    ids, degrees = ids[wanted], degrees[wanted]
    if len(ids) != len(page.numbers):
        raise StaleSnapshotError("The database changed while its nodes' degrees were read.")
    order = np.argsort(ids, kind="stable")
    return ids[order], degrees[order]
