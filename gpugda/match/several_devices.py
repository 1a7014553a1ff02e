"""Several devices of one machine, each with a copy of the data graph."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gpugda.device.devices import list_devices
from gpugda.match.exchange import Places
from gpugda.match.session import DeviceSession

if TYPE_CHECKING:
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.exchange import Answer, Task

__all__ = ["DevicePlace", "SeveralDevices"]


class DevicePlace:
    """A device as a place for tasks; opened by its first one.

    Args:
        session: The device.
        wanted: The selection passed to `choose_device`.
    """

    def __init__(self, session: DeviceSession, wanted: str | int) -> None:
        self.session = session
        self.name = f"device {wanted}"

    def run(self, task: Task, report: StrategyReport) -> Answer:
        """See `Place.run`."""
        with self.session.strategy(task.strategy, task.graph) as matcher:
            return task.answer(matcher, report)


class SeveralDevices(DeviceSession):
    """The first device, which answers queries alone, and others that take part in long ones.

    Args:
        devices: At least one selection for `choose_device`; ``all`` stands for all devices of the
            kind of the best one.
        memory_limit: Bytes on each device, or None for the strategy's default.
        refinement: How often candidates are refined.
    """

    def __init__(
        self, devices: tuple[str | int, ...], memory_limit: int | None, refinement: str
    ) -> None:
        self._devices = devices
        self._others: list[DeviceSession] = []
        self._places: Places | None = None
        self._places_lock = threading.Lock()
        first = None if devices == ("all",) else devices[0]
        super().__init__(first, memory_limit, refinement)

    @property
    def places(self) -> Places:
        """All devices, the first one is this; opens the first one if all of its kind are wanted.

        Raises:
            DeviceError: There is no device, or it cannot be opened.
        """
        with self._places_lock:
            if self._places is None:
                self._places = self._found_places()
            return self._places

    def _found_places(self) -> Places:
        devices = self._devices
        if devices == ("all",):
            best = self.info
            others = [each.index for each in list_devices() if each.type == best.type]
            devices = (best.index, *(each for each in others if each != best.index))
        how = self._memory_limit, self._refinement
        self._others = [DeviceSession(each, *how) for each in devices[1:]]
        return Places([*map(DevicePlace, [self, *self._others], devices)])

    def close(self) -> None:
        """See `DeviceSession.close`."""
        for each in self._others:
            each.close()
        super().close()
