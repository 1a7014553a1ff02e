"""An array with changes that are not applied until somebody needs all of it.

Changing one takes as long as there are changes, not entries; so does looking at some entries.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from gpugda.data.patches.form import Form
from gpugda.data.patches.stretches import Stretches

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.patches.patch import Patch
    from gpugda.data.patches.splice import Splice

__all__ = ["Array", "Patched", "whole"]

FEW_STRETCHES = 1 << 8
"""With more than these, the whole array becomes the base once it is there."""
MANY_STRETCHES = 1 << 11
"""With more, it is worth making it whole while nobody waits for that."""
MOST_STRETCHES = 1 << 13
"""With more, it is made."""


class Patched:
    """An array of unsigned or signed integers, unchangeable, usable from several threads.

    What it is made of may be exchanged for what makes the same; whoever looks takes one form.

    Args:
        form: What it is made of.
    """

    __slots__ = ("_forms", "_lock", "_whole")

    def __init__(self, form: Form) -> None:
        self._forms: tuple[Form, ...] = (form,)  # the newest first
        self._lock = threading.Lock()
        self._whole: NDArray[Any] | None = None

    @classmethod
    def of(cls, array: NDArray[Any]) -> Patched:
        """An array that has not changed yet."""
        return cls(Form(array, array[:0], Stretches.whole(len(array))))

    def __len__(self) -> int:
        return len(self.form)

    @property
    def form(self) -> Form:
        """What it is made of now."""
        return self._forms[0]

    @property
    def base(self) -> NDArray[Any]:
        """Of its form."""
        return self.form.base

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        return self.form.base.dtype

    @property
    def whole_bytes(self) -> int:
        """Bytes that all of it takes."""
        return len(self) * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes that it takes beside its base."""
        made, form = 0 if self._whole is None else self._whole.nbytes, self.form
        return made + form.added.nbytes + 16 * len(form.stretches)

    @property
    def is_worn(self) -> bool:
        """Whether it has so many stretches that making it whole pays, where nobody waits."""
        return self._whole is None and self.form.size > MANY_STRETCHES

    @property
    def is_worn_out(self) -> bool:
        """Whether changes are to be applied to the whole."""
        return self.form.size > (MOST_STRETCHES if self._whole is None else FEW_STRETCHES)

    def __getitem__(self, entries: NDArray[Any]) -> NDArray[Any]:
        """The values of some entries."""
        if self._whole is not None:
            found: NDArray[Any] = self._whole[entries]
            return found
        return self.form.at(entries)

    def first_not_below(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the array is rising: the first entry not below each number, or its length."""
        return self.form.first_not_below(wanted)

    def whole(self, check: Callable[[], None] = lambda: None) -> NDArray[Any]:
        """All of it, made once. ``check`` is called now and then, and may raise to end it."""
        with self._lock:
            if self._whole is None:
                self._whole = self.form.made(check)
            return self._whole

    def rebase(self, older: Patched) -> bool:
        """From now on it is made of an older state of it that is whole; False if it cannot be."""
        form = self.form
        for each in older._forms:
            if older._whole is not None and each.base is form.base:
                found = form.rebased(each, older._whole)
                if found is not None:
                    self._forms = found, form
                    return True
        return False

    # ------------------------------------------------------------------ the next one
    def spliced(self, splice: Splice, added: Any) -> Patched:
        """Without entries that went, with others.

        Args:
            splice: Which and where.
            added: The new values, or one for all.
        """
        return Patched(self.form.spliced(splice, added))

    def stepped(self, places: NDArray[np.int64], sums: NDArray[np.int64]) -> Patched:
        """With more from each place on: the sum that stands with it, up to the next place."""
        return Patched(self.form.stepped(places, sums))

    def renumbered(self, splice: Splice) -> Patched:
        """With the values that entries of another array have afterwards that these numbered."""
        return Patched(self.form.renumbered(splice))

    def since(self, older: NDArray[Any] | Patched) -> Patch | None:
        """What makes this array of an older one; None where that is not known."""
        for form in self._forms:
            if older is form.base or (isinstance(older, Patched) and older._whole is form.base):
                return form.since(None)
            for each in older._forms if isinstance(older, Patched) else ():
                found = form.since(each) if each.base is form.base else None
                if found is not None:
                    return found
        return None


Array: TypeAlias = "NDArray[Any] | Patched"


def whole(array: Array) -> NDArray[Any]:
    """All of an array."""
    return array.whole() if isinstance(array, Patched) else array
