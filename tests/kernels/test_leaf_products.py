"""Numbers of relationships to leaves, and their products row by row, against sets in Python."""

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from kernels.kernel_graphs import entries, pack, random_graph, upload_query, wrong
from kernels.test_join import upload_table

from gpugda.device.launch.leaf_products import (
    CountsPlace,
    Factor,
    Leaves,
    ProductArrays,
    ProductKernels,
    common_columns,
    product_words,
)
from gpugda.device.launch.primitives import PrefixSum
from gpugda.device.launch.query_words import Adjacency, QueryRow

NODES = 60
ADJACENCIES = {
    "outgoing": Adjacency(0, 1, True, False, False, None, (0,)),
    "incoming": Adjacency(0, 1, False, True, False, None, (0,)),
    "both": Adjacency(0, 1, True, True, False, None, (0,)),
    "any type": Adjacency(0, 1, True, True, False, None, None),
    "two types": Adjacency(0, 1, True, False, False, None, (0, 2)),
    "masked": Adjacency(0, 1, True, True, False, 0, (0, 1)),
}


class Leaf:
    """A graph on the device, a query of two nodes, the leaf's candidates, and the expected results.

    The core is the relationships of type 0, one per row: columns of start and end.
    """

    def __init__(self, context, workspace, adjacency):
        random = np.random.default_rng(5)
        self.graph = random_graph(NODES, 3)
        mask = random.random(self.graph.relationship_count) < 0.6
        rows = [QueryRow(0, (), None, (), (adjacency,)), QueryRow(1, (), None, (), ())]
        self.filter, query = upload_query(
            context, workspace, self.graph, rows, relationship_masks=[pack(mask)]
        )
        self.adjacency, self.place = adjacency, query.adjacencies[0, 0]
        self.mask = None if adjacency.mask_slot is None else mask
        self.candidates = random.random(NODES) < 0.8
        self.matrix = workspace.upload(
            np.concatenate([pack(np.ones(NODES, bool)), pack(self.candidates)])
        )
        ends = [self.graph.start_nodes(), self.graph.outgoing.neighbours]
        self.core = np.flatnonzero(self.graph.relationship_types() == 0)
        self.table = upload_table(
            workspace, np.array([each[self.core] for each in ends]).astype(np.uint32)
        )
        self.columns = [each[self.core].tolist() for each in ends]

    def leaves(self, column, slot, count, candidate_row, taken=()):
        asked = self.adjacency
        place = CountsPlace(4 * NODES * slot)
        return Leaves(
            column, place, count, asked.outgoing, asked.incoming, candidate_row, self.place, taken
        )

    def matches(self, node, candidate_row):
        asked = self.adjacency
        found = entries(self.graph, node, asked.outgoing, asked.incoming, asked.types, self.mask)
        return {index for other, index in found if candidate_row is None or self.candidates[other]}


@pytest.mark.parametrize("name", ADJACENCIES)
@pytest.mark.parametrize("candidate_row", [None, 1])
def test_leaves_are_counted_per_node(context, workspace, name, candidate_row):
    leaf = Leaf(context, workspace, ADJACENCIES[name])
    counts = wrong(workspace, 2 * NODES)
    nodes = (workspace.upload(np.arange(NODES, dtype=np.uint32)), 0, NODES)
    group = leaf.leaves(0, 1, 1, candidate_row)
    kernels = ProductKernels(context)
    kernels.count_matches(leaf.filter, leaf.matrix, group, nodes, counts, by_length=False)
    found = workspace.download(counts)
    assert found[NODES:].tolist() == [
        len(leaf.matches(each, candidate_row)) for each in range(NODES)
    ]
    assert (found[:NODES] == 0xFFFFFFFF).all()
    if name in ("outgoing", "incoming", "two types") and candidate_row is None:
        again = wrong(workspace, 2 * NODES)
        kernels.count_matches(leaf.filter, leaf.matrix, group, nodes, again, by_length=True)
        assert (workspace.download(again) == found).all()


PACKED = [
    CountsPlace(0, 1, 0, 1),
    CountsPlace(128, 2, 0, 1),
    CountsPlace(256, 4, 0, 1),
    CountsPlace(128, 1, None, 1),
    CountsPlace(0, 2, None, 1),
]


@pytest.mark.parametrize("place", PACKED, ids=str)
@pytest.mark.parametrize("name", ADJACENCIES)
def test_leaves_of_candidates_are_counted_in_few_bytes(context, workspace, name, place):
    """In two ranges of nodes, then once more on top of them."""
    leaf = Leaf(context, workspace, ADJACENCIES[name])
    counts = workspace.upload(np.full(1024, 0xAB, dtype=np.uint8))
    words = leaf.filter.words
    ranks = PrefixSum(context).run(workspace, leaf.matrix, words, words, of_bits=True)
    kernels = ProductKernels(context)
    group = replace(leaf.leaves(0, 0, 1, 1), counts=place)
    some = leaf.filter, leaf.matrix, group
    for nodes in ((0, 23), (23, NODES - 23)):
        kernels.count_packed(*some, nodes, counts, ranks, by_length=False)
    for adds, times in ((False, 1), (True, 2)):
        if adds:
            kernels.count_packed(*some, (0, NODES), counts, ranks, by_length=False, adds=True)
        found = workspace.download(counts)
        chosen = np.flatnonzero(leaf.candidates)
        expected = np.zeros(len(chosen) if place.ranks is not None else NODES, dtype=np.int64)
        places = np.arange(len(chosen)) if place.ranks is not None else chosen
        expected[places] = [times * len(leaf.matches(each, 1)) for each in chosen.tolist()]
        first, last = place.first_byte, place.first_byte + place.width * len(expected)
        values = found[first:last].view(f"u{place.width}")
        assert values[places].tolist() == expected[places].tolist()
        found[first:last].view(f"u{place.width}")[places] = np.full(
            len(places), int("AB" * place.width, 16)
        )
        assert (found == 0xAB).all()


@pytest.mark.parametrize("place", PACKED, ids=str)
def test_products_read_packed_counts(context, workspace, place):
    leaf = Leaf(context, workspace, ADJACENCIES["outgoing"])
    counts, words = workspace.upload(np.zeros(1024, dtype=np.uint8)), leaf.filter.words
    ranks = PrefixSum(context).run(workspace, leaf.matrix, words, words, of_bits=True)
    kernels = ProductKernels(context)
    group = replace(leaf.leaves(1, 0, 2, 1), counts=place)
    kernels.count_packed(
        leaf.filter, leaf.matrix, group, (0, NODES), counts, ranks, by_length=False
    )
    kept = [row for row, end in enumerate(leaf.columns[1]) if leaf.candidates[end]]
    ends = np.array([[each[row] for row in kept] for each in leaf.columns], dtype=np.uint32)
    product = workspace.upload(product_words([Factor((group,))]))
    arrays = ProductArrays(leaf.filter, leaf.matrix, product, counts, ranks, product, product)
    totals = wrong(workspace, kernels.group_count, np.uint64)
    kernels.multiply(arrays, upload_table(workspace, ends), 0, totals)
    expected = sum(math.perm(len(leaf.matches(end, 1)), 2) for end in ends[1].tolist())
    assert sum(workspace.download(totals).tolist()) == expected > 0


def products(context, workspace, leaf, factors, row):
    """The device's sums, modulo 2**64 and modulo a prime."""
    kernels = ProductKernels(context)
    counts = wrong(workspace, 2 * NODES)
    nodes = (workspace.upload(np.arange(NODES, dtype=np.uint32)), 0, NODES)
    for slot in (0, 1):
        group = leaf.leaves(0, slot, 1, row)
        kernels.count_matches(leaf.filter, leaf.matrix, group, nodes, counts, by_length=False)
    words = workspace.upload(product_words(factors))
    arrays = ProductArrays(leaf.filter, leaf.matrix, words, counts, counts, words, words)
    sums = []
    for modulus in (0, 101):
        totals = wrong(workspace, kernels.group_count, np.uint64)
        kernels.multiply(arrays, leaf.table, modulus, totals)
        sums.append(sum(workspace.download(totals).tolist()) % (modulus or 1 << 64))
    return tuple(sums)


def with_common(context, workspace, leaf, factors):
    """The table with an appended column, in two launches of which one adds nothing."""
    kernels, words = ProductKernels(context), product_words(factors)
    (shared,) = common_columns(words, factors)
    place = workspace.upload(words)
    arrays = ProductArrays(leaf.filter, leaf.matrix, place, place, place, place, place)
    columns = np.array([*leaf.columns, [77] * len(leaf.core)], dtype=np.uint32)
    table = upload_table(workspace, columns)
    kernels.count_common(arrays, table, shared, adds=False)
    once = workspace.download(table.values)
    kernels.count_common(arrays, table, shared, adds=True)
    twice = workspace.download(table.values)
    first, last = 2 * table.column_stride, 2 * table.column_stride + table.row_count
    assert (twice[first:last] == 2 * once[first:last]).all()
    kernels.count_common(arrays, table, shared, adds=False)
    return table


SUBTRACTING = [name for name in ADJACENCIES if name != "masked"]


@pytest.mark.parametrize("name", SUBTRACTING)
@pytest.mark.parametrize("candidate_row", [None, 1])
def test_equal_leaves_give_falling_factorials(context, workspace, name, candidate_row):
    leaf = Leaf(context, workspace, ADJACENCIES[name])
    factors = [
        Factor((leaf.leaves(0, 0, 3, candidate_row, ((0, 1),)),)),
        Factor((leaf.leaves(1, 1, 20, candidate_row),)),
    ]
    expected = 0
    for taken, start, end in zip(leaf.core.tolist(), *leaf.columns, strict=True):
        left = math.perm(len(leaf.matches(start, candidate_row) - {taken}), 3)
        expected += left * math.perm(len(leaf.matches(end, candidate_row)), 20)
    assert products(context, workspace, leaf, factors, candidate_row) == (
        expected % (1 << 64),
        expected % 101,
    )


@pytest.mark.parametrize("name", SUBTRACTING)
@pytest.mark.parametrize("candidate_row", [None, 1])
@pytest.mark.parametrize("counts", [(1, 1), (2, 1), (1, 3), (2, 2)])
def test_groups_that_share_relationships_are_counted(
    context, workspace, name, candidate_row, counts
):
    leaf = Leaf(context, workspace, ADJACENCIES[name])
    groups = [leaf.leaves(end, end, counts[end], candidate_row, ((0, 1),)) for end in (0, 1)]
    expected = 0
    for taken, start, end in zip(leaf.core.tolist(), *leaf.columns, strict=True):
        first = leaf.matches(start, candidate_row) - {taken}
        second = leaf.matches(end, candidate_row) - {taken}
        for chosen in permutations(first, counts[0]):
            expected += math.perm(len(second - {*chosen}), counts[1])
    factors = [Factor(tuple(groups), ((0, 1),))]
    assert expected > 0
    assert products(context, workspace, leaf, factors, candidate_row) == (
        expected % (1 << 64),
        expected % 101,
    )
    # The same with the common part counted beforehand, into a column.
    factors = [Factor(tuple(groups), ((0, 1),), common=2)]
    leaf.table = with_common(context, workspace, leaf, factors)
    common = workspace.download(leaf.table.values)[2 * leaf.table.column_stride :].tolist()
    assert common[: leaf.table.row_count] == [
        len(leaf.matches(start, candidate_row) & leaf.matches(end, candidate_row))
        for start, end in zip(*leaf.columns, strict=True)
    ]
    assert products(context, workspace, leaf, factors, candidate_row) == (
        expected % (1 << 64),
        expected % 101,
    )


@pytest.mark.parametrize("name", ["outgoing", "two types"])
@pytest.mark.parametrize("listed", [False, True], ids=["looked up", "listed"])
@pytest.mark.parametrize("candidate_row", [None, 1])
@pytest.mark.parametrize("counts", [(1, 1), (2, 1)])
def test_opposite_groups_of_one_anchor_share_loops(
    context, workspace, name, listed, candidate_row, counts
):
    leaf = Leaf(context, workspace, ADJACENCIES[name])
    back = leaf.adjacency._replace(relationship=1, outgoing=False, incoming=True)
    rows = [QueryRow(0, (), None, (), (leaf.adjacency, back)), QueryRow(1, (), None, (), ())]
    leaf.filter, query = upload_query(context, workspace, leaf.graph, rows)
    types, found = leaf.adjacency.types, []
    for slot, each in enumerate((leaf.adjacency, back)):
        place = query.adjacencies[0, slot]
        group = leaf.leaves(0, slot, counts[slot], candidate_row, ((0, 1),))
        directions = {"outgoing": each.outgoing, "incoming": each.incoming}
        found.append(replace(group, adjacency=place, **directions))
    starts, ends = leaf.graph.start_nodes(), leaf.graph.outgoing.neighbours
    is_loop = (starts == ends) & np.isin(leaf.graph.relationship_types(), types)
    nodes, numbers = np.unique(starts[is_loop], return_counts=True)
    loops = (nodes.astype(np.uint32), numbers.astype(np.uint32)) if listed else None
    expected = 0
    for taken, start in zip(leaf.core.tolist(), leaf.columns[0], strict=True):
        first, second = (
            {
                index
                for other, index in entries(leaf.graph, start, outgoing, not outgoing, types)
                if candidate_row is None or leaf.candidates[other]
            }
            - {taken}
            for outgoing in (True, False)
        )
        for chosen in permutations(first, counts[0]):
            expected += math.perm(len(second - {*chosen}), counts[1])
    kernels, values = ProductKernels(context), wrong(workspace, 2 * NODES)
    everyone = (workspace.upload(np.arange(NODES, dtype=np.uint32)), 0, NODES)
    for each in found:
        kernels.count_matches(leaf.filter, leaf.matrix, each, everyone, values, by_length=False)
    words = workspace.upload(product_words([Factor(tuple(found), ((0, 1),), loops=loops)]))
    arrays = ProductArrays(leaf.filter, leaf.matrix, words, values, values, words, words)
    totals = wrong(workspace, kernels.group_count, np.uint64)
    kernels.multiply(arrays, leaf.table, 0, totals)
    assert sum(workspace.download(totals).tolist()) == expected > 0
