"""Extension by one node against Python, which scans every relationship."""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest
from kernels.kernel_graphs import pack, random_graph, wrong
from kernels.test_join import upload_table

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.candidate_filter import FilterArrays
from gpugda.device.launch.extend import (
    Extension,
    ExtensionKernels,
    KeyTest,
    Link,
    LinkFlags,
    Pairs,
    PairWindow,
    StepArrays,
    Test,
    extension_words,
)
from gpugda.device.launch.join import Table
from gpugda.device.launch.primitives import PrefixSum
from gpugda.device.memory.buffers import MemoryBudget

NODES = 90
BLOCKS = 3
"""Arrays of keys begin at multiples of 32."""
BELOW, SAME, ABOVE, GROUPED = 1, 2, 4, 16
KNOWN, SEVERAL = LinkFlags.NEEDS_RELATIONSHIP, LinkFlags.SEVERAL
EITHER_END = LinkFlags.EITHER_END


class Step:
    """A step on a random graph, with its arrays on the device and the expected rows."""

    def __init__(self, context, workspace, extension, rows=300, mask=None, graph=None):
        seed = 1
        self.graph = graph or random_graph(NODES, seed)
        random = np.random.default_rng(seed)
        self.extension, self.mask, self._fitting = extension, mask, {}
        self.candidates = random.random(NODES) < 0.7
        self.columns = random.integers(0, NODES, (2, rows)).astype(np.uint32)
        self.columns[0].sort()
        # One key of nine values; two keys of four values each.
        self.keys = random.integers(0, 9, (2, 32 * BLOCKS)).astype(np.uint32)
        self.keys[1] = self.keys[1] % 4 | self.keys[0] % 2 << np.uint32(28)
        self.table = upload_table(workspace, self.columns)
        device_graph = DeviceGraph(context, self.graph)
        masks = None if mask is None else workspace.upload(pack(mask))
        arrays = FilterArrays(
            device_graph.csr_arguments(MemoryBudget(1 << 40)),
            workspace.upload(np.zeros(1, dtype=np.uint32)),
            None,
            None,
            masks,
            device_graph.words,
            device_graph.relationship_words,
            NODES,
        )
        matrix = np.concatenate([pack(np.ones(NODES, bool)), pack(self.candidates)])
        words, places = extension_words([extension, extension])
        self.arrays = StepArrays(
            arrays,
            workspace.upload(matrix),
            workspace.upload(np.array(words, dtype=np.uint32)),
            places[1],
            len(extension.links),
            device_graph.hub_bitmaps(MemoryBudget(1 << 20)),
            workspace.upload(np.concatenate(self.keys)),
        )
        self.totals = workspace.upload(np.zeros(1024, dtype=np.uint64))

    def expected(self):
        found = Counter()
        for row in self.columns.T.tolist():
            choices = [self.fitting(link, row[link.column]) for link in self.extension.links]
            for chosen in product(*choices):
                nodes = {node for node, _ in chosen}
                if len(nodes) == 1 and (
                    self.extension.candidate_row is None or self.candidates[chosen[0][0]]
                ):
                    self.add(found, row, chosen)
        return found

    def add(self, found, row, chosen):
        values = [*row, chosen[0][0], *(relationship for _, relationship in chosen)]
        for test in self.extension.tests:
            if isinstance(test, KeyTest):
                if not self.passes(test, values):
                    return
                continue
            equal = values[test.left] == values[test.right]
            if test.second:
                equal = equal and values[test.second[0]] == values[test.second[1]]
            if equal != test.equal:
                return
        known = [
            relationship
            for (_, relationship), link in zip(chosen, self.extension.links, strict=True)
            if link.relationship_column is not None
        ]
        found[(*(row[at] for at in self.extension.kept), chosen[0][0], *known)] += 1

    def passes(self, test, values):
        left, right = (
            values[at] if place is None else int(self.keys[place // BLOCKS][values[at]])
            for at, place in ((test.left, test.left_place), (test.right, test.right_place))
        )
        outcome = BELOW if left < right else SAME if left == right else ABOVE
        alike = not test.outcomes & GROUPED or left >> 28 == right >> 28
        return alike and bool(test.outcomes & outcome)

    def fitting(self, link, node):
        """Matching nodes at the other ends, with the relationships."""
        if link not in self._fitting:
            self._fitting[link] = self._all_fitting(link)
        return self._fitting[link][node]

    def _all_fitting(self, link):
        found = defaultdict(list)
        starts, ends = self.graph.start_nodes().tolist(), self.graph.outgoing.neighbours.tolist()
        types = self.graph.relationship_types().tolist()
        for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if link.types is not None and types[index] not in link.types:
                continue
            if link.mask_slot is not None and not self.mask[index]:
                continue
            if link.outgoing:
                found[start].append((end, index))
            if link.incoming and not (link.outgoing and start == end):
                found[end].append((start, index))
        return found


def link(column, outgoing=True, incoming=False, types=None, to=None, flags=0, mask_slot=None):
    if types is not None and len(types) == 1:
        flags |= LinkFlags.PLAIN
    if to is not None or mask_slot is not None:
        flags |= KNOWN
    return Link(column, outgoing, incoming, types, mask_slot, to, flags)


def extension(*links, tests=(), kept=(1, 0), candidate_row=1, early=0):
    return Extension(candidate_row, len(kept), None, kept, tuple(tests), links, early)


KEY_TESTS = {
    "indexes rise": [KeyTest(0, 2, BELOW, None, None)],
    "indexes fall": [KeyTest(0, 2, ABOVE | SAME, None, None)],
    "indexes differ": [KeyTest(2, 1, BELOW | ABOVE, None, None)],
    "indexes between": [KeyTest(0, 2, BELOW, None, None), KeyTest(2, 1, BELOW, None, None)],
    "keys rise": [KeyTest(2, 0, ABOVE, 0, 0)],
    "keys differ, another test": [Test(2, 1, False), KeyTest(0, 2, BELOW | ABOVE, 0, 0)],
    "keys of both": [KeyTest(2, 0, SAME, 0, BLOCKS), KeyTest(1, 2, BELOW | SAME, BLOCKS, 0)],
    "kinds": [KeyTest(0, 2, BELOW | GROUPED, BLOCKS, BLOCKS)],
    "kinds, at most": [KeyTest(2, 1, BELOW | SAME | GROUPED, BLOCKS, BLOCKS)],
}


STEPS = {
    "one type": extension(link(0, types=(0,), to=3)),
    "incoming": extension(link(1, False, True, types=(2,), to=3)),
    "undirected, any type": extension(link(0, True, True, to=3)),
    "two types": extension(link(0, types=(0, 2), to=3)),
    "all fit": extension(link(0, types=(1,)), candidate_row=None),
    "two lists": extension(
        link(0, types=(0,), to=3, flags=SEVERAL), link(1, False, True, to=4, flags=SEVERAL)
    ),
    "three lists, a test": extension(
        link(0, True, True, flags=SEVERAL | KNOWN),
        link(1, True, True, to=3, flags=SEVERAL),
        link(0, types=(0, 1), flags=SEVERAL | KNOWN),
        tests=[Test(3, 5, False), Test(0, 2, False, (1, 2))],
    ),
    **{
        f"one list, {name}": extension(
            link(0, types=(0,), to=3), tests=[*tests, Test(0, 3, False)], early=len(tests)
        )
        for name, tests in KEY_TESTS.items()
    },
    **{
        f"two lists, {name}": extension(
            link(0, True, True, flags=SEVERAL),
            link(1, True, True, flags=SEVERAL),
            tests=tests,
            early=len(tests),
        )
        for name, tests in KEY_TESTS.items()
    },
    "three lists, found in the row of either end": extension(
        link(0, True, True, flags=SEVERAL | KNOWN | EITHER_END),
        link(1, False, True, to=3, flags=SEVERAL | EITHER_END),
        link(0, flags=SEVERAL | KNOWN | EITHER_END),
        tests=[Test(3, 5, False), Test(0, 2, False, (1, 2))],
    ),
    "a mask, found in the row of either end": extension(
        link(0, types=(0, 1), flags=SEVERAL),
        link(1, True, True, mask_slot=0, flags=SEVERAL | EITHER_END),
    ),
    "a mask": extension(
        link(0, True, True, mask_slot=0, to=3, flags=SEVERAL), link(1, flags=SEVERAL)
    ),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("rows", [1, 255, 700])
def test_pairs_are_counted_and_written(context, workspace, name, rows):
    mask = np.random.default_rng(5).random(3 * NODES) < 0.5
    step = Step(context, workspace, STEPS[name], rows, mask)
    expected = step.expected()
    kernels = ExtensionKernels(context)
    pairs = measured(context, workspace, kernels, step)
    width, capacity = len(step.extension.kept) + 3, expected.total() + 5
    extended = Table(wrong(workspace, capacity * width), 0, width, capacity)
    counters = workspace.upload(np.zeros(2, dtype=np.uint32))
    for low in range(0, pairs.total, 1000):
        last = min(low + 1000, pairs.total)
        window = PairWindow(step.arrays, step.table, pairs, low, last)
        kernels.extend(window, extended, counters)
        kernels.count(window, step.totals)
    assert int(workspace.download(counters)[0]) == expected.total()
    assert int(workspace.download(step.totals).sum()) == expected.total()
    assert appended(workspace, extended, expected) == expected


CLOSING = {
    "undirected": link(0, True, True, to=2, flags=EITHER_END),
    "undirected, unknown": link(0, True, True, flags=EITHER_END),
    "outgoing": link(0, to=2, flags=EITHER_END),
    "incoming": link(0, False, True, to=2, flags=EITHER_END),
    "masked": link(0, True, True, to=2, flags=EITHER_END, mask_slot=0),
    "in the row of the link's end": link(0, True, True, to=2),
    "one type": link(0, True, True, types=(1,), to=2),
}


@pytest.mark.parametrize("name", CLOSING)
def test_relationships_between_bound_nodes_are_added(context, workspace, name):
    closing = CLOSING[name]
    graph = random_graph(NODES, 2)
    mask = np.random.default_rng(5).random(3 * NODES) < 0.5
    ends = np.array([graph.start_nodes(), graph.outgoing.neighbours])
    step = Step(
        context, workspace, Extension(None, None, 1, (1, 0), (), (closing,)), 0, mask, graph
    )
    # Both ends of relationships, in both orders; loops among them.
    step.columns = np.concatenate([ends, ends[::-1]], axis=1).astype(np.uint32)
    step.table = upload_table(workspace, step.columns)
    expected = Counter()
    for start, end in step.columns.T.tolist():
        for node, relationship in step.fitting(closing, start):
            if node == end:
                known = () if closing.relationship_column is None else (relationship,)
                expected[(end, start, *known)] += 1
    kernels = ExtensionKernels(context)
    pairs = measured(context, workspace, kernels, step)
    assert pairs.total == expected.total()
    extended = Table(wrong(workspace, pairs.total * 3), 0, 3, pairs.total)
    counters = workspace.upload(np.zeros(2, dtype=np.uint32))
    window = PairWindow(step.arrays, step.table, pairs, 0, pairs.total)
    kernels.extend(window, extended, counters)
    assert appended(workspace, extended, expected) == expected


@pytest.mark.parametrize("outcomes", [BELOW, SAME | ABOVE])
def test_rows_are_tested_without_extension(context, workspace, outcomes):
    tests = [KeyTest(0, 1, outcomes, 0, None), Test(0, 1, False, (1, 1))]
    step = Step(context, workspace, Extension(None, None, None, (), tuple(tests), ()))
    counts = wrong(workspace, 300)
    ExtensionKernels(context).test(step.arrays, step.table, counts)
    expected = [step.passes(tests[0], row) and row[0] != row[1] for row in step.columns.T.tolist()]
    assert workspace.download(counts).tolist() == expected


def measured(context, workspace, kernels, step):
    rows = step.table.row_count
    lengths, bases = wrong(workspace, rows), workspace.allocate(rows, np.uint8)
    kernels.measure(step.arrays, step.table, lengths, bases)
    sums = PrefixSum(context).run(workspace, lengths, 0, rows)
    return Pairs(sums, bases, int(workspace.download(sums)[-1]))


def appended(workspace, extended, expected):
    """The rows, without the columns that are not written."""
    values = workspace.download(extended.values).reshape(extended.width, -1)
    values = values[:, : expected.total()]
    used = len(next(iter(expected), ()))
    assert (values[used:] == 0xFFFFFFFF).all()
    return Counter(map(tuple, values[:used].T.tolist()))
