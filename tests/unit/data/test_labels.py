"""Rows of label ids against lists."""

import numpy as np
import pytest

import gpugda.data.labels as labels
from gpugda.data.labels import LabelPlaces, label_bitmap, label_rows


@pytest.mark.parametrize("label_count", [9, 70_000])
@pytest.mark.parametrize("most", [0, 1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("set_count", [1, 2, 6])
@pytest.mark.parametrize("nodes", [0, 1, 50])
def test_labels_of_a_node_are_contiguous(nodes, set_count, most, label_count):
    random = np.random.default_rng(most)
    sets = [
        random.choice(label_count, int(length), replace=False).tolist()
        for length in random.integers(0, most + 1, set_count)
    ]
    codes = random.integers(0, set_count, nodes).astype(np.int32)
    offsets, ids = label_rows(codes, sets, label_count)
    assert ids.tolist() == [label for code in codes for label in sets[code]]
    assert offsets.tolist() == np.cumsum([0, *[len(sets[code]) for code in codes]]).tolist()
    assert offsets.dtype == np.uint32
    assert ids.dtype == (np.uint16 if label_count == 9 else np.uint32)


def test_no_nodes_have_no_labels():
    offsets, ids = label_rows(np.empty(0, dtype=np.int32), [], 0)
    assert (offsets.tolist(), len(ids)) == ([0], 0)


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("nodes", [0, 1, 97])
def test_nodes_with_a_label_are_found_by_bitmap_and_by_number(monkeypatch, nodes, most):
    monkeypatch.setattr(labels, "_PIECE", 32)
    random = np.random.default_rng(nodes)
    # The first nodes have one label each, so that some pieces are read without their offsets.
    sets = [[node % 3] if node < 40 else list(range(node % (most + 1))) for node in range(nodes)]
    offsets = np.cumsum([0, *map(len, sets)]).astype(np.uint32)
    ids = np.array([label for each in sets for label in each], dtype=np.uint16)
    for label in range(4):
        having = [node for node, each in enumerate(sets) if label in each]
        bits = np.unpackbits(label_bitmap(offsets, ids, label).view(np.uint8), bitorder="little")
        assert np.flatnonzero(bits).tolist() == having
        places = LabelPlaces(ids, label)
        expected = np.flatnonzero(ids == label)
        assert places.count == len(expected) == len(having)
        some = np.flatnonzero(random.random(places.count) < 0.4)
        assert places.at(some).tolist() == expected[some].tolist()
