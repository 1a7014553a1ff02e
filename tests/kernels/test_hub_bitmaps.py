"""Bitmaps of long lists against NumPy."""

import numpy as np
import pytest
from graphs import make_graph
from kernels.kernel_graphs import random_graph, unpack

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.derived_lists import NO_HUBS, hub_runs
from gpugda.device.launch.query_words import NONE
from gpugda.device.memory.buffers import MemoryBudget

BUDGET = 1 << 40


def lists_of(csr):
    return [csr.neighbours[a:b] for a, b in zip(csr.run_starts, csr.run_starts[1:], strict=False)]


@pytest.mark.parametrize("shortest", [1, 3, 20])
@pytest.mark.parametrize("nodes", [1, 31, 32, 33, 700])
def test_bitmaps_mark_the_neighbours_of_hubs(context, monkeypatch, nodes, shortest):
    monkeypatch.setattr("gpugda.device.launch.derived_lists._SHORTEST", shortest)
    graph = random_graph(nodes)
    device_graph = DeviceGraph(context, graph)
    hubs = device_graph.hub_bitmaps(MemoryBudget(BUDGET))
    long = [each for csr in (graph.outgoing, graph.incoming) for each in lists_of(csr)]
    assert hubs.shortest == min((len(each) for each in long if len(each) >= shortest), default=NONE)
    if hubs is NO_HUBS:
        return
    bits = device_graph._workspace.download(hubs.bits).reshape(-1, device_graph.words)
    taken = []
    for csr, slots in zip((graph.outgoing, graph.incoming), hubs.slots, strict=True):
        slots = device_graph._workspace.download(slots)
        for each, slot in zip(lists_of(csr), slots.tolist(), strict=True):
            assert (slot == NONE) == (len(each) < shortest)
            if slot != NONE:
                taken.append(slot)
                expected = np.isin(np.arange(nodes), each)
                np.testing.assert_array_equal(unpack(bits[slot], nodes), expected)
                assert not unpack(bits[slot], 32 * device_graph.words)[nodes:].any()
    assert taken == list(range(len(bits)))


def test_as_many_bitmaps_as_fit_are_made(monkeypatch):
    monkeypatch.setattr("gpugda.device.launch.derived_lists._SHORTEST", 2)
    lengths = [1, 2, 3, 3, 4]
    rows = [(at, "R", at + to, {}) for at, length in enumerate(lengths) for to in range(length)]
    graph = make_graph([("", {})] * 10, rows)
    csrs = (graph.outgoing,)
    slots, bitmap = 4 * len(lengths), 4
    for place, found in [(-1, []), (0, []), (1, [4]), (2, [4]), (3, [2, 3, 4]), (9, [1, 2, 3, 4])]:
        (runs,) = hub_runs([each.run_starts for each in csrs], 1, slots + place * bitmap)
        assert runs.tolist() == found


def test_bitmaps_are_counted_and_freed(context, monkeypatch):
    monkeypatch.setattr("gpugda.device.launch.derived_lists._SHORTEST", 1)
    device_graph, budget = DeviceGraph(context, random_graph(700)), MemoryBudget(BUDGET)
    device_graph.csr_arguments(budget)
    before = budget.used
    hubs = device_graph.hub_bitmaps(budget)
    assert budget.used == device_graph.nbytes
    assert budget.used - before >= hubs.bits.nbytes
    assert device_graph.hub_bitmaps(budget) is hubs
    device_graph.close()
    assert device_graph.nbytes == 0


def test_no_bitmaps_without_memory(context, monkeypatch):
    monkeypatch.setattr("gpugda.device.launch.derived_lists._SHORTEST", 1)
    device_graph = DeviceGraph(context, random_graph(700))
    device_graph.csr_arguments(MemoryBudget(BUDGET))
    assert device_graph.hub_bitmaps(MemoryBudget(100)) is NO_HUBS


def test_no_bitmaps_if_the_device_runs_out_of_memory(context, monkeypatch):
    from gpugda.device.memory.buffers import Workspace
    from gpugda.errors import MemoryLimitError

    monkeypatch.setattr("gpugda.device.launch.derived_lists._SHORTEST", 1)
    device_graph, budget = DeviceGraph(context, random_graph(700)), MemoryBudget(BUDGET)
    device_graph.csr_arguments(budget)
    before = budget.used

    def refuses(self, array, value):
        raise MemoryLimitError("no memory")

    monkeypatch.setattr(Workspace, "fill", refuses)
    assert device_graph.hub_bitmaps(budget) is NO_HUBS
    assert device_graph.nbytes == budget.used == before
