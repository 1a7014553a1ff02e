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
    """No search for cyclic garbage while a block of rows, or what is known of a query, is made.

    Rows are made by the thousand and none of them is garbage yet, but Python would look through all
    that there are again and again: three quarters of the time of ``Result.values``. A syntax tree
    is given up as a whole, without cycles; looked through while it grows, it would be taken for
    something that lives long, and with that everything in the process is looked through again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
