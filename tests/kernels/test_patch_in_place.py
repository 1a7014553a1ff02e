"""Arrays patched in place to the next state, against those materialised on the host."""

from itertools import pairwise

import numpy as np
import pytest
from kernels.patched_arrays import Halves, Renumbered, Spliced, Stepped, chain

from gpugda.data.patches import changing
from gpugda.data.patches.patched import whole
from gpugda.data.patches.splice import Splice
from gpugda.device.launch import patch as launcher
from gpugda.device.launch.patch import patch_in_place
from gpugda.device.memory.buffers import MemoryBudget, Workspace

BUDGET = 1 << 30
SHARE = launcher._SHARE


@pytest.fixture(autouse=True)
def patch_all(monkeypatch):
    monkeypatch.setattr(changing, "PATCHED_FROM", 0)
    monkeypatch.setattr(launcher, "_MOVED_SHARE", SHARE)  # several shares in a short array


def uploaded(workspace, host, spare):
    """An array with capacity for ``spare`` more entries."""
    array = workspace.allocate(len(host) + spare, host.dtype)
    array.count = len(host)
    workspace.write(array, host)
    return array


@pytest.mark.parametrize("changes", [1, 3, 40, 700])
@pytest.mark.parametrize("count", [1, 50, 5000, SHARE, SHARE + 1, 40_000])
@pytest.mark.parametrize("change", [Spliced(), Halves(), Stepped(), Renumbered()])
def test_each_state_is_patched_in_place_from_each_earlier_one(context, change, count, changes):
    random = np.random.default_rng(count + changes)
    states = chain(random, count, changes, change)
    with Workspace(context, MemoryBudget(BUDGET)) as workspace:
        for later, array in enumerate(states):
            for older in states[:later]:
                patch = array.since(older)
                if patch is None:  # it had too many patches, so its base is a later state
                    continue
                here = uploaded(workspace, whole(older), 4 * changes)
                if patch_in_place(workspace, here, patch):
                    np.testing.assert_array_equal(workspace.download(here), whole(array))
                else:
                    assert context.profile.group_size > 1
                    np.testing.assert_array_equal(workspace.download(here), whole(older))


@pytest.mark.parametrize("change", [Spliced(), Halves(), Stepped()])
def test_long_arrays_are_moved_in_shares(context, monkeypatch, change):
    monkeypatch.undo()
    monkeypatch.setattr(changing, "PATCHED_FROM", 0)
    count = 3 * launcher._MOVED_SHARE + 5
    states = chain(np.random.default_rng(1), count, 300, change)
    with Workspace(context, MemoryBudget(BUDGET)) as workspace:
        for older, array in pairwise(states):
            here = uploaded(workspace, whole(older), 1200)
            if patch_in_place(workspace, here, array.since(older)):
                np.testing.assert_array_equal(workspace.download(here), whole(array))
            else:
                assert context.profile.group_size > 1


def grown(count, first, more):
    """An array, and the same with ``more`` entries inserted at ``first``."""
    array = np.arange(count, dtype=np.uint32)
    splice = Splice(count, np.empty(0, dtype=np.int64), np.full(more, first))
    return array, changing.spliced(array, splice, 7)


@pytest.mark.parametrize("more", [launcher._MAX_EDGE, launcher._MAX_EDGE + 1])
def test_far_moves_leave_an_array_unchanged(context, more):
    array, later = grown(3 * SHARE, 5, more)
    with Workspace(context, MemoryBudget(BUDGET)) as workspace:
        here = uploaded(workspace, array, more)
        done = patch_in_place(workspace, here, later.since(array))
        assert done == (more <= launcher._MAX_EDGE and context.profile.group_size == 1)
        expected = whole(later) if done else array
        np.testing.assert_array_equal(workspace.download(here), expected)


def test_an_array_without_spare_capacity_is_unchanged(context):
    array, later = grown(2 * SHARE, 5, 1)
    with Workspace(context, MemoryBudget(BUDGET)) as workspace:
        here = workspace.upload(array)
        assert not patch_in_place(workspace, here, later.since(array))
        np.testing.assert_array_equal(workspace.download(here), array)
