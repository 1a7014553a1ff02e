"""Arrays that all steps of a join reuse, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gpugda_strategies.sgsi.memory import MemoryPlan
    from numpy.typing import DTypeLike, NDArray

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run

__all__ = ["Scratch"]


class Scratch:
    """Named arrays that grow on demand, up to the sizes of the plan.

    Args:
        run: Owns the arrays.
        plan: Maximum numbers of rows and places.
    """

    def __init__(self, run: Run, plan: MemoryPlan) -> None:
        self._run = run
        self._plan = plan
        self._arrays: dict[str, DeviceArray] = {}
        self._place_bytes = 0
        self._places: set[str] = set()

    def of_rows(self, name: str, count: int, dtype: DTypeLike = np.uint32) -> DeviceArray:
        """An array for rows, with arbitrary content."""
        return self._array(name, count, dtype, self._plan.rows)

    def places_of(self, place_bytes: int) -> int:
        """Number of places of this size; releases the arrays of places of another size."""
        if place_bytes != self._place_bytes:
            self._place_bytes = place_bytes
            self._run.workspace.release(*(self._arrays.pop(name) for name in self._places))
            self._places.clear()
        return self._plan.places_of(place_bytes)

    def of_places(self, name: str, count: int, dtype: DTypeLike = np.uint32) -> DeviceArray:
        """An array for places, with arbitrary content."""
        self._places.add(name)
        return self._array(name, count, dtype, self._plan.places_of(self._place_bytes))

    def filled(self, name: str, count: int, dtype: DTypeLike = np.uint32) -> DeviceArray:
        """An array of zeros for rows."""
        array = self.of_rows(name, count, dtype)
        self._run.workspace.fill(array, 0)
        return array

    def filled_words(self, name: str, count: int, *, fresh: bool = True) -> DeviceArray:
        """An array of exactly ``count`` words, zeroed if ``fresh``."""
        array = self._array(name, count, np.uint32, count)
        if fresh:
            self._run.workspace.fill(array, 0)
        return array

    def sums(
        self, values: DeviceArray, first: int, count: int, *, of_bits: bool = False
    ) -> DeviceArray:
        """Prefix sums; to be released by `release`."""
        self.make_room()
        sums = self._run.kernels.prefix_sum
        return sums.run(self._run.workspace, values, first, count, of_bits=of_bits)

    def upload(self, values: NDArray[Any], what: str) -> DeviceArray:
        """A copy of a small array; to be released by `release`."""
        self.make_room()
        return self._run.workspace.upload(values, what)

    def release(self, *arrays: DeviceArray | None) -> None:
        """Releases arrays for reuse."""
        self._run.workspace.release(*arrays)

    def make_room(self) -> None:
        """Frees idle arrays if memory is so short that none may be longer than necessary."""
        if self._plan.is_tight:
            self._run.workspace.trim()

    def _array(self, name: str, count: int, dtype: DTypeLike, most: int) -> DeviceArray:
        kind = np.dtype(dtype)
        array = self._arrays.get(name)
        if array is None or array.nbytes < count * kind.itemsize:
            self._run.workspace.release(array)
            self.make_room()
            grown = max(count, min(most, 1 << max(count - 1, 0).bit_length()))
            array = self._run.workspace.allocate(grown, kind, f"{name} of the join")
            self._arrays[name] = array
        array.count = count
        return array
