"""What counts a pattern: all of it is joined, nodes are eliminated, or counts of parts combined.

All of these are values: equal if they do the same, and printed as they are. A plan belongs to a
pattern and to what its predicates leave (`Masks`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from gpugda.plan.masks import Masks
from gpugda.plan.variables import ends_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.plan.plan import BoundQuery

__all__ = [
    "Attempt",
    "CountPlan",
    "DegreeMessage",
    "Eliminate",
    "FirstPlan",
    "Join",
    "LikeLeaves",
    "LikeNodes",
    "Message",
    "Part",
    "Product",
    "RowMessage",
    "Search",
    "Sum",
    "TableMessage",
    "Term",
]

CountPlan: TypeAlias = "Join | Eliminate | Product | Sum"
FirstPlan: TypeAlias = "Attempt | Search | CountPlan"
"""What is done first; a count plan comes of it in the end."""
LikeNodes: TypeAlias = tuple[int, ...]
"""Query nodes that nothing tells apart; the first one is counted for all."""


@dataclass(frozen=True, slots=True)
class Join:
    """All query nodes are joined; rows of the last one need not be made."""


@dataclass(frozen=True, slots=True)
class LikeLeaves:
    """Query nodes with one relationship, to the same anchor, that nothing tells apart.

    Args:
        leaves: The query nodes.
        relationships: Theirs, in the same order.
        anchor: Query node of the core.
        outgoing: May their relationships start at the anchor?
        incoming: May they end there?
        taken: Query relationships of the core that could be one of theirs.
    """

    leaves: tuple[int, ...]
    relationships: tuple[int, ...]
    anchor: int
    outgoing: bool
    incoming: bool
    taken: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DegreeMessage:
    """Leaves are eliminated: per data node of their anchor, how many relationships fit.

    Args:
        separator: Query nodes of the core whose data nodes the number depends on: the anchor, and
            the ends of what may take the leaves' relationships.
        groups: One group of leaves, or two that can take the same relationships: then every type of
            the first one's is a type of the second one's.
        taken: Relationships of the core that could be one of both.
    """

    separator: frozenset[int]
    groups: tuple[LikeLeaves, ...]
    taken: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RowMessage:
    """Nodes are eliminated behind all their neighbours: a step counts per row what fits.

    Args:
        nodes: They are like nodes; rows hold the number at the place of the first one.
    """

    nodes: LikeNodes


@dataclass(frozen=True, slots=True)
class TableMessage:
    """A part of the pattern is eliminated: it is counted per data node, or pair, of its separator.

    Args:
        separator: Query nodes of the rest, one or two.
        plan: Counts the part; its rows hold the separator, too.
    """

    separator: tuple[int, ...]
    plan: Eliminate


Message: TypeAlias = DegreeMessage | RowMessage | TableMessage


@dataclass(frozen=True)  # without slots, in which there is no place for cached properties
class Eliminate:
    """Rows of a core are made, and multiplied with messages from what is not in it.

    Args:
        core: The pattern without the tests that the messages make up for.
        messages: What is eliminated.
        outside: Query nodes of the parts that send tables; where this is the plan of one, all nodes
            that are neither in it nor its separator.
    """

    core: BoundQuery
    messages: tuple[Message, ...]
    outside: frozenset[int] = frozenset()

    @cached_property
    def degrees(self) -> list[DegreeMessage]:
        """Messages from leaves."""
        return [each for each in self.messages if isinstance(each, DegreeMessage)]

    @cached_property
    def rows(self) -> list[LikeNodes]:
        """The nodes of each message that is counted per row."""
        return [each.nodes for each in self.messages if isinstance(each, RowMessage)]

    @cached_property
    def tables(self) -> list[TableMessage]:
        """Messages from larger parts."""
        return [each for each in self.messages if isinstance(each, TableMessage)]

    @cached_property
    def groups(self) -> list[LikeLeaves]:
        """Of all degree messages."""
        return [group for message in self.degrees for group in message.groups]

    @cached_property
    def leaves(self) -> frozenset[int]:
        """Query nodes that are eliminated by their degrees."""
        return frozenset([leaf for group in self.groups for leaf in group.leaves])

    @cached_property
    def joined(self) -> frozenset[int]:
        """Query nodes that are joined, and those that are counted per row."""
        return frozenset(range(len(self.core.nodes))) - self.leaves - self.outside

    @cached_property
    def not_bound(self) -> frozenset[int]:
        """Query nodes of which rows hold no data node."""
        return self.leaves.union(self.outside, *self.rows)

    @cached_property
    def columns(self) -> frozenset[int]:
        """Query nodes of which rows hold the data node, or how many fit."""
        degrees = (each.separator for each in self.degrees)
        tables = (each.separator for each in self.tables)
        return frozenset([each[0] for each in self.rows]).union(*degrees, *tables)

    def masks(self, masks: Masks) -> Masks:
        """What is left of them where only the core is joined."""
        if not self.outside or not masks.comparisons:
            return masks
        kept = tuple(
            each
            for each in masks.comparisons
            if all(self.outside.isdisjoint(ends_of(self.core, one)) for one in each.variables())
        )
        return replace(masks, comparisons=kept)


@dataclass(frozen=True, slots=True)
class Part:
    """A pattern of its own, made of another one.

    Args:
        pattern: The pattern.
        nodes: Of each of its query nodes, those of the other pattern that it is: several where
            these are one data node.
        relationships: Likewise.
        counts: Of each query node, about how many candidates.
        grouped: The query nodes that the other pattern's are grouped by, in their order, as far as
            they are in this one.
        plan: Counts it.
    """

    pattern: BoundQuery
    nodes: tuple[tuple[int, ...], ...]
    relationships: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    grouped: tuple[int, ...] = ()
    plan: CountPlan = Join()

    def masks(self, masks: Masks) -> Masks:
        """Of what the other pattern's predicates leave, what is left for this one."""
        return Masks(
            _merged(masks.nodes, self.nodes), _merged(masks.relationships, self.relationships)
        )


@dataclass(frozen=True, slots=True)
class Term(Part):
    """A pattern whose number of embeddings is added, or subtracted.

    Args:
        sign: 1 or -1.
        pairs: Relationships of the other pattern.
        nodes_apart: Query nodes of it.
        is_loose: May both of each pair be the same? Else they are.
    """

    sign: int = 1
    pairs: tuple[tuple[int, int], ...] = ()
    nodes_apart: tuple[tuple[int, int], ...] = ()
    is_loose: bool = False


@dataclass(frozen=True, slots=True)
class Product:
    """Counts of parts that nothing connects are multiplied."""

    factors: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Counts are added, by inclusion and exclusion."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """A count plan is looked for; everything is joined where that takes too long.

    Args:
        seconds: So long at most; None: as long as it takes.
    """

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A plan is tried within a budget, and given up for another one.

    Args:
        seconds: The budget; None: what can be done at once, without waiting for the device.
        quick: What is tried.
        otherwise: What is done where it is given up.
        least_pairs: It is tried where it is expected to test so many pairs; below this it is left
            to `otherwise`.
    """

    seconds: float | None
    quick: CountPlan
    otherwise: FirstPlan
    least_pairs: float = 0.0


def _merged(
    masks: Mapping[int, NDArray[np.uint32]], places: Sequence[tuple[int, ...]]
) -> dict[int, NDArray[np.uint32]]:
    """By position in the part. The order is that of the other pattern's."""
    place_of = {old: new for new, group in enumerate(places) for old in group}
    found: dict[int, NDArray[np.uint32]] = {}
    for position, mask in masks.items():
        place = place_of.get(position)
        if place is not None:
            found[place] = found[place] & mask if place in found else mask
    return found
