"""Rows with their number of extensions, against Python, which scans everything."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from kernels.kernel_graphs import wrong
from kernels.test_extend import STEPS, Step, extension, link

from gpugda.device.launch.extend import WeighKernels
from gpugda.device.launch.join import Table

NODES = 90
RELATIONSHIP_TESTS = {"three lists, a test"}
"""Tests of relationship columns, which weighted rows do not have."""


def weighted(step):
    """The step without columns of relationships."""
    links = tuple(each._replace(relationship_column=None) for each in step.links)
    return step._replace(links=links)


def extension_count(step, row):
    """Number of extensions of a row."""
    choices = [step.fitting(link, row[link.column]) for link in step.extension.links]
    found = Counter()
    for chosen in product(*choices):
        nodes = {node for node, _ in chosen}
        if len(nodes) == 1 and (
            step.extension.candidate_row is None or step.candidates[min(nodes)]
        ):
            step.add(found, row, chosen)
    return found.total()


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("rows", [1, 31, 700])
def test_rows_are_weighted_by_their_extensions(context, workspace, name, rows):
    mask = np.random.default_rng(5).random(3 * NODES) < 0.5
    wanted = weighted(STEPS[name])
    if name in RELATIONSHIP_TESTS:
        wanted = wanted._replace(tests=wanted.tests[1:])
    step = Step(context, workspace, wanted, rows, mask)
    expected = Counter(
        {
            (number, *row): extension_count(step, row)
            for number, row in enumerate(step.columns.T.tolist())
        }
    )
    expected = Counter(
        (*(row[1:][at] for at in wanted.kept), found) for row, found in expected.items() if found
    )
    assert expected or rows < 700
    width = len(wanted.kept) + 1
    extended = Table(wrong(workspace, (rows + 3) * width), 0, width, rows + 3)
    appended = workspace.upload(np.zeros(1, dtype=np.uint32))
    kernels = WeighKernels(context)
    for low in range(0, rows, 300):  # as launches that were cut short
        kernels.weigh(step.arrays, step.table, (low, min(low + 300, rows)), extended, appended)
    assert int(workspace.download(appended)[0]) == expected.total()
    values = workspace.download(extended.values).reshape(width, -1)
    assert Counter(map(tuple, values[:, : expected.total()].T.tolist())) == expected
    assert (values[:, expected.total() :] == 0xFFFFFFFF).all()


def test_lists_longer_than_a_team_are_counted(context, workspace):
    """All items of a team share a hub's list."""
    step = Step(context, workspace, extension(link(0, False, True), candidate_row=None), 1)
    degrees = [extension_count(step, [node, 0]) for node in range(NODES)]
    assert max(degrees) > 16
    hub = int(np.argmax(degrees))
    workspace.write(step.table.values, np.array([hub, 0], dtype=np.uint32))
    extended = Table(wrong(workspace, 3), 0, 3, 1)
    appended = workspace.upload(np.zeros(1, dtype=np.uint32))
    WeighKernels(context).weigh(step.arrays, step.table, (0, 1), extended, appended)
    assert int(workspace.download(appended)[0]) == 1
    assert workspace.download(extended.values).tolist() == [0, hub, max(degrees)]
