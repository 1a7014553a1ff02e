"""Arrays that are not page-locked, sent through page-locked buffers."""

from concurrent import futures

import numpy as np
import pytest

from gpugda.device.context import DeviceContext, choose_device, list_devices
from gpugda.device.memory import transfers, uploads
from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.device.memory.uploads import PageLocked
from gpugda.errors import DeviceError

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]


@pytest.fixture
def context(monkeypatch):
    monkeypatch.setattr(uploads, "_PIECE_BYTES", 64)
    monkeypatch.setattr(uploads, "_MIN_RING", 40)
    opened = DeviceContext(choose_device(), like_cpu=False)
    yield opened
    opened.close()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_arrays_of_any_length_arrive(context, dtype):
    random = np.random.default_rng(1)
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        target = workspace.upload(np.zeros(1000, dtype=dtype))
        expected = np.zeros(1000, dtype=dtype)
        for place in range(0, 700, 7):
            values = random.integers(0, 200, random.integers(1, 300), dtype=dtype)
            expected[place : place + len(values)] = values
            begun = workspace.uploads().begin(target, place, values)
            workspace.uploads().wait_on_device([begun])
            values[:] = 0 if values.nbytes >= 40 else values  # they have been read
        assert workspace.download(target).tolist() == expected.tolist()
    assert isinstance(context.upload_ring, uploads.UploadRing)


def test_long_arrays_are_written_through_the_ring(context, monkeypatch):
    monkeypatch.setattr(transfers, "_MIN_RING", 100)
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        target = workspace.upload(np.arange(24, dtype=np.uint32))
        assert context.upload_ring is None
        longer = workspace.upload(np.arange(1000, dtype=np.uint32)[::3].copy())
        workspace.write(longer, np.arange(50, 90, dtype=np.uint32), 20)
        assert isinstance(context.upload_ring, uploads.UploadRing)
        expected = [*range(0, 60, 3), *range(50, 90), *range(180, 1000, 3)]
        assert workspace.download(longer).tolist() == expected
        assert workspace.download(target).tolist() == list(range(24))


def test_threads_copy_long_pieces():
    opened = DeviceContext(choose_device(), like_cpu=False)
    with Workspace(opened, MemoryBudget(1 << 28)) as workspace:
        values = np.random.default_rng(1).integers(0, 1 << 32, 9_000_001, dtype=np.uint32)
        target = workspace.allocate(values.size, np.uint32)
        begun = [
            workspace.uploads().begin(target, part.start, values[part])
            for part in (slice(0, 5), slice(5, 8_000_000), slice(8_000_000, values.size))
        ]
        workspace.uploads().wait_on_device(begun)
        assert np.array_equal(workspace.download(target), values)
        assert isinstance(opened.upload_ring, uploads.UploadRing)
    opened.close()


def test_values_sent_to_one_place_arrive_in_order(context):
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        target = workspace.upload(np.zeros(1000, dtype=np.uint32))
        expected = np.zeros(1000, dtype=np.uint32)
        for number in range(60):  # every third one is too short for the ring
            values = np.full(5 if number % 3 == 2 else 900, number, dtype=np.uint32)
            workspace.uploads().begin(target, number, values)
            expected[number : number + len(values)] = number
        workspace.uploads().finish()
        assert np.array_equal(workspace.download(target), expected)


def test_a_failed_upload_is_told_to_who_waits_for_it(context, monkeypatch):
    def fail(*_, **__):
        raise DeviceError("no memory")

    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        target = workspace.upload(np.zeros(100, dtype=np.uint32))
        values = np.arange(100, dtype=np.uint32)
        workspace.uploads().finish()
        with monkeypatch.context() as patch:
            patch.setattr(uploads.UploadRing, "_sent", fail)
            begun = workspace.uploads().begin(target, 0, values)
            with pytest.raises(DeviceError, match="no memory"):
                workspace.uploads().wait_on_device([begun])
            workspace.uploads().finish()  # it is told once
            workspace.uploads().begin(target, 0, values)
            with pytest.raises(DeviceError, match="no memory"):
                workspace.uploads().finish()
            futures.wait([workspace.uploads().begin(target, 0, values)._future])
        workspace.uploads().begin(target, 0, values)  # nobody was told of the last one
        with pytest.raises(DeviceError, match="no memory"):
            workspace.uploads().finish()
        begun = workspace.uploads().begin(target, 0, values)
        workspace.uploads().wait_on_device([begun])
        assert workspace.download(target).tolist() == list(range(100))


def test_locked_arrays_are_sent_from_where_they_are(context):
    locked = PageLocked(context, 1000)
    values = locked.empty(100, np.uint32)
    values[:] = np.arange(100)
    assert locked.of(values) is values
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        target = workspace.upload(np.zeros(100, dtype=np.uint32))
        workspace.uploads().begin(target, 10, values[10:])
        workspace.uploads().finish()
        assert workspace.download(target).tolist() == [0] * 10 + list(range(10, 100))
    assert context.upload_ring is None
    locked.close()
    assert not context.page_locked


def test_arrays_are_sent_directly_without_page_locked_memory(context, monkeypatch):
    def fail(*_):
        raise DeviceError("no memory")

    monkeypatch.setattr(uploads, "map_page_locked", fail)
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        target = workspace.upload(np.zeros(100, dtype=np.uint32))
        for _ in range(2):
            workspace.uploads().begin(target, 0, np.arange(100, dtype=np.uint32))
            workspace.uploads().finish()
        assert workspace.download(target).tolist() == list(range(100))


def test_long_arrays_are_locked_when_they_are_sent_often(context, monkeypatch):
    monkeypatch.setattr(uploads, "_LOCKED_AT_ONCE", 100)
    monkeypatch.setattr(uploads, "_PASSES", 2)
    locked = PageLocked(context, 1000)
    long, short = np.arange(50, dtype=np.uint32), np.arange(25, dtype=np.uint32)
    assert locked.part(short, 3, 7).tolist() == [3, 4, 5, 6]
    assert not np.shares_memory(locked.part(short, 0, 25), short)
    for first in (0, 25, 0, 25):
        assert np.shares_memory(locked.part(long, first, first + 25), long)
    assert locked.part(long, 2, 5).tolist() == [2, 3, 4]
    assert not np.shares_memory(locked.part(long, 0, 50), long)
    locked.close()
