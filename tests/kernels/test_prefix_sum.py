"""Prefix sums against NumPy."""

import numpy as np
import pytest

from gpugda.device.launch.primitives import PrefixSum

# A group has 256 work items; a block has 4,096 values on a GPU and 65,536 on a CPU. The sums of 256
# blocks are one tile.
GROUP, GPU_BLOCK, CPU_BLOCK = 256, 4096, 65536
BORDERS = [0, 1, 2, GROUP - 1, GROUP, GROUP + 1]
BORDERS += [size + by for size in (GPU_BLOCK, CPU_BLOCK, GROUP * GPU_BLOCK) for by in (-1, 0, 1)]


def prefix_sums(context, workspace, values, first, count, **settings):
    uploaded = workspace.upload(values)
    # Buffers that the pool hands out again hold wrong values.
    spoilt = [workspace.allocate(size, np.uint32) for size in (2 * count + 2, 64, 1024)]
    for each in spoilt:
        workspace.fill(each, 0xFFFFFFFF)
    workspace.release(*spoilt)
    sums = PrefixSum(context).run(workspace, uploaded, first, count, **settings)
    return workspace.download(sums)


def expected(values):
    return np.concatenate([[0], np.cumsum(values, dtype=np.uint64)]).astype(np.uint64)


@pytest.mark.parametrize("count", BORDERS)
def test_prefix_sums_of_values(context, workspace, count):
    values = np.random.default_rng(count).integers(0, 1000, count, dtype=np.uint32)
    sums = prefix_sums(context, workspace, values, 0, count)
    assert sums.dtype == np.uint64
    np.testing.assert_array_equal(sums, expected(values))


@pytest.mark.parametrize("count", BORDERS)
def test_prefix_sums_of_bits(context, workspace, count):
    values = np.random.default_rng(count).integers(0, 2**32, count, dtype=np.uint32)
    sums = prefix_sums(context, workspace, values, 0, count, of_bits=True)
    np.testing.assert_array_equal(sums, expected(np.bitwise_count(values)))


@pytest.mark.parametrize("first", [1, 7, 300])
def test_prefix_sums_of_a_part_of_an_array(context, workspace, first):
    values = np.arange(10_000, dtype=np.uint32)
    sums = prefix_sums(context, workspace, values, first, 9_000)
    np.testing.assert_array_equal(sums, expected(values[first : first + 9_000]))


def test_sums_beyond_32_bits(context, workspace):
    values = np.full(5000, 0xFFFFFFFF, dtype=np.uint32)
    sums = prefix_sums(context, workspace, values, 0, 5000)
    np.testing.assert_array_equal(sums, expected(values))
    assert sums[-1] == 5000 * (2**32 - 1)


@pytest.mark.slow
def test_more_values_than_a_float_counts(context, workspace):
    count = (1 << 24) + 3
    values = np.random.default_rng(3).integers(0, 8, count, dtype=np.uint32)
    np.testing.assert_array_equal(
        prefix_sums(context, workspace, values, 0, count), expected(values)
    )
