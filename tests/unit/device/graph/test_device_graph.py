"""A data graph's arrays on the device."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import make_graph

from gpugda.device.graph.device_graph import ANY_LABEL, DeviceGraph
from gpugda.device.graph.directory import GRAPH_ARGUMENTS
from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.errors import DeviceError, MemoryLimitError

pytestmark = pytest.mark.device


@pytest.fixture
def graph():
    nodes = [(labels, {}) for labels in ("A", "B", "", "A:C", "D:E")] * 20
    return make_graph(nodes, [(at, "R", at // 2, {}) for at in range(100)])


def test_arrays_are_uploaded_once(context, graph):
    device_graph, budget = DeviceGraph(context, graph), MemoryBudget(1 << 20)
    assert device_graph.csr_arguments(budget, needed=False) == [None] * GRAPH_ARGUMENTS
    assert device_graph.nbytes == 0
    first = device_graph.csr_arguments(budget)
    assert device_graph.nbytes == budget.used > 0
    assert device_graph.csr_arguments(budget) == first
    assert device_graph.nbytes == budget.used
    csr = graph.incoming
    # One type: a row is a run, and no other array is needed.
    expected = [csr.neighbours, None, None, csr.row_offsets, csr.relationship_indexes]
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        for array, values in zip(first[4:9], expected, strict=True):
            assert (array is None) == (values is None)
            if values is not None:
                np.testing.assert_array_equal(workspace.download(array), values)


def test_labels_are_uploaded_on_demand(context, graph):
    device_graph, budget = DeviceGraph(context, graph), MemoryBudget(1 << 20)
    for wanted in ([0], [0, ANY_LABEL], [3, 1, 4], [0, 1, 2, 3, 4]):
        matrix, slots = device_graph.label_slots(wanted, budget)
        with Workspace(context, MemoryBudget(1 << 20)) as workspace:
            words = workspace.download(matrix).reshape(-1, device_graph.words)
        for label in wanted:
            expected = device_graph.label_bits(label)
            np.testing.assert_array_equal(words[slots[label]], expected)
    assert device_graph.nbytes == budget.used
    bits = np.unpackbits(device_graph.label_bits(ANY_LABEL).view(np.uint8), bitorder="little")
    assert bits[:5].tolist() == [1, 1, 0, 1, 1]


def test_a_failed_upload_releases_its_memory(context, graph):
    device_graph, budget = DeviceGraph(context, graph), MemoryBudget(1500)
    with pytest.raises(MemoryLimitError, match="relationships"):
        device_graph.csr_arguments(budget)
    with pytest.raises(MemoryLimitError, match="label"):
        device_graph.label_slots([0], MemoryBudget(10))
    assert device_graph.nbytes == budget.used
    device_graph.csr_arguments(MemoryBudget(1 << 20))


def test_a_closed_graph_stays_while_it_is_used(context, graph):
    device_graph = DeviceGraph(context, graph)
    with device_graph.use():
        device_graph.csr_arguments(MemoryBudget(1 << 20))
        device_graph.close()
        assert device_graph.nbytes > 0
        with device_graph.use():
            assert device_graph.csr_arguments(MemoryBudget(1 << 20))
        assert device_graph.nbytes > 0
    assert device_graph.nbytes == 0
    with pytest.raises(DeviceError, match="taken from the device"), device_graph.use():
        pass


def test_the_next_graph_uses_the_arrays_that_it_shares(context):
    nodes = [(["A"], {"x": at}) for at in range(100)]
    graph = make_graph(nodes, [(at, "RS"[at % 2], at // 2, {}) for at in range(100)])
    budget = MemoryBudget(1 << 20)
    first = DeviceGraph(context, graph)
    theirs = first.csr_arguments(budget)
    same = replace(graph, node_properties={})
    other = replace(
        graph, outgoing=replace(graph.outgoing, neighbours=graph.outgoing.neighbours[::-1].copy())
    )
    for following, shares in ((same, True), (other, False)):
        second, used = DeviceGraph(context, following, like=first), budget.used
        ours = second.csr_arguments(budget)
        pointers = [[each and each.buffer.int_ptr for each in some] for some in (theirs, ours)]
        assert (pointers[0][0] == pointers[1][0]) == shares
        assert pointers[0][1:] == pointers[1][1:]
        assert (budget.used == used) == shares  # shared memory is counted when a run begins
        assert second.nbytes == first.nbytes
        if shares:
            second.close()
            assert second.nbytes == 0
    expected = [np.array(each.count) for each in theirs if each is not None]
    first.close()
    assert first.nbytes == 0
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        found = workspace.download(ours[0])
        np.testing.assert_array_equal(found, other.outgoing.neighbours)
        for array, count in zip([each for each in ours if each is not None], expected, strict=True):
            assert len(workspace.download(array)) == count
    second.close()


def test_arrays_of_a_closed_graph_are_not_shared(context, graph):
    first = DeviceGraph(context, graph)
    first.csr_arguments(MemoryBudget(1 << 20))
    first.close()
    second = DeviceGraph(context, graph, like=first)
    assert second.nbytes == 0
    second.csr_arguments(MemoryBudget(1 << 20))
    second.close()
