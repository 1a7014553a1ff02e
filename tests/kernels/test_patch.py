"""Arrays that the device patches from older ones, against those materialised on the host."""

import numpy as np
import pytest
from kernels.patched_arrays import Halves, Renumbered, Spliced, Stepped, chain, random_splice

from gpugda.data.patches import changing
from gpugda.data.patches.changing import renumbered
from gpugda.data.patches.patched import Patched, whole
from gpugda.device.launch.patch import patch_array
from gpugda.device.memory.buffers import MemoryBudget, Workspace

BUDGET = 1 << 30


@pytest.fixture(autouse=True)
def patch_all(monkeypatch):
    monkeypatch.setattr(changing, "PATCHED_FROM", 0)


def check(context, states):
    """Each later state, patched on the device from each earlier one, equals the host's."""
    with Workspace(context, MemoryBudget(BUDGET)) as workspace:
        for later, array in enumerate(states):
            for older in states[:later]:
                patch = array.since(older)
                if patch is None:  # it had too many patches, so its base is a later state
                    assert array.base is not getattr(older, "base", older)
                    continue
                before = workspace.upload(whole(older))
                found = workspace.download(patch_array(workspace, before, patch))
                np.testing.assert_array_equal(found, whole(array))
                assert found.dtype == whole(array).dtype


@pytest.mark.parametrize("changes", [1, 3, 40])
@pytest.mark.parametrize("count", [0, 1, 50, 5000, 40_000])
@pytest.mark.parametrize("change", [Spliced(), Halves(), Stepped(), Renumbered()])
def test_each_state_is_patched_from_each_earlier_one(context, change, count, changes):
    random = np.random.default_rng(count + changes)
    check(context, chain(random, count, changes, change))


@pytest.mark.parametrize("changes", [1, 9])
@pytest.mark.parametrize("change", [Spliced(), Halves(), Stepped(), Renumbered()])
def test_states_on_another_base_are_patched_from_earlier_ones(
    context, monkeypatch, change, changes
):
    """An older state was materialised meanwhile, and becomes the base of the newest one."""
    monkeypatch.setattr("gpugda.data.patches.patched.FEW_STRETCHES", 1 << 20)
    random = np.random.default_rng(changes)
    states = [change.start(random, 5000)]
    for _ in range(6):
        states.append(change(random, states[-1], changes))
    middle, newest = states[3], states[-1]
    expected, before = whole(Patched(newest.form)), newest.form
    middle.whole()
    assert newest.rebase(middle)
    assert newest.base is whole(middle)
    assert newest.form.size < before.size
    np.testing.assert_array_equal(whole(Patched(newest.form)), expected)
    entries = random.integers(0, len(newest), 300)
    np.testing.assert_array_equal(newest[entries], expected[entries])
    later = change(random, newest, changes)
    assert later.base is whole(middle)
    # The device holds the previous state: nothing needs to be transferred anew.
    for older in (newest, middle):
        assert later.since(older) is not None
    for older in (states[1], states[4], middle):
        assert newest.since(older) is not None
    check(context, [*states, later, change(random, later, changes)])


def test_a_compacted_array_keeps_its_ancestry(context, monkeypatch):
    monkeypatch.setattr("gpugda.data.patches.patched.FEW_STRETCHES", 4)
    random, change = np.random.default_rng(5), Renumbered()
    old = change(random, change.start(random, 3000), 30)
    whole(old)
    new = change(random, old, 2)
    assert new.base is whole(old)
    check(context, [old, new])


def test_arrays_of_other_branches_are_not_patched():
    random = np.random.default_rng(1)
    start, change = Spliced().start(random, 100), Spliced()
    first = change(random, start, 3)
    one, other = change(random, first, 3), change(random, first, 3)
    assert one.since(first) is not None
    assert other.since(one) is None
    assert one.since(other) is None
    assert first.since(one) is None
    numbers = Renumbered().start(random, 100)
    some, more = (renumbered(numbers, random_splice(random, 100, 3)) for _ in range(2))
    assert more.since(some) is None
