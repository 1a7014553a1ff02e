"""Arrays on the device and their budget."""

from copy import copy
from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

from gpugda.device.memory import transfers
from gpugda.device.memory.buffers import ArrayPool, MemoryBudget, Workspace
from gpugda.errors import MemoryLimitError


def test_a_budget_counts_allocations():
    budget = MemoryBudget(100)
    budget.reserve(60, "a table")
    with pytest.raises(
        MemoryLimitError, match=r"for prefix sums: 50 bytes are needed and 40 of .*100 are left"
    ):
        budget.reserve(50, "prefix sums")
    budget.release(60)
    budget.reserve(100, "a table")
    assert (budget.used, budget.remaining, budget.peak) == (100, 0, 100)


pytestmark = pytest.mark.device


@pytest.mark.parametrize("count", [0, 1, 1000, 1 << 19])
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
def test_uploaded_arrays_are_downloaded_unchanged(context, count, dtype):
    values = np.arange(count).astype(dtype)
    with Workspace(context, MemoryBudget(1 << 30)) as workspace:
        array = workspace.upload(values)
        found = workspace.download(array)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, values)
        np.testing.assert_array_equal(workspace.download(array, count // 2), values[count // 2 :])
        assert workspace.download_at(array, range(0, count, 300)) == values[::300].tolist()
    assert workspace.budget.used == 0


def noting_waits(monkeypatch):
    """For each copy between host and device, True if the host waits for it."""
    waits, copy = [], cl.enqueue_copy

    def noted(*args, **settings):
        waits.append(settings["is_blocking"])
        return copy(*args, **settings)

    monkeypatch.setattr(cl, "enqueue_copy", noted)
    return waits


@pytest.mark.parametrize(("count", "waited"), [(10, [False, True]), (1 << 16, [True, True])])
def test_only_large_uploads_are_waited_for(context, monkeypatch, count, waited):
    waits = noting_waits(monkeypatch)
    values = np.arange(count, dtype=np.uint32)
    with Workspace(context, MemoryBudget(1 << 30)) as workspace:
        array = workspace.allocate(count, np.uint32)
        workspace.write(array, values)
        values[:] = 7  # the caller may reuse it
        np.testing.assert_array_equal(workspace.download(array), np.arange(count))
        assert waits == waited


def test_many_small_uploads_keep_their_values(context):
    with Workspace(context, MemoryBudget(1 << 30)) as workspace:
        array = workspace.allocate(100, np.uint32)
        for place in range(100):
            workspace.write(array, np.array([place * place], dtype=np.uint32), place)
        assert workspace.download(array).tolist() == [n * n for n in range(100)]


@pytest.mark.parametrize(
    ("places", "count", "copies"),
    [
        ([0, 300, 900], 7, 1),
        ([1 << 17, 0], 5, 2),
        ([0, 1 << 16, 1 << 17], 1 << 16, 1),
        ([3, 1 << 17], 0, 0),
        ([], 4, 0),
    ],
)
def test_parts_are_downloaded_with_one_wait(context, monkeypatch, places, count, copies):
    values = np.arange(1 << 18, dtype=np.uint32)
    with Workspace(context, MemoryBudget(1 << 30)) as workspace:
        array = workspace.upload(values)
        waits = noting_waits(monkeypatch)
        found = workspace.download_runs(array, places, count)
        assert waits == [False] * (copies - 1) + [True] * bool(copies)
    expected = [values[place : place + count] for place in places]
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    assert all(each.dtype == np.uint32 for each in found)


def test_released_arrays_are_reused(context):
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        first = workspace.allocate(1000, np.uint32)
        workspace.release(first)
        workspace.release(first, None)
        second = workspace.allocate(600, np.uint32)
        assert second.buffer is first.buffer
        assert workspace.allocate(1000, np.uint32).buffer is not first.buffer
        assert workspace.budget.used == 8000


def test_idle_arrays_are_freed_for_an_allocation(context):
    with Workspace(context, MemoryBudget(10_000)) as workspace:
        workspace.release(workspace.allocate(2000, np.uint32))
        assert workspace.available == 10_000
        workspace.allocate(300, np.uint32)
        workspace.allocate(2000, np.uint32)
        assert workspace.budget.used == 1200 + 8000
        with pytest.raises(MemoryLimitError):
            workspace.allocate(1000, np.uint32)
    assert workspace.budget.used == 0


def test_an_array_beyond_the_devices_largest_allocation_is_refused(context):
    count = context.info.max_allocation_bytes // 4 + 1
    with (
        Workspace(context, MemoryBudget(1 << 60)) as workspace,
        pytest.raises(MemoryLimitError, match="at once"),
    ):
        workspace.allocate(count, np.uint32)


def test_arrays_are_filled(context):
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        array = workspace.allocate(100, np.uint32)
        workspace.fill(array, 0xFFFFFFFF)
        assert (workspace.download(array) == 0xFFFFFFFF).all()


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 32, 100])
def test_a_large_array_is_filled_in_parts(context, count, monkeypatch):
    monkeypatch.setattr(transfers, "_MAX_FILLED_BYTES", 64)
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        array = workspace.allocate(count, np.uint32)
        workspace.fill(array, 7)
        workspace.fill(array, 9)
        assert (workspace.download(array) == 9).all()


def test_small_uploads_of_a_gpu_reuse_arrays(context):
    gpu = copy(context)
    gpu.profile = replace(context.profile, fresh_upload_bytes=0)
    pool = ArrayPool(5000)
    with Workspace(gpu, MemoryBudget(1 << 20), pool) as first:
        buffer = first.allocate(1000, np.uint32).buffer
    with Workspace(gpu, MemoryBudget(1 << 20), pool) as second:
        assert second.upload(np.arange(200)).buffer is not buffer
        found = second.upload(np.arange(500))
        assert found.buffer is buffer
        assert second.download(found).tolist() == list(range(500))
    pool.close()


def test_small_uploads_of_a_cpu_are_not_pooled(context):
    cpu = copy(context)
    cpu.profile = replace(context.profile, fresh_upload_bytes=4000)
    pool = ArrayPool(50_000)
    with Workspace(cpu, MemoryBudget(1 << 20), pool) as first:
        there = first.allocate(1000, np.uint32)
        buffer = there.buffer
        made, longer = first.upload(np.arange(500)), first.upload(np.arange(600))
        assert first.download(made).tolist() == list(range(500))
        first.release(there, made)
        again = [first.allocate(1000, np.uint32) for _ in range(2)]
        assert buffer in [each.buffer for each in again]  # both are reused within one run
        assert first.budget.used == 4000 + 4000 + 4800
        kept = [buffer, longer.buffer]
    assert first.budget.used == 0
    with Workspace(cpu, MemoryBudget(1 << 20), pool) as second:
        assert second.budget.used == 4000 + 4800
        assert [second.allocate(n, np.int64).buffer for n in (500, 600)] == kept
    pool.close()


def test_a_pool_passes_arrays_to_the_next_workspace(context):
    pool = ArrayPool(5000)
    with Workspace(context, MemoryBudget(1 << 20), pool) as first:
        small, large = first.allocate(1000, np.uint32), first.allocate(2000, np.uint32)
        buffer = small.buffer
        lent = first.upload(np.arange(100))
        first.hand_over(lent)
        assert first.budget.used == 4000 + 8000 + 800
    assert first.budget.used == 0
    assert small.buffer is large.buffer is None
    with Workspace(context, MemoryBudget(1 << 20), pool) as second:
        assert first.download(lent).tolist() == list(range(100))
        assert second.budget.used == 4000
        assert second.allocate(2000, np.uint32).buffer is not buffer
        assert second.allocate(200, np.int64).buffer is not buffer
        assert second.allocate(500, np.int64).buffer is buffer
        with Workspace(context, MemoryBudget(1 << 20), pool) as third:
            assert third.budget.used == 0
    with Workspace(context, MemoryBudget(1 << 14), pool) as tight:
        assert tight.budget.used == 0
    pool.close()
    with Workspace(context, MemoryBudget(1 << 20), pool) as last:
        assert last.budget.used == 0
        last.allocate(1000, np.uint32)
    assert pool.take() == []


def test_cached_memory_is_freed_for_an_allocation(context):
    with Workspace(context, MemoryBudget(10_000)) as workspace:
        workspace.count(6000, "kept")
        with pytest.raises(MemoryLimitError):
            workspace.allocate(2000, np.uint32)
        workspace.free_cached = lambda: workspace.uncount(1 << 40)
        workspace.allocate(2000, np.uint32)
        assert (workspace.outside, workspace.budget.used) == (0, 8000)
