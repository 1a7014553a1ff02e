"""External ids: the ids that a database server gave to the nodes and relationships of a graph."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.batches import id_array
from gpugda.data.patches.patched import Patched, stored_bytes, whole
from gpugda.data.threads import in_threads, pieces_of, take_in_threads
from gpugda.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.data.patches.form import Form
    from gpugda.data.patches.patched import Array

__all__ = ["ArrivingIds", "ExternalIds", "are_distinct"]

_LARGEST = 2**63 - 1
_LISTED_FROM = 1 << 10
_LISTED_PER_ID = 4
"""Ids are found through a direct table if it has at most this many entries per id."""
_FLAGS_PER_ID = 8
"""Duplicates are found with a bitmap of at most this many entries per id, else by sorting."""


class _Places:
    """Finds positions of ids in an array; the sort order or direct table is built on first use.

    Args:
        ids: ``int64``, distinct.
    """

    __slots__ = ("_order", "_table", "ids")

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self.ids = ids
        self._order: NDArray[np.intp] | None = None
        self._table: NDArray[np.int64] | None = None

    @property
    def nbytes(self) -> int:
        """Size of the index in bytes, without the ids."""
        return sum(each.nbytes for each in (self._order, self._table) if each is not None)

    def find(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The position of each number, -1 where it is absent."""
        if not len(self.ids) or not len(numbers):
            return np.full(len(numbers), -1, dtype=np.int64)
        # Two threads may build the same index concurrently; either result is valid.
        self.make()
        if self._table is not None:
            inside = (numbers >= 0) & (numbers < len(self._table))
            return np.where(inside, self._table[np.where(inside, numbers, 0)], -1)
        order = self._order
        assert order is not None
        found = np.searchsorted(self.ids, numbers, sorter=order)
        places = order[np.minimum(found, len(order) - 1)]
        return np.where(self.ids[places] == numbers, places, -1)

    def make(self) -> None:
        """Builds the sort order or the direct table, unless it exists."""
        ids, count = self.ids, len(self.ids)
        if self._table is not None or self._order is not None or not count:
            return
        largest = int(ids.max())
        if count >= _LISTED_FROM and int(ids.min()) >= 0 and largest < _LISTED_PER_ID * count:
            table = np.full(largest + 1, -1, dtype=np.int64)
            table[ids] = np.arange(count)
            self._table = table
        else:
            self._order = np.argsort(ids)


class ExternalIds:
    """Numeric ids by index, and the text before them in element ids.

    Args:
        nodes: ``int64[n]``, increasing, so that indexes are in the order of ids.
        relationships: ``int64[m]`` by relationship index, in any order; may be patched.
        node_prefix: Text before a node's numeric id in its element id.
        relationship_prefix: Text before a relationship's numeric id in its element id.
    """

    __slots__ = ("_found_in", "array", "node_prefix", "nodes", "relationship_prefix")

    def __init__(
        self,
        nodes: NDArray[np.int64],
        relationships: Array,
        node_prefix: str,
        relationship_prefix: str,
    ) -> None:
        self.nodes, self.array = nodes, relationships
        self.node_prefix, self.relationship_prefix = node_prefix, relationship_prefix
        # One attribute, replaced atomically: the form, and positions in the form's base.
        self._found_in: tuple[Form | None, _Places]
        if isinstance(relationships, Patched):
            form = relationships.form
            self._found_in = form, _Places(form.base)
        else:
            self._found_in = None, _Places(relationships)

    def followed_by(self, nodes: NDArray[np.int64], relationships: Array) -> ExternalIds:
        """The ids of a later state of the same database; shares the index where possible."""
        found = ExternalIds(nodes, relationships, self.node_prefix, self.relationship_prefix)
        (form, places), (_, known) = found._found_in, self._found_in
        if places.ids is known.ids:
            found._found_in = form, known
        return found

    def compacted(self, check: Callable[[], None]) -> Callable[[ExternalIds], None]:
        """Compacts the ids and builds their index; for `Patched.rebase` of later states.

        Args:
            check: Called at intervals; may raise to cancel.

        Returns:
            A function that rebases a later state's ids on the compacted ones.
        """
        older = self.array
        assert isinstance(older, Patched)
        places = _Places(older.whole(check))
        places.make()

        def rebase(later: ExternalIds) -> None:
            array = later.array
            if isinstance(array, Patched) and array.rebase(older):
                later._found_in = array.form, places

        return rebase

    @property
    def relationships(self) -> NDArray[np.int64]:
        """``int64[m]``: all relationship ids as one whole array."""
        return whole(self.array)

    def at(self, indexes: NDArray[Any], *, of_nodes: bool) -> NDArray[np.int64]:
        """The ids of the given nodes, or of the given relationships."""
        found: NDArray[np.int64] = self.nodes[indexes] if of_nodes else self.array[indexes]
        return found

    def of(self, of_nodes: bool) -> NDArray[np.int64]:
        """The ids of all nodes, or of all relationships."""
        return self.nodes if of_nodes else self.relationships

    def index_of(self, number: int, *, of_nodes: bool) -> int:
        """The node or relationship with this id, -1 if there is none."""
        if not 0 <= number <= _LARGEST:
            return -1
        if not of_nodes:
            return int(self.indexes_of_relationships(np.array([number], dtype=np.int64))[0])
        place = int(np.searchsorted(self.nodes, number))
        return place if place < len(self.nodes) and int(self.nodes[place]) == number else -1

    def indexes_of_relationships(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The relationships with these ids; -1 where there is none."""
        form, places = self._found_in
        found = places.find(numbers)
        if form is None:
            return found
        there = found >= 0
        found[there] = form.places(found[there])
        added = form.added_places()
        late = _Places(form.at(added)).find(numbers)
        is_late = late >= 0
        found[is_late] = added[late[is_late]]
        return found

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return self.nodes.nbytes + stored_bytes(self.array) + self._found_in[1].nbytes


def are_distinct(ids: NDArray[np.int64]) -> bool:
    """True if no id occurs twice; takes a few milliseconds per million where ids are dense."""
    if len(ids) == 0:
        return True
    if int(ids.min()) >= 0 and int(ids.max()) < _FLAGS_PER_ID * len(ids) + 1024:
        seen = np.zeros(int(ids.max()) + 1, dtype=np.bool_)
        seen[ids] = True
        return int(np.count_nonzero(seen)) == len(ids)
    ordered = np.sort(ids)
    return not bool((ordered[1:] == ordered[:-1]).any())


_PIECE = 1 << 20
_MAX_GAPS = 4
"""Looking up ids takes as long as adding this many gaps."""


class ArrivingIds:
    """Collects the ids of batches; consecutive ids take no memory."""

    def __init__(self) -> None:
        self._pieces: list[NDArray[np.int64] | range] = []

    def add(self, ids: NDArray[np.int64] | range) -> None:
        """Adds the ids of the next relationships."""
        last = self._pieces[-1] if self._pieces else None
        if isinstance(ids, range) and isinstance(last, range) and last.stop == ids.start:
            self._pieces[-1] = range(last.start, ids.stop)
        elif len(ids):
            self._pieces.append(ids if isinstance(ids, range) else ids.astype(np.int64, copy=False))

    def in_order(self, order: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The ids at the given positions of arrival, which are all; releases what was collected.

        Raises:
            SourceError: An id occurs twice.
        """
        ranges = self._ranges()
        if ranges is not None:
            self._pieces = []
            return _computed(ranges, order)
        ids = np.concatenate([id_array(each) for each in self._pieces])
        self._pieces = []
        if not bool((ids[1:] > ids[:-1]).all()) and not are_distinct(ids):
            raise SourceError("a relationship was read twice: two have the same id")
        return take_in_threads(ids, order)

    def _ranges(self) -> list[range] | None:
        """The ids as few increasing ranges; None if they are others."""
        found: list[range] = []
        for each in self._pieces:
            for part in [each] if isinstance(each, range) else _ranges_of(each):
                if found and part.start < found[-1].stop:
                    return None
                if found and part.start == found[-1].stop:
                    found[-1] = range(found[-1].start, part.stop)
                else:
                    found.append(part)
                if len(found) > _MAX_GAPS + 1:
                    return None
        return found


def _ranges_of(ids: NDArray[np.int64]) -> list[range]:
    """Maximal consecutive ranges; stops after more than are useful."""
    borders = (np.flatnonzero(np.diff(ids) != 1) + 1).tolist()[: _MAX_GAPS + 1]
    edges = [0, *borders, len(ids)]
    return [range(int(ids[low]), int(ids[low]) + high - low) for low, high in pairwise(edges)]


def _computed(ranges: list[range], order: NDArray[np.uint32]) -> NDArray[np.int64]:
    found = np.empty(len(order), dtype=np.int64)
    places = np.cumsum([len(each) for each in ranges]).tolist()

    def put(piece: slice) -> None:
        np.add(order[piece], np.int64(ranges[0].start), out=found[piece])
        for (before, each), place in zip(pairwise(ranges), places, strict=False):
            found[piece] += (order[piece] >= place) * (each.start - before.stop)

    in_threads(put, pieces_of(len(order), _PIECE))
    return found
