"""Count plans: join the whole pattern, eliminate nodes, or combine the counts of parts.

All plans are values: they are equal if they do the same, and they can be printed. A plan belongs to
one pattern and its evaluated predicates (`Masks`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from gpugda.plan.masks import Masks
from gpugda.plan.variables import ends_of
from gpugda.types import value

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
    "InterchangeableLeaves",
    "InterchangeableNodes",
    "Join",
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
"""The first thing to do with a query; it always ends in a count plan."""
InterchangeableNodes: TypeAlias = tuple[int, ...]
"""Interchangeable query nodes; the first one is counted for all of them."""


@value(frozen=True, slots=True)
class Join:
    """Joins all query nodes; rows of the last one may be counted instead of created."""


@value(frozen=True, slots=True)
class InterchangeableLeaves:
    """Interchangeable leaves: query nodes with one relationship each, to the same anchor.

    Args:
        leaves: The query nodes.
        relationships: Their relationships, in the same order.
        anchor: The query node of the core that they are attached to.
        outgoing: True if their relationships may start at the anchor.
        incoming: True if their relationships may end at the anchor.
        taken: Query relationships of the core that could be the same as one of theirs.
    """

    leaves: tuple[int, ...]
    relationships: tuple[int, ...]
    anchor: int
    outgoing: bool
    incoming: bool
    taken: tuple[int, ...]


@value(frozen=True, slots=True)
class DegreeMessage:
    """Eliminates leaves: the message is the number of fitting relationships per anchor node.

    Args:
        separator: Query nodes of the core that determine the number: the anchors, and the ends of
            core relationships that may take the leaves' relationships.
        groups: One group of leaves, or two groups that can take the same relationships; then the
            types of the first group are a subset of the second group's types.
        taken: Relationships of the core that could be the same as one of both groups.
    """

    separator: frozenset[int]
    groups: tuple[InterchangeableLeaves, ...]
    taken: tuple[int, ...] = ()


@value(frozen=True, slots=True)
class RowMessage:
    """Eliminates nodes whose neighbours are all bound: a step counts the matches per row.

    Args:
        nodes: Interchangeable nodes; rows hold the count in the column of the first one.
    """

    nodes: InterchangeableNodes


@value(frozen=True, slots=True)
class TableMessage:
    """Eliminates a part of the pattern: it is counted per data node, or pair, of its separator.

    Args:
        separator: One or two query nodes of the rest.
        plan: The plan that counts the part; its rows include the separator.
    """

    separator: tuple[int, ...]
    plan: Eliminate


Message: TypeAlias = DegreeMessage | RowMessage | TableMessage


@dataclass(frozen=True)  # without slots, as cached_property needs an instance dictionary
class Eliminate:
    """Creates the rows of a core and multiplies them with the messages of eliminated nodes.

    Args:
        core: The pattern without the tests that the messages account for.
        messages: The messages from eliminated nodes.
        outside: Query nodes of the parts that send table messages. In the plan of such a part: all
            nodes that are neither in the part nor in its separator.
    """

    core: BoundQuery
    messages: tuple[Message, ...]
    outside: frozenset[int] = frozenset()

    @cached_property
    def degrees(self) -> list[DegreeMessage]:
        """Messages from leaves."""
        return [each for each in self.messages if isinstance(each, DegreeMessage)]

    @cached_property
    def rows(self) -> list[InterchangeableNodes]:
        """The nodes of each row message."""
        return [each.nodes for each in self.messages if isinstance(each, RowMessage)]

    @cached_property
    def tables(self) -> list[TableMessage]:
        """Messages from larger parts."""
        return [each for each in self.messages if isinstance(each, TableMessage)]

    @cached_property
    def groups(self) -> list[InterchangeableLeaves]:
        """The leaf groups of all degree messages."""
        return [group for message in self.degrees for group in message.groups]

    @cached_property
    def leaves(self) -> frozenset[int]:
        """Query nodes that degree messages eliminate."""
        return frozenset([leaf for group in self.groups for leaf in group.leaves])

    @cached_property
    def joined(self) -> frozenset[int]:
        """Query nodes that are joined or counted per row."""
        return frozenset(range(len(self.core.nodes))) - self.leaves - self.outside

    @cached_property
    def not_bound(self) -> frozenset[int]:
        """Query nodes for which rows hold no data node."""
        return self.leaves.union(self.outside, *self.rows)

    @cached_property
    def columns(self) -> frozenset[int]:
        """Query nodes for which rows must hold the data node or the count."""
        degrees = (each.separator for each in self.degrees)
        tables = (each.separator for each in self.tables)
        return frozenset([each[0] for each in self.rows]).union(*degrees, *tables)

    def masks(self, masks: Masks) -> Masks:
        """The masks without the comparisons of nodes outside the core."""
        if not self.outside or not masks.comparisons:
            return masks
        kept = tuple(
            each
            for each in masks.comparisons
            if all(self.outside.isdisjoint(ends_of(self.core, one)) for one in each.variables())
        )
        return replace(masks, comparisons=kept)


@value(frozen=True, slots=True)
class Part:
    """A pattern that was derived from another pattern.

    Args:
        pattern: The derived pattern.
        nodes: Per query node, the nodes of the other pattern that it stands for: several if these
            are bound to one data node.
        relationships: The same for query relationships.
        counts: Estimated candidates per query node.
        grouped: The query nodes that stand for the other pattern's grouping nodes, in their order,
            as far as this pattern has them.
        plan: The count plan.
    """

    pattern: BoundQuery
    nodes: tuple[tuple[int, ...], ...]
    relationships: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    grouped: tuple[int, ...] = ()
    plan: CountPlan = Join()

    def masks(self, masks: Masks) -> Masks:
        """The masks of the other pattern, mapped to this one."""
        return Masks(
            _merged(masks.nodes, self.nodes), _merged(masks.relationships, self.relationships)
        )


@value(frozen=True, slots=True)
class Term(Part):
    """A pattern with a signed count in a sum.

    Args:
        sign: 1 or -1.
        pairs: Pairs of relationships of the other pattern.
        unequal_nodes: Pairs of query nodes of the other pattern.
        is_loose: True if the pairs may be the same relationship; otherwise they are the same.
    """

    sign: int = 1
    pairs: tuple[tuple[int, int], ...] = ()
    unequal_nodes: tuple[tuple[int, int], ...] = ()
    is_loose: bool = False


@value(frozen=True, slots=True)
class Product:
    """Multiplies the counts of independent parts."""

    factors: tuple[Part, ...]


@value(frozen=True, slots=True)
class Sum:
    """Adds signed counts (inclusion-exclusion)."""

    terms: tuple[Term, ...]


@value(frozen=True, slots=True)
class Search:
    """Searches for a count plan; joins the whole pattern if the search takes too long.

    Args:
        seconds: Time limit of the search; None for no limit.
    """

    seconds: float | None = None


@value(frozen=True, slots=True)
class Attempt:
    """Tries a plan within a budget and falls back to another plan.

    Args:
        seconds: The budget; None tries only what runs at once, without waiting for the device.
        quick: The plan to try.
        otherwise: What to do if the attempt is abandoned.
        min_pairs: Estimated pairs from which the attempt is made; below, `otherwise` runs
            directly.
        max_pairs: The same above: the attempt would be in vain.
    """

    seconds: float | None
    quick: CountPlan
    otherwise: FirstPlan
    min_pairs: float = 0.0
    max_pairs: float = math.inf

    def is_worthwhile(self, pairs: float) -> bool:
        """True if a join that tests this many pairs should be attempted."""
        return self.min_pairs <= pairs <= self.max_pairs


def _merged(
    masks: Mapping[int, NDArray[np.uint32]], places: Sequence[tuple[int, ...]]
) -> dict[int, NDArray[np.uint32]]:
    """Masks by position in the part, merged with AND, in the order of the other pattern's masks."""
    place_of = {old: new for new, group in enumerate(places) for old in group}
    found: dict[int, NDArray[np.uint32]] = {}
    for position, mask in masks.items():
        place = place_of.get(position)
        if place is not None:
            found[place] = found[place] & mask if place in found else mask
    return found
