"""Bitmaps of labels and degrees that are computed once and used by all queries."""

import numpy as np
import pytest
from graphs import make_graph
from random_database import RandomDatabase

from gpugda.data.increments.apply import applied
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.node_bitmaps import NodeBitmaps
from gpugda.device.launch.query_words import Degree
from gpugda.device.memory.buffers import MemoryBudget, Workspace

pytestmark = pytest.mark.device

OUT_TWO = Degree(True, False, (0,), 2)
BOTH = Degree(True, True, None, 3)


@pytest.fixture
def graph():
    nodes = [("A" if at % 3 else "B", {}) for at in range(100)]
    rows = [(at, "RS"[at % 2], at * at % 7, {}) for at in range(100) for _ in range(at % 4)]
    return make_graph(nodes, rows)


def bits(graph, degree):
    """Expected bits in node order."""
    found = np.zeros(graph.words * 32, bool)
    for node in range(graph.graph.node_count):
        count = 0
        for csr, wanted in (
            (graph.graph.outgoing, degree.outgoing),
            (graph.graph.incoming, degree.incoming),
        ):
            types = csr.entry_types()[csr.row_offsets[node] : csr.row_offsets[node + 1]]
            here = len(types) if degree.types is None else np.isin(types, degree.types).sum()
            count += wanted * here
        found[node] = count >= degree.at_least
    return np.packbits(found, bitorder="little").view(np.uint32)


def rows_of(context, graph, matrix):
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        words = workspace.download(matrix)
    return words[: len(words) // graph.words * graph.words].reshape(-1, graph.words)


def test_labels_and_degrees_share_a_matrix(context, graph, monkeypatch):
    monkeypatch.setattr("gpugda.device.graph.node_bitmaps._MIN_LOOKS", 0)
    device_graph, budget = DeviceGraph(context, graph), MemoryBudget(1 << 24)
    device_graph.label_slots([0], budget)
    for degrees in ([OUT_TWO], [OUT_TWO, BOTH], [Degree(False, True, (0, 1), 5)]):
        looks = dict.fromkeys(degrees, 60.0)
        matrix, slots = device_graph.degree_slots(looks, budget)
        rows = rows_of(context, device_graph, matrix)
        for each in degrees:
            np.testing.assert_array_equal(rows[slots[each]], bits(device_graph, each))
    matrix, slots = device_graph.label_slots([0, 1], budget)
    rows = rows_of(context, device_graph, matrix)
    for label in (0, 1):
        np.testing.assert_array_equal(rows[slots[label]], device_graph.label_bits(label))
    np.testing.assert_array_equal(rows[slots[OUT_TWO]], bits(device_graph, OUT_TWO))
    assert device_graph.nbytes == budget.used
    device_graph.close()
    assert device_graph.nbytes == 0


def test_a_degree_gets_a_bitmap_after_enough_look_ups(context, graph, monkeypatch):
    monkeypatch.setattr("gpugda.device.graph.node_bitmaps._MIN_LOOKS", 0)
    device_graph, budget = DeviceGraph(context, graph), MemoryBudget(1 << 24)
    made = [OUT_TWO in device_graph.degree_slots({OUT_TWO: 20.0}, budget)[1] for _ in range(4)]
    assert made == [False, False, True, True]
    assert BOTH not in device_graph.degree_slots({BOTH: 49.0}, budget)[1]


def test_no_bitmaps_are_made_if_memory_is_short(context, graph, monkeypatch):
    monkeypatch.setattr("gpugda.device.graph.node_bitmaps._MIN_LOOKS", 0)
    device_graph = DeviceGraph(context, graph)
    device_graph.csr_arguments(MemoryBudget(1 << 24))
    budget = MemoryBudget(1000)
    assert device_graph.degree_slots({OUT_TWO: 100.0}, budget) == (None, {})
    assert budget.used == 0


def test_the_host_makes_no_bitmaps_if_the_smallest_array_exceeds_their_share(context, graph):
    device_graph, budget = DeviceGraph(context, graph), MemoryBudget(1000)
    assert device_graph.host_degree_slots([OUT_TWO], budget) == (None, {})
    assert budget.used == 0
    assert OUT_TWO in device_graph.host_degree_slots([OUT_TWO], MemoryBudget(1 << 16))[1]


@pytest.mark.slow
def test_bitmaps_are_updated_for_the_next_state(context, monkeypatch):
    """Except if numbers have moved, or too much has changed."""
    monkeypatch.setattr("gpugda.device.graph.node_bitmaps._MIN_LOOKS", 0)
    made, make = [], NodeBitmaps._make
    monkeypatch.setattr(NodeBitmaps, "_make", lambda *given: made.extend(given[1]) or make(*given))
    database = RandomDatabase(4, 200)
    current, graph, version = None, database.graph(), database.server.version_of()
    degrees = [OUT_TWO, BOTH, Degree(False, True, (0, 1), 2), Degree(True, True, (1,), 1)]
    counts = []
    for what in ("first", "added", "added", "removed", "added", "many"):
        state = database.server.state
        nodes, free = sorted(state.nodes), max(state.relationships) + 1
        ends = {
            free + n: (nodes[n], nodes[-n], "R", {}) for n in range(80 if what == "many" else 3)
        }
        if what == "removed":
            lost = {n for n, row in state.relationships.items() if nodes[7] in row[:2]}
            database.server.commit(without=lost)
            database.server.commit(without={nodes[7]})
        elif what != "first":
            database.server.commit(without={min(state.relationships)}, relationships=ends)
            new = {max(nodes) + 5: (["A"], {})} if what == "added" else {}
            database.server.commit(nodes=new)
            tie = {free + 100: (max(nodes) + 5, nodes[0], "S", {})} if new else {}
            database.server.commit(relationships=tie)
        changes = database.changes.changes_since(version)
        graph, version = applied(graph, changes), changes.version
        following = DeviceGraph(context, graph, like=current)
        if current is not None:
            current.close()
        current, before = following, len(made)
        looks = dict.fromkeys(degrees, 1e6)
        matrix, slots = current.degree_slots(looks, MemoryBudget(1 << 30))
        rows = rows_of(context, current, matrix)
        for each in degrees:
            np.testing.assert_array_equal(rows[slots[each]], bits(current, each))
        counts.append(len(made) - before)
    assert counts == [4, 0, 0, 4, 0, 4]
    current.close()
    assert current.nbytes == 0
