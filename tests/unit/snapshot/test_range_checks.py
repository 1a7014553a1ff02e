from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from graphs import design_graph, make_graph

from gpugda.data.identifiers import NameTable
from gpugda.data.sorting import reversed_csr
from gpugda.data.values.dictionaries import ObjectDictionary, StringDictionary
from gpugda.errors import SourceError
from gpugda.snapshot import row_checks
from gpugda.snapshot.opening import open_snapshot
from gpugda.snapshot.range_checks import check_labels
from gpugda.snapshot.store import save_snapshot

# The example has 2 nodes, 5 relationships, 2 types; rows 4 and 1 long outgoing, 2 and 3 incoming.
WRONG_ROWS = {
    "outgoing.neighbours": [0, 1, 2, 1, 0],
    "outgoing.run_types": [0, 2, 0],
    "outgoing.run_starts": [0, 4, 3, 5],
    "incoming.relationship_indexes": [0, 4, 1, 2, 5],
    "incoming.run_offsets": [0, 4, 3],
}


def with_wrong_rows(place):
    graph = design_graph()
    direction, name = place.split(".")
    rows = getattr(graph, direction)
    wrong = np.array(WRONG_ROWS[place], dtype=getattr(rows, name).dtype)
    return dataclasses.replace(graph, **{direction: dataclasses.replace(rows, **{name: wrong})})


def open_saved_copy(graph, tmp_path):
    save_snapshot(graph, tmp_path / "s")
    return open_snapshot(tmp_path / "s")


@pytest.mark.parametrize("place", WRONG_ROWS)
def test_indexes_out_of_range_are_found(place, tmp_path):
    with pytest.raises(SourceError, match=f"damaged, {place}"):
        open_saved_copy(with_wrong_rows(place), tmp_path)


def test_runs_that_do_not_fit_their_rows_are_found(tmp_path):
    graph = design_graph()
    rows = dataclasses.replace(graph.outgoing, row_offsets=np.array([0, 3, 5], dtype=np.uint32))
    with pytest.raises(SourceError, match="the runs do not fit"):
        open_saved_copy(dataclasses.replace(graph, outgoing=rows), tmp_path)


def replaced(graph, **arrays):
    """The graph with other outgoing arrays, and incoming arrays that match them."""
    rows = dataclasses.replace(graph.outgoing, **arrays)
    return dataclasses.replace(graph, outgoing=rows, incoming=reversed_csr(rows, len(graph.types)))


def test_unsorted_rows_are_found(tmp_path):
    graph = make_graph([("A", {})] * 3, [(0, "R", 1, {}), (0, "R", 2, {}), (0, "S", 1, {})])
    swapped = graph.outgoing.neighbours[[1, 0, 2]]
    with pytest.raises(SourceError, match="the neighbours of a run are not sorted"):
        open_saved_copy(replaced(graph, neighbours=swapped), tmp_path)
    twice = np.zeros_like(graph.outgoing.run_types)
    with pytest.raises(SourceError, match="the types of a row are not sorted"):
        open_saved_copy(replaced(graph, run_types=twice), tmp_path)


def test_rows_are_checked_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(row_checks, "_PIECE", 2)
    ends = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 2), (3, 0), (3, 3), (3, 4)]
    graph = make_graph([("A", {})] * 5, [(start, "R", end, {}) for start, end in ends])
    for place in range(len(ends)):
        neighbours = graph.outgoing.neighbours.copy()
        neighbours[place] = (neighbours[place] + 2) % 5
        start = ends[place][0]
        row = [each for each, (first, _) in zip(neighbours, ends, strict=True) if first == start]
        if sorted(row) != row:
            with pytest.raises(SourceError, match="not sorted"):
                open_saved_copy(replaced(graph, neighbours=neighbours), tmp_path)
    assert_opens(graph, tmp_path)


def assert_opens(graph, tmp_path):
    found = open_saved_copy(graph, tmp_path)
    assert found.outgoing.neighbours.tolist() == graph.outgoing.neighbours.tolist()


def test_incoming_rows_that_differ_from_outgoing_ones_are_found(tmp_path):
    graph = make_graph([("A", {})] * 3, [(0, "R", 1, {}), (0, "R", 2, {})])
    other = make_graph([("A", {})] * 3, [(0, "R", 1, {}), (1, "R", 2, {})])
    with pytest.raises(SourceError, match=r"incoming\..* is not the transpose"):
        open_saved_copy(dataclasses.replace(graph, incoming=other.incoming), tmp_path)


@pytest.mark.parametrize(
    ("labels", "part"), [([0, 1], "out of range"), ([0, 0], "a node has a duplicate label")]
)
def test_wrong_labels_are_found(tmp_path, labels, part):
    wrong = dataclasses.replace(
        make_graph([("A", {})]),
        label_ids=np.array(labels, dtype=np.uint16),
        label_offsets=np.array([0, 2], dtype=np.uint32),
    )
    with pytest.raises(SourceError, match=part):
        open_saved_copy(wrong, tmp_path)


def test_labels_beyond_sixteen_bits_are_not_taken_for_those_of_other_nodes():
    last = 1 << 16
    graph = dataclasses.replace(
        make_graph([("A", {})] * 2),
        labels=NameTable([f"L{each}" for each in range(last + 1)]),
        label_ids=np.array([0, last, 0, 1], dtype=np.uint32),
        label_offsets=np.array([0, 2, 4], dtype=np.uint32),
    )
    check_labels(graph)


def with_column(graph, key, **parts):
    column = dataclasses.replace(graph.node_properties[key], **parts)
    return dataclasses.replace(graph, node_properties={key: column})


def test_codes_outside_the_dictionary_are_found(tmp_path):
    graph = make_graph([("A", {"p": "x"}), ("A", {"p": "y"})])
    wrong = with_column(graph, "p", values=np.array([0, 2], dtype=np.int32))
    with pytest.raises(SourceError, match="property 'p' holds a number out of range"):
        open_saved_copy(wrong, tmp_path)


@pytest.mark.parametrize("texts", [["y", "x"], ["x", "x"]])
def test_unsorted_or_repeated_texts_are_found(tmp_path, texts):
    graph = make_graph([("A", {"p": "x"}), ("A", {"p": "y"})])
    wrong = with_column(graph, "p", dictionary=StringDictionary(pa.array(texts)))
    with pytest.raises(SourceError, match="not sorted and distinct"):
        open_saved_copy(wrong, tmp_path)


@pytest.mark.parametrize("entries", [[[1], [1]], [[2**70], [1]], [["\ud800"], [1]]])
def test_dictionary_entries_that_are_no_property_values_are_found(tmp_path, entries):
    graph = make_graph([("A", {"p": [1]}), ("A", {"p": [2]})])
    wrong = with_column(graph, "p", dictionary=ObjectDictionary(entries))
    with pytest.raises(
        SourceError, match=r"occurs twice|sorted and distinct|not a value of a property"
    ):
        open_saved_copy(wrong, tmp_path)


def test_booleans_other_than_0_and_1_are_found(tmp_path):
    graph = make_graph([("A", {"p": True})])
    wrong = with_column(graph, "p", values=np.array([2], dtype=np.uint8).view(np.bool_))
    with pytest.raises(SourceError, match="property 'p' holds a number out of range"):
        open_saved_copy(wrong, tmp_path)


def test_wrong_statistics_are_found(tmp_path):
    graph = make_graph([("A", {})] * 2, [(0, "R", 1, {}), (0, "R", 1, {})])
    assert graph.statistics.has_parallel
    lying = dataclasses.replace(graph.statistics, has_parallel=False, parallel_types=(False,))
    found = open_saved_copy(dataclasses.replace(graph, statistics=lying), tmp_path)
    assert found.statistics == graph.statistics


def test_a_trusted_snapshot_has_only_its_checksums_checked(tmp_path):
    save_snapshot(with_wrong_rows("outgoing.neighbours"), tmp_path / "s")
    open_snapshot(tmp_path / "s", verify=False)
    open_snapshot(tmp_path / "s", trust=True)
    victim = next((tmp_path / "s").glob("arrays-*"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with pytest.raises(SourceError, match="checksum"):
        open_snapshot(tmp_path / "s", trust=True)


def test_valid_graphs_pass_all_checks(tmp_path):
    for graph in (
        design_graph(),
        make_graph([]),
        make_graph([("A", {"x": None}), ("", {"x": []}), ("B A", {"x": [1.5, 2.5]})]),
    ):
        assert_opens(graph, tmp_path)
