"""Property columns of all nodes or all relationships, possibly not all read yet."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.patches.sorted_sets import sorted_distinct
from gpugda.data.values.column import Column
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

    from numpy.typing import NDArray

__all__ = [
    "CachedMask",
    "EntityProperties",
    "MaskCache",
    "PropertyNotReadError",
    "PropertyStore",
    "StoreState",
]

_CACHE_SIZE = 8
"""Maximum number of masks; 8 bitmaps take at most a byte per node together."""
_MAX_STALE = 1 << 13
"""A mask with more changed nodes than this is dropped."""


@value(frozen=True, slots=True, eq=False)
class CachedMask:
    """Bitmap of the nodes that satisfy some predicates.

    Args:
        bits: ``uint32[words]`` over the nodes of its state. Must not be written.
        reads: The properties that the predicates depend on; they depend on nothing else.
        stale: ``int64``, increasing: nodes to evaluate again, including all nodes created since.
    """

    bits: NDArray[np.uint32]
    reads: frozenset[str]
    stale: NDArray[np.int64]


class MaskCache:
    """The masks of one state of the node properties; thread-safe."""

    __slots__ = ("_known", "_lock")

    def __init__(self, known: Mapping[Hashable, CachedMask] | None = None) -> None:
        self._known = dict(known or {})
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> CachedMask | None:
        """The mask if it is cached; it is valid except for the nodes in ``stale``."""
        with self._lock:
            found = self._known.pop(key, None)
            if found is not None:
                self._known[key] = found  # moved to the end: the most recently used
            return found

    def put(self, key: Hashable, bits: NDArray[np.uint32], reads: frozenset[str]) -> None:
        """Caches a mask of all nodes; may evict the least recently used one."""
        with self._lock:
            self._known.pop(key, None)
            bits.flags.writeable = False  # a write would corrupt other queries, so let it raise
            self._known[key] = CachedMask(bits, reads, np.empty(0, dtype=np.int64))
            if len(self._known) > _CACHE_SIZE:
                del self._known[next(iter(self._known))]

    def followed(
        self,
        changed: Mapping[str, NDArray[np.int64]],
        created: NDArray[np.int64],
        told: Collection[str] | None,
    ) -> MaskCache:
        """The masks for the next state, in which the old nodes keep their numbers.

        Args:
            changed: Nodes with changed values, by property.
            created: Created nodes.
            told: Properties for which ``changed`` is complete; None: all properties.
        """
        found = {}
        with self._lock:
            known = dict(self._known)
        for key, mask in known.items():
            if told is not None and not mask.reads.issubset(told):
                continue
            rows = [changed[each] for each in mask.reads if each in changed]
            stale = (
                sorted_distinct(mask.stale, created, *rows) if rows or len(created) else mask.stale
            )
            if len(stale) <= _MAX_STALE:
                found[key] = replace(mask, stale=stale)
        return MaskCache(found)


class PropertyNotReadError(RuntimeError):
    """The requested property was not read; treating it as null would give wrong answers."""


@value(frozen=True, slots=True, eq=False)
class StoreState:
    """The columns of a store, and the keys that were read; None if all were."""

    columns: dict[str, Column]
    read: list[str] | None


class PropertyStore(Mapping[str, Column]):
    """Columns by key; thread-safe.

    A complete store is a plain mapping: an absent key is a property without values. In an
    incomplete store every access to a key that was not read raises.

    Args:
        columns: The columns read.
        complete: True if there are no other properties.
        mask_cache: Masks of an earlier state that still apply.

    Attributes:
        mask_cache: Cached results of predicates over these columns.
    """

    __slots__ = ("_columns", "_complete", "_lock", "_read", "mask_cache")

    def __init__(
        self,
        columns: Mapping[str, Column] | None = None,
        *,
        complete: bool = True,
        mask_cache: MaskCache | None = None,
    ) -> None:
        self.mask_cache = MaskCache() if mask_cache is None else mask_cache
        self._columns = dict(columns or {})
        self._read = frozenset(self._columns)
        self._complete = complete
        self._lock = threading.Lock()

    @property
    def complete(self) -> bool:
        """True if all properties have been read."""
        return self._complete

    @property
    def loaded_keys(self) -> frozenset[str]:
        """Keys that have been read, including those without values."""
        return self._read

    @property
    def columns(self) -> dict[str, Column]:
        """The columns read so far, whether or not the store is complete."""
        with self._lock:
            return dict(self._columns)

    def state(self) -> StoreState:
        """A consistent copy of what has been read so far."""
        with self._lock:
            read = None if self._complete else sorted(self._read)
            return StoreState(dict(self._columns), read)

    def add(self, columns: Mapping[str, Column], read: Collection[str] | None) -> None:
        """Adds columns that were read later.

        Args:
            columns: Columns by key.
            read: The keys requested; those without a column have no values. None: all keys.
        """
        with self._lock:
            # Existing columns stay: a running query must not see two columns for one key.
            self._columns = {**columns, **self._columns}
            self._read |= frozenset(columns) | frozenset(read or ())
            self._complete = self._complete or read is None

    def __getitem__(self, key: str) -> Column:
        if not self._complete and key not in self._read:
            raise PropertyNotReadError(f"the property {key!r} has not been read")
        return self._columns[key]

    def __contains__(self, key: object) -> bool:
        if not self._complete and key not in self._read:
            raise PropertyNotReadError(f"the property {key!r} has not been read")
        return key in self._columns

    def __iter__(self) -> Iterator[str]:
        self._check_complete()
        return iter(self._columns)

    def __len__(self) -> int:
        self._check_complete()
        return len(self._columns)

    def __repr__(self) -> str:
        more = "" if self._complete else ", …"
        return f"<PropertyStore {', '.join(sorted(self._columns))}{more}>"

    def _check_complete(self) -> None:
        if not self._complete:
            raise PropertyNotReadError("not all properties have been read")


@value(frozen=True, slots=True, eq=False)
class EntityProperties:
    """Properties by node index and by relationship index.

    Belongs to one result whose data graph does not have all properties.
    """

    nodes: dict[int, dict[str, Any]] = field(default_factory=dict)
    relationships: dict[int, dict[str, Any]] = field(default_factory=dict)
