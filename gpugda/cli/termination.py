"""Lets a signal to terminate end a command as Ctrl-C does: with what it has until then."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["terminated_as_by_hand"]


@contextmanager
def terminated_as_by_hand() -> Iterator[None]:
    """Raises KeyboardInterrupt in the block at SIGTERM; then restores the earlier handler.

    Does nothing outside the main thread, which alone may set handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)
