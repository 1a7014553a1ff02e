"""Partition of rows, and the kernels' view of parts, against the rows on the host."""

import random

import numpy as np
import pytest
from graphs import make_graph

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.directory import arrays_of, numbers_of
from gpugda.device.graph.placement import SegmentedPlacement
from gpugda.device.graph.segment_views import SegmentViews, Wanted
from gpugda.device.graph.segments import cut_segments, ranges_of
from gpugda.device.memory.buffers import MemoryBudget, Workspace

MANY = [f"T{number}" for number in range(60)]
DIRECTIONS = [("outgoing",), ("incoming",), ("outgoing", "incoming")]


def hub_graph(seed, types):
    """A hub with a quarter of all relationships, loops, parallel ones, and isolated nodes."""
    rng = random.Random(seed)
    ends = [(rng.randrange(30), rng.randrange(30)) for _ in range(90)]
    ends += [(7, rng.randrange(30)) for _ in range(30)] + [(3, 3)] * 3 + [(7, 9)] * 4
    return make_graph([("A", {})] * 34, [(a, rng.choice(types), b, {}) for a, b in ends])


@pytest.mark.parametrize("names", DIRECTIONS)
@pytest.mark.parametrize("most", [1, 3, 20, 1000])
def test_parts_hold_every_entry_once(most, names):
    for seed in range(10):
        graph = hub_graph(seed, "RST")
        directions = [getattr(graph, name) for name in names]
        segments = cut_segments(directions, most)
        parts = [part for each in range(segments.count) for part in segments.parts(each)]
        for csr in directions:
            found = [ranges_of(csr, segments, part, one_type=False) for part in parts]
            entries = [range(*each) for ranges in found for each in ranges.entries.tolist()]
            numbers = [entry for each in entries for entry in each]
            assert sorted(numbers) == list(range(graph.relationship_count))
            assert max(ranges.count for ranges in found) <= segments.longest
        # Exceeded only if a node has more relationships to one neighbour.
        assert segments.longest <= max(most, 8)


@pytest.mark.one_in(6)
@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@pytest.mark.parametrize(
    ("types", "has_directory"),
    [("R", True), ("R", False), ("RST", True), ("RST", False), (MANY, False)],
)
@pytest.mark.parametrize("names", DIRECTIONS)
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("most", [1, 5, 40])
def test_kernels_see_the_requested_parts(context, most, names, types, has_directory, alone):
    rng, graph = random.Random(most), hub_graph(most, types)
    segments = cut_segments([getattr(graph, name) for name in names], most)
    parts = [part for each in range(segments.count) for part in segments.parts(each)]
    pairs = [rng.sample(parts, 2) for _ in range(40)] if len(parts) > 1 else []
    sequence = [(part,) for part in parts]
    sequence += [tuple(sorted(pair)) for pair in pairs if pair[0].segment != pair[1].segment]
    wanted = [
        Wanted(*(each if name in names else () for name in DIRECTIONS[2])) for each in sequence
    ]
    device_graph = DeviceGraph(context, graph)
    with Workspace(context, MemoryBudget(1 << 30)) as workspace:
        placement = SegmentedPlacement(device_graph, has_directory=has_directory)
        views = SegmentViews(
            workspace, device_graph, placement, segments, names, knows_relationships=True
        )
        for each, following in zip(wanted, [*wanted[1:], None], strict=True):
            views.acquire(each, following, alone=alone)
            for name in names:
                check_view(workspace, views, name, getattr(each, name), graph, alone=alone)
            if alone and len(each[0] or each[1]) == 1:  # the same parts, and nothing else
                views.acquire(each)
                for name in names:
                    check_view(workspace, views, name, getattr(each, name), graph)
        assert views.uploads.sent > 0
    device_graph.close()


def rows_in_windows(words, starts, nodes):
    """Starts and ends of rows as `row_in_window` of ``csr.h`` finds them."""
    assert words[0] == 0
    found = np.zeros((nodes, 2), dtype=np.int64)
    for node in range(nodes):
        first, count, place, low, high, shift = words[2:8] if node < words[1] else words[8:14]
        if 0 <= node - first < count:
            row = starts[place + node - first : place + node - first + 2].clip(low, high)
            found[node] = (row + shift) % (1 << 32)
    return found


def runs_in_windows(words, nodes):
    """First runs and ends of rows as `runs_in_window` of ``csr.h`` finds them."""
    assert words[0] == 2
    found = np.zeros((nodes, 2), dtype=np.int64)
    for node in range(nodes):
        first, count, place, shift = words[3:7] if node < words[1] else words[7:11]
        if 0 <= node - first < count:
            found[node] = (words[place + node - first :][:2] + shift) % (1 << 32)
    return found


def check_view(workspace, views, name, parts, graph, *, alone=False):
    csr, segments = getattr(graph, name), views.segments
    neighbours, offsets, types, starts = [
        None if each is None else workspace.download(each)
        for each in views.arguments[arrays_of(name == "incoming")]
    ]
    starts = starts.astype(np.int64)
    if len(graph.types) == 1:
        found = rows_in_windows(offsets.astype(np.int64), starts, 34)
        check_rows(workspace, views, name, parts, graph, found)
        return
    if types is None:
        words = offsets[: len(offsets) // 2 * 2].view(np.uint32).astype(np.int64)
        types, runs_of = offsets[2 * words[2] :], runs_in_windows(words, 34)
    else:
        runs_of = np.column_stack([offsets[:-1], offsets[1:]])
    numbers = workspace.download(views.arguments[numbers_of(name == "incoming")])
    for node in range(graph.node_count):
        segment = int(np.searchsorted(segments.bounds, node, side="right")) - 1
        mine = [part for part in parts if part.segment == segment]
        runs = range(*runs_of[node].tolist())
        if not mine:
            # One part: all others that kernels may read are empty.
            assert alone or len(parts) > 1 or all(starts[run] == starts[run + 1] for run in runs)
            continue
        entries = entries_in(csr, segments, mine[0], node)
        here = [place for run in runs for place in range(starts[run], starts[run + 1])]
        np.testing.assert_array_equal(neighbours[here], csr.neighbours[entries])
        indexes = csr.relationship_indexes
        expected = entries if indexes is None else indexes[entries]
        np.testing.assert_array_equal(numbers[here], expected)
        found = [types[run] for run in runs for _ in range(starts[run], starts[run + 1])]
        np.testing.assert_array_equal(found, csr.entry_types()[entries])
        if len(runs):  # a row of any types extends from its first run to the next row's
            row = range(starts[runs.start], starts[runs.stop])
            assert list(row) == here


def entries_in(csr, segments, part, node):
    """The entries of a node's row that a part holds."""
    held = segments.neighbours(part)
    entries = np.arange(*csr.row_offsets[node : node + 2].tolist())
    if held is None:
        return entries
    to = csr.neighbours[entries]
    return entries[(to >= held[0]) & (to < held[1])]


def check_rows(workspace, views, name, parts, graph, found):
    """Rows of a graph with one type: those of the parts are there, all others are empty."""
    csr, segments = getattr(graph, name), views.segments
    neighbours = workspace.download(views.arguments[arrays_of(name == "incoming")][0])
    numbers = workspace.download(views.arguments[numbers_of(name == "incoming")])
    indexes = csr.relationship_indexes
    for node, (begin, end) in enumerate(found.tolist()):
        segment = int(np.searchsorted(segments.bounds, node, side="right")) - 1
        mine = [part for part in parts if part.segment == segment]
        entries = entries_in(csr, segments, mine[0], node) if mine else np.arange(0)
        np.testing.assert_array_equal(neighbours[begin:end], csr.neighbours[entries])
        expected = entries if indexes is None else indexes[entries]
        np.testing.assert_array_equal(numbers[begin:end], expected)


@pytest.mark.parametrize("most", [1, 3, 20, 1000])
def test_segments_have_few_nodes_if_asked(most):
    graph = hub_graph(most, "R")
    segments = cut_segments([graph.outgoing, graph.incoming], most, 5)
    assert np.diff(segments.bounds.astype(np.int64)).max() <= 5
    assert segments.bounds[-1] == graph.node_count
