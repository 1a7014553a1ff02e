"""The number of this process, without a call of the system each time, and which others live."""

from __future__ import annotations

import os
import platform
import zlib

__all__ = ["host_token", "is_alive", "process_id"]

_known = os.getpid()


def process_id() -> int:
    """As ``os.getpid``, for what each query asks several times."""
    return _known


def host_token() -> str:
    """Stands for this machine in names; a shared folder has files of several."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def is_alive(process: int) -> bool:
    """Whether there is such a process on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's
        return True
    return True


def _note_fork() -> None:
    global _known  # a process has one number
    _known = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
