"""Downloads through page-locked memory."""

from dataclasses import replace

import numpy as np
import pytest

from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.device.memory.staging import Staging
from gpugda.errors import DeviceError

pytestmark = pytest.mark.device


@pytest.fixture
def small_pieces(context, monkeypatch):
    monkeypatch.setattr(context, "profile", replace(context.profile, staging_bytes=64))
    monkeypatch.setattr(context, "staging", None)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 32, 33, 1000])
@pytest.mark.parametrize("start", [0, 3])
def test_staged_arrays_are_downloaded_unchanged(context, small_pieces, count, start):
    values = np.arange(count + start, dtype=np.uint32)
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        found = Staging.of(context).download(workspace.upload(values), start, count)
    np.testing.assert_array_equal(found, values[start:])
    assert found.dtype == np.uint32


@pytest.mark.usefixtures("small_pieces")
def test_a_download_waits_only_for_its_copy(context):
    values = np.arange(5000, dtype=np.uint32)
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        source = workspace.upload(values)
        target = workspace.allocate(6000, np.uint32)
        staging = Staging.of(context)
        copied = staging.copy(source, target)
        workspace.fill(source, 7)  # as a kernel that writes the next table
        np.testing.assert_array_equal(staging.download(target, 0, 5000, copied), values)


def test_a_context_has_one_staging_buffer(context):
    assert Staging.of(context) is Staging.of(context)


def test_staging_is_refused_after_closing(context):
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        array = workspace.upload(np.zeros(4, np.uint32))
        staging = Staging.of(context)
        context.close()
        with pytest.raises(DeviceError, match="was closed"):
            staging.download(array, 0, 4)
