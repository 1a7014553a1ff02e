"""Makes PoCL work on a processor that is newer than its compiler by naming a known processor.

PoCL 3.0, the newest on the package index, asks LLVM 14 for the processor's name. For a later one
(AMD's family 26, for example) LLVM answers "generic", a name that its C compiler then rejects, so
that no kernel builds. PoCL has no setting for the name, but stores it in the device's record, next
to the name of the target. This module replaces it there by the x86-64 level that the processor's
features support. If the record does not look as expected, nothing is changed.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["feature_level", "name_unknown_cpu"]

_log = logging.getLogger("gpugda.device")

_RECORD_BYTES: Final = 1024
_WORD: Final = 8
_TARGET: Final = b"x86_64-"
_UNKNOWN: Final = b"generic\0"
_LEVELS: Final = (
    ("x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
    ("x86-64-v3", {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}),
    ("x86-64-v2", {"cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"}),
)
_names: Final[dict[str, ctypes.Array[ctypes.c_char]]] = {}
"""Names that were set. PoCL keeps their addresses, so the buffers must live on."""


def name_unknown_cpu(handle: Any, platform: str) -> str | None:
    """Sets a processor name for PoCL to compile for if PoCL does not know the processor.

    Args:
        handle: pyopencl's device.
        platform: Name of its platform.

    Returns:
        The name that was set; None if none is needed.
    """
    if sys.platform != "linux" or "portable computing language" not in platform.lower():
        return None
    try:
        with Path("/proc/self/mem").open("rb", buffering=0) as memory:
            place = _place_of_unknown(handle.int_ptr, lambda a, n: os.pread(memory.fileno(), n, a))
        if place is None:
            return None
        level = feature_level(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    text = _names.setdefault(level, ctypes.create_string_buffer(level.encode()))
    ctypes.c_void_p.from_address(place).value = ctypes.addressof(text)
    _log.debug("PoCL does not know this processor: it compiles for %s", level)
    return level


def feature_level(cpu_information: str) -> str:
    """The x86-64 level that a processor's flags support, given the text of ``/proc/cpuinfo``."""
    lines = (line.partition(":") for line in cpu_information.splitlines())
    flags = next((set(text.split()) for name, _, text in lines if name.strip() == "flags"), set())
    level = "x86-64"
    for name, needed in reversed(_LEVELS):
        if not needed <= flags:
            break
        level = name
    return level


def _place_of_unknown(record: int, read: Callable[[int, int], bytes]) -> int | None:
    """Address in a device's record of the pointer to "generic", right after the target's name."""
    words = memoryview(read(record, _RECORD_BYTES)[: _RECORD_BYTES // _WORD * _WORD]).cast("Q")
    for number, (target, name) in enumerate(pairwise(words)):
        if _text_at(target, read).startswith(_TARGET) and _text_at(name, read).startswith(_UNKNOWN):
            return record + (number + 1) * _WORD
    return None


def _text_at(address: int, read: Callable[[int, int], bytes]) -> bytes:
    if not 4096 < address < 1 << 47:
        return b""
    try:
        return read(address, 16)
    except OSError:  # not a readable address
        return b""
