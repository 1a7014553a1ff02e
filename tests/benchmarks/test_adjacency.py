"""Lookup of the run of (node, type): the directory of ``csr.h`` compared with other layouts.

As a test: `make bench`. By hand: python tests/benchmarks/test_adjacency.py [--device DEVICE]

    directory      ours: binary search of a long row until 16 runs are left, then types and starts together
    binary search  binary search of a row's types to the end, then the run's start
    dense          a CSR per type: one load, (nodes + 1) offsets for each type
    pcsr           GSI's (Zeng et al., ICDE 2020, section V): a hashed group of 16 pairs per run

Every lookup of every layout is compared with the CSR; a wrong one fails. Runs on any device.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import numpy as np  # noqa: E402 - in a script run, the tests' folder is not yet on the path
import pyarrow as pa  # noqa: E402
import pytest  # noqa: E402

from gpugda.data.batches import NodeBatch, RelationshipBatch  # noqa: E402
from gpugda.data.build import build_data_graph  # noqa: E402
from gpugda.device import program  # noqa: E402
from gpugda.device.context import DeviceContext, choose_device, list_devices  # noqa: E402
from gpugda.device.graph.directory import csr_arrays  # noqa: E402
from gpugda.device.kernel_text import with_headers  # noqa: E402
from gpugda.device.memory.buffers import MemoryBudget, Workspace  # noqa: E402
from gpugda.device.program import get_kernel  # noqa: E402
from gpugda.ports import GraphBatches  # noqa: E402

NODES, RELATIONSHIPS, LOOKUPS = 1 << 18, 1 << 22, 1 << 22
PAIRS = 16
ROUNDS = 10
PARAMETERS = "bbbbIQb"
TEXT = """
#include "work_split.h"
#include "csr.h"
#define PAIRS 16
#define ARGUMENTS \\
    global const uint *first, global const uint *second, global const ushort *types, global const uint *starts
#define LOOKUP uint extra, ulong count, global const uint *nodes, global const uint *wanted, global uint2 *found

kernel void directory(ARGUMENTS, LOOKUP) {
    const Csr csr = {starts, second, types, starts};
    FOR_EACH(i, count) found[i] = run_of_type(&csr, nodes[i], wanted[i]);
}

kernel void binary_search(ARGUMENTS, LOOKUP) {
    FOR_EACH(i, count) {
        uint run = second[nodes[i]], last = second[nodes[i] + 1], end = last, type = wanted[i];
        while (run < last) {
            uint middle = run + (last - run) / 2;
            if (types[middle] < type) run = middle + 1;
            else last = middle;
        }
        bool is_there = run < end && types[run] == type;
        found[i] = is_there ? (uint2)(starts[run], starts[run + 1]) : (uint2)(0, 0);
    }
}

kernel void dense(ARGUMENTS, LOOKUP) {
    FOR_EACH(i, count) {
        ulong place = (ulong)wanted[i] * extra + nodes[i];
        found[i] = (uint2)(starts[place], starts[place + 1]);
    }
}

/* first: first group of each type, and the number of all; a group holds pairs of node and first entry, the last pair's entry is
   the end of the group's entries. */
kernel void pcsr(ARGUMENTS, LOOKUP) {
    FOR_EACH(i, count) {
        uint group = first[wanted[i]], groups = first[wanted[i] + 1] - group;
        found[i] = (uint2)(0, 0);
        if (groups == 0) continue;
        group += mul_hi(nodes[i] * 0x9E3779B1u, groups);
        global const uint *pairs = starts + (ulong)group * 2 * PAIRS;
        for (uint pair = 0; pair < PAIRS - 1; ++pair) {
            if (pairs[2 * pair] == nodes[i]) found[i] = (uint2)(pairs[2 * pair + 1], pairs[2 * pair + 3]);
        }
    }
}
"""
EMPTY = 0xFFFFFFFF


def make_graph(type_count, seed=1):
    """A graph with degrees as in R-MAT and types by Zipf's law, so that hubs have many types."""
    random = np.random.default_rng(seed)
    ends = np.zeros((2, RELATIONSHIPS), dtype=np.int64)
    for _ in range(18):
        part = random.choice(4, RELATIONSHIPS, p=[0.57, 0.19, 0.19, 0.05])
        ends = 2 * ends + np.array([part // 2, part % 2])
    weights = 1 / np.arange(1, type_count + 1)
    types = random.choice(type_count, RELATIONSHIPS, p=weights / weights.sum()).astype(np.int32)
    everyone = NodeBatch(NODES, pa.array(np.arange(NODES)), np.zeros(NODES, np.int32), ((),), {})
    names = tuple(f"T{number}" for number in range(type_count))
    batch = RelationshipBatch(RELATIONSHIPS, pa.array(ends[0]), pa.array(ends[1]), types, names)
    return build_data_graph(GraphBatches([everyone], [batch]))


def layouts(csr, type_count):
    """Name, arrays and additional number of each layout; arrays exclude the neighbours."""
    _, *ours = csr_arrays(csr, type_count)
    plain = (None, csr.run_offsets, csr.run_types, csr.run_starts)
    yield "directory", (None, *ours), 0
    yield "binary_search", plain, 0
    if type_count <= 50:
        yield "dense", (None, None, None, _dense(csr, type_count)), csr.node_count
    yield "pcsr", _pcsr(csr, type_count), 0


def _dense(csr, type_count):
    counts = np.zeros(type_count * csr.node_count + 1, dtype=np.int64)
    nodes = np.repeat(np.arange(csr.node_count), np.diff(csr.run_offsets))
    counts[csr.run_types.astype(np.int64) * csr.node_count + nodes] = np.diff(csr.run_starts)
    return (np.cumsum(counts) - counts).astype(np.uint32)


def _pcsr(csr, type_count):
    """Groups as in a PCSR: entries are in the order of groups, and in each group of keys."""
    nodes = np.repeat(np.arange(csr.node_count, dtype=np.uint64), np.diff(csr.run_offsets))
    groups = np.bincount(csr.run_types, minlength=type_count)
    first = np.concatenate([[0], np.cumsum(groups)])
    hashed = (nodes * np.uint64(0x9E3779B1)) & np.uint64(EMPTY)
    group = (hashed * groups[csr.run_types].astype(np.uint64)) >> np.uint64(32)
    group = group.astype(np.int64) + first[csr.run_types]
    order = np.argsort(group, kind="stable")
    places = np.arange(len(order)) - np.searchsorted(group[order], group[order])
    assert places.max() < PAIRS - 1  # here no group overflows into others
    lengths = np.diff(csr.run_starts)[order].astype(np.int64)
    begins = np.cumsum(lengths) - lengths
    pairs = np.full((int(first[-1]), PAIRS, 2), EMPTY, dtype=np.uint32)
    pairs[group[order], places, 0] = nodes[order]
    pairs[group[order], places, 1] = begins
    pairs[group[order], places + 1, 1] = begins + lengths
    return first.astype(np.uint32), None, None, pairs.reshape(-1)


def expected_lengths(csr, nodes, types):
    keys = np.repeat(np.arange(csr.node_count), np.diff(csr.run_offsets)) << 16 | csr.run_types
    wanted = nodes << 16 | types
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, np.diff(csr.run_starts)[place], 0)


def in_turns(context, calls):
    """Minimum seconds of each call; on a CPU, processor time of all cores, which load affects less."""
    clock = time.process_time if context.is_cpu else time.perf_counter
    best = dict.fromkeys(calls, math.inf)
    for _ in range(ROUNDS):
        for name, call in calls.items():
            context.finish()
            started = clock()
            call()
            context.finish()
            best[name] = min(best[name], clock() - started)
    return best


def measure(context, type_count):
    """Rows of layout, bytes per run and node, nanoseconds per lookup (on a CPU: of one core)."""
    csr = make_graph(type_count).outgoing
    random = np.random.default_rng(2)
    # A join looks nodes up in proportion to their relationships.
    nodes = random.choice(csr.entry_nodes(), LOOKUPS).astype(np.int64)
    types = random.choice(csr.entry_types(), LOOKUPS).astype(np.int64)
    lengths = expected_lengths(csr, nodes, types)
    with Workspace(context, MemoryBudget(1 << 40)) as workspace:
        asked = [workspace.upload(each.astype(np.uint32)) for each in (nodes, types)]
        found = workspace.allocate(2 * LOOKUPS, np.uint32)
        calls, sizes = {}, {}
        for name, arrays, extra in layouts(csr, type_count):
            kernel = get_kernel(context, "layouts.cl", name, f"{PARAMETERS[:-1]}bbb")
            uploaded = [None if each is None else workspace.upload(each) for each in arrays]
            calls[name] = partial(kernel, LOOKUPS, *uploaded, extra, LOOKUPS, *asked, found)
            sizes[name] = sum(each.nbytes for each in arrays if each is not None)
            calls[name]()
            runs = workspace.download(found).reshape(-1, 2).astype(np.int64)
            np.testing.assert_array_equal(runs[:, 1] - runs[:, 0], lengths, name)
        seconds = in_turns(context, calls)
    rows = [(name, sizes[name], seconds[name] / LOOKUPS * 1e9) for name in calls]
    return csr, rows


def report(device=None):
    context = DeviceContext(choose_device(device))
    print(context.info.name)
    for type_count in (1, 50, 5000):
        csr, rows = measure(context, type_count)
        print(f"{type_count} types, {len(csr.run_types):,} runs, {csr.node_count:,} nodes")
        for name, size, nanoseconds in rows:
            print(f"  {name:<14}{size / 1e6:10.1f} MB{nanoseconds:8.2f} ns")
    context.close()


@pytest.fixture(autouse=True)
def _kernels(monkeypatch):
    monkeypatch.setattr(program, "kernel_text", lambda _: with_headers(TEXT))


@pytest.mark.perf
@pytest.mark.slow
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@pytest.mark.parametrize("type_count", [50, 5000])
def test_no_layout_of_its_size_is_much_faster(type_count):
    context = DeviceContext(choose_device())
    _, rows = measure(context, type_count)
    times = {name: nanoseconds for name, _, nanoseconds in rows}
    sizes = {name: size for name, size, _ in rows}
    assert times["directory"] < 1.3 * times["binary_search"]
    assert sizes["directory"] < sizes["pcsr"] / 4
    context.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    program.kernel_text = lambda _: with_headers(TEXT)
    report(parser.parse_args().device)
