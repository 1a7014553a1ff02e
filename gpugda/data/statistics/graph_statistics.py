"""Statistics of a data graph for the planner."""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["ANY", "DegreeSummary", "GraphStatistics", "PendingCounts"]

ANY = -1
"""Stands for any label id or type id."""


class PendingCounts(dict[str, int | None]):
    """Distinct counts per property in an incomplete store; counts of unread ones are None."""

    def __init__(self, counts: Mapping[str, int | None]) -> None:
        super().__init__(counts)
        self._absent: frozenset[str] | None = frozenset()  # None: every key without a count

    def add(self, counts: Mapping[str, int | None], read: Collection[str] | None) -> None:
        """Adds the counts of properties that were read later.

        Args:
            counts: Counts by key.
            read: The keys requested; those without a count have no values. None: all keys.
        """
        self.update(counts)
        if read is None:
            self._absent = None
        elif self._absent is not None:
            self._absent |= frozenset(read) - self.keys()

    def __missing__(self, key: str) -> None:
        return None

    def __contains__(self, key: object) -> bool:
        absent = self._absent
        return super().__contains__(key) or (absent is not None and key not in absent)


@value(frozen=True, slots=True)
class DegreeSummary:
    """Degrees of the nodes for one type (or any) and direction; parallel relationships each count.

    Args:
        largest: Maximum degree.
        mean: Mean over the nodes with such a relationship, 0 if there are none.
        node_count: The number of these nodes.
        reached: Mean over the relationships of their node's degree (the size-biased mean).
    """

    largest: int = 0
    mean: float = 0.0
    node_count: int = 0
    reached: float = 0.0


@value(frozen=True, slots=True)
class GraphStatistics:
    """Counts over the data graph. Label and type ids are those of its name tables.

    Args:
        node_count: n.
        relationship_count: m.
        label_counts: Nodes per label id.
        type_counts: Relationships per type id.
        pattern_counts: Relationships per (start label, type, end label), with ``ANY`` for any;
            zeros are left out. A relationship counts once per pair of its nodes' labels.
        pattern_counts_complete: False if there were too many pairs of labels: then
            ``pattern_counts`` holds only entries with ``ANY`` on at least one end.
        pattern_counts_typed: False if there were too many pairs of a label and a type, too: then it
            holds only entries with ``ANY`` in at least two places.
        outgoing_degrees: Per type id, and ``ANY``.
        incoming_degrees: Per type id, and ``ANY``.
        parallel_types: Per type id, True if two relationships have the same start and end.
        has_parallel: True if two relationships, of any types, have the same start and end.
        loop_counts: Loops per type id.
        closing_rates: Mean number of relationships between the ends of a path, sampled; by the
            path's length (2 or 3) and type id, or ``ANY``. Rates of 0 are left out.
        distinct_counts: Distinct values of each node property; None if unknown.
        relationship_distinct_counts: Distinct values of each relationship property.
    """

    node_count: int
    relationship_count: int
    label_counts: tuple[int, ...] = ()
    type_counts: tuple[int, ...] = ()
    pattern_counts: Mapping[tuple[int, int, int], int] = field(
        default_factory=dict[tuple[int, int, int], int]
    )
    pattern_counts_complete: bool = True
    pattern_counts_typed: bool = True
    outgoing_degrees: Mapping[int, DegreeSummary] = field(default_factory=dict[int, DegreeSummary])
    incoming_degrees: Mapping[int, DegreeSummary] = field(default_factory=dict[int, DegreeSummary])
    parallel_types: tuple[bool, ...] = ()
    has_parallel: bool = False
    loop_counts: tuple[int, ...] = ()
    closing_rates: Mapping[tuple[int, int], float] = field(
        default_factory=dict[tuple[int, int], float]
    )
    distinct_counts: Mapping[str, int | None] = field(default_factory=dict[str, int | None])
    relationship_distinct_counts: Mapping[str, int | None] = field(
        default_factory=dict[str, int | None]
    )

    def pending(
        self,
        nodes_read: Collection[str] | None = (),
        relationships_read: Collection[str] | None = (),
    ) -> GraphStatistics:
        """The statistics if only these keys of nodes and relationships were read; None: all."""
        of_nodes = PendingCounts(self.distinct_counts)
        of_nodes.add({}, nodes_read)
        of_relationships = PendingCounts(self.relationship_distinct_counts)
        of_relationships.add({}, relationships_read)
        return replace(
            self, distinct_counts=of_nodes, relationship_distinct_counts=of_relationships
        )

    def relationships_of(self, types: Iterable[int] | None) -> int:
        """Number of relationships of some types; None for all."""
        if types is None:
            return self.relationship_count
        return sum(self.type_counts[each] for each in types)

    @property
    def density(self) -> float:
        """Density m / (n (n - 1)), over ordered pairs of nodes; 0 below two nodes."""
        pairs = self.node_count * (self.node_count - 1)
        return self.relationship_count / pairs if pairs else 0.0

    @property
    def loop_count(self) -> int:
        """Number of loops of any type."""
        return sum(self.loop_counts)

    def nodes_with(self, label: int | None) -> int:
        """Number of nodes with a label id; None: all nodes."""
        if label is None or label == ANY:
            return self.node_count
        return self.label_counts[label]

    def relationships_between(
        self, start_label: int | None, type_id: int | None, end_label: int | None
    ) -> float:
        """Number of relationships of a type between nodes with these labels; None: any.

        Exact if ``pattern_counts`` may hold it. Else the ends, and if ``pattern_counts_typed`` is
        False the type, are assumed to be independent.
        """
        start = ANY if start_label is None else start_label
        end = ANY if end_label is None else end_label
        kind = ANY if type_id is None else type_id
        counts = self.pattern_counts
        if self.pattern_counts_complete or (
            (start == ANY or end == ANY)
            and (self.pattern_counts_typed or kind == ANY or start == end == ANY)
        ):
            return float(counts.get((start, kind, end), 0))
        if self.pattern_counts_typed:
            parts, whole = [(start, kind, ANY), (ANY, kind, end)], (ANY, kind, ANY)
        else:
            parts, whole = [(start, ANY, ANY), (ANY, kind, ANY), (ANY, ANY, end)], (ANY, ANY, ANY)
        total = counts.get(whole, 0)
        if not total:
            return 0.0
        return total * math.prod([counts.get(each, 0) / total for each in parts])

    def degrees(self, type_id: int | None, *, outgoing: bool) -> DegreeSummary:
        """Summary of the degrees for a type; None: any type."""
        summaries = self.outgoing_degrees if outgoing else self.incoming_degrees
        return summaries.get(ANY if type_id is None else type_id, DegreeSummary())

    def to_dict(self) -> dict[str, Any]:
        """The statistics as JSON values."""
        return {
            "node_count": self.node_count,
            "relationship_count": self.relationship_count,
            "label_counts": list(self.label_counts),
            "type_counts": list(self.type_counts),
            "pattern_counts": [[*key, count] for key, count in self.pattern_counts.items()],
            "pattern_counts_complete": self.pattern_counts_complete,
            "pattern_counts_typed": self.pattern_counts_typed,
            "outgoing_degrees": _degrees_to_list(self.outgoing_degrees),
            "incoming_degrees": _degrees_to_list(self.incoming_degrees),
            "parallel_types": list(self.parallel_types),
            "has_parallel": self.has_parallel,
            "loop_counts": list(self.loop_counts),
            "closing_rates": [[*key, rate] for key, rate in self.closing_rates.items()],
            "distinct_counts": dict(self.distinct_counts),
            "relationship_distinct_counts": dict(self.relationship_distinct_counts),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> GraphStatistics:
        """The inverse of ``to_dict``.

        Raises:
            KeyError, TypeError, ValueError: The values do not have that form.
        """
        return cls(
            node_count=int(values["node_count"]),
            relationship_count=int(values["relationship_count"]),
            label_counts=tuple(values["label_counts"]),
            type_counts=tuple(values["type_counts"]),
            pattern_counts={(s, t, e): count for s, t, e, count in values["pattern_counts"]},
            pattern_counts_complete=bool(values["pattern_counts_complete"]),
            pattern_counts_typed=bool(values.get("pattern_counts_typed", True)),  # as in old files
            outgoing_degrees=_degrees_from_list(values["outgoing_degrees"]),
            incoming_degrees=_degrees_from_list(values["incoming_degrees"]),
            parallel_types=tuple(values["parallel_types"]),
            has_parallel=bool(values["has_parallel"]),
            loop_counts=tuple(values["loop_counts"]),
            closing_rates={
                (int(length), int(kind)): float(rate)
                for length, kind, rate in values.get("closing_rates", ())  # absent in old files
            },
            distinct_counts=dict(values["distinct_counts"]),
            relationship_distinct_counts=dict(values["relationship_distinct_counts"]),
        )


def _degrees_to_list(degrees: Mapping[int, DegreeSummary]) -> list[list[Any]]:
    return [
        [key, each.largest, each.mean, each.node_count, each.reached]
        for key, each in degrees.items()
    ]


def _degrees_from_list(rows: list[list[Any]]) -> dict[int, DegreeSummary]:
    return {
        key: DegreeSummary(largest, mean, count, *reached)
        for key, largest, mean, count, *reached in rows
    }
