"""Leaves and intersections row by row against Python."""

import numpy as np
import pytest
from graphs import make_graph
from kernels.kernel_graphs import wrong
from kernels.test_extend import KEY_TESTS, NODES, Step, extension, link

from gpugda.device.launch.extend import ExtensionKernels, RowKernels, Test


def simple_graph():
    """Each node occurs at most once in a list, as intersections require."""
    random = np.random.default_rng(3)
    rows = {
        (int(start), "RST"[kind], int(end))
        for start, kind, end in random.integers(0, (NODES, 3, NODES), (1500, 3))
    }
    return make_graph([("", {})] * NODES, [(*row, {}) for row in sorted(rows)])


LISTS = {
    "one list": extension(link(0, types=(0,)), tests=[Test(1, 2, False)]),
    "two lists": extension(link(0, types=(0,)), link(1, types=(1,))),
    "three lists, tests": extension(
        link(0, types=(0,)),
        link(0, False, True, types=(1,)),
        link(1, types=(0,)),
        tests=[Test(2, 0, False), Test(0, 1, False, (1, 2)), Test(2, 0, False, (2, 1))],
    ),
    **{
        f"one list, {name}": extension(link(0, types=(0,)), tests=tests)
        for name, tests in KEY_TESTS.items()
    },
    **{
        f"two lists, {name}": extension(
            link(0, types=(0,)), link(1, types=(0,)), tests=[*tests, Test(2, 0, False)]
        )
        for name, tests in KEY_TESTS.items()
    },
}


@pytest.mark.parametrize("name", ["one list"])
@pytest.mark.parametrize("candidate_row", [None, 1])
def test_leaves_are_counted_per_row(context, workspace, name, candidate_row):
    found = LISTS[name]
    found = extension(*found.links, tests=found.tests, candidate_row=candidate_row)
    step = Step(context, workspace, found, 700)
    kernels = RowKernels(context)
    fitting = None
    if candidate_row is not None:
        fitting = wrong(workspace, NODES)
        nodes = workspace.upload(np.arange(NODES, dtype=np.uint32))
        kernels.count_fitting(step.arrays, step.table, (nodes, 0, NODES), fitting)
    groups = ExtensionKernels(context).group_count
    kernels.count_leaves(step.arrays, step.table, fitting, step.totals, groups)
    assert int(workspace.download(step.totals).sum()) == step.expected().total()
