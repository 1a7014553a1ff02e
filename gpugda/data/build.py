"""Builds the data graph from columnar batches."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from gpugda.data.data_graph import DataGraph
from gpugda.data.external_ids import ArrivingIds, ExternalIds
from gpugda.data.identifiers import IdentifierMap, NameTable, Origin, name_id_type
from gpugda.data.labels import label_rows
from gpugda.data.sorting import Unsorted, sorted_rows
from gpugda.data.statistics.counting import (
    LabelSets,
    gather_statistics,
)
from gpugda.data.stored_lists import with_stored_lists
from gpugda.data.threads import beside, in_threads, pieces_of
from gpugda.data.values.arrow_numbers import numpy_numbers
from gpugda.data.values.chunked_column import concatenate_columns
from gpugda.data.values.property_store import PropertyStore
from gpugda.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Sized

    from numpy.typing import NDArray

    from gpugda.data.batches import NodeBatch, RelationshipBatch
    from gpugda.data.sorting import RowSorter, SortedRows
    from gpugda.data.statistics.counting import RowCounter
    from gpugda.data.values.column import Column
    from gpugda.types import NameId

__all__ = ["MAX_COUNT", "Batches", "Progress", "SilentProgress", "build_data_graph", "empty_graph"]


class Progress(Protocol):
    """Receives the progress of long work; a source port's progress has this interface."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Starts a new phase of ``total`` units of work, if known."""

    def advance(self, amount: int) -> None:
        """Reports that ``amount`` more units are done."""


class SilentProgress:
    """Ignores all progress."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Does nothing."""

    def advance(self, amount: int) -> None:
        """Does nothing."""


if TYPE_CHECKING:
    _Codes = NDArray[np.int32] | NDArray[np.uint16]


logger = logging.getLogger(__name__)

MAX_COUNT = 2**32 - 2
"""Maximum number of nodes, and of relationships, of a graph: indexes and offsets have 32 bits."""

_Number = TypeVar("_Number", np.uint16, np.uint32, np.uint16 | np.uint32, np.int64)
_ROWS_BEFORE_LOOKUP = 1 << 21
_PIECE = 1 << 20


class Prefixes(Protocol):
    """Text before the numeric ids in element ids."""

    @property
    def node(self) -> str:
        """Prefix for nodes."""

    @property
    def relationship(self) -> str:
        """Prefix for relationships."""


class Batches(Protocol):
    """A graph in columns; all node batches are read before the first relationship batch."""

    @property
    def element_ids(self) -> Prefixes | None:
        """Prefixes of element ids if the graph keeps the source's ids, else None."""

    @property
    def properties_complete(self) -> bool:
        """True if the batches hold all properties."""

    @property
    def nodes(self) -> Iterable[NodeBatch]:
        """Node batches in order of arrival, which is the order of node indexes."""

    @property
    def relationships(self) -> Iterable[RelationshipBatch]:
        """Relationship batches in order of arrival, which orders parallel relationships."""


def build_data_graph(
    batches: Batches,
    progress: Progress | None = None,
    element_id_prefix: str = "",
    sorter: RowSorter | None = None,
    counter: RowCounter | None = None,
) -> DataGraph:
    """Numbers nodes and relationships, sorts both directions and collects the statistics.

    Node indexes follow the order of arrival. Relationship indexes follow (start node, type, end
    node, arrival), with type ids in order of first arrival.

    Args:
        batches: The graph.
        progress: Receives the progress of reading.
        element_id_prefix: See `DataGraph`.
        sorter: Tried first to sort the relationships; NumPy sorts where it returns None.
        counter: Tried first to count for the statistics; NumPy counts where it returns None.

    Raises:
        SourceError: An id is missing, occurs twice in its space, or belongs to no node; a batch
            is inconsistent; there are more than 2^32 - 2 nodes or relationships, or too many
            names.
    """
    progress = progress or SilentProgress()
    progress.phase("reading nodes")
    nodes = _Nodes()
    keeps_ids = batches.element_ids is not None
    for node_batch in batches.nodes:
        nodes.add(node_batch)
        progress.advance(node_batch.count)
        if keeps_ids:
            nodes.keep_ids(node_batch)
    nodes.identifiers.freeze()
    progress.phase("reading relationships")
    relationships = _Relationships(nodes.identifiers, keeps_ids=keeps_ids)
    for batch in batches.relationships:
        relationships.add(batch)
        progress.advance(batch.count)
    relationships.resolve()
    nodes.identifiers = IdentifierMap()  # its memory is needed for sorting
    progress.phase("sorting relationships", relationships.count)
    graph = _assemble(nodes, relationships, batches, element_id_prefix, sorter, counter)
    logger.info("built %d nodes, %d relationships", graph.node_count, graph.relationship_count)
    return graph


def _assemble(
    nodes: _Nodes,
    relationships: _Relationships,
    batches: Batches,
    prefix: str,
    sorter: RowSorter | None,
    counter: RowCounter | None,
) -> DataGraph:
    label_sets = nodes.label_sets()
    labels, types = NameTable(tuple(nodes.labels)), NameTable(tuple(relationships.types))
    rows_of_labels = beside(
        lambda: label_rows(label_sets.codes, label_sets.sets, label_sets.label_count), nodes.count
    )
    rows, relationship_properties, relationship_ids = relationships.sorted(nodes.count, sorter)
    node_properties = nodes.properties.columns()
    label_offsets, label_ids = rows_of_labels()
    statistics = gather_statistics(
        label_sets,
        len(types),
        rows.outgoing,
        rows.incoming,
        node_properties,
        relationship_properties,
        rows.facts,
        counter,
    )
    complete = batches.properties_complete
    if not complete:
        statistics = statistics.pending()
    ids = None
    if batches.element_ids is not None:
        prefixes = batches.element_ids
        ids = ExternalIds(nodes.kept_ids(), relationship_ids, prefixes.node, prefixes.relationship)
    return DataGraph(
        node_count=nodes.count,
        relationship_count=relationships.count,
        labels=labels,
        types=types,
        label_offsets=label_offsets,
        label_ids=label_ids,
        outgoing=rows.outgoing,
        incoming=rows.incoming,
        node_properties=PropertyStore(node_properties, complete=complete),
        relationship_properties=PropertyStore(relationship_properties, complete=complete),
        statistics=statistics,
        element_id_prefix=prefix,
        external_ids=ids,
    )


# ------------------------------------------------------------------ properties
@dataclass(slots=True)
class _Properties:
    """Property columns of several batches, by key."""

    counts: list[int] = field(default_factory=list[int])
    pieces: dict[str, list[Column | None]] = field(default_factory=dict[str, "list[Column | None]"])

    def add(self, count: int, columns: Mapping[str, Column], origin: Origin) -> None:
        for key, column in columns.items():
            if len(column) != count:
                raise SourceError(
                    f"{origin.name}: the property {key!r} has {len(column)} values for {count} rows"
                )
            earlier = self.pieces.setdefault(key, [])
            earlier.extend([None] * (len(self.counts) - len(earlier)))
            earlier.append(with_stored_lists(column, key, origin))
        self.counts.append(count)

    def columns(self) -> dict[str, Column]:
        """One column per key; releases the pieces."""
        joined = {}
        for key in list(self.pieces):
            pieces = self.pieces.pop(key)
            pieces.extend([None] * (len(self.counts) - len(pieces)))
            joined[key] = concatenate_columns(pieces, self.counts)
        return joined


# ------------------------------------------------------------------ nodes
class _Nodes:
    """Accumulates the nodes of all batches."""

    def __init__(self) -> None:
        self.count = 0
        self.labels: dict[str, int] = {}
        self.properties = _Properties()
        self.identifiers = IdentifierMap()
        self._sets: dict[tuple[int, ...], int] = {}
        self._codes: list[NDArray[np.int32]] = []
        self._ids: list[NDArray[np.int64]] = []

    def add(self, batch: NodeBatch) -> None:
        _check_length(batch.label_codes, batch.count, "label codes", batch.origin)
        _check_codes(batch.label_codes, len(batch.label_sets), "label sets", batch.origin)
        origin = _origin(batch)
        if batch.ids is not None:
            _check_length(batch.ids, batch.count, "ids", batch.origin)
            self.identifiers.space(batch.id_space).add(batch.ids, self.count, origin)
        self._codes.append(self._common_sets(batch.label_sets)[batch.label_codes])
        self.properties.add(batch.count, batch.properties, origin)
        self.count += batch.count
        _check_count(self.count, "nodes")

    def keep_ids(self, batch: NodeBatch) -> None:
        """Stores the ids themselves, for sources whose ids the graph keeps."""
        if batch.ids is None:
            raise SourceError(f"{batch.origin}: the nodes have no ids")
        if not pa.types.is_integer(batch.ids.type):
            raise SourceError(f"{batch.origin}: ids to be kept are integers, not {batch.ids.type}")
        self._ids.append(numpy_numbers(batch.ids).astype(np.int64, copy=False))

    def kept_ids(self) -> NDArray[np.int64]:
        """``int64`` ids by node index, increasing.

        Raises:
            SourceError: The ids do not increase.
        """
        ids = _joined(self._ids, np.empty(0, dtype=np.int64))
        self._ids = []
        if not bool((ids[1:] > ids[:-1]).all()):
            raise SourceError("the ids of the nodes are not increasing")
        return ids

    def label_sets(self) -> LabelSets:
        codes = np.concatenate([np.empty(0, dtype=np.int32), *self._codes])
        self._codes = []
        return LabelSets(codes, list(self._sets), len(self.labels))

    def _common_sets(self, sets: Sequence[tuple[str, ...]]) -> NDArray[np.int32]:
        codes = np.empty(len(sets), dtype=np.int32)
        for code, names in enumerate(sets):
            # dict.fromkeys removes labels that were written twice and keeps the order.
            ids = tuple(_number(self.labels, name) for name in dict.fromkeys(names))
            codes[code] = self._sets.setdefault(ids, len(self._sets))
        return codes


# ------------------------------------------------------------------ relationships
class _Relationships:
    """Accumulates the relationships of all batches, with node indexes instead of ids."""

    def __init__(self, identifiers: IdentifierMap, *, keeps_ids: bool) -> None:
        self.count = 0
        self._keeps_ids = keeps_ids
        self._ids = ArrivingIds()
        self.types: dict[str, int] = {}
        self.properties = _Properties()
        self._identifiers = identifiers
        self._waiting: list[RelationshipBatch] = []
        self._waiting_rows = 0
        self._starts: list[NDArray[np.uint32]] = []
        self._ends: list[NDArray[np.uint32]] = []
        self._types: list[NDArray[NameId]] = []

    def add(self, batch: RelationshipBatch) -> None:
        for ids in (batch.source_ids, batch.target_ids):
            _check_length(ids, batch.count, "ids", batch.origin)
        _check_length(batch.type_codes, batch.count, "type codes", batch.origin)
        _check_codes(batch.type_codes, len(batch.type_names), "types", batch.origin)
        type_ids = [_number(self.types, name) for name in batch.type_names]
        NameTable(tuple(self.types))  # raises if there are too many types
        kind = name_id_type(len(self.types))
        self._types.append(_of_codes(batch.type_codes, np.array(type_ids, dtype=kind)))
        self.properties.add(batch.count, batch.properties, _origin(batch))
        if self._keeps_ids:
            if batch.relationship_ids is None:
                raise SourceError(f"{batch.origin}: the relationships have no ids")
            _check_length(batch.relationship_ids, batch.count, "relationship ids", batch.origin)
            self._ids.add(batch.relationship_ids)
        self.count += batch.count
        _check_count(self.count, "relationships")
        # Looking up many ids at once is faster, but waiting batches must not pile up without limit.
        self._waiting.append(batch)
        self._waiting_rows += batch.count
        if self._waiting_rows >= _ROWS_BEFORE_LOOKUP:
            self.resolve()

    def resolve(self) -> None:
        """Replaces the ids of the waiting batches with node indexes."""
        waiting, self._waiting, self._waiting_rows = self._waiting, [], 0
        origins = [_origin(batch) for batch in waiting]
        ids = [batch.source_ids for batch in waiting]
        self._starts += self._lookup(ids, [batch.source_space for batch in waiting], origins)
        ids = [batch.target_ids for batch in waiting]
        self._ends += self._lookup(ids, [batch.target_space for batch in waiting], origins)

    def sorted(
        self, node_count: int, sorter: RowSorter | None
    ) -> tuple[SortedRows, dict[str, Column], NDArray[np.int64]]:
        """Rows of both directions, properties and ids by relationship index; releases the batches.

        The ids are empty unless they are kept.
        """
        starts, self._starts = _joined(self._starts, np.empty(0, dtype=np.uint32)), []
        types, self._types = _joined(self._types, np.empty(0, dtype=np.uint16)), []
        ends, self._ends = _joined(self._ends, np.empty(0, dtype=np.uint32)), []
        columns = self.properties.columns()
        ids = np.empty(0, dtype=np.int64)
        with_order = bool(columns) or self._keeps_ids
        given = Unsorted(node_count, len(self.types), starts, types, ends)
        found = sorter(given, with_order=with_order) if sorter else None
        rows = found or sorted_rows(given, with_order=with_order)
        order = rows.order
        if order is not None:
            for key in columns:
                columns[key] = columns[key].take_in_threads(order)
            if self._keeps_ids:
                ids = self._ids.in_order(order)
        return rows, columns, ids

    def _lookup(
        self, ids: Sequence[pa.Array], spaces: Sequence[str], origins: Sequence[Origin]
    ) -> list[NDArray[np.uint32]]:
        found: list[NDArray[np.uint32]] = [np.empty(0, dtype=np.uint32)] * len(ids)
        for name in dict.fromkeys(spaces):
            places = [place for place, space in enumerate(spaces) if space == name]
            nodes = self._identifiers.space(name).lookup(
                [ids[place] for place in places], [origins[place] for place in places]
            )
            for place, each in zip(places, nodes, strict=True):
                found[place] = each
        return found


def _joined(pieces: list[NDArray[_Number]], nothing: NDArray[_Number]) -> NDArray[_Number]:
    """One array that may be modified; read-only pieces belong to others."""
    if len(pieces) == 1 and pieces[0].flags.writeable:
        return pieces[0]
    kind = np.result_type(nothing, *{piece.dtype for piece in pieces})
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    found: NDArray[_Number] = np.empty(ends[-1] if ends else 0, dtype=kind)

    def put(place: int) -> None:
        found[ends[place] - len(pieces[place]) : ends[place]] = pieces[place]

    in_threads(put, range(len(pieces)))
    return found


def _of_codes(codes: _Codes, values: NDArray[NameId]) -> NDArray[NameId]:
    if len(values) == 1 and not values[0]:
        return np.zeros(len(codes), dtype=values.dtype)  # untouched zero pages cost nothing
    if np.array_equal(values, np.arange(len(values))):
        return codes.astype(values.dtype, copy=codes.flags.writeable)
    found = np.empty(len(codes), dtype=values.dtype)

    def take(piece: slice) -> None:
        # All codes are in range: mode="clip" only avoids NumPy's bounds check.
        np.take(values, codes[piece], out=found[piece], mode="clip")

    in_threads(take, pieces_of(len(codes), _PIECE))
    return found


def _number(numbers: dict[str, int], name: str) -> int:
    return numbers.setdefault(name, len(numbers))


def _origin(batch: NodeBatch | RelationshipBatch) -> Origin:
    return Origin(batch.origin, batch.rows, batch.row_word)


# ------------------------------------------------------------------ checks
def _check_length(array: Sized, count: int, what: str, origin: str) -> None:
    if len(array) != count:
        raise SourceError(f"{origin}: {len(array)} {what} for {count} rows")


def _check_codes(codes: _Codes, count: int, what: str, origin: str) -> None:
    def are_in_range(piece: slice) -> bool:
        return 0 <= int(codes[piece].min()) <= int(codes[piece].max()) < count

    if not all(in_threads(are_in_range, pieces_of(len(codes), _PIECE))):
        raise SourceError(f"{origin}: codes from {codes.min()} to {codes.max()} for {count} {what}")


def _check_count(count: int, what: str) -> None:
    if count > MAX_COUNT:
        raise SourceError(
            f"more than {MAX_COUNT:,} {what}: indexes are 32 bits, so load a part of the graph"
        )


class _NoBatches:
    """A source without nodes and relationships."""

    nodes = ()
    relationships = ()
    element_ids = None
    properties_complete = True


@lru_cache(maxsize=1)
def empty_graph() -> DataGraph:
    """A graph without nodes, for result tables that refer to no graph."""
    return build_data_graph(_NoBatches())
