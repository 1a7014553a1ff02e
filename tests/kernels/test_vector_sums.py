"""Vectors that are only summed, in local memory, against the products in NumPy."""

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import any_multigraphs
from kernels.vector_programs import (
    counted,
    expected,
    node_weights,
    programs_of,
    with_more_nodes,
)

from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace
from gpugda.match.count.program import Bounds, encode
from gpugda.plan.counting.quotients import Powers
from gpugda.plan.counting.vector_plan import Rooted, Vector, VectorPlan

MORE = 520
"""So many nodes that a hash table is small beside all of them."""
SIDES = {"undirected": [Powers(1)], "directed": [Powers(1), Powers(0, 1), Powers(0, 0, 1)]}


@st.composite
def any_sums(draw, direction):
    powers = st.sampled_from(SIDES[direction])
    start = Vector(None, draw(powers), draw(st.booleans()))
    ends = draw(powers), draw(st.booleans())
    some = st.builds(
        lambda exponent, weight: Vector(start, *ends, exponent, (), weight),
        st.integers(1, 3),
        node_weights(powers),
    )
    rooted = st.builds(
        lambda own, weight: Rooted(tuple(own), weight),
        st.lists(some, min_size=1, max_size=2),
        node_weights(powers),
    )
    return tuple(draw(st.lists(st.tuples(rooted, st.integers(-3, 3)), min_size=1, max_size=3)))


@given(graph=any_multigraphs(7, 16, "R"), data=st.data(), shares=st.integers(1, 3))
@pytest.mark.parametrize("direction", SIDES)
def test_sums_on_random_multigraphs(context, graph, data, shares, direction):
    undirected = direction == "undirected"
    terms = data.draw(any_sums(direction))
    programs, longest = programs_of(graph, terms, undirected)
    if programs is None:
        return
    assert all(each.summed and not each.steps for each in programs)
    alone = expected(graph, terms)
    of_one = expected(with_more_nodes(graph, 1), terms) - alone
    padded = with_more_nodes(graph, MORE)
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        found = counted(context, workspace, padded, programs, undirected, longest, shares)
    assert sum(found) == alone + MORE * of_one


def hubs_at_hubs():
    nodes, rng = 80_000, np.random.default_rng(3)
    hubs = np.repeat(np.arange(40), 250)
    starts = np.concatenate([hubs, rng.integers(nodes, size=5_000)])
    near = np.where(rng.random(len(hubs)) < 0.2, 40, nodes)
    ends = np.concatenate([rng.integers(near), rng.integers(nodes, size=5_000)])
    return nodes, starts, ends


def many_parallels():
    """From node 0, each of 700 relationships leads to a node with 700 neighbours."""
    return 80_000, np.repeat([0, 1], 700), np.r_[np.ones(700, np.int64), 2 + 111 * np.arange(700)]


@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize(("drawn", "most"), [(hubs_at_hubs, 3_072), (many_parallels, 1 << 17)])
def test_many_two_paths_are_counted_outside_of_local_memory(context, drawn, most, below):
    nodes, starts, ends = drawn()
    kept = starts != ends
    pairs = sorted(zip(starts[kept].tolist(), ends[kept].tolist(), strict=True))
    graph = make_graph([("", {})] * nodes, [(a, "R", b, {}) for a, b in pairs])
    vector = Vector(Vector(None, Powers(1), False), Powers(1), below, 3)
    longest = int(max(np.bincount(np.concatenate([starts[kept], ends[kept]]))))
    bounds = Bounds(longest, 2 * len(pairs), 700, 1, graph.most_two_paths())
    plan = VectorPlan(((Rooted((vector,), None), 1),), 0.0, (), (), 0, False)
    programs = encode(plan, bounds, undirected=True)
    assert programs is not None
    assert [len(each.summed) for each in programs] == [1]
    with Workspace(context, MemoryBudget(1 << 26)) as workspace:
        found = counted(context, workspace, graph, programs, True, longest)
    first, last = two_paths(graph, below)
    assert max(np.bincount(first)) > most
    _, times = np.unique(first * nodes + last, return_counts=True)
    assert sum(found) == int((times.astype(np.int64) ** 3).sum())


def two_paths(graph, below):
    """The ends of all walks of two relationships, by rank; ``below``: to a lower node."""
    starts, ends = graph.start_nodes(), graph.outgoing.neighbours
    degrees = np.bincount(starts, minlength=graph.node_count)
    degrees += np.bincount(ends, minlength=graph.node_count)
    rank = np.empty(graph.node_count, dtype=np.int64)
    rank[np.argsort(-degrees, kind="stable")] = np.arange(graph.node_count)
    ones, others = np.concatenate([rank[[starts, ends]], rank[[ends, starts]]], axis=1)
    order = np.argsort(ones, kind="stable")
    ones, others = ones[order], others[order]
    offsets = np.searchsorted(ones, np.arange(graph.node_count + 1))
    lengths = np.diff(offsets)[others]
    first = np.repeat(ones, lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    last = others[np.repeat(offsets[others], lengths) + within]
    kept = last > first if below else np.ones(len(first), dtype=np.bool_)
    return first[kept], last[kept]
