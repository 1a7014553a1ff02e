"""What a count may be made of: a product within one join, or several counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.counting.leaves import LeafProduct
    from gpugda.plan.plan import BoundQuery


__all__ = ["Factor", "Part", "Product", "Sum", "Term", "Way"]

Way: TypeAlias = "LeafProduct | Product | Sum | None"
"""How a query is best counted; None where all of it is joined."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A query of its own.

    Args:
        bound: The query.
        masks: Of its predicates.
        counts: Of each query node, about how many candidates.
        grouped: The query nodes that the whole query's are grouped by, in their order, as far as
            they are in this one.
        way: Found before its candidates were.
    """

    bound: BoundQuery
    masks: Masks
    counts: tuple[int, ...]
    grouped: tuple[int, ...] = ()
    way: Way = None


@dataclass(frozen=True, slots=True, eq=False)
class Factor(Part):
    """A part of a query, none of which depends on the others.

    Args:
        relationships: Of its query relationships, their positions in the whole query.
    """

    relationships: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Term(Part):
    """A query whose number of embeddings is added, or subtracted.

    Args:
        sign: 1 or -1.
        pairs: Relationships of the query it is made of.
        is_loose: May both of each pair be the same? Else they are.
    """

    sign: int = 1
    pairs: tuple[tuple[int, int], ...] = ()
    is_loose: bool = False


@dataclass(frozen=True, slots=True)
class Product:
    """Counts that are multiplied, two at least."""

    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Counts that are added."""

    terms: tuple[Term, ...]
