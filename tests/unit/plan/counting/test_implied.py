"""Redundant tests between nodes, against exhaustive enumeration."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bound_queries import Node, Relationship, all_embeddings, make_plan
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.plan.counting.implied import without_implied
from gpugda.plan.plan import RowTest

ONCE = [(0, "R", 1, {}), (1, "R", 2, {}), (2, "R", 0, {}), (2, "R", 2, {})]
SEVERAL = {
    "parallel": [*ONCE, (0, "R", 1, {})],
    "the other way": [*ONCE, (1, "R", 0, {})],
    "two loops": [*ONCE, (2, "R", 2, {})],
}
APART = RowTest(True, 0, 2, False)


def graph_of(rows):
    return make_graph([("", {})] * 3, [*rows, (0, "S", 1, {})])


def path(types=((0,), (0,)), clauses=(0, 0), tests=(APART,), directed=False):
    made = zip(((0, 1), (1, 2)), types, clauses, strict=True)
    relationships = [Relationship(*ends, kind, directed, clause) for ends, kind, clause in made]
    return make_plan([Node()] * 3, relationships, tests)


def is_left(plan, graph, test=APART):
    return test in without_implied(plan.bound, graph).tests


@pytest.mark.parametrize("directed", [True, False])
def test_tests_implied_by_distinct_relationships_are_dropped(directed):
    assert not is_left(path(directed=directed), graph_of(ONCE))


@pytest.mark.parametrize("name", SEVERAL)
def test_parallel_relationships_keep_the_test(name):
    assert is_left(path(), graph_of(SEVERAL[name]))


def test_relationships_of_two_clauses_keep_the_test():
    assert is_left(path(clauses=(0, 1)), graph_of(ONCE))


def test_relationships_of_two_types_keep_the_test():
    assert is_left(path(types=((0,), (1,))), graph_of(ONCE))
    assert is_left(path(types=((0, 1), (0, 1))), graph_of(ONCE))


@pytest.mark.parametrize("test", [RowTest(True, 0, 1, False), RowTest(True, 0, 2, True)])
def test_other_tests_are_kept(test):
    assert is_left(path(tests=[test]), graph_of(ONCE), test)


def test_a_pattern_without_such_tests_is_unchanged():
    bound = path(tests=()).bound
    assert without_implied(bound, graph_of(ONCE)) is bound


@st.composite
def paths_with_tests(draw):
    pairs = st.tuples(st.integers(0, 2), st.sampled_from("RS"), st.integers(0, 2))
    rows = draw(st.lists(pairs, max_size=6))
    graph = make_graph([("", {})] * 3, [(0, "R", 1, {}), *((*each, {}) for each in rows)])
    kinds = st.sampled_from([(0,), (0,), None, (0, len(graph.types) - 1)])
    ends = [(0, 1), (1, 2), (2, 3)][: draw(st.integers(2, 3))]
    clause = st.integers(0, 1)
    made = [
        Relationship(*draw(st.permutations(each)), draw(kinds), draw(st.booleans()), draw(clause))
        for each in ends
    ]
    position = st.integers(0, len(ends))
    tests = draw(st.lists(st.tuples(position, position), max_size=3))
    return graph, make_plan(
        [Node()] * (len(ends) + 1), made, [RowTest(True, a, b, False) for a, b in tests]
    )


@given(asked=paths_with_tests())
def test_dropping_implied_tests_keeps_the_embeddings(asked):
    graph, plan = asked
    left = replace(plan, bound=without_implied(plan.bound, graph))
    assert all_embeddings(graph, left) == all_embeddings(graph, plan)
