"""Runs found through the directory of ``csr.h``, against the CSR itself; memory of a directory."""

import numpy as np
import pyarrow as pa
import pytest
from kernels.kernel_graphs import random_graph

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.device import program
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.directory import FEW_RUNS, RUN_OFFSETS, RUN_STARTS, RUN_TYPES
from gpugda.device.kernel_text import with_headers
from gpugda.device.memory.buffers import MemoryBudget
from gpugda.device.program import GRAPH, get_kernel
from gpugda.ports import GraphBatches

TEXT = """
#include "work_split.h"
#include "csr.h"
kernel void look_up(
    GRAPH_PARAMETERS, global const uint *nodes, global const uint *types, uint incoming,
    ulong count, global uint2 *found
) {
    const Csr csrs[2] = {OUTGOING_CSR, INCOMING_CSR};
    FOR_EACH(i, count) found[i] = run_of(&csrs[incoming], nodes[i], types[i]);
}
"""
ANY = 0xFFFFFFFF


@pytest.fixture
def look_up(context, workspace, monkeypatch):
    monkeypatch.setattr(program, "kernel_text", lambda _: with_headers(TEXT))
    kernel = get_kernel(context, "look_up.cl", "look_up", f"{GRAPH}bbIQb")

    def found(graph, nodes, types, *, incoming, parts=None, is_typed=False):
        device_graph = DeviceGraph(context, graph)
        places = [workspace.upload(each.astype(np.uint32)) for each in (nodes, types)]
        runs = workspace.allocate(2 * len(nodes), np.uint32)
        arguments = device_graph.csr_arguments(MemoryBudget(1 << 40))
        if parts is not None:
            words, starts = (workspace.upload(np.array(each, dtype=np.uint32)) for each in parts)
            arguments[RUN_OFFSETS], arguments[RUN_STARTS] = words, starts
            if is_typed:
                arguments[RUN_TYPES] = None
        kernel(len(nodes), *arguments, *places, incoming, len(nodes), runs)
        return workspace.download(runs).reshape(-1, 2)

    return found


def typed_graph(nodes, relationships, type_count, seed=0, hubs=4):
    """A few hubs have most relationships, and so most types."""
    random = np.random.default_rng(seed)
    starts, ends = (
        np.where(
            random.random(relationships) < 0.5,
            random.integers(0, min(hubs, nodes), relationships),
            random.integers(0, nodes, relationships),
        )
        for _ in range(2)
    )
    return graph_of(nodes, starts, random.integers(0, type_count, relationships), ends, type_count)


def graph_of(nodes, starts, types, ends, type_count):
    names = tuple(f"T{number}" for number in range(type_count))
    everyone = NodeBatch(nodes, pa.array(np.arange(nodes)), np.zeros(nodes, np.int32), ((),), {})
    batch = RelationshipBatch(
        len(starts), pa.array(starts), pa.array(ends), types.astype(np.int32), names
    )
    return build_data_graph(GraphBatches([everyone], [batch]))


def check(look_up, graph, nodes, types):
    for incoming, csr in enumerate((graph.outgoing, graph.incoming)):
        found = look_up(graph, nodes, types, incoming=incoming)
        for node, asked, (begin, end) in zip(
            nodes.tolist(), types.tolist(), found.tolist(), strict=True
        ):
            if asked == ANY:
                expected = int(csr.row_offsets[node]), int(csr.row_offsets[node + 1])
            else:
                expected = csr.run(node, asked)
            # An empty run may start anywhere.
            assert (begin, end) == expected or (begin == end and expected[0] == expected[1])


@pytest.mark.parametrize("type_count", [1, 2, FEW_RUNS, FEW_RUNS + 1, 50, 300, 5000])
def test_every_run_is_found_and_no_other(look_up, type_count):
    graph = typed_graph(40, 6000, type_count, seed=type_count)
    random = np.random.default_rng(1)
    nodes = random.integers(0, 40, 4000)
    types = random.integers(0, type_count + 3, 4000)
    types[::7] = ANY
    check(look_up, graph, nodes, types)
    longest = int(np.diff(graph.outgoing.run_offsets).max())
    assert (longest > FEW_RUNS) == (type_count > FEW_RUNS)  # both paths were taken


@pytest.mark.parametrize("seed", range(20))
def test_few_rows_with_many_runs(look_up, seed):
    count = FEW_RUNS + 1 + seed
    ends = np.zeros(count, dtype=np.int64)
    graph = graph_of(2, ends + 1, np.arange(count), ends, count)
    check(look_up, graph, np.repeat([0, 1], count + 2), np.tile(np.arange(count + 2), 2))


def test_a_graph_without_relationships_has_no_runs(look_up):
    graph = typed_graph(5, 0, 3)
    check(look_up, graph, np.arange(5), np.array([0, 1, 2, ANY, 7]))


@pytest.mark.parametrize("asked", [ANY, 0, 1])
def test_rows_are_found_in_windows(look_up, asked):
    """Nodes 3 to 7 and 20 to 29 have starts from place 2 and 11 on, of which 2 are cut off."""
    graph = typed_graph(40, 600, 1)
    starts = graph.outgoing.row_offsets.astype(np.int64)
    low, high = int(starts[3]), int(starts[8])
    second = int(starts[20]) + 1, int(starts[30]) - 1
    windows = [[3, 5, 2, low, high, 1000 - low], [20, 10, 11, *second, 5 - second[0] + (1 << 32)]]
    words = [0, 20, *windows[0], *windows[1]]
    here = [9, 9, *starts[3:9], 9, 9, 9, *starts[20:31]]
    nodes = np.arange(40)
    found = look_up(graph, nodes, np.full(40, asked), incoming=0, parts=(words, here))
    for node, (begin, end) in enumerate(found.tolist()):
        shift = 1000 - low if node < 20 else 5 - second[0]
        is_here = asked != 1 and (3 <= node < 8 or 20 <= node < 30)
        bounds = (low, high) if node < 20 else second
        row = starts[node : node + 2].clip(*bounds) + shift
        assert [begin, end] == row.tolist() if is_here else begin == end


@pytest.mark.parametrize("type_count", [3, FEW_RUNS + 30])
def test_runs_are_found_in_windows(look_up, type_count):
    """The words have run offsets of nodes 3 to 7 and 20 to 29, and types of runs from 40 on."""
    graph = typed_graph(40, 2_000, type_count, hubs=30)
    csr, words = graph.outgoing, np.zeros(40, dtype=np.uint32)
    words[:3] = 2, 20, 40
    types, starts = np.full(1_000, 9, dtype=np.uint16), np.full(1_000, 7, dtype=np.uint32)
    for window, first, last, at, place in ((3, 3, 8, 11, 2), (7, 20, 30, 20, 500)):
        run, end = csr.run_offsets[[first, last]].tolist()
        words[window : window + 4] = first, last - first, at, (place - run) % (1 << 32)
        words[at : at + last - first + 1] = csr.run_offsets[first : last + 1]
        types[place : place + end - run] = csr.run_types[run:end]
        starts[place : place + end - run + 1] = csr.run_starts[run : end + 1]
    parts = np.append(words, types.view(np.uint32)), starts
    nodes = np.repeat(np.arange(40), type_count + 2)
    asked = np.tile([ANY, *range(type_count + 1)], 40)
    found = look_up(graph, nodes, asked, incoming=0, parts=parts, is_typed=True)
    for node, kind, (begin, end) in zip(
        nodes.tolist(), asked.tolist(), found.tolist(), strict=True
    ):
        row = csr.row_offsets[node : node + 2].tolist()
        expected = row if kind == ANY else [*csr.run(node, kind)]
        is_here = (3 <= node < 8 or 20 <= node < 30) and expected[0] < expected[1]
        assert [begin, end] == expected if is_here else begin == end


@pytest.mark.parametrize("asked", [ANY, 0, 1])
def test_listed_rows_are_found(look_up, asked):
    graph, nodes = typed_graph(70, 600, 1), np.arange(70)
    listed = np.random.default_rng(3).random(70) < 0.4
    bits = np.packbits(np.append(listed, [False] * 26), bitorder="little").view(np.uint32)
    before = np.cumsum(np.bitwise_count(bits)) - np.bitwise_count(bits)
    words = [1, 0, *np.column_stack([bits, before]).ravel()]
    starts = np.arange(listed.sum() + 1) * 3
    found = look_up(graph, nodes, np.full(70, asked), incoming=0, parts=(words, starts))
    number = 0
    for is_listed, (begin, end) in zip(listed, found.tolist(), strict=True):
        if is_listed and asked != 1:
            assert (begin, end) == (3 * number, 3 * number + 3)
        else:
            assert begin == end
        number += is_listed


def test_runs_of_three_types_are_found(look_up):
    check(look_up, random_graph(257), np.arange(257), np.arange(257) % 4)


@pytest.mark.parametrize("type_count", [1, 50, 5000])
def test_the_device_size_of_the_directory(context, type_count):
    graph = typed_graph(20_000, 300_000, type_count, hubs=100)
    device_graph = DeviceGraph(context, graph)
    device_graph.csr_arguments(MemoryBudget(1 << 40))
    runs = len(graph.outgoing.run_types) + len(graph.incoming.run_types)
    one_more = 4 * 4  # in each array of offsets
    assert device_graph.nbytes <= 12 * 300_000 + 6 * runs + 8 * 20_000 + one_more


def test_the_device_size_for_rows_of_many_types(context):
    # The largest possible directory: as many runs as relationships, all in long rows.
    nodes, type_count = 60, 5000
    starts = np.repeat(np.arange(nodes), type_count)
    types = np.tile(np.arange(type_count), nodes)
    graph = graph_of(nodes, starts, types, (starts * 7 + types) % nodes, type_count)
    device_graph = DeviceGraph(context, graph)
    device_graph.csr_arguments(MemoryBudget(1 << 40))
    runs = len(graph.outgoing.run_types) + len(graph.incoming.run_types)
    assert len(graph.outgoing.run_types) == nodes * type_count
    assert device_graph.nbytes <= 12 * len(starts) + 6 * runs + 8 * nodes + 4 * 4
