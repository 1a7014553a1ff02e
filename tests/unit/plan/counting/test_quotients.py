"""Inclusion-exclusion over all relationships, against a formula for embeddings."""

import numpy as np
import pytest
from counted_vectors import homomorphisms
from every_graph import embeddings
from hypothesis import given
from hypothesis import strategies as st

from gpugda.plan.counting.quotients import (
    Link,
    Multiplicities,
    Pattern,
    Powers,
    canonical,
    signed_patterns,
)


def what_is_known(matrix):
    between = matrix - np.diag(matrix.diagonal())
    single = bool((between + between.T).max() <= 1)
    return Multiplicities(bool(matrix.diagonal().any()), single, bool(between.max() <= 1))


@st.composite
def connected_patterns(draw, most_nodes=4, most_links=5):
    nodes = draw(st.integers(2, most_nodes))
    ends = [(draw(st.integers(0, each - 1)), each) for each in range(1, nodes)]
    node = st.integers(0, nodes - 1)
    ends += draw(st.lists(st.tuples(node, node), max_size=most_links - len(ends)))
    turned = [draw(st.booleans()) for _ in ends]
    pairs = [pair[::-1] if turn else pair for pair, turn in zip(ends, turned, strict=True)]
    return nodes, tuple(Link(*pair, draw(st.booleans())) for pair in pairs)


@st.composite
def matrices(draw, nodes=4):
    number = st.sampled_from([0, 0, 1, 1, draw(st.integers(1, 3))])
    rows = draw(
        st.lists(st.lists(number, min_size=nodes, max_size=nodes), min_size=nodes, max_size=nodes)
    )
    matrix = np.array(rows)
    if draw(st.booleans()):
        matrix -= np.diag(matrix.diagonal())
    return np.triu(matrix) if draw(st.booleans()) else matrix


@given(pattern=connected_patterns(), matrix=matrices())
def test_signed_homomorphisms_are_embeddings_with_distinct_relationships(pattern, matrix):
    nodes, links = pattern
    signed = signed_patterns(nodes, links, what_is_known(matrix), 1 << 20)
    found = sum(times * homomorphisms(each, matrix) for each, times in signed)
    assert found == embeddings(matrix[np.newaxis], nodes, links)[0]


@pytest.mark.parametrize(("size", "count"), [(3, 1), (4, 3), (5, 3), (6, 9)])
def test_cycles_in_simple_graphs_need_few_patterns(size, count):
    links = tuple(Link(each, (each + 1) % size, False) for each in range(size))
    assert len(signed_patterns(size, links, Multiplicities(False, True, True), 1 << 20)) == count


def test_too_many_partitions_are_not_searched():
    links = tuple(Link(each, (each + 1) % 6, False) for each in range(6))
    assert signed_patterns(6, links, Multiplicities(False, True, True), 10) == ()


@given(order=st.permutations(range(6)))
def test_one_form_of_a_pattern_whatever_its_numbers(order):
    def numbered(order):
        edges = []
        for a, b, powers in [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1), (0, 4, 2), (1, 5, 1)]:
            a, b = order[a], order[b]
            one = Powers(0, powers, 0)
            edges.append((a, b, one) if a < b else (b, a, one.turned()))
        loops = [0] * 6
        loops[order[2]] = 1
        return Pattern(6, tuple(sorted(edges)), tuple(loops))

    assert canonical(numbered(order)) == canonical(numbered(range(6)))
