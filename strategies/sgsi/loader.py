"""Segments on the device: sent when needed, and kept as long as there is room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

from gpugda_strategies.launch.gsi_join import ListArrays

from gpugda.device.memory.buffers import SMALLEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from gpugda_strategies.sgsi.scratch import Scratch
    from gpugda_strategies.sgsi.segments import Segments
    from numpy.typing import NDArray

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.device.memory.uploads import PageLocked, Uploads
    from gpugda.match.run import Run

__all__ = ["KeptSegments", "SegmentLoader"]

_Arrays: TypeAlias = "dict[str, DeviceArray]"


class KeptSegments:
    """What one run leaves on the device for the next, in any thread.

    Attributes:
        sent: Identities of arrays that were sent: the second time, page-locked memory is used.
    """

    def __init__(self) -> None:
        self.sent: set[int] = set()
        self._held: OrderedDict[Hashable, _Arrays] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        with self._lock:
            return sum(_nbytes(each) for each in self._held.values())

    def take(self) -> OrderedDict[Hashable, _Arrays]:
        """Removes and returns all of them; the caller owns them."""
        with self._lock:
            taken, self._held = self._held, OrderedDict()
        return taken

    def give(self, held: OrderedDict[Hashable, _Arrays]) -> None:
        """Replaces what is kept."""
        with self._lock:
            before, self._held = self._held, held
        _free(before)

    def drop(self) -> int:
        """Frees everything. Returns the number of bytes freed."""
        taken = self.take()
        size = sum(_nbytes(each) for each in taken.values())
        _free(taken)
        return size


class SegmentLoader:
    """Loads segments to the device; evicts the least recently used ones.

    Args:
        run: Owns the arrays meanwhile.
        kept: What earlier runs have left on the device.
        room: Maximum bytes of all segments.
        scratch: Frees idle arrays when memory is short.
        uploads: Prefetches the next segment during the work on the current one; None for no
            prefetch.
        locked: Page-locked copies of arrays that are sent repeatedly.

    Attributes:
        sent: Number of segments sent.
        sent_bytes: Number of bytes sent.
    """

    def __init__(
        self,
        run: Run,
        kept: KeptSegments,
        room: int,
        scratch: Scratch,
        uploads: Uploads | None = None,
        locked: PageLocked | None = None,
    ) -> None:
        self._run = run
        self._kept = kept
        self._room = room
        self._scratch = scratch
        self._held: OrderedDict[Hashable, _Arrays] = OrderedDict()
        self._bytes = 0
        self._uploads = uploads
        self._locked = locked
        self._under_way: dict[Hashable, list[Any]] = {}
        self.sent = 0
        self.sent_bytes = 0
        self._take()

    def each(
        self, segments: Segments, numbers: Sequence[int], *, parts: Sequence[str]
    ) -> Iterator[tuple[int, ListArrays]]:
        """Yields these segments of a partition, in the order that suits the loaded ones."""
        order = self._in_order(segments, numbers)
        for number, following in zip_longest(order, order[1:]):
            lists = self.lists(segments, number, parts=parts)
            if following is not None and self._uploads is not None:
                # Before kernels are launched for the current segment, which stays while older ones
                # may go.
                self._send_ahead(segments, (number, following), parts)
            yield number, lists

    def lists(self, segments: Segments, number: int, *, parts: Sequence[str]) -> ListArrays:
        """A segment of a partition; only ``parts`` (neighbours, relationships) are sent."""
        host = segments.parts[number].lists
        found = self.arrays(
            (segments, number), _host_arrays(segments, number, parts), are_kept=True
        )
        unused = found["groups"]
        return ListArrays(
            unused,
            host.group_count,
            found["neighbours"] if "neighbours" in parts else unused,
            found["relationships"] if "relationships" in parts else None,
            longest=host.longest,
        )

    def arrays(
        self,
        key: Hashable,
        wanted: Mapping[str, Callable[[], NDArray[Any]]],
        *,
        are_kept: bool = False,
    ) -> _Arrays:
        """The arrays of a segment; ``are_kept``: the host arrays are the same objects each time.

        Raises:
            MemoryLimitError: They do not fit, even without other segments.
        """
        found = self._held.pop(key, {})
        self._wait(key)
        missing = {name: make() for name, make in wanted.items() if name not in found}
        self._held[key] = found
        if missing:
            self._make_room(_needed(missing), key)
            self._scratch.make_room()
            for name, each in missing.items():
                source = self._source(each) if are_kept else each
                found[name] = self._run.workspace.upload(source, "a segment")
                self._count(found[name], each)
            self.sent += 1
        return found

    def _in_order(self, segments: Segments, numbers: Sequence[int]) -> Sequence[int]:
        """The order that starts at a loaded end, so that passes alternate."""
        if not numbers or (segments, numbers[0]) in self._held:
            return numbers
        return numbers[::-1] if (segments, numbers[-1]) in self._held else numbers

    def leave(self) -> None:
        """Leaves all segments to later runs; this loader may not be used any more."""
        if self._under_way and self._uploads is not None:
            self._uploads.finish()
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
        self._make_room(0)

    def _send_ahead(
        self, segments: Segments, numbers: tuple[int, int], parts: Sequence[str]
    ) -> None:
        """Starts to send the second segment, if there is room for it beside the first."""
        present, key = ((segments, number) for number in numbers)
        found = self._held.get(key, {})
        wanted = _host_arrays(segments, numbers[1], parts)
        missing = {name: make() for name, make in wanted.items() if name not in found}
        if not missing or not self._make_room(_needed(missing), present, key):
            return
        assert self._uploads is not None
        self._scratch.make_room()
        events = self._under_way.setdefault(key, [])
        for name, each in missing.items():
            source = each if self._locked is None else self._locked.of(each)
            array = self._run.workspace.allocate(each.size, each.dtype, "a segment")
            # After an error, only what is under way is kept for later runs.
            events.append(self._uploads.begin(array, 0, source))
            found[name] = array
            self._count(array, each)
        self._held[key] = found
        self.sent += 1

    def _wait(self, key: Hashable) -> None:
        """Makes later kernels and uploads wait for the segment."""
        events = self._under_way.pop(key, None)
        if events and self._uploads is not None:
            self._uploads.wait_on_device(events)

    def _source(self, values: NDArray[Any]) -> NDArray[Any]:
        """The array to send: a page-locked copy from the second time on."""
        sent_before = id(values) in self._kept.sent
        self._kept.sent.add(id(values))
        return values if self._locked is None or not sent_before else self._locked.of(values)

    def _count(self, array: DeviceArray, host: NDArray[Any]) -> None:
        self._bytes += array.nbytes
        self.sent_bytes += host.nbytes

    def _make_room(self, size: int, *but: Hashable) -> bool:
        """Evicts segments until ``size`` more bytes fit. Returns False if they cannot."""
        while self._bytes + size > self._room:
            oldest = next((key for key in self._held if key not in but), None)
            if oldest is None:
                return False
            self._wait(oldest)
            arrays = self._held.pop(oldest)
            self._bytes -= _nbytes(arrays)
            self._run.workspace.release(*arrays.values())
        return True


def _host_arrays(
    segments: Segments, number: int, parts: Sequence[str]
) -> dict[str, Callable[[], NDArray[Any]]]:
    host = segments.parts[number].lists
    return {name: partial(getattr, host, name) for name in ("groups", *parts)}


def _needed(missing: Mapping[str, NDArray[Any]]) -> int:
    return sum(max(each.nbytes, SMALLEST_BYTES) for each in missing.values())


def _nbytes(arrays: _Arrays) -> int:
    return sum(each.nbytes for each in arrays.values())


def _free(held: OrderedDict[Hashable, _Arrays]) -> None:
    for arrays in held.values():
        for each in arrays.values():
            each.free()
