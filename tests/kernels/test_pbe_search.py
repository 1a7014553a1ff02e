"""Seeds, needed nodes, dropped entries and remapped rows, each against Python."""

import numpy as np
import pytest
from gpugda_strategies.launch.gsi_join import Places, Rows
from gpugda_strategies.launch.pbe_search import GivenRows, PbeSearch
from kernels.kernel_graphs import SIZES, pack, unpack

from gpugda.device.launch.join import Table

NONE = 0xFFFFFFFF


def numbers(random, count, most):
    return random.integers(0, most, count).astype(np.uint32)


def table_of(workspace, columns):
    values = np.concatenate(columns).astype(np.uint32)
    return Table(workspace.upload(values), len(columns[0]), len(columns))


def columns_of(workspace, table):
    values = workspace.download(table.values)[: table.width * table.column_stride]
    return values.reshape(table.width, table.column_stride)[:, : table.row_count]


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("count", [each for each in SIZES if each])
def test_given_rows_that_pass_become_seeds(context, workspace, count, turns):
    random = np.random.default_rng(count)
    starts, ends = numbers(random, count, 40), numbers(random, count, 40)
    relationships = random.permutation(count).astype(np.uint32)
    first, second = random.random(40) < 0.5, random.random(40) < 0.7
    mask = random.random(count) < 0.8
    kernels = PbeSearch(context)
    given = GivenRows(*(workspace.upload(e) for e in (starts, ends, relationships)), count, turns)
    bits = workspace.upload(np.concatenate([[NONE], pack(first), pack(second)]).astype(np.uint32))
    flags = workspace.allocate(count * turns, np.uint32)
    kernels.check_seeds(given, (bits, 1, 1 + len(pack(first))), workspace.upload(pack(mask)), flags)
    expected = [
        (a, b, r)
        for one, other in [(starts, ends), (ends, starts)][:turns]
        for a, b, r in zip(one.tolist(), other.tolist(), relationships.tolist(), strict=True)
        if first[a] and second[b] and mask[r]
    ]
    passed = workspace.download(flags)[: count * turns]
    assert passed.sum() == len(expected)
    if not expected:
        return
    sums = workspace.upload(np.concatenate([[0], np.cumsum(passed)]).astype(np.uint64))
    seeds = Table(workspace.upload(np.full(3 * len(expected), NONE, np.uint32)), len(expected), 3)
    kernels.write_seeds(given, sums, workspace.upload(np.array([2, 1, 0], np.uint32)), seeds)
    found = columns_of(workspace, seeds)[::-1].T.tolist()
    assert list(map(tuple, found)) == expected


@pytest.mark.parametrize("count", [each for each in SIZES if each])
def test_single_nodes_become_seeds(context, workspace, count):
    random = np.random.default_rng(count)
    nodes, is_candidate = numbers(random, count, 40), random.random(40) < 0.5
    kernels, given = PbeSearch(context), GivenRows(workspace.upload(nodes), None, None, count)
    flags = workspace.allocate(count, np.uint32)
    kernels.check_seeds(given, (workspace.upload(pack(is_candidate)), 0, 0), None, flags)
    passed = workspace.download(flags)[:count]
    assert passed.tolist() == is_candidate[nodes].astype(int).tolist()
    total = int(passed.sum())
    seeds = Table(workspace.upload(np.full(max(1, total), NONE, np.uint32)), total, 1)
    sums = workspace.upload(np.concatenate([[0], np.cumsum(passed)]).astype(np.uint64))
    kernels.write_seeds(given, sums, workspace.upload(np.zeros(1, np.uint32)), seeds)
    assert workspace.download(seeds.values)[:total].tolist() == nodes[is_candidate[nodes]].tolist()


@pytest.mark.parametrize("count", [each for each in SIZES if each])
def test_the_nodes_of_a_column_are_marked(context, workspace, count):
    random = np.random.default_rng(count)
    columns = [numbers(random, count + 3, 100) for _ in range(2)]
    bits = workspace.upload(np.zeros(4, dtype=np.uint32))
    PbeSearch(context).mark_needed(Rows(table_of(workspace, columns), 3, count), 1, bits)
    found = np.flatnonzero(unpack(workspace.download(bits)[:4], 128)).tolist()
    assert found == np.unique(columns[1][3:]).tolist()


@pytest.mark.parametrize("has_sums", [True, False])
@pytest.mark.parametrize("count", [each for each in SIZES if each])
def test_entries_with_a_smaller_crossing_relationship_are_removed(
    context, workspace, count, has_sums
):
    random = np.random.default_rng(count)
    partition_of = random.integers(0, 3, 50).astype(np.uint16)
    columns = [numbers(random, count + 2, 50) for _ in range(4)]
    rows = Rows(table_of(workspace, columns), 2, count)
    longest = 90
    lengths = random.integers(0, longest, count)
    neighbours = numbers(random, 500, 50)
    firsts = np.cumsum(lengths) - lengths if has_sums else longest * np.arange(count)
    entries = numbers(random, longest * count + 1, 500)
    sums = None
    if has_sums:
        sums = workspace.upload(np.append(firsts, lengths.sum()).astype(np.uint64))
    counts = workspace.upload(lengths.astype(np.uint32))
    places = Places(sums, workspace.upload(entries), counts, longest)
    # The prime relationship is between columns 3 and 0; the added node is joined to 0 and 2.
    words = workspace.upload(np.array([NONE, 3, 0, 0, 2], dtype=np.uint32))
    PbeSearch(context).drop_smaller(
        rows, (words, 1, 2), workspace.upload(partition_of), workspace.upload(neighbours), places
    )

    def keeps(row, entry):
        a, _, c, d = (column[2 + row] for column in columns)
        node = neighbours[entry]
        crossing = [each for each in (a, c) if partition_of[each] != partition_of[node]]
        return all(sorted((node, each)) >= sorted((a, d)) for each in crossing)

    left, numbers_left = workspace.download(places.entries), workspace.download(counts)
    for row in range(count):
        before = entries[firsts[row] : firsts[row] + lengths[row]]
        expected = [int(entry) for entry in before if keeps(row, entry)]
        found = left[firsts[row] : firsts[row] + int(numbers_left[row])]
        assert found.tolist() == expected


@pytest.mark.parametrize("count", [each for each in SIZES if each])
def test_columns_are_remapped(context, workspace, count):
    random = np.random.default_rng(count)
    columns = [numbers(random, count, 1000) for _ in range(3)]
    order = workspace.upload(np.array([NONE, 2, 0, 0, 1], dtype=np.uint32))
    remapped = Table(workspace.upload(np.full(4 * count, NONE, dtype=np.uint32)), count, 4)
    PbeSearch(context).remap(table_of(workspace, columns), (order, 1), remapped)
    expected = [columns[at].tolist() for at in (2, 0, 0, 1)]
    assert columns_of(workspace, remapped).tolist() == expected
