"""Tests checking, collecting and exploring candidates against NumPy."""

import numpy as np
import pytest
from graphs import make_graph
from kernels.kernel_graphs import SIZES, entries, pack, random_graph, unpack, upload_query, wrong

from gpugda.device.graph.device_graph import ANY_LABEL
from gpugda.device.launch.candidate_filter import Batch, CandidateFilter
from gpugda.device.launch.primitives import PrefixSum
from gpugda.device.launch.query_words import Adjacency, Degree, QueryRow

LABEL, ANY, NO_LABEL, NOT, AND, OR = range(6)
A, B, ANYTHING = 0, 1, 2


def row(level=0, labels=(), mask=None, degrees=(), adjacencies=()):
    return QueryRow(level, tuple(labels), mask, tuple(degrees), tuple(adjacencies))


def has(graph, label):
    return unpack(graph.label_bits(graph.labels.names.index(label)), graph.node_count)


def check(context, workspace, graph, rows, marks=None, **query):
    arrays, _ = upload_query(context, workspace, graph, rows, **query)
    candidates = wrong(workspace, len(rows) * arrays.words)
    marked = None if marks is None else workspace.upload(marks)
    CandidateFilter(context).check_candidates(arrays, Batch(0, len(rows)), marked, candidates)
    words = workspace.download(candidates).reshape(len(rows), arrays.words)
    bits = [unpack(each, graph.node_count) for each in words]
    for each, kept in zip(words, bits, strict=True):
        np.testing.assert_array_equal(each, pack(kept), "bits past the last node")
    return bits


@pytest.mark.parametrize("nodes", SIZES)
def test_candidates_are_filtered_by_labels(context, workspace, nodes):
    graph = random_graph(nodes)
    ids = [label for label, name in enumerate(graph.labels.names) if name in "AB"]
    if len(ids) < 2:
        pytest.skip("too few nodes for two labels")
    first, second = (has(graph, graph.labels.names[label]) for label in ids)
    programs = [
        ((), np.ones(nodes, bool)),
        ([(LABEL, A)], first),
        ([(LABEL, A), (LABEL, B), (AND, 0)], first & second),
        ([(LABEL, A), (LABEL, B), (NOT, 0), (OR, 0)], first | ~second),
        ([(ANY, ANYTHING), (NOT, 0)], ~(first | second)),
        ([(NO_LABEL, 0), (LABEL, B), (OR, 0)], second),
    ]
    rows = [row(labels=program) for program, _ in programs]
    found = check(context, workspace, graph, rows, labels=[*ids, ANY_LABEL])
    for (program, expected), bits in zip(programs, found, strict=True):
        np.testing.assert_array_equal(bits, expected, str(program))


@pytest.mark.parametrize("nodes", SIZES)
def test_candidates_are_filtered_by_degrees_masks_and_marks(context, workspace, nodes):
    graph = random_graph(nodes)
    random = np.random.default_rng(nodes)
    mask, marks = random.random(nodes) < 0.7, random.random(nodes) < 0.5
    needs = [
        Degree(True, False, None, 3),
        Degree(False, True, (1,), 1),
        Degree(True, True, (0, 2), 4),
    ]
    rows = [row(degrees=[need]) for need in needs]
    rows += [row(degrees=needs, mask=0), row(level=1, mask=0)]
    every = np.concatenate([pack(marks)] * len(rows))
    found = check(context, workspace, graph, rows, marks=every, node_masks=[pack(mask)])
    enough = [
        np.array([_degree(graph, n, need) >= need.at_least for n in range(nodes)]) for need in needs
    ]
    for expected, bits in zip(
        [*enough, mask & np.all(enough, 0), mask & marks], found, strict=True
    ):
        np.testing.assert_array_equal(bits, expected)


def _degree(graph, node, need):
    count = 0
    for wanted, csr in ((need.outgoing, graph.outgoing), (need.incoming, graph.incoming)):
        types = csr.entry_types()[csr.row_offsets[node] : csr.row_offsets[node + 1]]
        count += wanted * (len(types) if need.types is None else np.isin(types, need.types).sum())
    return count


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_candidates_are_collected(context, workspace, nodes, share):
    graph = random_graph(nodes)
    arrays, _ = upload_query(context, workspace, graph, [row()] * 3)
    chosen = np.random.default_rng(nodes).random((3, nodes)) < share
    candidates = workspace.upload(np.concatenate([pack(each) for each in chosen]))
    ranks = PrefixSum(context).run(
        workspace, candidates, arrays.words, 2 * arrays.words, of_bits=True
    )
    kept = wrong(workspace, 3 * arrays.words)
    collected = wrong(workspace, 2 * nodes + 1)
    CandidateFilter(context).collect_candidates(
        arrays, Batch(1, 2), candidates, ranks, kept, collected
    )
    expected = np.concatenate([np.flatnonzero(each) for each in chosen[1:]])
    written = workspace.download(collected)
    np.testing.assert_array_equal(written[: len(expected)], expected)
    assert (written[len(expected) :] == 0xFFFFFFFF).all()
    copied = workspace.download(kept).reshape(3, arrays.words)
    assert (copied[0] == 0xFFFFFFFF).all()
    np.testing.assert_array_equal(copied[1:].reshape(-1), np.concatenate([*map(pack, chosen[1:])]))


# Query nodes 0 and 1 are of level 0, query node 2 is of level 1.
LOOP = Adjacency(0, 0, True, False, True, None, None)
TO_KNOWN = Adjacency(1, 1, True, False, False, None, (0, 2))
UNDIRECTED = Adjacency(1, 1, True, True, False, 0, None)
INCOMING = Adjacency(1, 1, False, True, False, 0, (1,))
TO_LATER = Adjacency(2, 2, True, True, False, 0, (0, 1))
CASES = {
    "loop": [LOOP],
    "outgoing": [TO_KNOWN],
    "undirected": [UNDIRECTED],
    "incoming": [INCOMING],
    "later": [TO_LATER],
    "all": [TO_KNOWN, TO_LATER],
}


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("case", CASES)
def test_candidates_are_explored(context, workspace, nodes, case):
    check_exploring(context, workspace, random_graph(nodes), CASES[case], 0.5)


ALL = (0, 1, 2)
SIX_RUNS = [Adjacency(1, 1, True, True, False, 0, ALL), Adjacency(2, 2, True, True, False, 0, ALL)]


@pytest.mark.parametrize("share", [0.004, 0.02, 0.5])
@pytest.mark.parametrize("case", [[TO_KNOWN, TO_LATER], SIX_RUNS, [*[TO_KNOWN] * 33, INCOMING]])
def test_long_lists_are_explored(context, workspace, case, share):
    """Few candidates: most other nodes scan all entries, which are in too many runs to share."""
    random, nodes = np.random.default_rng(4), 700
    starts, ends, types = random.integers(0, (nodes, nodes, 3), (25_000, 3)).T.tolist()
    ends[:3000] = [nodes // 2] * 3000
    rows = zip(starts, types, ends, strict=True)
    graph = make_graph([("", {})] * nodes, [(a, "RST"[kind], b, {}) for a, kind, b in rows])
    check_exploring(context, workspace, graph, case, share)


def test_many_runs_are_explored(context, workspace):
    """More runs than can be shared lead to nodes that few others lead to."""
    random, nodes = np.random.default_rng(4), 3000
    rows = random.integers(0, (nodes, 3, nodes), (5 * nodes, 3)).tolist()
    graph = make_graph([("", {})] * nodes, [(a, "RST"[kind], b, {}) for a, kind, b in rows])
    check_exploring(context, workspace, graph, SIX_RUNS[1:], 0.5)


def check_exploring(context, workspace, graph, adjacencies, share):
    nodes = graph.node_count
    rows = [row(adjacencies=adjacencies), row(), row(level=1)]
    random = np.random.default_rng(nodes)
    mask = random.random(graph.relationship_count) < 0.6
    chosen = random.random((3, nodes)) < np.array([[0.5], [share], [share]])
    arrays, _ = upload_query(context, workspace, graph, rows, relationship_masks=[pack(mask)])
    candidates = workspace.upload(np.concatenate([pack(each) for each in chosen]))
    stay, marked = _explored(graph, adjacencies, chosen, mask)
    for explore in ways_to_explore(context, workspace):
        kept = workspace.upload(np.concatenate([pack(each) for each in chosen]))
        marks = workspace.upload(np.zeros(3 * arrays.words, dtype=np.uint32))
        explore(arrays, Batch(0, 1), 0, 0, chosen[0], candidates, kept, marks)
        found = workspace.download(kept).reshape(3, arrays.words)
        np.testing.assert_array_equal(found[0], pack(stay))
        np.testing.assert_array_equal(found[1:], [pack(each) for each in chosen[1:]])
        found = workspace.download(marks).reshape(3, arrays.words)
        np.testing.assert_array_equal(found[2], pack(marked))
        assert not found[:2].any()


def ways_to_explore(context, workspace):
    """With collected candidates; on a GPU also bit by bit."""
    kernels = CandidateFilter(context)

    def collected(arrays, batch, settled, known, chosen, candidates, kept, marks):
        first = batch.first * arrays.words
        ranks = PrefixSum(context).run(workspace, candidates, first, arrays.words, of_bits=True)
        nodes = workspace.upload(np.flatnonzero(chosen).astype(np.uint32))
        kernels.explore_candidates(
            arrays, batch, settled, known, nodes, ranks, candidates, kept, marks
        )

    def bits(arrays, batch, settled, known, _, *matrices):
        kernels.explore_bits(arrays, batch, settled, known, *matrices)

    return [collected] if context.is_cpu else [collected, bits]


def _explored(graph, adjacencies, chosen, mask):
    stay, marked = np.zeros(graph.node_count, bool), np.zeros(graph.node_count, bool)
    for node in np.flatnonzero(chosen[0]).tolist():
        around = {each: _around(graph, node, each, mask) for each in set(adjacencies)}
        stay[node] = all(
            ends and (each.other_row == 2 or chosen[each.other_row][ends].any())
            for each, ends in around.items()
        )
        if stay[node]:
            marked[
                [end for each, ends in around.items() if each.other_row == 2 for end in ends]
            ] = True
    return stay, marked


def _around(graph, node, each, mask):
    used = None if each.mask_slot is None else mask
    found = entries(graph, node, each.outgoing, each.incoming, each.types, used, each.is_loop)
    return [end for end, _ in found]


def test_explored_rows_are_read_from_the_copy(context, workspace):
    graph = random_graph(33)
    rows = [row(), row(level=1, adjacencies=[Adjacency(0, 0, True, True, False, None, None)])]
    arrays, _ = upload_query(context, workspace, graph, rows)
    every = np.ones(33, bool)
    candidates = workspace.upload(np.concatenate([pack(every), pack(every)]))
    for explore in ways_to_explore(context, workspace):
        kept = workspace.upload(np.concatenate([pack(~every), pack(every)]))
        explore(arrays, Batch(1, 1), 0, 1, every, candidates, kept, None)
        assert workspace.download(kept)[arrays.words :].any()
        explore(arrays, Batch(1, 1), 1, 1, every, candidates, kept, None)
        assert not workspace.download(kept).any()


def test_checked_rows_are_written_to_the_copy(context, workspace):
    graph = random_graph(33)
    chosen = np.random.default_rng(3).random(33) < 0.5
    rows = [row(), row(mask=0)]
    arrays, _ = upload_query(context, workspace, graph, rows, node_masks=[pack(chosen)])
    candidates, kept = (wrong(workspace, 2 * arrays.words) for _ in range(2))
    CandidateFilter(context).check_candidates(arrays, Batch(1, 1), None, candidates, kept)
    for each in (candidates, kept):
        found = workspace.download(each).reshape(2, arrays.words)
        assert (found[0] == 0xFFFFFFFF).all()
        np.testing.assert_array_equal(found[1], pack(chosen))
