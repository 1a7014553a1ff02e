"""Property columns of all nodes or all relationships, of which some may not have been read yet."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.data.column import Column
from gpugda.data.kept_masks import KeptMasks

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["PropertyNotReadError", "PropertyStore", "StoreState"]


class PropertyNotReadError(RuntimeError):
    """A property was asked for that was not read: taking it for null would be a wrong answer."""


@dataclass(frozen=True, slots=True, eq=False)
class StoreState:
    """The columns of a store, and the keys that were read; None if those are all."""

    columns: dict[str, Column]
    read: list[str] | None


class PropertyStore(Mapping[str, Column]):
    """Columns by key, for several threads.

    A complete store is a plain mapping: a key that is not there is a property that nothing has. In
    an incomplete one a key that was not read raises, whatever way it is asked for.

    Args:
        columns: What is there.
        complete: Whether there are no other properties.
        kept_masks: What is known of an earlier state.

    Attributes:
        kept_masks: What predicates left that look at these columns.
    """

    __slots__ = ("_columns", "_complete", "_lock", "_read", "kept_masks")

    def __init__(
        self,
        columns: Mapping[str, Column] | None = None,
        *,
        complete: bool = True,
        kept_masks: KeptMasks | None = None,
    ) -> None:
        self.kept_masks = KeptMasks() if kept_masks is None else kept_masks
        self._columns = dict(columns or {})
        self._read = frozenset(self._columns)
        self._complete = complete
        self._lock = threading.Lock()

    @property
    def complete(self) -> bool:
        """Whether all properties that there are have been read."""
        return self._complete

    @property
    def loaded_keys(self) -> frozenset[str]:
        """Keys that have been read, also those that nothing has."""
        return self._read

    @property
    def columns(self) -> dict[str, Column]:
        """The columns read until now, whether or not there are others."""
        with self._lock:
            return dict(self._columns)

    def state(self) -> StoreState:
        """What has been read until now, at one moment."""
        with self._lock:
            read = None if self._complete else sorted(self._read)
            return StoreState(dict(self._columns), read)

    def add(self, columns: Mapping[str, Column], read: Collection[str] | None) -> None:
        """Takes columns read later.

        Args:
            columns: By key.
            read: The keys that were asked for; those without a column nothing has. None: all.
        """
        with self._lock:
            # What was there stays: a query that runs meanwhile must not see two columns of one key.
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
