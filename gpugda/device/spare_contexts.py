"""Contexts of PoCL that were closed, with the programs loaded in them, for who opens one next.

To load all programs anew takes a quarter of a second, also from PoCL's cache. A GPU's context
takes memory of the GPU, so none is kept there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpugda.process import process_id

if TYPE_CHECKING:
    from gpugda.device.devices import DeviceInfo

__all__ = ["LoadedContext", "keep_context", "kept_context"]

_MOST = 4

_kept: defaultdict[tuple[int, int], list[LoadedContext]] = defaultdict(list)
"""By process, as OpenCL does not survive a fork, and device."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedContext:
    """A context of OpenCL that one device context uses at a time.

    Args:
        context: Of pyopencl.
        programs: Built ones by text and options.
    """

    context: Any
    programs: dict[tuple[str, tuple[str, ...]], Any] = field(default_factory=dict)


def keep_context(info: DeviceInfo, loaded: LoadedContext) -> None:
    """For who opens the device next; called when nothing runs on it any more."""
    kept = _kept[process_id(), info.handle.int_ptr]
    if len(kept) < _MOST:
        kept.append(loaded)


def kept_context(info: DeviceInfo) -> LoadedContext | None:
    """One that nobody uses, None if there is none; it is the caller's from now on."""
    kept = _kept[process_id(), info.handle.int_ptr]
    try:
        return kept.pop()
    except IndexError:
        return None
