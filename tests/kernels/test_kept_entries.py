"""Entries that connect candidates, chunk by chunk."""

import numpy as np
import pytest
from kept_cases import NODES, Case

from gpugda.device.launch.kept_entries import KeptBits, KeptKernels, Runs
from gpugda.device.launch.primitives import PrefixSum


@pytest.mark.parametrize("types", [1, 3])
@pytest.mark.parametrize("chunk", [1, 31, 32, 33, 500, 10_000])
@pytest.mark.parametrize("numbered", [False, True])
def test_entries_are_kept_in_order(context, workspace, types, chunk, numbered):
    case = Case(workspace, types, chunk)
    runs = len(case.starts) - 1
    is_typed = case.offsets is not None
    directory = Runs(
        case.on_device(case.starts, np.uint32),
        runs,
        case.on_device(case.offsets, np.uint32),
        case.on_device(case.run_types, np.uint16) if is_typed else None,
        NODES,
    )
    chunks = -(-case.total // chunk)
    found = case.target(chunks, runs)
    kernels = KeptKernels(context)
    bits = workspace.allocate(-(-chunk // 32), np.uint32)
    for number in range(chunks):
        part = case.chunk(chunk, number, numbered=numbered)
        kernels.find(directory, part, case.tests, case.matrix, case.words, bits)
        sums = PrefixSum(context).run(workspace, bits, 0, -(-part.count // 32), of_bits=True)
        entries = KeptBits(bits, sums)
        kernels.write(part, entries, found)
        window = np.searchsorted(case.starts, [part.first, part.first + part.count])
        if number == chunks - 1:
            window[1] = runs + 1
        kernels.start(directory, (int(window[0]), int(window[1])), part, entries, found)
    case.check_entries(found, numbered=numbered)
    before = np.concatenate([[0], np.cumsum(case.kept)])
    np.testing.assert_array_equal(workspace.download(found.starts), before[case.starts])
