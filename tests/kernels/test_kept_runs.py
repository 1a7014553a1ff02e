"""Kept runs of entries, with types and starts of runs."""

import numpy as np
import pytest
from kept_cases import NODES, Case

from gpugda.device.launch.kept_entries import KeptBits, KeptKernels, KeptRuns, RunKernels, Runs
from gpugda.device.launch.primitives import PrefixSum


@pytest.mark.one_in(2)
@pytest.mark.parametrize("chunk", [1, 31, 32, 33, 500, 10_000])
@pytest.mark.parametrize("numbered", [False, True])
def test_runs_are_kept_with_their_entries(context, workspace, chunk, numbered):
    case = Case(workspace, 3, chunk)
    starts, offsets, run_types = case.starts, case.offsets, case.run_types
    runs, chunks = len(run_types), -(-case.total // chunk)
    kept_runs = KeptRuns(
        case.on_device(np.zeros(chunks + 1), np.uint64),
        runs,
        workspace.allocate(runs, np.uint16),
        workspace.allocate(NODES + 1, np.uint32),
    )
    found = case.target(chunks, runs, kept_runs)
    kernels, run_kernels, sums_of = KeptKernels(context), RunKernels(context), PrefixSum(context)
    all_offsets = case.on_device(offsets, np.uint32)
    bits = workspace.allocate(-(-chunk // 32), np.uint32)
    run_bits = workspace.allocate(-(-(runs + 1) // 32), np.uint32)
    for number in range(chunks):
        part = case.chunk(chunk, number, numbered=numbered)
        low = int(np.searchsorted(starts, part.first, side="right")) - 1
        first, last = np.searchsorted(starts, [part.first, part.first + part.count]).tolist()
        here = case.on_device(np.concatenate([[9], starts[low : last + 1]]), np.uint32)
        kinds = case.on_device(np.concatenate([[9], run_types[low:last]]), np.uint16)
        seen = Runs(here, last - low, all_offsets, kinds, NODES, 1, low)
        kernels.find(seen, part, case.tests, case.matrix, case.words, bits)
        sums = sums_of.run(workspace, bits, 0, -(-part.count // 32), of_bits=True)
        entries = KeptBits(bits, sums)
        kernels.write(part, entries, found)
        own = Runs(here, last - first, all_offsets, kinds, NODES, 1 + first - low, first)
        run_kernels.find(own, part, entries, run_bits)
        words = max(1, -(-own.count // 32))
        run_sums = sums_of.run(workspace, run_bits, 0, words, of_bits=True)
        nodes = np.searchsorted(offsets, [first, last]).tolist()
        if number == chunks - 1:
            nodes[1] = NODES + 1
        of_runs = KeptBits(run_bits, run_sums)
        run_kernels.write(own, part, entries, of_runs, found, tuple(nodes))
    case.check_entries(found, numbered=numbered)
    before = np.concatenate([[0], np.cumsum(case.kept)])
    crosses = starts[:-1] // chunk < (starts[1:] - 1) // chunk
    stays = crosses | (np.diff(before[starts]) > 0)
    count = int(workspace.download(kept_runs.kept)[-1])
    assert count == stays.sum()
    np.testing.assert_array_equal(workspace.download(kept_runs.types)[:count], run_types[stays])
    expected = [*before[starts[:-1][stays]], case.kept.sum()]
    np.testing.assert_array_equal(workspace.download(found.starts)[: count + 1], expected)
    runs_before = np.concatenate([[0], np.cumsum(stays)])
    np.testing.assert_array_equal(workspace.download(kept_runs.offsets), runs_before[offsets])
