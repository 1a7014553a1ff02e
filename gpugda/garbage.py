"""Making many objects that live."""

from __future__ import annotations

import gc
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["collection_paused"]

P = ParamSpec("P")
R = TypeVar("R")


class _Paused:
    """A block, or a function, during which Python does not look for garbage.

    A class, for each query enters several: a generator takes three times as long.
    """

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self._was_enabled:
            gc.enable()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def paused(*args: P.args, **kwargs: P.kwargs) -> R:
            with _Paused():  # others may call it meanwhile
                return function(*args, **kwargs)

        return paused


def collection_paused() -> _Paused:
    """No search for cyclic garbage while a block of rows, or what is known of a query, is made.

    Rows are made by the thousand and none of them is garbage yet, but Python would look through all
    that there are again and again: three quarters of the time of ``Result.values``. A syntax tree
    is given up as a whole, without cycles; looked through while it grows, it would be taken for
    something that lives long, and with that everything in the process is looked through again.
    """
    return _Paused()
