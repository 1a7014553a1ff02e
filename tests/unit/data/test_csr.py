from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from graphs import design_graph, make_graph
from hypothesis import given
from kernels.kernel_graphs import any_multigraphs

from gpugda.data import csr

# Each breaks one invariant of the example: rows 4 and 1 long, runs R R R | S | R.
BROKEN = {
    "row_offsets does not begin": {"row_offsets": np.array([1, 4, 5])},
    "row_offsets does not end": {"row_offsets": np.array([0, 4, 4])},
    "run_offsets decreases": {"run_offsets": np.array([0, 4, 3])},
    "run is empty": {"run_starts": np.array([0, 3, 3, 5])},
    "do not fit": {"run_starts": np.array([0, 2, 3, 5])},
    "not a node index": {"neighbours": np.array([0, 1, 2, 1, 0])},
    "not sorted": {"neighbours": np.array([1, 0, 1, 1, 0])},
    "two runs of one type": {"run_types": np.array([0, 0, 0])},
    "not a permutation": {"relationship_indexes": np.array([0, 1, 2, 3, 3])},
}


@pytest.mark.parametrize("part", BROKEN)
def test_invalid_rows_are_refused(part):
    rows = design_graph().outgoing
    rows.check()
    changes = {
        name: value.astype(np.uint16 if name == "run_types" else np.uint32)
        for name, value in BROKEN[part].items()
    }
    with pytest.raises(ValueError, match=part):
        dataclasses.replace(rows, **changes).check()


def test_degrees_count_relationships():
    graph = design_graph()
    assert graph.outgoing.degrees().tolist() == [4, 1]
    assert graph.incoming.degrees().tolist() == [2, 3]
    assert graph.outgoing.nbytes == 3 * 4 + 5 * 4 + 3 * 4 + 3 * 2 + 4 * 4


def test_degrees_of_some_types():
    rows = design_graph().outgoing
    for types in ((), (0,), (1,), (0, 1, 1), (7,)):
        expected = [sum(np.diff(rows.run(node, each))[0] for each in set(types)) for node in (0, 1)]
        assert rows.degrees(types).tolist() == expected


@pytest.mark.parametrize("piece", [1, 3, 64])
def test_long_rows_are_read_piece_by_piece(monkeypatch, piece):
    random = np.random.default_rng(3)
    rows = [(a, "RST"[kind], b, {}) for a, kind, b in random.integers(0, 3, (150, 3)).tolist()]
    graph = make_graph([("", {})] * 5, [(2 * a if a < 2 else 4, *rest) for a, *rest in rows])
    looks = []
    monkeypatch.setattr(csr, "_PIECE", piece)
    monkeypatch.setattr(csr, "_FILLED", piece)
    monkeypatch.setattr(csr, "check_time", lambda: looks.append(None))
    for each in (graph.outgoing, graph.incoming):
        looks.clear()
        nodes, types = each.entry_nodes(), each.entry_types()
        assert len(looks) == 2 * -(-150 // piece)
        assert nodes.tolist() == np.repeat(np.arange(5), np.diff(each.row_offsets)).tolist()
        assert types.tolist() == np.repeat(each.run_types, np.diff(each.run_starts)).tolist()
        looks.clear()
        for kinds in ((0,), (2, 0), (0, 1, 2)):
            wanted = np.bincount(nodes[np.isin(types, kinds)], minlength=5)
            assert each.degrees(kinds).tolist() == wanted.tolist()
        assert len(looks) == 3 * -(-len(each.run_types) // piece)


@given(graph=any_multigraphs(7, 16, "R"))
def test_two_paths_are_bounded_by_the_most_of_any_node(graph):
    starts, ends = graph.outgoing.entry_nodes(), graph.outgoing.neighbours
    pairs = [*zip(starts, ends, strict=True), *zip(ends, starts, strict=True)]
    degrees = Counter(int(a) for a, _ in pairs)
    reached = Counter()
    for a, b in pairs:
        reached[int(a)] += degrees[int(b)]
    assert graph.most_two_paths() == max(reached.values(), default=0)
