"""Steps of the join against Python."""

import numpy as np
import pytest
from kernels.kernel_graphs import pack, wrong

from gpugda.device.launch.join import Combination, Join, Product, Table, step_words
from gpugda.device.launch.primitives import PrefixSum

SIZES = [1, 2, 255, 256, 257, 4097]
NODES = 70
MODULUS = 1 << 64


def upload_table(workspace, columns):
    values = np.array(columns, dtype=np.uint32)
    return Table(workspace.upload(values.reshape(-1)), values.shape[1], values.shape[0])


def upload_step(workspace, kept, tests):
    # Words of another step precede it: offsets must be kept apart.
    words = [7, 7, 7, *step_words(kept, tests)]
    return workspace.upload(np.array(words, dtype=np.uint32)), 3


def result(workspace, rows, width):
    values = wrong(workspace, rows * width + 1)
    return Table(values, rows, width)


def rows_of(workspace, table):
    values = workspace.download(table.values)
    assert values[-1] == 0xFFFFFFFF
    columns = values[:-1].reshape(table.width, table.row_count)
    return [tuple(row) for row in columns.T.tolist()]


class RelationshipTable:
    """A section of rows for every third node, after five rows of another section."""

    def __init__(self, context, workspace, seed):
        random = np.random.default_rng(seed)
        chosen = np.arange(NODES) % 3 == 0
        self.nodes = np.flatnonzero(chosen)
        lengths = np.concatenate([[2] * 5, random.integers(0, 9, len(self.nodes))])
        self.offsets = np.concatenate([[0], np.cumsum(lengths)])
        # Rows are sorted by end node, with parallel relationships among them.
        self.ends = np.concatenate([np.sort(random.integers(0, 6, size)) for size in lengths])
        self.relationships = np.arange(len(self.ends)) + 1000
        bits = np.concatenate([pack(np.ones(NODES, bool)), pack(chosen)])
        matrix = workspace.upload(bits)
        ranks = PrefixSum(context).run(workspace, matrix, 0, len(bits), of_bits=True)
        self.device = (
            workspace.upload(self.offsets.astype(np.uint64)),
            workspace.upload(self.ends.astype(np.uint32)),
            workspace.upload(self.relationships.astype(np.uint32)),
        )
        self.collected = workspace.upload(
            np.concatenate([np.arange(NODES), self.nodes]).astype(np.uint32)
        )
        self._place = (matrix, ranks, len(bits) // 2, (5 - NODES) % MODULUS)

    def combination(self, is_sorted):
        return Combination(*self._place, *self.device, is_sorted)

    def product(self):
        size = int(self.offsets[-1] - self.offsets[5])
        return Product(size, self.collected, NODES, (5, len(self.nodes)), *self.device)

    def row(self, node):
        at = 5 + int(np.searchsorted(self.nodes, node))
        return range(int(self.offsets[at]), int(self.offsets[at + 1]))


def combined(table, columns, other, tests, kept):
    """The expected rows of a step."""
    made = []
    for row in zip(*columns, strict=True):
        for entry in table.row(row[0]):
            end, relationship = int(table.ends[entry]), int(table.relationships[entry])
            if other is not None and end != row[other]:
                continue
            values = (*row, end, relationship)
            if all((values[a] == values[b]) == equal for a, b, equal in tests):
                made.append((*(row[at] for at in kept), end, relationship))
    return made


COMBINATIONS = {
    "combine": (None, []),
    "combine with tests": (None, [(1, 3, False), (2, 4, False)]),
    "combine to an equal node": (None, [(3, 1, True)]),
    "close": (1, []),
    "close with a test": (1, [(2, 4, False)]),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("name", COMBINATIONS)
def test_rows_are_combined_with_relationships(context, workspace, size, is_sorted, name):
    other, tests = COMBINATIONS[name]
    table = RelationshipTable(context, workspace, size)
    random = np.random.default_rng(size)
    # Bound node, another node, a relationship that may occur again.
    columns = [
        random.choice(table.nodes, size).tolist(),
        random.integers(0, 6, size).tolist(),
        random.choice(table.relationships, size).tolist(),
    ]
    expected = combined(table, columns, other, tests, (2, 0))
    uploaded, words = upload_table(workspace, columns), upload_step(workspace, (2, 0), tests)
    arguments = (uploaded, 0, other, table.combination(is_sorted), words)
    counts = wrong(workspace, size)
    launcher = Join(context)
    launcher.count_combinations(*arguments, counts)
    sums = PrefixSum(context).run(workspace, counts, 0, size)
    total = int(workspace.download(sums)[-1])
    assert total == len(expected)
    for low, high in windows(total):
        made = result(workspace, high - low, 4)
        launcher.write_combinations(*arguments, sums, (low, high), made, (2, 3))
        assert rows_of(workspace, made) == expected[low:high]


def windows(total):
    """The whole range, its halves, and single rows at the ends and between."""
    half = total // 2
    pieces = [(0, total), (0, half), (half, total), (0, 1), (half, half + 1), (total - 1, total)]
    return [(low, high) for low, high in pieces if 0 <= low < high <= total]


def test_unneeded_columns_are_not_written(context, workspace):
    table = RelationshipTable(context, workspace, 1)
    columns = [table.nodes.tolist()]
    uploaded, words = upload_table(workspace, columns), upload_step(workspace, (), [])
    arguments = (uploaded, 0, None, table.combination(True), words)
    counts = wrong(workspace, len(table.nodes))
    launcher = Join(context)
    launcher.count_combinations(*arguments, counts)
    sums = PrefixSum(context).run(workspace, counts, 0, len(table.nodes))
    total = int(workspace.download(sums)[-1])
    made = result(workspace, total, 1)
    launcher.write_combinations(*arguments, sums, (0, total), made, (None, 0))
    assert rows_of(workspace, made) == [(at,) for at in table.relationships[10:].tolist()]


@pytest.mark.parametrize("size", SIZES)
def test_products_with_nodes(context, workspace, size):
    columns = [list(range(size)), list(range(5, size + 5))]
    table, words = upload_table(workspace, columns), upload_step(workspace, (1,), [])
    nodes = RelationshipTable(context, workspace, 0)
    product = Product(3, nodes.collected, 4, None, *nodes.device)
    expected = [(row + 5, node) for row in range(size) for node in (4, 5, 6)]
    for low, high in windows(3 * size):
        made = result(workspace, high - low, 2)
        Join(context).write_product(table, product, words, (low, high), made, (1, None, None))
        assert rows_of(workspace, made) == expected[low:high]


@pytest.mark.parametrize("size", [1, 7, 257])
def test_products_with_relationships(context, workspace, size):
    table = RelationshipTable(context, workspace, size)
    uploaded = upload_table(workspace, [list(range(size))])
    words = upload_step(workspace, (0,), [])
    product = table.product()
    entries = [
        (int(node), int(table.ends[entry]), int(table.relationships[entry]))
        for node in table.nodes
        for entry in table.row(node)
    ]
    assert len(entries) == product.size
    expected = [(row, *entry) for row in range(size) for entry in entries]
    for low, high in windows(len(expected)):
        made = result(workspace, high - low, 4)
        Join(context).write_product(uploaded, product, words, (low, high), made, (1, 2, 3))
        assert rows_of(workspace, made) == expected[low:high]


def test_a_product_can_start_a_join(context, workspace):
    table = RelationshipTable(context, workspace, 4)
    words = upload_step(workspace, (), [])
    product = table.product()
    made = result(workspace, product.size, 1)
    start = Table(None, 1, 0)
    Join(context).write_product(start, product, words, (0, product.size), made, (None, 0, None))
    assert rows_of(workspace, made) == [(at,) for at in table.ends[10:].tolist()]


@pytest.mark.parametrize("size", SIZES)
def test_valid_rows_are_kept(context, workspace, size):
    random = np.random.default_rng(size)
    columns = random.integers(0, 3, (3, size)).tolist()
    tests = [(0, 1, False), (1, 2, True)]
    expected = [
        (row[2], row[0]) for row in zip(*columns, strict=True) if row[0] != row[1] == row[2]
    ]
    table, words = upload_table(workspace, columns), upload_step(workspace, (2, 0), tests)
    counts = wrong(workspace, size)
    launcher = Join(context)
    launcher.count_valid(table, words, counts)
    sums = PrefixSum(context).run(workspace, counts, 0, size)
    total = int(workspace.download(sums)[-1])
    assert total == len(expected)
    for low, high in windows(total):
        made = result(workspace, high - low, 2)
        launcher.write_valid(table, words, sums, (low, high), made)
        assert rows_of(workspace, made) == expected[low:high]
