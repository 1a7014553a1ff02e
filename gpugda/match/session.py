"""The device of an accelerator: opened on first use, holds at most one data graph's copy."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpugda.device.background_compilation import (
    BackgroundCompilation,
    CompileProcesses,
    start_compile_processes,
)
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.driver_start import DriverStart
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.pocl_programs import check_pocl
from gpugda.device.program import is_everything_built
from gpugda.errors import ConfigurationError, DeviceError
from gpugda.match.engine import Engine
from gpugda.match.extend.segments.spill_folder import remove_abandoned
from gpugda.match.matcher import SHARE_OF_DEVICE
from gpugda.match.registry import DEFAULT_STRATEGY, find_matcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.sorting import SortedRows, Unsorted
    from gpugda.device.devices import DeviceInfo
    from gpugda.match.exchange import Places
    from gpugda.match.matcher import Matcher

__all__ = ["DeviceSession"]

_LOGGER = logging.getLogger("gpugda.device")
_SORTED_FROM = 1 << 22
"""Number of relationships from which opening a device to sort them pays off."""
_OPENING_SECONDS = 0.1
"""Seconds that a query waits for another thread to open the device before it routes elsewhere."""


class DeviceSession:
    """Opens a device once, and keeps the strategies for the graph that was last requested.

    Args:
        wanted: The selection passed to `choose_device`.
        memory_limit: Bytes, or None for the strategy's default.
        refinement: How often candidates are refined.
    """

    def __init__(self, wanted: str | int | None, memory_limit: int | None, refinement: str) -> None:
        self._wanted = wanted
        self._memory_limit = memory_limit
        self._refinement = refinement
        self._lock = threading.Lock()
        self._closed = False
        self._context: DeviceContext | None = None
        self._graph: DeviceGraph | None = None
        self._host_graph: DataGraph | None = None
        self._strategies: dict[str, Matcher] = {}
        self._decided: dict[str, object] = {}
        self._warming: BackgroundCompilation | None = None
        self._apart: CompileProcesses | None = None
        self._ahead: DriverStart | None = None

    @property
    def device_name(self) -> str:
        """The device's name, or empty if no device is open."""
        return "" if self._context is None else self._context.info.name

    @property
    def info(self) -> DeviceInfo:
        """Information about the device. Chooses and opens it if needed.

        Raises:
            ConfigurationError: The session is closed.
            DeviceError: There is no such device, or it cannot be opened.
        """
        with self._lock:
            return self._opened().info

    def start_ahead(self) -> None:
        """Starts the device's driver in the background, because it will soon be needed.

        Errors are raised later, when the device is opened.
        """
        if self._context is None and self._ahead is None:
            self._ahead = DriverStart(self._wanted)

    @property
    def memory_limit(self) -> int | None:
        """Bytes that graph and query may use; None if that depends on an unopened device."""
        if self._memory_limit is not None or self._context is None:
            return self._memory_limit
        return int(self._context.info.global_memory_bytes * SHARE_OF_DEVICE)

    @property
    def is_open(self) -> bool:
        """True if the device is open; does not contact the device."""
        return self._context is not None

    @property
    def intersects_lists(self) -> bool:
        """True if the device intersects lists, as GPUs do. False while it is not open."""
        return self._context is not None and self._context.profile.intersection == "lists"

    def has_upward_lists(self, type_id: int) -> bool:
        """True if lists of higher-ranked neighbours exist for the graph that was last requested."""
        known = self._strategies.get(DEFAULT_STRATEGY)
        return isinstance(known, Engine) and known.upward.has(type_id)

    def is_ready(self, graph: DataGraph) -> bool:
        """True if the device is open and holds the graph's copy; does not contact the device."""
        return self.is_open and self._host_graph is graph

    @property
    def compiling_reason(self) -> str:
        """Why a query would wait for the compiler now; empty if it would not. Never blocks."""
        if self._warming is None or (self._context and self._context.everything_compiled):
            return ""
        return str(self._warming)

    def warm_soon(self) -> str:
        """As `compiling_reason`, after opening the device and starting to compile missing kernels.

        Raises:
            ConfigurationError: The session is closed.
            DeviceError: There is no such device, or it cannot be opened.
        """
        if self._warming is None:
            if not self._lock.acquire(timeout=_OPENING_SECONDS):
                return "the device is being opened in the background"
            try:
                self._begin_warming()
            finally:
                self._lock.release()
        return self.compiling_reason

    def warm(self, seconds: float | None = None) -> None:
        """Opens the device and waits until all its kernels are compiled.

        Raises:
            ConfigurationError: The session is closed.
            DeviceError: There is no such device, it cannot be opened, or a kernel does not build.
            QueryTimeoutError: It took longer than ``seconds``; compilation continues in the
                background.
        """
        with self._lock:
            self._begin_warming()
        if self._warming is not None:
            self._warming.wait(seconds)

    def _begin_warming(self) -> None:
        context = self._opened()
        if self._warming is None and not is_everything_built(context):
            self._warming = BackgroundCompilation(context, self._apart)

    def prepare(self, graph: DataGraph) -> None:
        """Opens the device and copies the graph to it, so that the next query does not have to.

        Raises:
            ConfigurationError: The session is closed.
            DeviceError: There is no such device, or it cannot be opened.
        """
        with self.strategy(DEFAULT_STRATEGY, graph):
            pass

    def sort_rows(self, given: Unsorted, *, with_order: bool) -> SortedRows | None:
        """Sorts many relationships on a GPU; None if there is no GPU or the host is as fast.

        Few relationships do not open the device.
        """
        count = len(given.starts)
        if count < _SORTED_FROM:
            return None
        try:
            with self._lock:
                context = self._opened()
        except DeviceError as error:
            _LOGGER.info("the host sorts %d relationships: %s", count, error)
            return None
        wanted_from = context.profile.sorted_from
        if wanted_from is None or count < wanted_from:
            return None
        from gpugda.device.graph.row_building import build_rows  # of large graphs only

        return build_rows(context, given, with_order=with_order)

    @property
    def bytes_used(self) -> int:
        """Bytes that the graph's copy takes on the device."""
        return 0 if self._graph is None else self._graph.nbytes

    @contextmanager
    def strategy(self, name: str, graph: DataGraph) -> Iterator[Matcher]:
        """The strategy with this name for a graph, whose copy stays on the device meanwhile.

        Raises:
            ConfigurationError: The session is closed.
            DeviceError: There is no such device, or it cannot be opened.
        """
        with self._lock:
            strategy = self._strategy(name, graph)
            # Under the lock, so that no thread can free the copy before it is in use.
            strategy.graph.hold()
        try:
            yield strategy
        finally:
            strategy.graph.release_hold()

    @property
    def places(self) -> Places | None:
        """The devices or workers that share long patterns; None if there is only this device."""
        return None

    def close(self) -> None:
        """Frees everything on the device as soon as running queries have finished."""
        apart, warming = self._apart, self._warming
        if apart is not None:
            apart.stop()
        if warming is not None:
            warming.stop()
        with self._lock:
            self._closed = True
            self._release_graph()
            if self._context is not None:
                self._context.close()
            self._context = self._ahead = None

    def _strategy(self, name: str, graph: DataGraph) -> Matcher:
        context = self._opened()
        if self._host_graph is not graph or self._graph is None:
            following = DeviceGraph(context, graph, like=self._graph)
            decided = {key: each.decisions_for(graph) for key, each in self._engines().items()}
            self._release_graph()
            # Decisions of the previous state that were not reused are dropped: they are too old
            # for this one.
            self._decided = decided
            self._graph, self._host_graph = following, graph
        if name not in self._strategies:
            made = self._strategies[name] = find_matcher(name)(
                self._graph, memory_limit=self._memory_limit, refinement=self._refinement
            )
            if isinstance(made, Engine):
                made.reuse_decisions(self._decided.pop(name, None))
        return self._strategies[name]

    def _engines(self) -> dict[str, Engine]:
        return {key: each for key, each in self._strategies.items() if isinstance(each, Engine)}

    def _opened(self) -> DeviceContext:
        if self._closed:
            raise ConfigurationError("The accelerator is closed; connect again.")
        if self._context is None:
            info = choose_device(self._wanted)
            check_pocl(info)
            made = None if self._ahead is None else self._ahead.take(info)
            self._context = DeviceContext(info, made=made) if made else DeviceContext(info)
            self._apart = start_compile_processes(self._context)
            remove_abandoned()
        return self._context

    def _release_graph(self) -> None:
        for strategy in self._engines().values():
            strategy.drop_second_graph()
        self._strategies.clear()
        if self._graph is not None:
            self._graph.close()
        self._graph = self._host_graph = None
