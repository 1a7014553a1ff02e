"""Steps are compiled once for queries that differ only in their candidates."""

from __future__ import annotations

import numpy as np
import pytest
from bound_queries import Node, Relationship, all_embeddings, found_by, make_plan
from graphs import make_graph

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import Masks
from gpugda.match.extend.cache import KeptQuery
from gpugda.match.extend.compile import StepCompiler
from gpugda.match.extend.strategy import ExtendStrategy

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]


def bits(nodes: list[int]) -> np.ndarray:
    return np.array([sum(1 << node for node in nodes)], np.uint32)


def test_steps_of_a_path_do_not_depend_on_the_smallest_candidate_set(context, monkeypatch):
    compiled = []
    steps = StepCompiler.steps

    def compile_once_more(*arguments, **options):
        compiled.append(arguments)
        return steps(*arguments, **options)

    monkeypatch.setattr(StepCompiler, "steps", compile_once_more)
    monkeypatch.setattr(KeptQuery, "order", lambda *_: [0, 1, 2])
    # Nodes 0 to 3, 4 and 5, 6 to 9; the others have no relationships.
    ends = [(a, b) for a in range(4) for b in (4, 5)] + [
        (a, b) for a in (4, 5) for b in range(6, 10)
    ]
    graph = make_graph([("A", {})] * 16, [(a, "R", b, {}) for a, b in ends])
    strategy = ExtendStrategy(DeviceGraph(context, graph))
    for first, last in (([0, 1, 2, 3], [6, 10, 11, 12]), ([0, 10, 11, 12], [6, 7, 8, 9])):
        plan = make_plan([Node()] * 3, [Relationship(0, 1, (0,)), Relationship(1, 2, (0,))])
        masks = Masks({0: bits(first), 2: bits(last)}, {})
        expected = all_embeddings(graph, plan, masks)
        assert expected
        assert found_by(strategy, plan, masks) == expected
    assert len(compiled) == 1
