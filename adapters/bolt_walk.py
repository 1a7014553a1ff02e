"""Walks the id space by pages, and finds the occupied ones without a scan where ids are dense.

Ids are assigned upwards from 0, and those of deleted entities are reused, so a database usually
uses most ids below its largest. So ranges are read upwards until as many entities were found as the
count store reports. If a part of the id space turns out to be nearly empty, one scan finds the
occupied ranges.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from .bolt_pages import occupied_ranges, ranges

if TYPE_CHECKING:
    from collections.abc import Generator

    from .bolt_pages import IdRange
    from .bolt_reading import Call, PageReader, Question

__all__ = ["PAGE", "PAGE_BITS", "Space", "occupied", "walk"]

logger = logging.getLogger(__name__)

PAGE_BITS = 16
PAGE = 1 << PAGE_BITS
"""Ids per range: measured, 20,000 and 200,000 are slower."""

_ROUND = 16 * PAGE
_SMALLEST_ROUND = 1_000
_EMPTY = 16
"""A round is nearly empty if fewer than one id in this many is used."""


class Counted(Protocol):
    """A batch of entities."""

    @property
    def count(self) -> int:
        """Number of entities."""


_Answer = TypeVar("_Answer", bound=Counted)


@dataclass(frozen=True, slots=True)
class Space:
    """The id space of nodes or relationships.

    Args:
        pattern: Cypher pattern that binds ``x`` to each entity.
        scattered: Break-even: seeking this many unused ids costs as much as finding one entity in
            another way.
    """

    pattern: str
    scattered: int


def walk(
    reader: PageReader,
    question: Question[_Answer] | Call[_Answer],
    space: Space,
    count: int,
    page: int | None = None,
    *,
    most: int | None = None,
    moving: bool = False,
) -> Generator[_Answer, None, int | None]:
    """Answers in order of id until ``count`` entities were found; ``page`` ids each (or `PAGE`).

    Up to ``most`` ids are requested before their density is known.

    ``moving``: True if entities are created and deleted meanwhile, so that the count is unreliable:
    a scan then decides when all were requested.

    Returns:
        None; or the id from which on ids are too scattered for pages.
    """
    first, total = 0, count
    most = most or _ROUND
    span = min(count, most)
    while count > 0:
        found = 0
        for answer in reader.answers(question, ranges(first, first + span, page or PAGE)):
            found += answer.count
            yield answer
        first += span
        count -= found
        if found * _EMPTY < span:
            break
        # As many ids as are needed if they continue at this round's density.
        span = min(max(count * span // found, _SMALLEST_ROUND), max(first, most))
    if count <= 0 and not moving:
        return None
    pages = occupied(reader, space, first, total if moving else count)
    if pages is None:
        return first
    yield from reader.answers(question, pages)
    return None


def occupied(reader: PageReader, space: Space, first: int, count: int) -> list[IdRange] | None:
    """The occupied ranges from ``first`` on; None if there are too many.

    Needs a scan. The server's memory for it is bounded by the number of ranges.
    """
    most = 16 + count * space.scattered // PAGE
    (row,) = reader.rows(
        f"MATCH {space.pattern} WHERE id(x) >= $first "
        "WITH DISTINCT id(x) / $width AS place LIMIT $most RETURN collect(place) AS places",
        first=first,
        width=PAGE,
        most=most + 1,
    )
    places: list[int] = row["places"]
    logger.info("%s: ids from %d on lie in %d ranges", space.pattern, first, len(places))
    return None if len(places) > most else list(occupied_ranges(places, first, PAGE))
