"""Group sums, marks of groups, and products of rows, against Python's integers."""

import numpy as np
import pytest
from kernels.kernel_graphs import pack, random_graph, upload_query, wrong
from kernels.test_join import upload_table

from gpugda.device.launch.join import Table
from gpugda.device.launch.leaf_products import (
    SUM_WORDS,
    BranchSums,
    CountsPlace,
    Factor,
    GroupKernels,
    GroupKey,
    Leaves,
    ProductArrays,
    ProductKernels,
    group_words,
    product_words,
    whole_sums,
)
from gpugda.device.launch.query_words import Adjacency, QueryRow
from gpugda.types import MAX_WEIGHT

NODES = 70
ROWS = 3000


class Rows:
    """Three columns, each with its own candidates, and leaves at the last column."""

    def __init__(self, context, workspace, leaf_counts=None, leaves=(), sort=True):
        random = np.random.default_rng(4)
        rows = [QueryRow(0, (), None, (), (Adjacency(0, 1, True, False, False, None, (0,)),))]
        rows += [QueryRow(1, (), None, (), ()), QueryRow(1, (), None, (), ())]
        self.filter, query = upload_query(context, workspace, random_graph(NODES, 1), rows)
        bits = [random.random(NODES) < share for share in (0.5, 0.9, 0.3)]
        self.candidates = [np.flatnonzero(each) for each in bits]
        words = np.concatenate([pack(each) for each in bits])
        self.matrix = workspace.upload(words)
        ranks = np.concatenate([[0], np.cumsum(np.bitwise_count(words))]).astype(np.uint64)
        self.ranks = workspace.upload(ranks)
        self.columns = [random.choice(each, ROWS) for each in self.candidates]
        if sort:
            self.columns[0].sort()
        # Longer than its rows: the stride differs from the row count.
        table = upload_table(workspace, np.array(self.columns).astype(np.uint32))
        self.table = Table(table.values, ROWS - 7, 3, ROWS)
        self.leaf_counts = np.ones(NODES, dtype=np.uint32) if leaf_counts is None else leaf_counts
        factors = [
            Factor((Leaves(2, CountsPlace(0), each, True, False, None, query.adjacencies[0, 0]),))
            for each in leaves
        ]
        product = workspace.upload(product_words(factors))
        self.arrays = ProductArrays(
            self.filter,
            self.matrix,
            product,
            workspace.upload(self.leaf_counts),
            self.ranks,
            self.ranks,
            product,
        )

    def group_keys(self, columns):
        return [GroupKey(each, each, len(self.candidates[each])) for each in columns]

    def keys(self, workspace, columns):
        return workspace.upload(group_words(self.group_keys(columns)))

    def groups(self, columns):
        """The group number of each row, and the number of groups."""
        numbers, count = 0, 1
        for each in columns:
            size = len(self.candidates[each])
            places = np.searchsorted(self.candidates[each], self.columns[each])
            numbers, count = numbers * size + places, count * size
        return numbers[: ROWS - 7].tolist(), count

    def weights(self, leaves):
        found = []
        for node in self.columns[2][: ROWS - 7].tolist():
            weight = 1
            for each in leaves:
                for less in range(each):
                    weight *= max(int(self.leaf_counts[node]) - less, 0)
            found.append(weight)
        return found


def sums_of(context, workspace, rows, columns):
    groups, count = rows.groups(columns)
    sums = workspace.upload(np.zeros(SUM_WORDS * count, dtype=np.uint32))
    keys = rows.keys(workspace, columns)
    for some in ((0, 1111), (1111, ROWS - 7)):
        GroupKernels(context).sum(rows.arrays, rows.table, some, keys, sums)
    return groups, workspace.download(sums)


@pytest.mark.parametrize("columns", [(0,), (1,), (2, 0), (0, 1)])
@pytest.mark.parametrize("sort", [True, False], ids=["sorted", "unsorted"])
def test_rows_are_counted_per_group(context, workspace, columns, sort):
    rows = Rows(context, workspace, sort=sort)
    groups, words = sums_of(context, workspace, rows, columns)
    expected = np.bincount(groups, minlength=len(words) // SUM_WORDS)
    assert whole_sums(words).tolist() == expected.tolist()


@pytest.mark.parametrize("sort", [True, False], ids=["sorted", "unsorted"])
@pytest.mark.parametrize("most", [5, 1 << 20, 0xFFFFFFFF])
@pytest.mark.parametrize("leaves", [(1,), (2,), (2, 1), (3, 2)])
def test_products_are_summed_per_group(context, workspace, sort, most, leaves):
    leaf_counts = np.random.default_rng(6).integers(0, most, NODES, dtype=np.uint32, endpoint=True)
    rows = Rows(context, workspace, leaf_counts, leaves, sort)
    groups, words = sums_of(context, workspace, rows, (0,))
    expected = [0] * (len(words) // SUM_WORDS)
    for group, weight in zip(groups, rows.weights(leaves), strict=True):
        expected[group] += weight
    assert whole_sums(words).tolist() == [min(each, MAX_WEIGHT) for each in expected]


def test_sums_carry_across_words(context, workspace):
    for weight in ((1 << 32) - 1, 1 << 31, 0xFFFFF):
        leaf_counts = np.full(NODES, weight, dtype=np.uint32)
        for leaves in ((1,), (2,)):
            rows = Rows(context, workspace, leaf_counts, leaves)
            groups, words = sums_of(context, workspace, rows, (0,))
            value = rows.weights(leaves)[0]
            low, middle, high = words.reshape(-1, SUM_WORDS).T.tolist()
            found = [a + (b << 32) + (c << 64) for a, b, c in zip(low, middle, high, strict=True)]
            counts = np.bincount(groups, minlength=len(found)).tolist()
            assert found == [each * min(value, MAX_WEIGHT) for each in counts]


def test_a_saturated_sum_stays_saturated(context, workspace):
    rows = Rows(context, workspace)
    _, count = rows.groups((0,))
    full = np.tile(np.array([5, 5, 0xFFFFFFFF], dtype=np.uint32), count)
    sums = workspace.upload(full)
    rows.arrays = Rows(context, workspace, np.full(NODES, 0xFFFFFFFF, np.uint32), (9,)).arrays
    keys = rows.keys(workspace, (0,))
    GroupKernels(context).sum(rows.arrays, rows.table, (0, ROWS - 7), keys, sums)
    assert (whole_sums(workspace.download(sums)) == MAX_WEIGHT).all()


@pytest.mark.parametrize("leaves", [(), (2,), (1, 3)])
def test_groups_are_marked(context, workspace, leaves):
    leaf_counts = np.random.default_rng(7).integers(0, 4, NODES, dtype=np.uint32)
    rows = Rows(context, workspace, leaf_counts, leaves)
    groups, count = rows.groups((1,))
    marks = workspace.upload(np.zeros(count, dtype=np.uint32))
    keys = rows.keys(workspace, (1,))
    GroupKernels(context).mark(rows.arrays, rows.table, (0, ROWS - 7), keys, marks)
    pairs = zip(groups, rows.weights(leaves), strict=True)
    expected = {group for group, weight in pairs if weight}
    assert np.flatnonzero(workspace.download(marks)).tolist() == sorted(expected)


@pytest.mark.parametrize("leaves", [(), (2,), (3, 2)])
def test_products_are_computed_per_row(context, workspace, leaves):
    leaf_counts = np.random.default_rng(8).integers(0, 1 << 16, NODES, dtype=np.uint32)
    rows = Rows(context, workspace, leaf_counts, leaves)
    weights = wrong(workspace, 1000, np.uint64)
    GroupKernels(context).weigh(rows.arrays, rows.table, (500, 1300), weights)
    found = workspace.download(weights)
    expected = [min(each, MAX_WEIGHT) for each in rows.weights(leaves)[500:1300]]
    assert found[:800].tolist() == expected
    assert (found[800:] == found[-1]).all()


# ------------------------------------------------------------------ sums of branches
KINDS = np.array(
    [(7, 0, 0), (0xFFFFFFFF, 3, 0), (0, 0, 0), (9, 1 << 31, 0), (5, 5, 1), (1, 0x7FFFFFFF, 0)],
    dtype=np.uint32,
)


def a_table(rows, columns, kinds):
    """Sums per group, three words each, and their values."""
    count = rows.groups(columns)[1]
    words = KINDS[:kinds][np.random.default_rng(9).integers(0, kinds, count)].reshape(-1)
    return words, whole_sums(words)


def with_branches(workspace, rows, branches, tables, leaves=()):
    product = workspace.upload(product_words(leaves, (), branches))
    return ProductArrays(
        rows.filter,
        rows.matrix,
        product,
        rows.arrays.leaf_counts,
        rows.ranks,
        rows.ranks,
        workspace.upload(tables),
    )


@pytest.mark.parametrize("columns", [(2,), (0,), (0, 2), (2, 0), (1, 2)])
def test_rows_are_multiplied_with_the_message_of_a_branch(context, workspace, columns):
    """By one or two roots; after other words in the table, and at most 2**63."""
    rows = Rows(context, workspace, sort=False)
    words, values = a_table(rows, columns, len(KINDS))
    branch = BranchSums(5, tuple(rows.group_keys(columns)))
    tables = np.concatenate([np.full(5, 0xFFFFFFFF, np.uint32), words])
    arrays = with_branches(workspace, rows, [branch], tables)
    weights = workspace.allocate(rows.table.row_count, np.uint64)
    GroupKernels(context).weigh(arrays, rows.table, (0, rows.table.row_count), weights)
    found = workspace.download(weights).tolist()
    assert found == values[rows.groups(columns)[0]].tolist()
    assert {0, MAX_WEIGHT} <= {*found}


@pytest.mark.parametrize("modulus", [0, 101])
def test_rows_are_multiplied_with_two_messages_and_leaves(context, workspace, modulus):
    rows = Rows(context, workspace, np.arange(NODES, dtype=np.uint32), (2,))
    first, second = (0, 2), (1,)
    words, values = a_table(rows, first, 3)
    more, others = a_table(rows, second, 2)
    branches = [
        BranchSums(0, tuple(rows.group_keys(first))),
        BranchSums(len(words), tuple(rows.group_keys(second))),
    ]
    leaves = [Factor((Leaves(2, CountsPlace(0), 2, True, False, None, 0),))]
    tables = np.concatenate([words, more])
    arrays = with_branches(workspace, rows, branches, tables, leaves)
    kernels = ProductKernels(context)
    totals = wrong(workspace, kernels.group_count, np.uint64)
    kernels.multiply(arrays, rows.table, modulus, totals)
    expected = 0
    for one, other, weight in zip(
        rows.groups(first)[0], rows.groups(second)[0], rows.weights((2,)), strict=True
    ):
        expected += int(values[one]) * int(others[other]) * weight
    found = sum(workspace.download(totals).tolist())
    assert found % (modulus or 1 << 64) == expected % (modulus or 1 << 64)
    assert expected > 1 << 64


def test_sums_start_at_an_offset(context, workspace):
    rows = Rows(context, workspace)
    groups, count = rows.groups((0, 2))
    sums = workspace.upload(np.zeros(7 + SUM_WORDS * count, dtype=np.uint32))
    keys = rows.keys(workspace, (0, 2))
    GroupKernels(context).sum(rows.arrays, rows.table, (0, ROWS - 7), keys, sums, 7)
    words = workspace.download(sums)
    assert not words[:7].any()
    assert whole_sums(words[7:]).tolist() == np.bincount(groups, minlength=count).tolist()


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [([0, 2], (0, 7)), ([0, 1], (3, 0xFFFFFFFF)), ([0, 3], (1 << 31, 7)), ([2, 4], (1 << 31, 0))],
)
def test_the_largest_sum_is_found(context, workspace, kinds, expected):
    some = KINDS[np.array(kinds)[np.arange(5000) % 2]].reshape(-1)
    words = np.concatenate([np.full(3, 0xFFFFFFFF, np.uint32), some])
    most = workspace.upload(np.zeros(2, dtype=np.uint32))
    GroupKernels(context).largest(workspace.upload(words), 3, 5000, most)
    assert tuple(workspace.download(most).tolist()) == expected


def test_sums_are_weighted_by_their_nodes(context, workspace):
    random, groups, before = np.random.default_rng(6), 50, 5
    sums = random.integers(0, 1 << 40, groups).tolist()
    sums[:4] = [0, MAX_WEIGHT - 1, 1 << 62, MAX_WEIGHT]
    words = [0] * before
    for each in sums:
        words += [each & 0xFFFFFFFF, each >> 32 & 0xFFFFFFFF, 0]
    words[before + 3 * 4 + 2] = 1  # far too many
    sums[4] = MAX_WEIGHT
    nodes = random.permutation(NODES)[:groups]
    factors = random.integers(0, 1 << 12, (2, NODES)).astype(np.uint32)
    kernels = GroupKernels(context)
    totals = workspace.upload(np.full(kernels.total_words, 9, dtype=np.uint64))
    kernels.weigh_sums(
        (workspace.upload(np.array(words, dtype=np.uint32)), before),
        (workspace.upload(np.array([0, *nodes], dtype=np.uint32)), 1, groups),
        (workspace.upload(factors.reshape(-1)), 2, NODES),
        totals,
    )
    found = workspace.download(totals)[: kernels.total_words].tolist()
    expected = 0
    for sum_, node in zip(sums, nodes, strict=True):
        first = min(sum_ * int(factors[0, node]), MAX_WEIGHT)
        expected += min(first * int(factors[1, node]), MAX_WEIGHT)
    assert sum(found[::2]) + (sum(found[1::2]) << 64) == expected > 1 << 64
