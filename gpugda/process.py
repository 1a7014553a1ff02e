"""The number of this process, without a call of the system each time."""

from __future__ import annotations

import os

__all__ = ["process_id"]

_known = os.getpid()


def process_id() -> int:
    """As ``os.getpid``, for what each query asks several times."""
    return _known


def _note_fork() -> None:
    global _known  # a process has one number
    _known = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
