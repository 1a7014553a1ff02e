"""Filtering by one work item, against sets in Python."""

import numpy as np
import pytest
from kernels.kernel_graphs import SIZES, entries, pack, random_graph, unpack, upload_query

from gpugda.device.launch.query_words import Adjacency, Degree, QueryRow
from gpugda.device.launch.small_queries import SmallFilter

NEED = Degree(True, False, (0,), 1)


def query(label):
    """A path of three with a loop in its middle, and a node next to it; row 0 is its start."""
    there, back = (
        Adjacency(0, 1, True, False, False, 0, None),
        Adjacency(0, 0, False, True, False, 0, None),
    )
    further, from_there = (
        Adjacency(1, 2, True, True, False, None, (0, 1)),
        Adjacency(1, 1, True, True, False, None, (0, 1)),
    )
    loop = Adjacency(2, 1, True, False, True, None, None)
    return [
        QueryRow(0, ((0, label),), 0, (NEED,), (there,)),
        QueryRow(1, (), None, (), (back, further, loop)),
        QueryRow(2, ((0, label), (3, 0)), None, (), (from_there,)),
    ]


def expected(graph, rows, labelled, mask, used, *, explores, rounds):
    """Candidates of each row after checking, and then refining until nothing changes."""
    nodes = range(graph.node_count)
    around = {
        (node, at, number): [
            end
            for end, _ in entries(
                graph,
                node,
                each.outgoing,
                each.incoming,
                each.types,
                used if each.mask_slot == 0 else None,
                each.is_loop,
            )
        ]
        for node in nodes
        for at, row in enumerate(rows)
        for number, each in enumerate(row.adjacencies)
    }
    first = {n for n in nodes if labelled[n] and mask[n] and entries(graph, n, True, False, (0,))}
    found = [first, set(nodes), {n for n in nodes if not labelled[n]}]
    while explores and rounds != 0:
        left = [
            {
                node
                for node in found[at]
                if all(
                    not found[each.other_row].isdisjoint(around[node, at, number])
                    for number, each in enumerate(row.adjacencies)
                )
            }
            for at, row in enumerate(rows)
        ]
        if left == found:
            break
        found = left
    return found


def arranged(context, workspace, nodes, mask_share=0.7):
    graph = random_graph(nodes)
    random = np.random.default_rng(nodes)
    label = next(iter(range(len(graph.labels.names))), None)
    mask = random.random(nodes) < mask_share
    used = random.random(graph.relationship_count) < 0.8
    rows = query(0)
    arrays, _ = upload_query(
        context,
        workspace,
        graph,
        rows,
        node_masks=[pack(mask)],
        relationship_masks=[pack(used)],
        labels=[] if label is None else [label],
    )
    labelled = (
        unpack(graph.label_bits(label), nodes) if label is not None else np.zeros(nodes, bool)
    )
    return graph, arrays, rows, labelled, mask, used


def run(context, workspace, arrays, **settings):
    settings = {
        "explores": True,
        "rounds": None,
        "max_looks": 1 << 30,
        "max_nodes": 1 << 20,
    } | settings
    return SmallFilter(context).filter_all(workspace, arrays, 3, **settings)


@pytest.mark.parametrize("nodes", SIZES[1:])
@pytest.mark.parametrize("explores", [False, True])
def test_all_rounds_give_the_fixpoint(context, workspace, nodes, explores):
    graph, arrays, rows, *sets = arranged(context, workspace, nodes)
    wanted = expected(graph, rows, *sets, explores=explores, rounds=None)
    found = run(context, workspace, arrays, explores=explores)
    if not all(wanted):
        assert 0 in found.counts
        return
    assert found.counts == [len(each) for each in wanted]
    matrix = workspace.download(found.matrix)[: 3 * arrays.words].reshape(3, arrays.words)
    flags = np.zeros((3, nodes), bool)
    for row, each in zip(flags, wanted, strict=True):
        row[sorted(each)] = True
    np.testing.assert_array_equal(matrix, [pack(each) for each in flags], "bits past the last node")
    listed = workspace.download(found.nodes)[: sum(found.counts)]
    np.testing.assert_array_equal(listed, [node for each in wanted for node in sorted(each)])


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_fewer_rounds_give_a_superset_of_the_candidates(context, workspace, rounds):
    graph, arrays, rows, *sets = arranged(context, workspace, 257)
    checked = expected(graph, rows, *sets, explores=False, rounds=None)
    refined = expected(graph, rows, *sets, explores=True, rounds=None)
    found = run(context, workspace, arrays, rounds=rounds)
    matrix = workspace.download(found.matrix)[: 3 * arrays.words].reshape(3, arrays.words)
    for bits, most, least in zip(matrix, checked, refined, strict=True):
        assert least <= set(np.flatnonzero(unpack(bits, 257)).tolist()) <= most
    assert all(refined)


def test_no_candidates_are_left(context, workspace):
    _, arrays, *_ = arranged(context, workspace, 257, mask_share=0.0)
    assert 0 in run(context, workspace, arrays).counts


@pytest.mark.parametrize("most", [1, 100, 1000])
def test_the_filter_stops_beyond_its_limit(context, workspace, most):
    _, arrays, *_ = arranged(context, workspace, 2049)
    used = workspace.budget.used
    assert run(context, workspace, arrays, max_looks=most) is None
    assert run(context, workspace, arrays) is not None
    assert workspace.budget.used >= used


def test_too_many_candidates_are_not_listed(context, workspace):
    _, arrays, *_ = arranged(context, workspace, 257)
    total = sum(run(context, workspace, arrays).counts)
    assert run(context, workspace, arrays, max_nodes=total - 1).nodes is None
    assert run(context, workspace, arrays, max_nodes=total).nodes is not None
