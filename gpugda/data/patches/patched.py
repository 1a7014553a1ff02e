"""Patched arrays: changes to a base that are materialised only when the whole array is needed.

A change, and reading a few entries, takes time by the number of changes, not of entries.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gpugda.data.patches.form import Form
from gpugda.data.patches.replay import Replay
from gpugda.data.patches.stretches import Stretches

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.patches.patch import Patch
    from gpugda.data.patches.splice import Splice

__all__ = ["Array", "Patched", "stored_bytes", "whole"]

FEW_STRETCHES = 1 << 8
"""With more stretches, an array that is materialised becomes the base of the next change."""
MANY_STRETCHES = 1 << 11
"""With more stretches, materialising in the background pays."""
MAX_STRETCHES = 1 << 13
"""With more stretches, the array is materialised at the next change."""
_ADDED_PART = 16
"""An array is materialised, too, once it has added values for one in this many entries; in the
background at half as many. Values added and removed again leave no stretch, but are copied."""
_RECENT_CHANGES = 16
"""Number of last changes that an array remembers; one transaction makes up to three."""
_FEW_ENTRIES = 1 << 6
"""Up to this many changed entries, replaying changes is faster than comparing stretches."""


class _Change(NamedTuple):
    """A change of an array.

    before: The array before.
    method: The method of its form, and of `Replay`, that makes the change.
    arguments: The method's arguments.
    size: The number of entries changed.
    """

    before: weakref.ref[Patched]
    method: str
    arguments: tuple[Any, ...]
    size: int


class Patched:
    """An immutable array of unsigned or signed integers; thread-safe.

    Its form may be replaced by an equivalent one; a reader uses one form throughout.

    Args:
        form: The array's representation.
        recent: The last changes, newest first, each with the array before it.
    """

    __slots__ = ("__weakref__", "_forms", "_lock", "_recent", "_whole")

    def __init__(self, form: Form, recent: tuple[_Change, ...] = ()) -> None:
        self._forms: tuple[Form, ...] = (form,)  # newest first
        self._recent = recent
        self._lock = threading.Lock()
        self._whole: NDArray[Any] | None = None

    @classmethod
    def of(cls, array: NDArray[Any]) -> Patched:
        """An array without changes."""
        return cls(Form(array, array[:0], Stretches.whole(len(array))))

    def __len__(self) -> int:
        return len(self.form)

    @property
    def form(self) -> Form:
        """The current representation."""
        return self._forms[0]

    @property
    def base(self) -> NDArray[Any]:
        """The base of the current form."""
        return self.form.base

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the values."""
        return self.form.base.dtype

    @property
    def whole_bytes(self) -> int:
        """Size of the materialised array in bytes."""
        return len(self) * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Size in bytes without the base."""
        made, form = 0 if self._whole is None else self._whole.nbytes, self.form
        return made + form.added.nbytes + 16 * len(form.stretches)

    @property
    def pays_compaction(self) -> bool:
        """True if it has so many stretches that materialising it in the background pays."""
        return self._whole is None and self._exceeds(MANY_STRETCHES, 2 * _ADDED_PART)

    @property
    def needs_compaction(self) -> bool:
        """True if the next change must start from the materialised array."""
        return self._exceeds(MAX_STRETCHES if self._whole is None else FEW_STRETCHES, _ADDED_PART)

    def _exceeds(self, stretches: int, part: int) -> bool:
        form = self.form
        return form.size > stretches or len(form.added) > max(stretches, len(form) // part)

    def __getitem__(self, entries: NDArray[Any]) -> NDArray[Any]:
        """The values at the given positions."""
        if self._whole is not None:
            found: NDArray[Any] = self._whole[entries]
            return found
        return self.form.at(entries)

    def whole(self, check: Callable[[], None] = lambda: None) -> NDArray[Any]:
        """The materialised array, built once. ``check`` is called now and then and may raise."""
        with self._lock:
            if self._whole is None:
                self._whole = self.form.made(check)
            return self._whole

    def rebase(self, older: Patched) -> bool:
        """Replaces the base by a materialised older state; False if that is not possible."""
        form = self.form
        for each in older._forms:
            if older._whole is not None and each.base is form.base:
                found = form.rebased(each, older._whole)
                if found is not None:
                    self._forms = found, form
                    return True
        return False

    # ------------------------------------------------------------------ next states
    def spliced(self, splice: Splice, added: Any) -> Patched:
        """The array with some entries removed and others inserted.

        Args:
            splice: Removed entries and insertion points.
            added: The new values, or one for all.
        """
        return self._changed("spliced", splice.size, splice, added)

    def stepped(self, places: NDArray[np.int64], sums: NDArray[np.int64]) -> Patched:
        """The array with ``sums[i]`` added to the entries from ``places[i]`` to the next place."""
        return self._changed("stepped", len(places), places, sums)

    def renumbered(self, splice: Splice) -> Patched:
        """The array, whose values number entries of another one, after that was spliced."""
        return self._changed("renumbered", splice.size, splice)

    def _changed(self, method: str, size: int, *arguments: Any) -> Patched:
        change = _Change(weakref.ref(self), method, arguments, size)
        form: Form = getattr(self.form, method)(*arguments)
        return Patched(form, (change, *self._recent[: _RECENT_CHANGES - 1]))

    def since(self, older: NDArray[Any] | Patched) -> Patch | None:
        """The difference to an older array; None if it is unknown."""
        if isinstance(older, Patched):
            patch = self._of_recent_changes(older)
            if patch is not None:
                return patch
        for form in self._forms:
            if older is form.base or (isinstance(older, Patched) and older._whole is form.base):
                return form.since(None)
            for each in older._forms if isinstance(older, Patched) else ():
                found = form.since(each) if each.base is form.base else None
                if found is not None:
                    return found
        return None

    def _of_recent_changes(self, older: Patched) -> Patch | None:
        """As `since`, from the last changes, not all stretches; None: too old, or too many."""
        size = 0
        for number, change in enumerate(self._recent, start=1):
            size += change.size
            if size > _FEW_ENTRIES:
                return None
            if change.before() is older:
                replay = Replay(len(older))
                for each in reversed(self._recent[:number]):
                    getattr(replay, each.method)(*each.arguments)
                return replay.patch(self.dtype)
        return None


Array: TypeAlias = "NDArray[Any] | Patched"


def stored_bytes(array: Array) -> int:
    """Size of an array as it is kept in bytes, with its base."""
    return array.nbytes + (array.base.nbytes if isinstance(array, Patched) else 0)


def whole(array: Array) -> NDArray[Any]:
    """The materialised array."""
    return array.whole() if isinstance(array, Patched) else array
