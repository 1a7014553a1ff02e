"""A graph like WatDiv's: shops, users and reviews, whose labels decide which types they have.

The papers on GSI and SGSI use graphs of WatDiv, a generator for benchmarks of RDF stores. This one
follows its published design: entities of some classes, and predicates that connect two classes,
each with its own cardinality. Sizes are those of the papers; values of properties are nodes, as in
RDF. Relationships may be parallel.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from math import gcd
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from lab.random_relationships import draw_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Drawn = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint16]]
    """Sources, targets and types."""

__all__ = ["draw_watdiv", "watdiv_labels", "watdiv_types"]

_PIECE: Final = 1 << 20
"""Number drawn at a time by one thread."""
_BATCH: Final = 1 << 5
"""Pieces in memory at once."""
_SPREAD: Final = 0x9E3779B1
"""A prime: multiplied by it, ranks are distributed over a class."""
_FEWEST: Final = 50
"""A class of fixed size has at most one in so many nodes: small graphs are not only cities."""

_NODES: Final = 10_000
_CLASSES: Final = {
    "User": (1_000, 100),
    "Product": (250, 300),
    "Review": (1_500, 50),
    "Offer": (900, 50),
    "Purchase": (1_500, 50),
    "Retailer": (12, 30),
    "Website": (50, 50),
    "Number": (400, 30),
    "Text": (4_388, 51),
    "Topic": (0.250, 100),
    "Genre": (0.145, 50),
    "City": (0.240, 60),
    "Category": (0.015, 15),
    "Country": (0.025, 25),
    "Language": (0.025, 25),
    "Group": (0.014, 14),
}
"""Thousands of nodes, of `_NODES` in all (texts are what remains), and labels of 1,000. Classes
below one thousand have that number of nodes in larger graphs, too."""

_PREDICATES: Final = """
friendOf User User 46950 1 1
follows User User 32700 2 2
likes User Product 1100 2 2
subscribes User Website 1500 2 3
makesPurchase User Purchase 1500 2 =
userId User Text 1000 = =
gender User Group 600 = 1
age User Group 500 = 1
role User Group 200 = 1
location User City 400 = 2
nationality User Country 200 = 3
familyName User Text 700 = 3
givenName User Text 700 = 3
email User Text 500 = =
birthDate User Number 200 = 1
jobTitle User Text 50 = 3
telephone User Text 50 = =
homepage User Website 50 = =
interest User Topic 600 2 2
speaks User Language 300 1 3
reviewOf Review Product 1500 = 3
reviewer Review User 1500 = 2
rating Review Number 1500 = 3
reviewTitle Review Text 450 = =
reviewText Review Text 600 = =
totalVotes Review Number 500 = 3
reviewDate Review Number 400 = 1
reviewLanguage Review Language 150 = 3
purchaseFor Purchase Product 1500 = 3
purchaseDate Purchase Number 450 = 1
quantity Purchase Number 300 = 3
offers Retailer Offer 900 2 =
includes Offer Product 900 = 2
price Offer Number 900 = 2
serialNumber Offer Text 700 = =
eligibleQuantity Offer Number 900 = 2
eligibleRegion Offer Country 1740 1 3
validFrom Offer Number 360 = 1
validThrough Offer Number 360 = 1
priceValidUntil Offer Number 200 = 1
hasGenre Product Genre 600 2 2
tag Product Topic 1000 2 2
category Product Category 250 = 2
title Product Text 250 = =
caption Product Text 25 = =
description Product Text 100 = =
text Product Text 75 = =
keywords Product Text 75 2 1
contentRating Product Group 75 = 1
contentSize Product Number 25 = 1
language Product Language 50 = 2
publisher Product Text 30 = 3
producer Product Text 20 = 3
releaseDate Product Number 25 = 1
expires Product Number 20 = 1
datePublished Product Number 20 = 1
award Product Text 10 1 2
isbn Product Text 30 = =
numberOfPages Product Number 30 = 2
bookEdition Product Number 30 = 3
duration Product Number 20 = 2
opus Product Number 10 = 2
movement Product Text 10 = 3
trailer Product Website 5 = 1
actor Product User 60 2 2
artist Product User 20 2 2
author Product User 30 1 2
director Product User 5 = 2
editor Product User 8 = 2
conductor Product User 3 = 2
composer Product User 3 = 2
performedIn Product City 3 = 2
recommends Product Product 300 2 2
legalName Retailer Text 12 = =
paymentAccepted Retailer Text 10 = 3
openingHours Retailer Text 5 = 2
aggregateRating Retailer Number 5 = 2
employee Retailer User 24 2 1
contactPoint Retailer User 5 = 1
retailerSite Retailer Website 10 = =
url Website Text 50 = =
hits Website Number 50 = 2
siteLanguage Website Language 25 = 3
parentCountry City Country 0.240 = 2
subGenreOf Genre Category 0.145 = 2
topicOf Topic Category 0.250 = 2
"""
"""Name, classes of start and end, and thousands of relationships of 109 million. Then how starts
and ends are drawn: ``=`` takes each entity once, before any twice; 1 is uniform; 2 and 3 prefer few
entities, so that the first of n has a share of n^-1/2 or n^-1/3."""


class _Predicate(NamedTuple):
    name: str
    start: str
    end: str
    weight: float
    starts: str
    ends: str


class _Piece(NamedTuple):
    """Some relationships of one predicate, from the ``first`` on."""

    predicate: int
    first: int
    length: int


def _predicates() -> list[_Predicate]:
    rows = (line.split() for line in _PREDICATES.strip().splitlines())
    return [_Predicate(a, b, c, float(weight), d, e) for a, b, c, weight, d, e in rows]


def watdiv_types(types: int) -> tuple[str, ...]:
    """Names of the types; with fewer than 86 wanted, predicates share them."""
    return tuple(each.name for each in _predicates()[:types])


def watdiv_labels(
    rng: np.random.Generator, nodes: int, labels: int
) -> tuple[NDArray[np.int32], tuple[tuple[str, ...], ...]]:
    """A label per node, among those of its class by a power law; and all label sets.

    Args:
        rng: Random numbers.
        nodes: Number of nodes, at least 16.
        labels: Number of labels; with fewer than 16, classes share them.
    """
    sets: list[tuple[str, ...]] = []
    codes: list[NDArray[np.int32]] = []
    ends = list(accumulate((each[1] for each in _CLASSES.values()), initial=0))
    sizes = _class_sizes(nodes)
    for (name, size), (first, end) in zip(sizes.items(), pairwise(ends), strict=True):
        start = min(labels * first // ends[-1], labels - 1)
        own = max(1, labels * end // ends[-1] - start)
        sets += [(f"{name}{number}",) for number in range(len(sets) - start, own)]
        codes.append(draw_kinds(rng, own, size) + np.int32(start))
    return np.concatenate(codes), tuple(sets)


def _class_sizes(nodes: int) -> dict[str, int]:
    """Nodes of each class; literal texts are the remainder."""
    most = max(1, nodes // _FEWEST)
    found = {
        name: max(1, int(nodes * size / _NODES)) if size >= 1 else min(round(1000 * size), most)
        for name, (size, _) in _CLASSES.items()
    }
    found["Text"] += nodes - sum(found.values())
    return found


def draw_watdiv(rng: np.random.Generator, nodes: int, count: int, types: int) -> Iterator[Drawn]:
    """Yields sources, targets and types of ``count`` relationships, in parts.

    All processors draw; the result does not depend on their number.
    """
    predicates = _predicates()
    sizes = _class_sizes(nodes)
    firsts = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
    counts = _counts(predicates, count)
    taken = _taken_before(predicates, counts)

    def draw(piece: _Piece, rng: np.random.Generator) -> Drawn:
        each = predicates[piece.predicate]
        starts = _entities(rng, each.starts, sizes[each.start], piece, None)
        ends = _entities(rng, each.ends, sizes[each.end], piece, taken[piece.predicate])
        return (
            (starts + firsts[each.start]).astype(np.uint32),
            (ends + firsts[each.end]).astype(np.uint32),
            np.full(piece.length, piece.predicate % types, np.uint16),
        )

    pieces = _pieces(counts)
    each_rng = rng.spawn(len(pieces))
    with ThreadPoolExecutor() as pool:
        for first in range(0, len(pieces), _BATCH):
            some = slice(first, first + _BATCH)
            starts, ends, kinds = zip(*pool.map(draw, pieces[some], each_rng[some]), strict=True)
            yield np.concatenate(starts), np.concatenate(ends), np.concatenate(kinds)


def _counts(predicates: Sequence[_Predicate], count: int) -> list[int]:
    """Relationships of each predicate, ``count`` in all; none for some only in tiny graphs."""
    ends = np.cumsum([each.weight for each in predicates])
    bounds = np.round(ends * (count / ends[-1])).astype(np.int64)
    found: list[int] = np.diff(bounds, prepend=0).tolist()
    without = found.count(0)
    return found if without >= found[0] else [found[0] - without, *(max(1, n) for n in found[1:])]


def _taken_before(predicates: Sequence[_Predicate], counts: Sequence[int]) -> list[int]:
    """How many ends of their class earlier predicates take once each: no two share a title."""
    taken, found = dict.fromkeys(_CLASSES, 0), list[int]()
    for each, count in zip(predicates, counts, strict=True):
        found.append(taken[each.end])
        taken[each.end] += count if each.ends == "=" else 0
    return found


def _pieces(counts: Sequence[int]) -> list[_Piece]:
    return [
        _Piece(predicate, first, min(_PIECE, count - first))
        for predicate, count in enumerate(counts)
        for first in range(0, count, _PIECE)
    ]


def _entities(
    rng: np.random.Generator, how: str, size: int, piece: _Piece, taken: int | None
) -> NDArray[np.int64]:
    """Entities of a class of ``size``.

    Args:
        rng: Random numbers.
        how: See `_PREDICATES`.
        size: Number of entities.
        piece: Which relationships.
        taken: Each entity once, in their order, after so many; None: in a mixed order.
    """
    if how == "=":
        at = np.arange(piece.first, piece.first + piece.length, dtype=np.int64)
        if taken is None:
            return at * _coprime(size, piece.predicate) % size
        return (at + taken) % size
    if how == "1":
        return rng.integers(size, size=piece.length)
    drawn = rng.random(piece.length)
    power = drawn * drawn if how == "2" else drawn * drawn * drawn  # ``**`` takes 10 times as long
    return (power * size).astype(np.int64) * (_SPREAD % size) % size


def _coprime(size: int, number: int) -> int:
    """A multiplier that mixes ``size`` entities, another one for each number."""
    wanted = _SPREAD * (2 * number + 1) % size
    while gcd(wanted, size) != 1:
        wanted += 1
    return wanted
