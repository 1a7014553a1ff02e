"""Making many objects that live."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["collection_paused"]


@contextmanager
def collection_paused() -> Iterator[None]:
    """No search for cyclic garbage while a block of rows is made.

    Rows are made by the thousand and none of them is garbage yet, but Python would look through all
    that there are again and again: three quarters of the time of ``Result.values``.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
