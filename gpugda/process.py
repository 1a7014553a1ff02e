"""Process ids: the current one without a system call, and whether another process is alive."""

from __future__ import annotations

import os
import platform
import zlib

__all__ = ["host_token", "is_alive", "process_id"]

_known = os.getpid()


def process_id() -> int:
    """Like ``os.getpid``, cached, as each query asks several times."""
    return _known


def host_token() -> str:
    """A token for this machine in file names, as a shared folder may hold files of several."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def is_alive(process: int) -> bool:
    """True if this process exists on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it exists but belongs to another user
        return True
    return True


def _note_fork() -> None:
    global _known  # there is one process id per process
    _known = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
