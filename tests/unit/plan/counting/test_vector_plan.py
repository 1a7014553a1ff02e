"""Every choice of pins counts the same homomorphisms, and the plan chooses a cheap one."""

from itertools import combinations

import numpy as np
import pytest
from counted_vectors import Evaluated, homomorphisms
from hypothesis import assume, given
from hypothesis import strategies as st

from gpugda.plan.counting.quotients import (
    Link,
    Multiplicities,
    Pattern,
    Powers,
    pattern_of,
    signed_patterns,
)
from gpugda.plan.counting.vector_plan import GraphShape, core_of, plan_vectors, rooted_terms

SIMPLE = Multiplicities(has_loops=False, single=True, single_directed=True)
ANY = Multiplicities(has_loops=True, single=False, single_directed=False)
SHAPE = GraphShape(1e5, 2e6, 100.0)


@st.composite
def patterns(draw):
    """Connected patterns of 3 to 8 nodes, mostly with few cycles."""
    nodes = draw(st.integers(3, 8))
    pairs = {(draw(st.integers(0, each - 1)), each) for each in range(1, nodes)}
    others = sorted({*combinations(range(nodes), 2)} - pairs)
    pairs |= set(draw(st.lists(st.sampled_from(others), max_size=3)) if others else [])
    powers = st.sampled_from([Powers(1), Powers(0, 1), Powers(0, 0, 1), Powers(2), Powers(0, 1, 1)])
    edges = tuple((*pair, draw(powers)) for pair in sorted(pairs))
    loops = tuple(draw(st.sampled_from([0, 0, 0, 1, 2])) for _ in range(nodes))
    return Pattern(nodes, edges, loops)


def matrix_of(seed, nodes=5):
    random = np.random.default_rng(seed)
    return random.integers(0, 3, (nodes, nodes)) * (random.random((nodes, nodes)) < 0.6)


@given(pattern=patterns(), seed=st.integers(0, 1 << 16), data=st.data())
def test_every_choice_of_pins_gives_the_same_count(pattern, seed, data):
    core = core_of(pattern)
    assume(len(core) > 1)
    pins = data.draw(st.lists(st.sampled_from(core), min_size=1, unique=True))
    matrix = matrix_of(seed)
    terms = rooted_terms(pattern, sorted(pins), ANY, SHAPE)
    if terms is not None:
        evaluated = Evaluated(matrix)
        found = sum(times * evaluated.of(rooted) for rooted, times in terms.items())
        assert found == homomorphisms(pattern, matrix)


def undirected(text):
    links = tuple(Link(int(one), int(other), False) for one, other in text.split())
    return max(map(max, (each[:2] for each in links))) + 1, links


def planned(text, graph=SIMPLE):
    nodes, links = undirected(text)
    own = pattern_of(nodes, links, graph)
    return plan_vectors(own, signed_patterns(nodes, links, graph, 1 << 20), graph, SHAPE)


@pytest.mark.parametrize(
    ("text", "pins", "steps"),
    [
        ("01 12 23 34 40", 5, 2),  # a pentagon: any node may be the highest
        ("01 12 23 34 45 50", 6, 3),
        ("02 03 04 12 13 14", 2, 2),  # K2,3: one of two nodes
        ("01 12 23 30 04 14", 2, 2),  # a house: an end of the common side
    ],
)
def test_pins_of_known_shapes(text, pins, steps):
    plan = planned(text)
    assert (len(plan.pins), plan.steps, plan.is_separable) == (pins, steps, False)


def test_a_bow_tie_is_separable():
    plan = planned("01 02 12 03 04 34")
    assert plan.pins == (0,)
    assert plan.is_separable


@pytest.mark.parametrize("text", ["01 02 03 12 13 23", "01 12 02 34 45 35 03 14 25"])
def test_no_plan_if_one_pin_leaves_cycles(text):
    assert planned(text) is None


def test_trees_at_a_cycle_are_weights():
    plan = planned("01 12 23 34 40 05 56")
    assert len(plan.pins) == 5
    assert any(rooted.weight is not None for rooted, _ in plan.terms)


@pytest.mark.parametrize("graph", [SIMPLE, ANY])
def test_a_tree_needs_no_vectors(graph):
    terms = planned("01 12 23", graph)
    assert terms.pins == ()
