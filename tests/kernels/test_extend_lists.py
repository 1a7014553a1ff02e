"""Plain lists on a GPU against Python."""

from collections import Counter

import numpy as np
import pytest
from kernels.kernel_graphs import wrong
from kernels.test_extend import Step, appended, extension, link, measured
from kernels.test_extend_rows import LISTS, simple_graph
from kernels.test_weigh import extension_count, weighted

from gpugda.device.launch.extend import ExtensionKernels, ListKernels, PairWindow, Test
from gpugda.device.launch.join import Table

pytestmark = pytest.mark.one_split

STEPS = {
    **LISTS,
    "all fit": extension(link(0, types=(1,)), candidate_row=None),
    "a test of one list": extension(link(1, False, True, types=(2,)), tests=[Test(0, 2, False)]),
}


@pytest.fixture(scope="module")
def known():
    """The last step's result: the same whichever lists are bitmaps."""
    return {}


@pytest.mark.slow
@pytest.mark.parametrize("shortest", [1, 4, 1000], ids=["all", "some", "no hubs"])
@pytest.mark.parametrize("rows", [1, 255, 3000])
@pytest.mark.parametrize("name", STEPS)
def test_rows_are_extended_by_merged_lists(
    context, workspace, monkeypatch, known, name, rows, shortest
):
    if context.is_cpu:
        pytest.skip("for GPUs")
    monkeypatch.setattr("gpugda.device.launch.derived_lists._SHORTEST", shortest)
    step = Step(context, workspace, STEPS[name], rows, graph=simple_graph())
    assert (step.arrays.hubs.bits is None) == (shortest == 1000)
    if (name, rows) not in known:
        known.clear()
        known[name, rows] = step.expected()
    expected = known[name, rows]
    pairs = measured(context, workspace, ExtensionKernels(context), step)
    width, capacity = 3, expected.total() + 5
    extended = Table(wrong(workspace, capacity * width), 0, width, capacity)
    counters = workspace.upload(np.zeros(2, dtype=np.uint32))
    kernels = ListKernels(context)
    nothing = PairWindow(step.arrays, step.table, pairs, pairs.total, pairs.total + 9000)
    kernels.append(workspace, nothing, extended, counters)
    kernels.count(workspace, nothing, step.totals)
    window = max(1, pairs.total // 3)
    for low in range(0, pairs.total, window):
        # The last window may end after the last pair.
        part = PairWindow(step.arrays, step.table, pairs, low, low + window)
        kernels.append(workspace, part, extended, counters)
        kernels.count(workspace, part, step.totals)
    assert int(workspace.download(counters)[0]) == expected.total()
    assert int(workspace.download(step.totals).sum()) == expected.total()
    assert appended(workspace, extended, expected) == expected


@pytest.mark.parametrize("shortest", [1, 1000], ids=["all", "no hubs"])
@pytest.mark.parametrize("rows", [1, 700])
@pytest.mark.parametrize("name", ["one list", "two lists", "three lists, tests", "all fit"])
def test_extensions_are_counted_per_row(context, workspace, monkeypatch, name, rows, shortest):
    if context.is_cpu:
        pytest.skip("for GPUs")
    monkeypatch.setattr("gpugda.device.launch.derived_lists._SHORTEST", shortest)
    step = Step(context, workspace, weighted(STEPS[name]), rows, graph=simple_graph())
    found = [extension_count(step, row) for row in step.columns.T.tolist()]
    pairs = measured(context, workspace, ExtensionKernels(context), step)
    counts = workspace.upload(np.zeros(rows, dtype=np.uint32))
    kernels = ListKernels(context)
    window = max(1, pairs.total // 3)
    for low in range(0, pairs.total, window):  # most windows end within a row
        part = PairWindow(step.arrays, step.table, pairs, low, low + window)
        kernels.weigh(workspace, part, counts)
    assert workspace.download(counts).tolist() == found
    kept = step.extension.kept
    expected = Counter(
        (*(row[at] for at in kept), count)
        for row, count in zip(step.columns.T.tolist(), found, strict=True)
        if count
    )
    width = len(kept) + 1
    extended = Table(wrong(workspace, (rows + 3) * width), 0, width, rows + 3)
    appended = workspace.upload(np.zeros(1, dtype=np.uint32))
    for low in range(0, rows, 700):
        part = (low, min(low + 700, rows))
        kernels.append_weighted(step.arrays, step.table, part, counts, extended, appended)
    assert int(workspace.download(appended)[0]) == expected.total()
    values = workspace.download(extended.values).reshape(width, -1)
    assert Counter(map(tuple, values[:, : expected.total()].T.tolist())) == expected
    assert (values[:, expected.total() :] == 0xFFFFFFFF).all()
