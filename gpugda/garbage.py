"""Makes Python's garbage collections rare while many rows are made."""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["collections_rare"]

_RARELY: Final = 1_234_567_891
"""Net allocations before a collection: more than a block of rows makes, and nobody's choice."""

_lock = threading.Lock()


class _State:
    """The blocks under way in all threads, and the thresholds to put back after them."""

    blocks = 0
    before = gc.get_threshold()


@contextmanager
def collections_rare() -> Iterator[None]:
    """Lets no collection start while the rows of a block are made.

    Rows are made by the thousand and none of them is garbage yet, but each collection scans all of
    them: half to three quarters of the time in which rows are read. Whether the collector is
    enabled is the program's choice, and any of its threads may change it meanwhile. So only the
    threshold changes, and it is put back only if nobody else has set it.
    """
    with _lock:
        found = gc.get_threshold()
        if found[0] != _RARELY:
            _State.before = found
        _State.blocks += 1
        if found[0]:  # 0 means never
            gc.set_threshold(_RARELY, *found[1:])
    try:
        yield
    finally:
        with _lock:
            _State.blocks -= 1
            if not _State.blocks and gc.get_threshold()[0] == _RARELY:
                gc.set_threshold(*_State.before)
