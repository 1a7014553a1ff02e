"""Sparse accumulators of all links but the last, row by row, against Python."""

import numpy as np
import pytest
from kernels.kernel_graphs import wrong
from kernels.test_extend import NODES, SEVERAL, STEPS, Step, appended, extension, link
from kernels.test_extend_rows import LISTS, simple_graph

from gpugda.device.launch.extend import LinkFlags, MarkKernels, Tasks, Test
from gpugda.device.launch.join import Table

pytestmark = pytest.mark.one_split

LOOPS = LinkFlags.LOOPS
ROWS = 700


def by_rows(found):
    """With the flags of steps that run row by row: any link may lead to a node several times."""
    links = [
        each._replace(
            flags=each.flags | SEVERAL | (LOOPS if each.outgoing and each.incoming else 0)
        )
        for each in found.links
    ]
    return found._replace(links=tuple(links))


def needs_ends(step):
    """True if a test compares a link's relationship with a column that is no link of the step."""
    width = 2
    return any(
        isinstance(test, Test) and max(test.left, test.right) > width >= min(test.left, test.right)
        for test in step.tests
    )


MARKED = {
    **{name: by_rows(each) for name, each in STEPS.items() if not needs_ends(each)},
    "undirected, both": by_rows(extension(link(0, True, True), link(1, True, True))),
    "undirected, types": by_rows(
        extension(link(0, True, True, types=(1,)), link(1, True, True, types=(0, 1, 2)))
    ),
    "any of three, all fit": by_rows(
        extension(link(0), link(1, False, True), link(0, True, True), candidate_row=None)
    ),
    "relationships of one node": by_rows(
        extension(
            link(0, types=(0, 1), flags=LinkFlags.NEEDS_RELATIONSHIP),
            link(0, types=(1, 2), flags=LinkFlags.NEEDS_RELATIONSHIP),
            tests=[Test(3, 4, False)],
        )
    ),
    "relationships and nodes": by_rows(
        extension(
            link(0, True, True, flags=LinkFlags.NEEDS_RELATIONSHIP),
            link(1, True, True, to=3),
            tests=[Test(4, 3, False), Test(2, 0, False)],
        )
    ),
}
PLAIN = {name: each for name, each in LISTS.items() if name != "one list"}


def check(context, workspace, step, max_work):
    expected = step.expected()
    kernels, levels = MarkKernels(context), max(1, len(step.extension.links) - 1)
    words = 8 * step.arrays.filter.words + NODES
    scratch = workspace.upload(
        np.zeros(max(1, words * levels * kernels.item_count), dtype=np.uint32)
    )
    counters = workspace.upload(np.zeros(2, dtype=np.uint32))
    width, capacity = len(step.extension.kept) + 3, expected.total() + 5
    extended = Table(wrong(workspace, capacity * width), 0, width, capacity)
    for output in (extended, None):
        workspace.write(counters, np.zeros(1, dtype=np.uint32), start=1)
        tasks = Tasks(
            (0, ROWS), counters, scratch, words, max_work, step.totals, kernels.item_count
        )
        while workspace.download(counters)[1] < -(-ROWS // kernels.task_rows(ROWS)):
            kernels.intersect(step.arrays, step.table, tasks, output)
        every = workspace.download(scratch)[: words * levels * kernels.item_count]
        marks = every.reshape(-1, words)[:, : 8 * step.arrays.filter.words]
        assert len(step.extension.links) == 1 or not marks.any()
    assert int(workspace.download(counters)[0]) == expected.total()
    assert int(workspace.download(step.totals).sum()) == expected.total()
    assert appended(workspace, extended, expected) == expected


@pytest.mark.parametrize("name", MARKED)
@pytest.mark.parametrize("max_work", [1, 1 << 30])
def test_marks_of_random_lists(context, workspace, name, max_work):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    mask = np.random.default_rng(5).random(3 * NODES) < 0.5
    check(context, workspace, Step(context, workspace, MARKED[name], ROWS, mask), max_work)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("max_work", [1, 1 << 30])
def test_marks_of_plain_lists(context, workspace, name, max_work):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    step = Step(context, workspace, PLAIN[name], ROWS, graph=simple_graph())
    check(context, workspace, step, max_work)
