"""Which pages of ids have something in them, found without a scan where ids lie close together.

Ids are given upwards from 0 and those of deleted things are given again, so a database mostly uses
most ids below its largest. So ranges are read upwards until as many were found as the database's
count store says, which costs nothing that is not needed. Where a part of that turns out to be
nearly empty, one scan tells which ranges have anything in them.
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
"""Ids of a range: measured, 20,000 and 200,000 are slower."""

_ROUND = 16 * PAGE
_SMALLEST_ROUND = 1_000
_EMPTY = 16
"""A round is nearly empty where fewer than one in so many ids exists."""


class Counted(Protocol):
    """An answer about some entities."""

    @property
    def count(self) -> int:
        """How many there are."""


_Answer = TypeVar("_Answer", bound=Counted)


@dataclass(frozen=True, slots=True)
class Space:
    """Nodes or relationships.

    Args:
        pattern: Cypher that binds ``x`` to each.
        scattered: Seeking so many ids that do not exist takes longer than another way of finding
            one that does.
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
    moving: bool = False,
) -> Generator[_Answer, None, int | None]:
    """Answers in the order of ids until there are ``count``; a page has `PAGE` ids, or so many.

    ``moving``: The count tells little, as things come and go meanwhile: a scan tells when all that
    is there was asked for.

    Returns:
        None; or the id from which on ids are too scattered for pages of them.
    """
    first, total = 0, count
    span = min(count, _ROUND)
    while count > 0:
        found = 0
        for answer in reader.answers(question, ranges(first, first + span, page or PAGE)):
            found += answer.count
            yield answer
        first += span
        count -= found
        if found * _EMPTY < span:
            break
        # As many as are needed if the ids go on as densely as in this round.
        span = min(max(count * span // found, _SMALLEST_ROUND), max(first, _ROUND))
    if count <= 0 and not moving:
        return None
    pages = occupied(reader, space, first, total if moving else count)
    if pages is None:
        return first
    yield from reader.answers(question, pages)
    return None


def occupied(reader: PageReader, space: Space, first: int, count: int) -> list[IdRange] | None:
    """The ranges from ``first`` on that have something in them; None if they are too many.

    A scan. What the server remembers of it is bounded by the number of ranges.
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
