"""Property columns of all nodes or all relationships, possibly not all read yet."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.data.column import Column
from gpugda.data.mask_cache import MaskCache

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["PropertyNotReadError", "PropertyStore", "StoreState"]


class PropertyNotReadError(RuntimeError):
    """The requested property was not read; treating it as null would give wrong answers."""


@dataclass(frozen=True, slots=True, eq=False)
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
