"""METIS, through pymetis: assigns nodes to partitions.

pymetis holds Python's global lock while it works, so that no time limit is kept and no other query
proceeds. Work that takes longer than a moment is done by a separate process, whose program is this
module.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.runs import offsets_of
from gpugda.deadline import seconds_left
from gpugda.errors import DeviceError, QueryTimeoutError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = ["can_run_metis", "run_metis"]

_FEW_ENTRIES = 1 << 17
"""METIS takes about 0.1 s for this many entries."""
_ARRAYS = ("starts", "adjacent", "node_weights", "weights")


def can_run_metis() -> bool:
    """True if pymetis is installed."""
    return find_spec("pymetis") is not None


def run_metis(graph: DataGraph, count: int, deadline: float | None) -> NDArray[np.uint16]:
    """The partition of each node; partitions have about the same number of relationships.

    Args:
        graph: Has more nodes than partitions, and has relationships.
        count: Number of partitions, at least 2.
        deadline: ``time.monotonic()`` at which to give up.

    Raises:
        DeviceError: METIS failed.
        QueryTimeoutError: The deadline passed.
    """
    arrays = _adjacency(graph)
    if len(arrays[1]) <= _FEW_ENTRIES or not sys.executable:
        return _partition(count, arrays)
    with tempfile.TemporaryDirectory(prefix="gpugda-metis-") as folder:
        for name, array in zip(_ARRAYS, arrays, strict=True):
            np.save(Path(folder) / f"{name}.npy", array)
        _run_process(folder, count, deadline)
        found: NDArray[np.uint16] = np.load(Path(folder) / "partitions.npy")
    return found


def _run_process(folder: str, count: int, deadline: float | None) -> None:
    command = [sys.executable, "-P", "-m", __name__, folder, str(count)]
    paths = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    left = seconds_left(deadline)
    try:
        done = subprocess.run(
            command, timeout=left, capture_output=True, text=True, check=False, env=paths
        )
    except subprocess.TimeoutExpired as error:
        raise QueryTimeoutError(
            f"METIS did not make {count} partitions of the graph within the time limit: give the "
            "first query more time; partitions are kept for later ones"
        ) from error
    if done.returncode:
        last = (done.stderr.strip() or f"it ended with {done.returncode}").splitlines()[-1]
        raise DeviceError(f"METIS made no partitions of the graph: {last}")


def _adjacency(graph: DataGraph) -> tuple[NDArray[np.int64], ...]:
    """The graph without directions and self-loops; weights count parallel relationships."""
    starts, ends = graph.start_nodes(), graph.outgoing.neighbours
    apart = starts != ends
    one, other = (each[apart].astype(np.uint64) for each in (starts, ends))
    nodes = np.uint64(graph.node_count)
    keys = np.concatenate([one * nodes + other, other * nodes + one])
    keys, weights = np.unique(keys, return_counts=True)
    owners = (keys // nodes).astype(np.int64)
    offsets = offsets_of(owners, graph.node_count)
    degrees = graph.outgoing.degrees().astype(np.int64) + graph.incoming.degrees()
    return offsets, (keys % nodes).astype(np.int64), degrees + 1, weights.astype(np.int64)


def _partition(count: int, arrays: tuple[NDArray[np.int64], ...]) -> NDArray[np.uint16]:
    import pymetis

    offsets, adjacent, node_weights, weights = arrays
    found = pymetis.part_graph(
        count,
        pymetis.CSRAdjacency(offsets, adjacent),
        vweights=_at_most_a_share(node_weights, count),
        eweights=weights,
        options=pymetis.Options(seed=1),
    )
    return np.asarray(found.vertex_part, dtype=np.uint16)


def _at_most_a_share(weights: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The weights of nodes, none above the mean of ``count`` partitions.

    Otherwise METIS finds no nodes for some partitions, and writes to standard output that it cannot
    bisect them.
    """
    while weights.max() > (share := max(1, int(weights.sum()) // count)):
        weights = np.minimum(weights, share)
    return weights


def _main(folder: str, count: int) -> None:
    arrays = tuple(np.load(Path(folder) / f"{name}.npy") for name in _ARRAYS)
    np.save(Path(folder) / "partitions.npy", _partition(count, arrays))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
