"""Closed PoCL contexts with their loaded programs, for reuse by the next context.

Loading all programs anew takes 0.25 s, even from PoCL's cache. A GPU's context takes memory of the
GPU, so none is kept there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpugda.process import process_id

if TYPE_CHECKING:
    from gpugda.device.devices import DeviceInfo

__all__ = ["LoadedContext", "keep_context", "kept_context"]

_MAX_CONTEXTS = 4

_kept: defaultdict[tuple[int, int], list[LoadedContext]] = defaultdict(list)
"""Contexts by process (as OpenCL does not survive a fork) and device."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedContext:
    """An OpenCL context that one device context uses at a time.

    Args:
        context: pyopencl's context.
        programs: Built programs by text and options.
    """

    context: Any
    programs: dict[tuple[str, tuple[str, ...]], Any] = field(default_factory=dict)


def keep_context(info: DeviceInfo, loaded: LoadedContext) -> None:
    """Keeps a context for the next user of the device; nothing may run on it any more."""
    kept = _kept[process_id(), info.handle.int_ptr]
    if len(kept) < _MAX_CONTEXTS:
        kept.append(loaded)


def kept_context(info: DeviceInfo) -> LoadedContext | None:
    """An unused context, which the caller then owns; None if there is none."""
    kept = _kept[process_id(), info.handle.int_ptr]
    try:
        return kept.pop()
    except IndexError:
        return None
