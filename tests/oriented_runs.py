"""Shared by tests of the oriented graph: patterns, graphs, and a strategy to run them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import gpugda
from gpugda.data.data_graph import DataGraph
from gpugda.device.context import DeviceContext
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.extend.strategy import ExtendStrategy

SYMMETRIC = [
    [(0, 1), (1, 2), (2, 0)],
    [(0, 1), (1, 2), (2, 0), (1, 3), (2, 3)],
    [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)],
    [(0, 1), (1, 2), (2, 0), (0, 3)],
    [(0, 1), (0, 1), (1, 2), (2, 0)],
]
"""Patterns by the ends of their relationships; the query nodes are 0, 1, …."""


@contextmanager
def extending(context: DeviceContext, graph: DataGraph) -> Iterator[ExtendStrategy]:
    """A strategy on a graph; the oriented graph is freed with it."""
    device_graph = DeviceGraph(context, graph)
    strategy = ExtendStrategy(device_graph)
    yield strategy
    strategy.drop_second_graph()
    device_graph.close()


def loopless_source(nodes: int, relationships: int) -> Any:
    """Random relationships of one type, without loops; parallel ones are kept."""
    ends = np.random.default_rng(5).integers(0, nodes, (relationships, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    columns = {"source": ends[:, 0], "target": ends[:, 1], "type": ["R"] * len(ends)}
    return gpugda.graph({"id": np.arange(nodes)}, columns)
