"""Page-locked copies, and arrays created in page-locked memory."""

import numpy as np
import pytest

from gpugda.device.context import DeviceContext, choose_device, list_devices
from gpugda.device.memory import uploads
from gpugda.device.memory.uploads import PageLocked
from gpugda.errors import QueryTimeoutError

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]


@pytest.fixture(scope="module")
def context():
    opened = DeviceContext(choose_device())
    yield opened
    opened.close()


def test_an_array_is_copied_once_within_the_limit(context):
    locked = PageLocked(context, 1000)
    values, more = np.arange(200, dtype=np.uint32), np.arange(51, dtype=np.uint32)
    copy = locked.of(values)
    assert copy is not values
    assert np.array_equal(copy, values)
    assert locked.of(values) is copy
    assert locked.of(more) is more  # 200 bytes are left
    assert locked.of(more[:0]).size == 0
    locked.close()


def test_new_arrays_count_towards_the_same_limit(context):
    locked = PageLocked(context, 1000)
    made = locked.empty(100, np.uint64)
    assert (made.shape, made.dtype) == ((100,), np.uint64)
    made[:] = 7
    assert made.sum() == 700
    assert locked.empty(51, np.uint32) is None
    assert locked.empty(0, np.uint32) is None
    assert len(locked.empty(50, np.uint32)) == 50
    locked.close()


def test_a_copy_that_runs_out_of_time_is_continued(context, monkeypatch):
    monkeypatch.setattr(uploads, "_COPIED_BYTES", 40)
    looks = []

    def run_out():
        looks.append(None)
        if len(looks) in (1, 4, 5):
            raise QueryTimeoutError

    monkeypatch.setattr(uploads, "check_time", run_out)
    monkeypatch.setattr(uploads, "core_count", lambda: 1)
    locked = PageLocked(context, 1000)
    values = np.arange(95, dtype=np.uint32)
    for _ in range(3):
        with pytest.raises(QueryTimeoutError):
            locked.of(values)
    assert len(looks) == 5  # ten pieces, of which one is there
    copy = locked.of(values)
    assert copy is not values
    assert np.array_equal(copy, values)
    assert len(looks) == 5 + 9
    assert locked.of(values) is copy
    locked.close()
