"""Segments on the device: sent when they are needed, kept as long as there is room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from gpugda.device.launch.gsi_join import ListArrays
from gpugda.device.memory.buffers import SMALLEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run
    from gpugda.match.sgsi.scratch import Scratch
    from gpugda.match.sgsi.segments import Segments

__all__ = ["KeptSegments", "SegmentLoader"]

_Arrays: TypeAlias = "dict[str, DeviceArray]"


class KeptSegments:
    """What one run leaves on the device for the next, in whichever thread."""

    def __init__(self) -> None:
        self._held: OrderedDict[Hashable, _Arrays] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        with self._lock:
            return sum(_nbytes(each) for each in self._held.values())

    def take(self) -> OrderedDict[Hashable, _Arrays]:
        """All of them; the taker owns them."""
        with self._lock:
            taken, self._held = self._held, OrderedDict()
        return taken

    def give(self, held: OrderedDict[Hashable, _Arrays]) -> None:
        """Keeps these instead of what is kept."""
        with self._lock:
            before, self._held = self._held, held
        _free(before)

    def drop(self) -> int:
        """Frees all; tells how many bytes that were."""
        taken = self.take()
        size = sum(_nbytes(each) for each in taken.values())
        _free(taken)
        return size


class SegmentLoader:
    """Brings segments to the device. What was used longest ago makes room.

    Args:
        run: Owns the arrays meanwhile.
        kept: What earlier runs have left there.
        room: Bytes that all segments may take.
        scratch: Frees what lies idle where memory is short.

    Attributes:
        sent: Segments sent.
        sent_bytes: Bytes sent.
    """

    def __init__(self, run: Run, kept: KeptSegments, room: int, scratch: Scratch) -> None:
        self._run = run
        self._kept = kept
        self._room = room
        self._scratch = scratch
        self._held: OrderedDict[Hashable, _Arrays] = OrderedDict()
        self._bytes = 0
        self.sent = 0
        self.sent_bytes = 0
        self._take()

    def lists(self, segments: Segments, number: int, *, parts: Sequence[str]) -> ListArrays:
        """A segment of a partition; only these of ``neighbours`` and ``relationships`` are sent."""
        host = segments.parts[number].lists
        names = ("groups", *parts)
        wanted = {name: partial(getattr, host, name) for name in names}
        found = self.arrays((segments, number), wanted)
        unused = found["groups"]
        return ListArrays(
            unused,
            host.group_count,
            found["neighbours"] if "neighbours" in parts else unused,
            found["relationships"] if "relationships" in parts else None,
            longest=host.longest,
        )

    def arrays(self, key: Hashable, wanted: Mapping[str, Callable[[], NDArray[Any]]]) -> _Arrays:
        """The arrays of a segment.

        Raises:
            MemoryLimitError: They do not fit, though nothing else is there.
        """
        found = self._held.pop(key, {})
        missing = {name: make() for name, make in wanted.items() if name not in found}
        self._held[key] = found
        if missing:
            self._make_room(sum(max(each.nbytes, SMALLEST_BYTES) for each in missing.values()), key)
            self._scratch.make_room()
            for name, each in missing.items():
                found[name] = self._run.workspace.upload(each, "a segment")
                self._bytes += found[name].nbytes
                self.sent_bytes += each.nbytes
            self.sent += 1
        return found

    def in_order(self, segments: Segments, numbers: Sequence[int]) -> Sequence[int]:
        """From the end that is there to the one that is not: each pass turns round."""
        if not numbers or (segments, numbers[0]) in self._held:
            return numbers
        return numbers[::-1] if (segments, numbers[-1]) in self._held else numbers

    def leave(self) -> None:
        """Leaves all that is there to later runs; nothing may be asked for any more."""
        held, self._held = self._held, OrderedDict()
        held = OrderedDict(
            (key, arrays)
            for key, arrays in held.items()
            if arrays and all(each.buffer is not None for each in arrays.values())
        )
        for arrays in held.values():
            self._run.workspace.hand_over(*arrays.values())
        self._kept.give(held)

    def _take(self) -> None:
        workspace = self._run.workspace
        for key, arrays in self._kept.take().items():
            size = _nbytes(arrays)
            workspace.uncount(size)
            self._held[key] = {
                name: workspace.adopt(each, "a segment") for name, each in arrays.items()
            }
            self._bytes += size
        self._make_room(0, None)

    def _make_room(self, size: int, but: Hashable) -> None:
        """Lets go of segments until so many bytes more are within the room."""
        while self._bytes + size > self._room:
            oldest = next((key for key in self._held if key != but), None)
            if oldest is None:
                return
            arrays = self._held.pop(oldest)
            self._bytes -= _nbytes(arrays)
            self._run.workspace.release(*arrays.values())


def _nbytes(arrays: _Arrays) -> int:
    return sum(each.nbytes for each in arrays.values())


def _free(held: OrderedDict[Hashable, _Arrays]) -> None:
    for arrays in held.values():
        for each in arrays.values():
            each.free()
