"""A graph like WatDiv's: predicates connect two classes, each with its cardinality."""

import numpy as np
import pytest

from lab import watdiv_graph
from lab.recipes import make_recipe
from lab.watdiv_graph import draw_watdiv, watdiv_labels, watdiv_types

NODES, COUNT = 20_000, 218_000


def drawn(nodes=NODES, count=COUNT, types=86, seed=1):
    parts = list(draw_watdiv(np.random.default_rng(seed), nodes, count, types))
    return tuple(np.concatenate(each).astype(np.int64) for each in zip(*parts, strict=True))


def class_of(label):
    return label.rstrip("0123456789")


def test_the_number_of_types_labels_and_relationships_is_that_of_the_paper():
    starts, ends, kinds = drawn()
    codes, label_sets = watdiv_labels(np.random.default_rng(1), NODES, 1_000)
    assert len(starts) == len(ends) == COUNT
    assert max(starts.max(), ends.max()) < NODES
    assert len(set(watdiv_types(86))) == len(np.unique(kinds)) == 86
    assert len(codes) == NODES
    assert len(set(label_sets)) == len(label_sets) == 1_000
    assert codes.max() < 1_000


def test_a_predicate_connects_the_classes_of_its_definition():
    starts, ends, kinds = drawn()
    codes, label_sets = watdiv_labels(np.random.default_rng(1), NODES, 1_000)
    classes = np.array([class_of(label) for (label,) in label_sets])[codes]
    for number, each in enumerate(watdiv_graph._predicates()):
        assert set(classes[starts[kinds == number]]) == {each.start}
        assert set(classes[ends[kinds == number]]) == {each.end}


def test_predicates_have_their_cardinality():
    starts, ends, kinds = drawn()
    types = watdiv_types(86)
    for name, side in [("gender", starts), ("makesPurchase", ends), ("userId", ends)]:
        _, times = np.unique(side[kinds == types.index(name)], return_counts=True)
        assert times.max() == 1, name
    numbers = [types.index(name) for name in ("userId", "email", "title", "url")]
    texts = ends[np.isin(kinds, numbers)]
    assert len(np.unique(texts)) == len(texts)  # no two entities share such a text
    followers = np.bincount(ends[kinds == types.index("follows")])
    friends = np.bincount(ends[kinds == types.index("friendOf")])
    assert followers.max() > 4 * friends.max()


def test_the_largest_degree_is_that_of_the_paper():
    starts, ends, _ = drawn(100_000, 1_090_000)
    degrees = np.bincount(starts, minlength=100_000) + np.bincount(ends, minlength=100_000)
    assert degrees.max() == pytest.approx(6_710, rel=0.15)


def test_pieces_and_small_graphs_change_nothing_but_the_numbers(monkeypatch):
    assert len(drawn(16, 100)[0]) == 100
    monkeypatch.setattr(watdiv_graph, "_PIECE", 500)
    starts, _, kinds = drawn()
    assert len(starts) == COUNT
    users = starts[kinds == watdiv_types(86).index("gender")]
    assert len(np.unique(users)) == len(users)


@pytest.mark.parametrize("labels", [1, 3, 15, 16, 100])
def test_few_labels_are_shared_by_classes(labels):
    codes, label_sets = watdiv_labels(np.random.default_rng(1), NODES, labels)
    assert len(set(label_sets)) == len(label_sets) == codes.max() + 1
    assert labels <= len(label_sets) <= max(labels, 16)
    assert len(np.unique(drawn(types=labels)[2])) == min(labels, 86)


def test_a_recipe_draws_the_same_graph_from_a_seed():
    one, again, other = (make_recipe("watdiv", 1e-4, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.outgoing.neighbours, again.outgoing.neighbours)
    assert not np.array_equal(one.outgoing.neighbours, other.outgoing.neighbours)
    assert class_of(one.node_labels(0)[0]) == "User"
