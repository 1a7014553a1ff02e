"""A data graph as data of Dask: workers open it once each, with a device of their own."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from pickle import PickleBuffer
from shutil import rmtree
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary, finalize

import numpy as np

from gpugda.caching import LruCache
from gpugda.config import requested_device
from gpugda.data.values.property_store import PropertyStore
from gpugda.errors import SourceError
from gpugda.match.registry import plan_pattern
from gpugda.match.session import DeviceSession
from gpugda.snapshot.manifest import read_manifest
from gpugda.snapshot.opening import open_snapshot, saved_state
from gpugda.snapshot.store import save_snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.need import Need
    from gpugda.plan.plan import BoundQuery, Plan

__all__ = ["DeviceSettings", "OpenGraph", "SharedGraph", "holds_snapshot", "shared_by"]

_PLANS_KEPT = 512


class DeviceSettings(NamedTuple):
    """How workers use their devices: arguments of `DeviceSession`."""

    memory_limit: int | None
    refinement: str


class OpenGraph:
    """A data graph that this process has opened, and its device.

    Args:
        graph: The data graph.
        settings: How the device is used.
        folder: A folder that nobody else needs; empty if there is none.
    """

    def __init__(self, graph: DataGraph, settings: DeviceSettings, folder: str) -> None:
        self.graph = graph
        self.session = DeviceSession(requested_device(None), *settings)
        self._plans: LruCache[object, Plan] = LruCache(_PLANS_KEPT)
        finalize(self, _close, self.session, folder)

    def plan(self, bound: BoundQuery, strategy: str, need: Need) -> Plan:
        """The plan of a pattern; one for all its tasks, as runs record facts in it."""
        return self._plans.get(
            (bound, strategy, need),
            lambda: plan_pattern(bound, self.graph.statistics, strategy, need),
        )


def _close(session: DeviceSession, folder: str) -> None:
    session.close()
    if folder:
        rmtree(folder, ignore_errors=True)


_open: WeakValueDictionary[tuple[str, DeviceSettings], OpenGraph] = WeakValueDictionary()
_opening = threading.Lock()


class SharedGraph:
    """A data graph in the memory of Dask's workers.

    Dask copies it to each worker that needs it, and drops it when no client wants it any more. So
    a worker holds the graph as long as Dask holds this.

    Args:
        key: Identifies the state of the graph.
        folder: Folder of its snapshot, which all workers read; or empty.
        files: The bytes of the snapshot's files by name, if workers cannot read its folder.
        settings: How workers use their devices.
        owner: Removes the folder when it is dropped.
    """

    def __init__(
        self,
        key: str,
        folder: str,
        files: Mapping[str, Any] | None,
        settings: DeviceSettings,
        owner: object = None,
    ) -> None:
        self.key = key
        self._folder = folder
        self._files = files
        self._settings = settings
        self._owner = owner
        self._opened: OpenGraph | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Buffers are sent without being copied, and in frames.
        files = self._files and {name: PickleBuffer(each) for name, each in self._files.items()}
        folder = "" if files else self._folder
        return SharedGraph, (self.key, folder, files, self._settings)

    def opened(self, scratch: str) -> OpenGraph:
        """The graph in this process.

        Args:
            scratch: Folder for the files of a graph that was sent.

        Raises:
            SourceError: The snapshot cannot be read.
        """
        with _opening:
            if self._opened is None:
                known = _open.get((self.key, self._settings))
                self._opened = known or self._open(scratch)
                _open[self.key, self._settings] = self._opened
            return self._opened

    def _open(self, scratch: str) -> OpenGraph:
        folder, own = self._folder, ""
        if not folder:
            assert self._files is not None
            folder = own = tempfile.mkdtemp(prefix="gpugda-graph-", dir=scratch)
            for name, data in self._files.items():
                (Path(folder) / name).write_bytes(data)
            self._files = _mapped(folder)
        graph = open_snapshot(folder, verify=False, trust=True)
        saved = saved_state(graph)
        if saved is None or saved.key != self.key:
            raise SourceError(f"the snapshot {folder} is another one here, or was replaced")
        return OpenGraph(graph, self._settings, own)


def _mapped(folder: str | Path) -> dict[str, Any]:
    """The bytes of a folder's files, read when they are sent."""
    return {
        each.name: np.memmap(each, dtype=np.uint8, mode="r")
        for each in sorted(Path(folder).iterdir())
    }


def holds_snapshot(folder: str, key: str) -> bool:
    """True if this machine has the snapshot with this key in a folder."""
    try:
        return read_manifest(folder).key == key
    except SourceError:
        return False


def shared_by(graph: DataGraph, settings: DeviceSettings, reads: Any) -> SharedGraph:
    """A graph for workers: its snapshot if it has one that all of them read, else its arrays.

    Workers match patterns by structure and bitmaps, so property values are not sent.

    Args:
        graph: The graph.
        settings: How workers use their devices.
        reads: Tells if all workers have the snapshot with a key in a folder.
    """
    saved = saved_state(graph)
    if saved is not None and reads(str(saved.folder), saved.key):
        return SharedGraph(saved.key, str(saved.folder), None, settings)
    owner = tempfile.TemporaryDirectory(prefix="gpugda-graph-", ignore_cleanup_errors=True)
    path = Path(owner.name) / "snapshot"
    bare = replace(
        graph,
        node_properties=PropertyStore(),
        relationship_properties=PropertyStore(),
        external_ids=None,
    )
    save_snapshot(bare, path)
    return SharedGraph(read_manifest(path).key, str(path), _mapped(path), settings, owner)
