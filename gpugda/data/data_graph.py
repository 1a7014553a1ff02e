"""The data graph: an exported property multigraph in arrays, immutable."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.caching import LruCache
from gpugda.data.csr import sums_over_neighbours
from gpugda.data.labels import LabelOrder, distinct_label_sets, label_bitmap, label_ids_of
from gpugda.data.patches.patched import stored_bytes, whole
from gpugda.data.statistics.degree_sample import (
    DegreeSample,
    degrees_of_kind,
    draw_nodes,
    find_hubs,
    is_sampled,
    reached_degree,
)
from gpugda.data.statistics.derived import Derived
from gpugda.data.statistics.graph_statistics import PendingCounts
from gpugda.data.statistics.node_changes import NodeChanges
from gpugda.data.statistics.parallel import ParallelCounts
from gpugda.data.statistics.self_loops import SelfLoops
from gpugda.data.values.property_store import PropertyStore

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.data.csr import Csr
    from gpugda.data.external_ids import ExternalIds
    from gpugda.data.identifiers import NameTable
    from gpugda.data.patches.patched import Array
    from gpugda.data.statistics.degree_sample import Kind
    from gpugda.data.statistics.graph_statistics import (
        GraphStatistics,
    )
    from gpugda.data.values.column import Column
    from gpugda.types import NameId

__all__ = ["DataGraph"]

_CACHE_SIZE = 8
_SAMPLES = 16
"""Number of labels whose samples of degrees are kept, each of about 50 MB."""
_ORDER = "order of labels"
_CHANGES = "node changes"
_BOUNDS = ("parallel counts", "max between", "labels disjoint")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DataGraph:
    """Nodes 0…n-1 and relationships 0…m-1 with labels, types and property columns.

    Args:
        node_count: n.
        relationship_count: m.
        labels: Label names and their ids.
        types: Relationship type names and their ids.
        label_offsets: ``uint32[n+1]``: node v has the labels
            ``label_ids[label_offsets[v]:label_offsets[v+1]]``. Both may be patched.
        label_ids: ``uint16`` or ``uint32`` label ids, in the order in which the source gave
            them, without duplicates per node.
        outgoing: By start node. Position in its arrays = relationship index.
        incoming: By end node, with the relationship index of each entry.
        node_properties: Column of n values per property key; a plain mapping given here becomes a
            complete `PropertyStore`.
        relationship_properties: Column of m values per property key, by relationship index.
        statistics: Statistics for the planner.
        element_id_prefix: Text before ``n<index>`` and ``r<index>`` in element ids.
        external_ids: Ids of a database server; None if ids are the indexes.
        is_degree_oriented: True if all relationships run from the node of lower to that of higher
            degree.
    """

    node_count: int
    relationship_count: int
    labels: NameTable
    types: NameTable
    label_offsets: Array
    label_ids: Array
    outgoing: Csr
    incoming: Csr
    node_properties: PropertyStore
    relationship_properties: PropertyStore
    statistics: GraphStatistics
    element_id_prefix: str = ""
    external_ids: ExternalIds | None = None
    is_degree_oriented: bool = False
    _derived: Derived = field(default_factory=Derived, repr=False)

    def __post_init__(self) -> None:
        for name in ("node_properties", "relationship_properties"):
            columns: Any = getattr(self, name)
            if not isinstance(columns, PropertyStore):
                object.__setattr__(self, name, PropertyStore(columns))

    def add_properties(
        self, columns: Mapping[str, Column], read: Collection[str] | None, *, of_nodes: bool
    ) -> None:
        """Adds property columns that were read later; see `PropertyStore.add`."""
        statistics = self.statistics
        if of_nodes:
            store, counts = self.node_properties, statistics.distinct_counts
        else:
            store, counts = self.relationship_properties, statistics.relationship_distinct_counts
        for key, column in columns.items():
            _check_length(column, self.node_count if of_nodes else self.relationship_count, key)
        store.add(columns, read)
        if isinstance(counts, PendingCounts):
            # A requested column is stored even if no node or relationship has a value.
            had = {key: column for key, column in columns.items() if _has_values(column)}
            counts.add({key: column.distinct_count for key, column in had.items()}, read)

    def known_label_bits(self) -> dict[int, NDArray[np.uint32]]:
        """The label bitmaps computed so far, by label id."""
        known = self._derived.known().items()
        return {key[1]: bits for key, bits in known if key[0] == "label bits"}

    def known_bounds(self) -> dict[tuple[Any, ...], Any]:
        """Bounds computed so far: maxima between two nodes, and pairs of labels without nodes."""
        known = self._derived.known().items()
        found = [(key if isinstance(key, tuple) else (key,), value) for key, value in known]
        return {
            key: value
            for key, value in found
            if key[0] in _BOUNDS and (key[0] != "labels disjoint" or value)
        }

    def inherit_derived(
        self,
        old: DataGraph,
        *,
        max_parallel: Callable[[], NDArray[np.int64]],
        max_parallel_undirected: Callable[[], NDArray[np.int64]],
        label_bits: Mapping[int, NDArray[np.uint32]],
        changed: NDArray[np.int64] | None,
    ) -> None:
        """Takes over derived values from the graph that a few changes turned into this one.

        Upper bounds remain upper bounds, estimates remain close enough, and values about labels are
        valid as long as no label changed.

        Args:
            old: The graph before the changes.
            max_parallel: Per type, the most relationships parallel to one that is new here.
            max_parallel_undirected: The same with start and end in either order.
            label_bits: Values of `label_bits` for some labels.
            changed: As in `NodeChanges.followed`; None if old nodes were renumbered.
        """
        known = old._derived.known()
        found: dict[Any, Any] = {("label bits", label): bits for label, bits in label_bits.items()}
        counts: ParallelCounts | None = known.get("parallel counts")
        if counts is not None:
            for directed, most in ((True, max_parallel), (False, max_parallel_undirected)):
                counted = counts.known(directed=directed)
                if counted.any():
                    self._parallel_counts().inherit(counted, most(), directed=directed)
        for key, value in known.items():
            what = str(key[0] if isinstance(key, tuple) else key)
            if what == _ORDER:
                found[key] = value
            is_mean = what in ("reached degree", "nodes having")
            if is_mean and len(old.types) == len(self.types):
                found[key] = value
            if what.startswith("label") and (
                old.label_ids is self.label_ids and old.label_offsets is self.label_offsets
            ):
                found[key] = value
        if changed is not None:
            found[_CHANGES] = old.node_changes().followed(changed)
        self._derived.put(found)

    def node_changes(self) -> NodeChanges:
        """Records which nodes' relationships differ from those of some earlier states."""
        return self._derived.get(_CHANGES, NodeChanges)

    def label_bits(self, label_id: int) -> NDArray[np.uint32]:
        """``uint32[ceil(n/32)]``: bit ``v % 32`` of word ``v // 32`` is set if v has the label."""
        return self._derived.get(
            ("label bits", label_id),
            lambda: label_bitmap(whole(self.label_offsets), whole(self.label_ids), label_id),
        )

    def labels_disjoint(self, label_id: int, other_id: int) -> bool:
        """True if no node has both labels."""
        return self._derived.get(
            ("labels disjoint", label_id, other_id),
            lambda: (
                not bool(np.bitwise_and(self.label_bits(label_id), self.label_bits(other_id)).any())
            ),
        )

    def cached_node_numbers(
        self, key: Hashable, make: Callable[[], NDArray[np.uint32]]
    ) -> NDArray[np.uint32]:
        """``uint32[n]`` computed by ``make``; the most recently used arrays are cached."""
        kept: LruCache[Hashable, NDArray[np.uint32]] = self._derived.get(
            "kept numbers", lambda: LruCache(_CACHE_SIZE)
        )
        return kept.get(key, make)

    def cached_adjacency(self, key: Hashable, make: Callable[[], Adjacency]) -> Adjacency:
        """Adjacency lists computed by ``make``; the most recently used ones are cached."""
        kept: LruCache[Hashable, Adjacency] = self._derived.get(
            "kept steps", lambda: LruCache(_CACHE_SIZE)
        )
        return kept.get(key, make)

    def label_codes(self) -> tuple[NDArray[np.int32], tuple[tuple[str, ...], ...]]:
        """``int32[n]`` code of each node's label set, and the distinct label sets as names."""
        codes = self._derived.get("label codes", self._label_codes)
        return codes, self._derived.get("label sets", self._label_sets)

    def label_order(self) -> LabelOrder:
        """Order in which the source lists labels; later states of the graph share it."""
        return self._derived.get(_ORDER, lambda: LabelOrder(self.label_codes()[1]))

    def start_nodes(self) -> NDArray[np.uint32]:
        """``uint32[m]``: start node of each relationship. End nodes are in ``outgoing``."""
        return self._derived.get("start nodes", self.outgoing.entry_nodes)

    def relationship_types(self) -> NDArray[NameId]:
        """Type id of each relationship."""
        return self._derived.get("relationship types", self.outgoing.entry_types)

    def parallel_counts(self) -> tuple[int, ...]:
        """Per type id, the maximum number of relationships with the same start and end."""
        return tuple(self._parallel_counts().of(None, directed=True))

    def undirected_parallel_counts(self) -> tuple[int, ...]:
        """Like `parallel_counts`, with start and end in either order.

        In a very large graph, upper bounds that are exact where they are 1.
        """
        return tuple(self._parallel_counts().of(None, directed=False))

    def parallel_counts_of(self, types: Collection[int] | None, *, directed: bool) -> list[int]:
        """The same for some types (None: all); the others need not be counted.

        Counting several types at once takes about as long as counting one.
        """
        return self._parallel_counts().of(types, directed=directed)

    def _parallel_counts(self) -> ParallelCounts:
        def begin() -> ParallelCounts:
            flags = self.statistics.parallel_types
            if len(flags) != len(self.types):
                flags = (any(flags),) * len(self.types)
            is_large = is_sampled(self.outgoing)
            return ParallelCounts(self.outgoing, self.incoming, flags, bounded=is_large)

        return self._derived.get("parallel counts", begin)

    def max_between(self, types: tuple[int, ...] | None, *, directed: bool) -> int:
        """Upper bound on the relationships of these types (None: any) between two nodes.

        ``directed``: True to count only those from the one to the other. Exact after
        `note_max_between`.
        """
        counts = self._parallel_counts()
        if types is None and not directed and len(self.types) > 1 and is_sampled(self.outgoing):
            # Several types make it more than 1, so that it need not be exact.
            most = 2 * sum(counts.of(None, directed=True))
        else:
            most = sum(counts.of(types, directed=directed))
        if most > 1:
            most = min(most, self._derived.peek(("max between", types, directed), most))
        return most

    def note_max_between(self, types: tuple[int, ...] | None, most: int, *, directed: bool) -> None:
        """Stores the exact maximum for `max_between`, for callers that counted it."""
        self._derived.put({("max between", types, directed): most})

    def most_two_paths(self) -> int:
        """The most paths of two relationships, in any directions, that begin at a node.

        An upper bound in a very large graph. Each relationship may be used twice.
        """
        sides = self.outgoing, self.incoming

        def count() -> int:
            degrees = self.degrees_of((None, None)).astype(np.int64)
            if is_sampled(self.outgoing):
                return int(degrees.max()) ** 2
            outgoing, incoming = (sums_over_neighbours(each, degrees) for each in sides)
            return int((outgoing + incoming).max())

        return self._derived.get("most two-paths", count) if self.node_count else 0

    def self_loops(self) -> SelfLoops:
        """The graph's self-loops, by type."""
        counts = self.statistics.loop_counts
        return self._derived.get(
            "self-loops", lambda: SelfLoops(self.outgoing, self.incoming, counts)
        )

    def reached_degree(self, along: Kind, kind: Kind, label_id: int | None = None) -> float:
        """Mean number of relationships of a kind at a node reached along another kind.

        Args:
            along: Kind of the relationships that lead to the node, as seen from the node.
            kind: Kind of the relationships that are counted.
            label_id: Label of the nodes considered; None: all nodes.
        """
        key = "reached degree", along, kind, label_id
        known = self._derived.peek(key, -1.0)  # planning a query asks several times
        if known >= 0:
            return known

        def count() -> float:
            sample = self._degree_sample(label_id)
            if sample is not None:
                return reached_degree(sample.degrees(along), sample.degrees(kind), sample.weights)
            return reached_degree(self.degrees_of(along, label_id), self.degrees_of(kind))

        return self._derived.get(key, count)

    def nodes_having(self, kind: Kind, label_id: int | None) -> int:
        """Number of nodes with a label (None: any) that have a relationship of a kind.

        An estimate in a very large graph.
        """
        key = "nodes having", kind, label_id
        known = self._derived.peek(key, -1)
        if known >= 0:
            return known

        def count() -> int:
            sample = self._degree_sample(label_id)
            if sample is not None:
                return round(float(sample.weights[sample.degrees(kind) > 0].sum()))
            return int(np.count_nonzero(self.degrees_of(kind, label_id)))

        return self._derived.get(key, count)

    def _degree_sample(self, label_id: int | None) -> DegreeSample | None:
        """Degrees of some nodes with a label (None: any); None in all but very large graphs."""
        if not is_sampled(self.outgoing):
            return None

        def draw() -> DegreeSample:
            sides = self.outgoing, self.incoming
            hubs = self._derived.get("hubs", lambda: find_hubs(*sides))
            labels = whole(self.label_offsets), whole(self.label_ids)
            nodes, weights = draw_nodes(*labels, label_id, hubs)
            return DegreeSample(*sides, nodes, weights)

        kept: LruCache[int | None, DegreeSample] = self._derived.get(
            "degree samples", lambda: LruCache(_SAMPLES)
        )
        return kept.get(label_id, draw)

    def degrees_of(self, kind: Kind, label_id: int | None = None) -> NDArray[np.float64]:
        """``float64[n]`` degrees of a kind; 0 for nodes without the label."""
        kept: LruCache[tuple[Kind, int | None], NDArray[np.float64]] = self._derived.get(
            "degrees of kinds", lambda: LruCache(_CACHE_SIZE)
        )
        degrees = kept.get(
            (kind, None), lambda: degrees_of_kind(self.outgoing, self.incoming, kind)
        )
        if label_id is None:
            return degrees
        return kept.get((kind, label_id), lambda: degrees * self.has_label(label_id))

    def has_label(self, label_id: int) -> NDArray[np.bool_]:
        """``bool[n]``: True for nodes with a label."""
        words = self.label_bits(label_id).view(np.uint8)
        return np.unpackbits(words, count=self.node_count, bitorder="little").view(np.bool_)

    def node_labels(self, node: int) -> tuple[str, ...]:
        """Label names of one node."""
        return self.labels_of(np.array([node]))[0]

    def labels_of(self, nodes: NDArray[Any]) -> list[tuple[str, ...]]:
        """Label names of each node; nodes with equal labels share a tuple."""
        offsets, label_ids = self.label_ids_of(nodes)
        bounds, ids = offsets.tolist(), label_ids.tolist()
        names, known = self.labels.names, dict[tuple[int, ...], tuple[str, ...]]()
        found = []
        for start, end in pairwise(bounds):
            some = tuple(ids[start:end])
            labels = known.get(some)
            if labels is None:
                labels = known[some] = tuple(names[label] for label in some)
            found.append(labels)
        return found

    def label_ids_of(self, nodes: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[NameId]]:
        """Labels of the given nodes: ``int64[nodes + 1]`` offsets into the label ids, and these."""
        return label_ids_of(self.label_offsets, self.label_ids, nodes)

    def element_id_of_node(self, node: int) -> str:
        """Stable text that identifies the node: the result of ``elementId()``."""
        return f"{self.element_id_start(of_nodes=True)}{self.id_of(node, of_nodes=True)}"

    def element_id_of_relationship(self, relationship: int) -> str:
        """Stable text that identifies the relationship: the result of ``elementId()``."""
        number = self.id_of(relationship, of_nodes=False)
        return f"{self.element_id_start(of_nodes=False)}{number}"

    def element_ids(self, indexes: NDArray[Any], *, of_nodes: bool) -> list[str]:
        """The results of ``elementId()``."""
        prefix = self.element_id_start(of_nodes=of_nodes)
        return [f"{prefix}{number}" for number in self.ids_of(indexes, of_nodes=of_nodes).tolist()]

    def element_id_start(self, *, of_nodes: bool) -> str:
        """Text before the result of ``id()`` in an element id."""
        if self.external_ids is None:
            return f"{self.element_id_prefix}{'n' if of_nodes else 'r'}"
        ids = self.external_ids
        return ids.node_prefix if of_nodes else ids.relationship_prefix

    def ids_of(self, indexes: NDArray[np.uint32], *, of_nodes: bool) -> NDArray[np.int64]:
        """``int64`` per index: the result of ``id()``."""
        if self.external_ids is None:
            return indexes.astype(np.int64)
        return self.external_ids.at(indexes, of_nodes=of_nodes)

    def id_of(self, index: int, *, of_nodes: bool) -> int:
        """The result of ``id()`` for one node or relationship."""
        return int(self.ids_of(np.array([index]), of_nodes=of_nodes)[0])

    def index_of_id(self, number: int, *, of_nodes: bool) -> int:
        """The node or relationship with this id, -1 if there is none."""
        if self.external_ids is not None:
            return self.external_ids.index_of(number, of_nodes=of_nodes)
        count = self.node_count if of_nodes else self.relationship_count
        return number if 0 <= number < count else -1

    def index_of_element_id(self, text: str, *, of_nodes: bool) -> int:
        """The node or relationship with this element id, -1 if there is none."""
        prefix = self.element_id_start(of_nodes=of_nodes)
        digits = text.removeprefix(prefix)
        if not text.startswith(prefix) or not _is_number(digits):
            return -1
        return self.index_of_id(int(digits), of_nodes=of_nodes)

    @property
    def nbytes(self) -> int:
        """Size in bytes of all arrays, property columns and derived values computed so far."""
        stores = (self.node_properties, self.relationship_properties)
        columns = [column for store in stores for column in store.columns.values()]
        dictionaries = {id(column.dictionary): column.dictionary for column in columns}
        return (
            stored_bytes(self.label_offsets)
            + stored_bytes(self.label_ids)
            + self.outgoing.nbytes
            + self.incoming.nbytes
            + sum(column.nbytes for column in columns)
            + sum(int(getattr(each, "nbytes", 0)) for each in dictionaries.values())
            + self._derived.nbytes()
            + (0 if self.external_ids is None else self.external_ids.nbytes)
        )

    def _label_codes(self) -> NDArray[np.int32]:
        arrays = whole(self.label_offsets), whole(self.label_ids)
        return distinct_label_sets(*arrays, len(self.labels))

    def _label_sets(self) -> tuple[tuple[str, ...], ...]:
        codes = self._derived.get("label codes", self._label_codes)
        examples = np.unique(codes, return_index=True)[1].tolist()
        return tuple(self.node_labels(node) for node in examples)


def _has_values(column: Column) -> bool:
    return bool(len(column) if column.valid is None else column.valid.any())


def _check_length(column: Column, count: int, key: str) -> None:
    if len(column) != count:
        raise ValueError(f"the property {key!r} has {len(column)} values for {count} indexes")


def _is_number(digits: str) -> bool:
    # Canonical decimal: no sign, no leading zero, within 64 bits.
    return (
        0 < len(digits) <= 19
        and digits.isascii()
        and digits.isdigit()
        and (digits[0] != "0" or digits == "0")
        and int(digits) < 2**63
    )
