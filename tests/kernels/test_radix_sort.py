"""Sorting on the device against NumPy's stable sort."""

import numpy as np
import pytest

from gpugda.device.launch.primitives import RadixSort

# A group has 256 work items, and a block at least 8,192 numbers.
COUNTS = [0, 1, 2, 255, 256, 257, 8191, 8192, 8193, 30_000]
BITS = [1, 8, 9, 43, 64]


def sorted_by_device(context, workspace, numbers, beside, bits):
    # Buffers that the pool hands out again hold wrong values.
    spoilt = [workspace.allocate(2 * len(numbers) + 2, np.uint32) for _ in range(3)]
    for each in spoilt:
        workspace.fill(each, 0xFFFFFFFF)
    workspace.release(*spoilt)
    uploaded = workspace.upload(numbers)
    uploaded_beside = None if beside is None else workspace.upload(beside)
    found, found_beside = RadixSort(context).run(workspace, uploaded, uploaded_beside, bits)
    return workspace.download(found), found_beside and workspace.download(found_beside)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("count", COUNTS)
def test_sorting_with_payload_is_stable(context, workspace, count, bits):
    random = np.random.default_rng(count)
    numbers = random.integers(0, 2**bits, count, dtype=np.uint64)
    beside = random.integers(0, 2**32, count, dtype=np.uint32)
    found, found_beside = sorted_by_device(context, workspace, numbers, beside, bits)
    order = np.argsort(numbers, kind="stable")
    np.testing.assert_array_equal(found, numbers[order])
    np.testing.assert_array_equal(found_beside, beside[order])


@pytest.mark.parametrize("count", COUNTS)
def test_sorting_without_payload(context, workspace, count):
    numbers = np.random.default_rng(count).integers(0, 2**63, count, dtype=np.uint64)
    found, beside = sorted_by_device(context, workspace, numbers, None, 63)
    np.testing.assert_array_equal(found, np.sort(numbers))
    assert beside is None


@pytest.mark.parametrize("value", [0, 255, 2**40 - 1])
def test_equal_numbers_keep_their_order(context, workspace, value):
    numbers = np.full(20_000, value, dtype=np.uint64)
    beside = np.arange(20_000, dtype=np.uint32)
    found, found_beside = sorted_by_device(context, workspace, numbers, beside, 40)
    np.testing.assert_array_equal(found, numbers)
    np.testing.assert_array_equal(found_beside, beside)


def test_higher_bits_are_ignored(context, workspace):
    numbers = np.array([0x300, 0x1FF, 0x2FF, 0x100], dtype=np.uint64)
    found, _ = sorted_by_device(context, workspace, numbers, None, 8)
    assert found.tolist() == [0x300, 0x100, 0x1FF, 0x2FF]
