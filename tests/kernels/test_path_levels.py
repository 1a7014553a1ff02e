"""Levels of searches, and paths through them, against node-by-node search in Python."""

from itertools import pairwise

import numpy as np
import pytest
from kernels.kernel_graphs import random_graph

from gpugda.device.launch.path_levels import EVERY, LongerPaths, PathKernels, PathRows, StepArrays
from gpugda.device.launch.primitives import PrefixSum

NODES = 40


class Steps:
    """Incoming entries of a random multigraph with loops; the last node is a hub."""

    def __init__(self, workspace):
        csr = random_graph(NODES).incoming
        self.offsets = csr.row_offsets.astype(np.uint32)
        self.offsets[-1] += 3 * NODES
        self.neighbours = np.append(csr.neighbours, np.arange(3 * NODES, dtype=np.uint32) % NODES)
        self.relationships = np.arange(len(self.neighbours), dtype=np.uint32)[::-1].copy()
        arrays = (self.offsets, self.neighbours, self.relationships)
        self.arrays = StepArrays(*map(workspace.upload, arrays))

    def into(self, node):
        first, last = int(self.offsets[node]), int(self.offsets[node + 1])
        return list(
            zip(
                self.neighbours[first:last].tolist(),
                self.relationships[first:last].tolist(),
                strict=True,
            )
        )


def bits(level, words):
    found = np.unpackbits(level.view(np.uint8), bitorder="little")
    return found.reshape(NODES, 32 * words).astype(bool)


def filled(workspace, size, value=0):
    array = workspace.allocate(size, np.uint32)
    workspace.fill(array, value)
    return array


def begun(workspace, kernels, sources, words):
    level = filled(workspace, NODES * words)
    kernels.begin(workspace.upload(np.array(sources, dtype=np.uint32)), words, level)
    return level


@pytest.mark.parametrize("searches", [1, 31, 32, 33, 40])
@pytest.mark.parametrize("parts", [1, 3])
def test_a_level_holds_newly_reached_nodes(context, workspace, searches, parts):
    steps, kernels, words = Steps(workspace), PathKernels(context), -(-searches // 32)
    sources = np.random.default_rng(searches).permutation(NODES)[:searches]
    newest, seen = (begun(workspace, kernels, sources, words) for _ in range(2))
    expected = {number: {int(node)} for number, node in enumerate(sources)}
    reached = {number: set(nodes) for number, nodes in expected.items()}
    while any(expected.values()):
        fresh, grown = filled(workspace, NODES * words, 0xFFFFFFFF), filled(workspace, 1)
        for window in pairwise(np.linspace(0, NODES, parts + 1).astype(int).tolist()):
            kernels.grow(steps.arrays, window, words, (newest, seen, fresh), grown)
        expected = {
            number: {
                node
                for node in range(NODES)
                if any(other in nodes for other, _ in steps.into(node))
            }
            - reached[number]
            for number, nodes in expected.items()
        }
        for number, nodes in expected.items():
            reached[number] |= nodes
        found = bits(workspace.download(fresh), words)
        for number, nodes in expected.items():
            assert set(np.flatnonzero(found[:, number]).tolist()) == nodes
        assert not found[:, searches:].any()
        assert workspace.download(grown)[0] == any(expected.values())
        newest = fresh
    everything = bits(workspace.download(seen), words)
    assert [set(np.flatnonzero(each).tolist()) for each in everything.T[:searches]] == [
        *reached.values()
    ]


@pytest.mark.parametrize("most", [EVERY, 1, 2])
@pytest.mark.parametrize("window", [(0, 70), (13, 50)])
def test_steps_back_lead_to_the_previous_level(context, workspace, most, window):
    steps, kernels, words, random = Steps(workspace), PathKernels(context), 2, None
    random = np.random.default_rng(7)
    sources = random.permutation(NODES)
    before = begun(workspace, kernels, sources, words)
    kernels.grow(
        steps.arrays,
        (0, NODES),
        words,
        (before, begun(workspace, kernels, sources, words), level := filled(workspace, 80)),
        filled(workspace, 1),
    )
    nodes, searches = random.integers(0, NODES, (2, 70)).astype(np.uint32)
    rows = PathRows(workspace.upload(nodes), workspace.upload(searches))
    met = workspace.allocate(70, np.uint32)
    kernels.met(level, words, rows, met)
    found = bits(workspace.download(level), words)
    np.testing.assert_array_equal(workspace.download(met), found[nodes, searches])

    there = bits(workspace.download(level), words)
    expected = [
        [(other, taken) for other, taken in steps.into(node) if there[other, search]]
        for node, search in zip(nodes.tolist(), searches.tolist(), strict=True)
    ]
    expected = [each[:most] for each in expected]
    counts = workspace.allocate(70, np.uint32)
    kernels.count_back(steps.arrays, level, words, rows, counts, most)
    np.testing.assert_array_equal(workspace.download(counts), [len(each) for each in expected])
    sums = PrefixSum(context).run(workspace, counts, 0, 70)
    first, last = window
    wanted = [
        (other, int(searches[row]), taken)
        for row in range(first, last)
        for other, taken in expected[row]
    ]
    assert wanted
    made = [workspace.allocate(len(wanted), np.uint32) for _ in range(3)]
    parents = np.repeat(np.arange(first, last), [len(each) for each in expected[first:last]])
    longer = LongerPaths(PathRows(made[0], made[1]), parents, made[2])
    kernels.write_back(steps.arrays, level, words, rows, window, sums, longer)
    assert [*zip(*(workspace.download(each).tolist() for each in made), strict=True)] == wanted
