"""Hash tables and the pipelined join of STwigs, against nested loops."""

import numpy as np
import pytest
from gpugda_strategies.launch.stwig_join import HashTables, ItemStates, StwigJoin
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import unpack

from gpugda.device.launch.join import Table
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace

NONE = 0xFFFFFFFF


def table_of(workspace, rows, width):
    columns = np.array(rows, dtype=np.uint32).reshape(len(rows), width).T
    values = workspace.upload(
        np.ascontiguousarray(columns).reshape(-1) if rows else np.zeros(1, np.uint32)
    )
    return Table(values, len(rows), width, len(rows))


def level(records, heads_at, pool_at, mask, keys, added, tests):
    words = [pool_at, 0, heads_at, 0, mask, records + 1, len(keys), len(added), len(tests)]
    words += [word for pair in (*keys, *added) for word in pair]
    return words + [
        word for left, right, equal in tests for word in (left, right, equal, NONE, NONE)
    ]


@given(nodes=st.lists(st.integers(0, 99), min_size=1, max_size=40))
def test_bindings_are_marked(context, nodes):
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        check_marks(context, workspace, nodes)


def check_marks(context, workspace, nodes):
    matrix = workspace.upload(np.zeros(8, dtype=np.uint32))
    table = table_of(workspace, [(7, node) for node in nodes], 2)
    StwigJoin(context).mark(table, 1, matrix, 4)
    words = workspace.download(matrix)[:8]
    assert not words[:4].any()
    assert np.flatnonzero(unpack(words[4:], 128)).tolist() == sorted(set(nodes))


def run(context, workspace, probe, levels, words, pool, heads, capacity, max_steps, counting):
    """Output rows of as many launches as needed, or their number."""
    items = 2 * context.group_size
    kernels = StwigJoin(context)
    tables = HashTables(words, levels, pool, heads)
    states = ItemStates(
        items,
        workspace.upload(np.zeros((levels + 1) * items, dtype=np.uint32)),
        workspace.upload(np.zeros(3 * items, dtype=np.uint32)),
        workspace.upload(np.zeros(3, dtype=np.uint32)),
    )
    counts = workspace.upload(np.zeros(items, dtype=np.uint64)) if counting else None
    output = None if counting else workspace.allocate(3 * capacity, np.uint32)
    rows = []
    for _ in range(10_000):
        kernels.join(probe, tables, states, (output, capacity), counts, max_steps)
        taken, found, more = workspace.download(states.progress)[:3].tolist()
        if output is not None:
            columns = workspace.download(output)[: 3 * capacity].reshape(3, capacity)
            rows += map(tuple, columns[:, : min(found, capacity)].T.tolist())
        if not more:
            break
        workspace.write(states.progress, np.array([taken, 0, 0], dtype=np.uint32))
    return int(workspace.download(counts)[:items].sum()) if counting else rows


@pytest.mark.parametrize("counting", [False, True])
@given(data=st.data())
def test_records_join_through_two_tables(context, counting, data):
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        check_join(context, workspace, counting, data)


def check_join(context, workspace, counting, data):
    number = st.integers(0, 5)
    pairs = st.lists(st.tuples(number, number), max_size=12)
    probe, first, second = (data.draw(pairs) for _ in range(3))
    differ = data.draw(st.booleans())
    # Slots 0 and 1 are the probe record's, 2 the last table's; the first table has no new ones.
    tests = [(0, 2, 0)] if differ else []
    levels = [
        level(2, 0, 0, 3, [(0, 0), (1, 1)], [], []),
        level(2, 4, 3 * len(first), 1, [(0, 1)], [(1, 2)], tests),
    ]
    head = [2, 3, 0, 1, 0, 1, 2]
    words = workspace.upload(np.array([*head, *levels[0], *levels[1]], dtype=np.uint32))
    pool = workspace.allocate(max(1, 3 * (len(first) + len(second))), np.uint32)
    heads = workspace.upload(np.full(6, NONE, dtype=np.uint32))
    at = len(head)
    for rows, size in ((first, len(levels[0])), (second, 0)):
        table = table_of(workspace, rows, 2)
        StwigJoin(context).insert(table, HashTables(words, 2, pool, heads), at, 0)
        at += size
    expected = sorted(
        (a, b, c)
        for a, b in probe
        for one in first
        for key, c in second
        if one == (a, b) and key == b and not (differ and a == c)
    )
    capacity, max_steps = data.draw(st.sampled_from([(4, 1000), (500, 1000), (500, 3)]))
    made = table_of(workspace, probe, 2)
    found = run(context, workspace, made, 2, words, pool, heads, capacity, max_steps, counting)
    assert (found if counting else sorted(found)) == (len(expected) if counting else expected)
