"""Names and external ids, and the dense numbers that replace them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from gpugda.data.threads import in_threads, pieces_of
from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.arrow_numbers import numpy_numbers, valid_entries
from gpugda.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.types import NameId

__all__ = [
    "MAX_NAMES",
    "MAX_SHORT_IDS",
    "NO_NODE",
    "IdTable",
    "IdentifierMap",
    "IdentifierSpace",
    "NameTable",
    "Origin",
    "name_id_type",
]

_EMPTY: Final = np.uint32(0xFFFFFFFF)
_MIXED_BY: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)
_MAX_ROUNDS: Final = 1 << 10


class IdTable:
    """Immutable after construction; any thread may read it.

    Args:
        ids: ``int64``.
        nodes: ``uint32`` per id, below 2^32 - 1.

    Attributes:
        has_repeats: True if an id occurs twice; the table must not be used then.
        is_full: True if probe sequences became too long; the table must not be used then.
    """

    __slots__ = ("_ids", "_mask", "_nodes", "_shift", "has_repeats", "is_full")

    def __init__(self, ids: NDArray[np.int64], nodes: NDArray[np.uint32]) -> None:
        bits = max(1, (2 * len(ids) - 1).bit_length())
        self._mask, self._shift = np.int64((1 << bits) - 1), np.uint64(64 - bits)
        self._nodes = np.full(1 << bits, _EMPTY, dtype=np.uint32)
        self._ids = np.zeros(1 << bits, dtype=np.int64)
        self.has_repeats = self.is_full = False
        self._fill(ids, nodes)

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        """The node of each id; 2^32 - 1 where it is absent."""
        places = self._places(ids)
        found = self._nodes[places]
        # A slot with another id continues the probe sequence; an empty slot ends it.
        open_ids = np.flatnonzero((self._ids[places] != ids) & (found != _EMPTY))
        places = places[open_ids]
        while len(open_ids):
            places = (places + 1) & self._mask
            nodes = self._nodes[places]
            found[open_ids] = nodes
            still = (self._ids[places] != ids[open_ids]) & (nodes != _EMPTY)
            open_ids, places = open_ids[still], places[still]
        return found

    def _fill(self, ids: NDArray[np.int64], nodes: NDArray[np.uint32]) -> None:
        waiting, places = np.arange(len(ids)), self._places(ids)
        for _ in range(_MAX_ROUNDS):
            free = self._nodes[places] == _EMPTY
            # Of several ids written to one slot, the last one stays.
            self._ids[places[free]] = ids[waiting[free]]
            self._nodes[places[free]] = nodes[waiting[free]]
            lost = self._nodes[places] != nodes[waiting]
            waiting, places = waiting[lost], places[lost]
            if not len(waiting):
                return
            if bool((self._ids[places] == ids[waiting]).any()):
                self.has_repeats = True
                return
            places = (places + 1) & self._mask
        self.is_full = True

    def _places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        mixed = ids.view(np.uint64) ^ (ids.view(np.uint64) >> _HALF)
        mixed *= _MIXED_BY
        mixed >>= self._shift
        return mixed.view(np.int64)


NO_NODE = np.uint32(0xFFFFFFFF)
"""Marks the absence of a node in an array of node indexes."""

MAX_NAMES = (1 << 24) - 1
MAX_SHORT_IDS = 65_535
"""Up to this many names the ids have 16 bits, above it 32."""

_LOOKUP_ROWS = 1 << 20  # rows per piece, so that temporaries stay small
_TABLE_ENTRIES_PER_ID = 4  # maximum size of a direct table, per id


def name_id_type(count: int) -> np.dtype[NameId]:
    """The dtype of ids for this many names."""
    found: np.dtype[Any] = np.dtype(np.uint16 if count <= MAX_SHORT_IDS else np.uint32)
    return found


class NameTable:
    """Names (labels, relationship types) and their ids 0, 1, ….

    Args:
        names: Distinct names in the order of their ids.

    Raises:
        SourceError: There are more than `MAX_NAMES`.
    """

    __slots__ = ("_ids", "names")

    def __init__(self, names: tuple[str, ...]) -> None:
        if len(names) > MAX_NAMES:
            raise SourceError(
                f"{len(names):,} distinct labels or relationship types, but at most "
                f"{MAX_NAMES:,} are possible: make what varies in the names a property"
            )
        self.names = names
        self._ids = {name: number for number, name in enumerate(names)}

    def get(self, name: str) -> int | None:
        """Id of a name, None if it is unknown."""
        return self._ids.get(name)

    def name(self, name_id: int) -> str:
        """Name of an id."""
        return self.names[name_id]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"NameTable({self.names!r})"


class Origin:
    """Origin of the rows of a batch, for error messages.

    Args:
        name: File or table.
        rows: Row of each entry, or of the first one.
        row_word: The origin's word for a row.
    """

    __slots__ = ("name", "row_word", "rows")

    def __init__(self, name: str, rows: int | NDArray[np.int64], row_word: str = "row") -> None:
        self.name = name
        self.rows = rows
        self.row_word = row_word

    def place(self, position: int) -> str:
        """Text such as ``people.csv, row 17`` for an entry of the batch."""
        row = self.rows + position if isinstance(self.rows, int) else int(self.rows[position])
        return f"{self.name}, {self.row_word} {row}"


class IdentifierSpace:
    """The external ids of one id space, all integers or all texts, and their node indexes.

    Usage: ``add`` every batch of ids, then ``freeze`` once, then ``lookup``.

    Args:
        name: The space's name; empty for sources without id spaces.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_text: bool | None = None
        self._pieces: list[pa.Array] = []
        self._first_nodes: list[int] = []
        self._origins: list[Origin] = []
        self._index: _Index | None = None

    def add(self, ids: pa.Array, first_node: int, origin: Origin) -> None:
        """Adds the ids of the nodes ``first_node, first_node + 1, …``."""
        piece = self._normalised(ids, origin)
        if not self.is_text and piece.type != pa.int64():
            piece = piece.cast(pa.int64())
        if len(piece):
            self._pieces.append(piece)
            self._first_nodes.append(first_node)
            self._origins.append(origin)

    def freeze(self) -> None:
        """Builds the index.

        Raises:
            SourceError: An id occurs twice.
        """
        if not self._pieces:
            return
        counts = [len(piece) for piece in self._pieces]
        # Batches of other spaces lie between these, so positions here are not node indexes.
        nodes = np.concatenate(
            [
                np.arange(first, first + count, dtype=np.uint32)
                for first, count in zip(self._first_nodes, counts, strict=True)
            ]
        )
        ids = pa.concat_arrays(self._pieces)
        index = (
            _TextIndex(ids, nodes) if self.is_text else _integer_index(numpy_numbers(ids), nodes)
        )
        if index.has_repeats:
            self._refuse_repeats(ids)
        self._index = index
        self._pieces = []

    def lookup(
        self, pieces: Sequence[pa.Array], origins: Sequence[Origin]
    ) -> list[NDArray[np.uint32]]:
        """Node indexes of the external ids of each batch; read-only where they are the ids.

        Raises:
            SourceError: An id belongs to no node, is null or has the wrong type.
        """
        ids = [self._normalised(p, origin) for p, origin in zip(pieces, origins, strict=True)]
        if self._index is None:
            found = [np.full(len(piece), NO_NODE, dtype=np.uint32) for piece in ids]
        elif (same := self._index.unchanged(ids)) is not None:
            return same
        else:
            found = self._index.lookup(ids)
        for nodes, piece, origin in zip(found, ids, origins, strict=True):
            if any(
                in_threads(_lacks_some, [nodes[at] for at in pieces_of(len(nodes), _LOOKUP_ROWS)])
            ):
                self._refuse_dangling(piece, origin, int(np.argmax(nodes == NO_NODE)))
        return found

    # -------------------------------------------------------------- checks
    def _normalised(self, ids: pa.Array | pa.ChunkedArray, origin: Origin) -> pa.Array:
        if isinstance(ids, pa.ChunkedArray):
            ids = ids.combine_chunks()
        if isinstance(ids, pa.DictionaryArray):
            ids = ids.dictionary_decode()
        if ids.null_count:
            position = int(np.argmin(valid_entries(ids)))
            raise SourceError(f"{origin.place(position)}: the id is missing, every row needs one")
        if len(ids) == 0:
            return pa.nulls(0, pa.large_string() if self.is_text else pa.int64())
        is_text = self._check_kind(ids.type, origin)
        if not is_text and not pa.types.is_uint64(ids.type):
            return ids  # narrower integers are widened piece by piece
        try:
            return ids.cast(pa.large_string() if is_text else pa.int64())
        except pa.ArrowInvalid as error:
            raise SourceError(f"{origin.name}: an id does not fit 64 bits: {error}") from error

    def _check_kind(self, kind: pa.DataType, origin: Origin) -> bool:
        texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        is_text = any(is_kind(kind) for is_kind in texts)
        if not is_text and not pa.types.is_integer(kind):
            raise SourceError(
                f"{origin.name}: ids of type {kind}, but ids are integers or text: cast the column"
            )
        if self.is_text is None:
            self.is_text = is_text
        elif self.is_text != is_text:
            kinds = ("text", "integers") if is_text else ("integers", "text")
            raise SourceError(
                f"{origin.name}: the ids are {kinds[0]}, but other ids{self._space()} are "
                f"{kinds[1]}, and 1 is not '1': give all of them one type, or separate id spaces"
            )
        return is_text

    def _refuse_repeats(self, ids: pa.Array) -> None:
        codes = numpy_numbers(ids.dictionary_encode().indices)
        first_rows = np.unique(codes, return_index=True)[1]
        is_first = np.zeros(len(codes), dtype=np.bool_)
        is_first[first_rows] = True
        again = int(np.argmin(is_first))
        place, first_place = self._place(again), self._place(int(first_rows[codes[again]]))
        raise SourceError(
            f"{place}: the id {ids[again].as_py()!r}{self._space()} was already used in "
            f"{first_place}: remove one of the two, or put them in different id spaces"
        )

    def _place(self, position: int) -> str:
        for piece, origin in zip(self._pieces, self._origins, strict=True):
            if position < len(piece):
                return origin.place(position)
            position -= len(piece)
        raise AssertionError("position beyond the ids")

    def _refuse_dangling(self, ids: pa.Array, origin: Origin, position: int) -> None:
        raise SourceError(
            f"{origin.place(position)}: no node has the id {ids[position].as_py()!r}"
            f"{self._space()}: add the node, or remove the relationship"
        )

    def _space(self) -> str:
        return f" of the id space {self.name!r}" if self.name else ""


class IdentifierMap:
    """The id spaces of a source."""

    def __init__(self) -> None:
        self._spaces: dict[str, IdentifierSpace] = {}

    def space(self, name: str) -> IdentifierSpace:
        """The id space of that name; empty if it has no nodes."""
        if name not in self._spaces:
            self._spaces[name] = IdentifierSpace(name)
        return self._spaces[name]

    def freeze(self) -> None:
        """Builds the index of every space; see ``IdentifierSpace.freeze``."""
        for space in self._spaces.values():
            space.freeze()


def _lacks_some(nodes: NDArray[np.uint32]) -> bool:
    return bool((nodes == NO_NODE).any())


# ------------------------------------------------------------------ indexes
class _Index:
    """Maps ids to node indexes, absent ids to ``NO_NODE``."""

    has_repeats: bool

    def lookup(self, pieces: Sequence[pa.Array]) -> list[NDArray[np.uint32]]:
        raise NotImplementedError

    def unchanged(self, pieces: Sequence[pa.Array]) -> list[NDArray[np.uint32]] | None:
        """The ids themselves, read-only, if they are the node indexes and none is absent."""
        return None


class _IntegerIndex(_Index):
    def lookup(self, pieces: Sequence[pa.Array]) -> list[NDArray[np.uint32]]:
        found: list[NDArray[np.uint32]] = []
        parts: list[tuple[NDArray[Any], NDArray[np.uint32]]] = []
        for piece in pieces:
            ids, into = numpy_numbers(piece), np.empty(len(piece), dtype=np.uint32)
            found.append(into)
            parts += [(ids[each], into[each]) for each in pieces_of(len(ids), _LOOKUP_ROWS)]
        in_threads(self._find_into, parts)
        return found

    def _find_into(self, part: tuple[NDArray[Any], NDArray[np.uint32]]) -> None:
        ids, into = part
        into[:] = self.find(ids.astype(np.int64, copy=False))

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        raise NotImplementedError


class _TableIndex(_IntegerIndex):
    """Compact integers: a direct table from id to node."""

    def __init__(self, ids: NDArray[np.int64], nodes: NDArray[np.uint32]) -> None:
        self.smallest, self.largest = int(ids.min()), int(ids.max())
        # One extra entry at the end, to which ids outside the table are mapped.
        self.table = np.full(self.largest - self.smallest + 2, NO_NODE, dtype=np.uint32)
        self.table[ids - self.smallest] = nodes
        self.has_repeats = int((self.table != NO_NODE).sum()) != len(ids)

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        if len(ids) == 0 or not self.smallest <= int(ids.min()) <= int(ids.max()) <= self.largest:
            inside = (ids >= self.smallest) & (ids <= self.largest)
            ids = np.where(inside, ids, self.largest + 1)
        # All positions are in range: mode="clip" only avoids NumPy's bounds check.
        places = ids - self.smallest if self.smallest else ids
        return np.take(self.table, places, mode="clip")


class _ShiftedIndex(_IntegerIndex):
    """Consecutive integers in the order of their nodes: a constant difference, no table."""

    def __init__(self, first_id: int, first_node: int, count: int) -> None:
        self.smallest, self.largest = first_id, first_id + count - 1
        self.shift = first_id - first_node
        self.has_repeats = False

    def unchanged(self, pieces: Sequence[pa.Array]) -> list[NDArray[np.uint32]] | None:
        if self.shift:
            return None
        found = [numpy_numbers(piece).view() for piece in pieces]
        for each in found:
            each.flags.writeable = False  # the memory belongs to the source
        same = all(each.dtype == np.uint32 and self._has_all(each) for each in found)
        return found if same else None

    def _has_all(self, ids: NDArray[Any]) -> bool:
        return not len(ids) or self.smallest <= int(ids.min()) <= int(ids.max()) <= self.largest

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        found = (ids - self.shift if self.shift else ids).astype(np.uint32)
        if not self._has_all(ids):
            found[(ids < self.smallest) | (ids > self.largest)] = NO_NODE
        return found


class _HashedIndex(_IntegerIndex):
    """Scattered integers: a hash table."""

    def __init__(self, table: IdTable) -> None:
        self._table = table
        self.has_repeats = table.has_repeats

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        return self._table.find(ids)


class _SortedIndex(_IntegerIndex):
    """Scattered integers with too many collisions in a hash table: binary search."""

    def __init__(self, ids: NDArray[np.int64], nodes: NDArray[np.uint32]) -> None:
        order = np.argsort(ids)
        self.ids, self.nodes = ids[order], nodes[order]
        self.has_repeats = bool((self.ids[1:] == self.ids[:-1]).any())

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        # Searching in sorted order is cache-friendly: 3 times as fast as in random order.
        order = np.argsort(ids)
        wanted = ids[order]
        places = np.searchsorted(self.ids, wanted)
        places[places == len(self.ids)] = 0
        found = np.empty(len(ids), dtype=np.uint32)
        found[order] = np.where(self.ids[places] == wanted, self.nodes[places], NO_NODE)
        return found


def _integer_index(ids: NDArray[np.int64], nodes: NDArray[np.uint32]) -> _IntegerIndex:
    span = int(ids.max()) - int(ids.min())
    # Values near the limits of 64 bits would overflow in the table's arithmetic.
    compact = span <= _TABLE_ENTRIES_PER_ID * len(ids) + 1024
    if compact and abs(int(ids.min())) < 2**62 and abs(int(ids.max())) < 2**62:
        first_id, first_node = int(ids[0]), int(nodes[0])
        if span == len(ids) - 1 and np.array_equal(ids - (first_id - first_node), nodes):
            return _ShiftedIndex(first_id, first_node, len(ids))
        return _TableIndex(ids, nodes)
    table = IdTable(ids, nodes)
    return _SortedIndex(ids, nodes) if table.is_full else _HashedIndex(table)


class _TextIndex(_Index):
    """Texts: Arrow rebuilds its hash table for each call, so a call should look up many ids."""

    def __init__(self, ids: pa.Array, nodes: NDArray[np.uint32]) -> None:
        self.ids, self.nodes = ids, nodes
        self.has_repeats = len(pc.unique(ids)) != len(ids)

    def lookup(self, pieces: Sequence[pa.Array]) -> list[NDArray[np.uint32]]:
        ids: Any = pa.chunked_array(pieces, type=self.ids.type)
        places = pc.index_in(ids, value_set=self.ids).combine_chunks()
        found: NDArray[np.uint32] = self.nodes[numpy_numbers(places)]
        if places.null_count:
            found[~valid_entries(places)] = NO_NODE
        return np.split(found, np.cumsum([len(piece) for piece in pieces])[:-1])
