"""Extension rates of candidates: of all nodes, of reached nodes, of remaining nodes."""

from __future__ import annotations

import math

import pytest
from graphs import make_graph

from gpugda.plan.bind import bind
from gpugda.plan.counting.costs import Costs
from gpugda.plan.counting.count_plan import Eliminate, RowMessage
from gpugda.plan.counting.problem import CountProblem
from gpugda.plan.join.join_order import node_order
from gpugda.plan.join.join_rates import ExpectedCandidates, Rates, combined_selectivity
from gpugda.plan.masks import Masks
from gpugda.thresholds import CountThresholds
from tests.one_pattern import query_of

HUB = make_graph(
    [("A" if i else "Hub", {}) for i in range(101)],
    [(0, "R", i, {}) for i in range(1, 101)] + [(i, "R", i % 10, {}) for i in range(1, 101)],
)
EVEN = make_graph([((), {})] * 100, [(i, "R", (i * 7 + 1) % 100, {}) for i in range(100)])


def bound(text, graph):
    return bind(query_of(f"MATCH {text} RETURN count(*)"), graph)


def test_the_smallest_share_counts_fully_and_further_ones_less():
    assert combined_selectivity([0.25, 0.0625]) == pytest.approx(0.0625 * 0.25**0.5)
    assert combined_selectivity([2.0, 0.5]) == 0.5
    assert combined_selectivity([]) == 1.0


def test_even_degrees_give_nodes_an_equal_share_of_relationships():
    pattern = bound("(a)-[:R]->(b)", EVEN)
    assert Rates(pattern).of(0, 0, reached=False) == pytest.approx(1.0)
    assert Rates(pattern, ExpectedCandidates([10, 100])).of(0, 0, reached=False) == pytest.approx(
        1.0
    )
    assert Rates(pattern, ExpectedCandidates([100, 10])).of(0, 0, reached=False) == pytest.approx(
        0.1
    )


def test_a_remaining_hub_has_most_of_the_relationships():
    pattern = bound("(a)-[:R]->(b)", HUB)
    left = Rates(pattern, ExpectedCandidates([1, 101]))
    assert 100 < left.of(0, 0, reached=False) < 200


def test_degrees_of_reached_nodes_consider_their_label():
    """Few of the nodes that relationships lead to have the label, and these have many."""
    pattern = bound("(a)-[:R]->(hub:Hub)-[:R]->(b)", HUB)
    assert Rates(pattern).of(1, 1, reached=True) == pytest.approx(100)
    other = bound("(a)-[:R]->(hub:A)-[:R]->(b)", HUB)
    assert Rates(other).of(1, 1, reached=True) == pytest.approx(1)


def test_a_relationship_that_another_one_implies_selects_nothing():
    both = bound("(a)-[:R]->(b) MATCH (a)-[:R]-(b)", HUB)
    assert Rates(both).implied == {1}
    apart = bound("(a)-[:R]->(b), (a)-[:R]-(b)", HUB)
    assert Rates(apart).implied == frozenset()


def test_the_node_selected_by_most_relationships_is_first():
    pattern = bound("(a)-->(b)-->(c), (a)-->(c), (b)-->(d)", EVEN)

    class Given(Rates):
        def __init__(self):
            self.counts = [10.0, 1000.0, 1000.0, 1000.0]
            self.implied = frozenset()
            self.list_search, self.order_pairs = 1.0, math.inf
            self.end_rates = [((30.0, 30.0), (30.0, 30.0)) for _ in pattern.relationships]

    assert node_order(pattern, Given()) == [0, 1, 2, 3]


def test_costs_of_a_plan_use_the_executed_order():
    """The core is ordered without the nodes that are counted per row."""
    pattern = bound("(a)-[:R]->(b)-[:R]->(c)-[:R]->(d)-[:R]->(a)", HUB)
    problem = CountProblem(pattern, HUB, Masks({}, {}), ExpectedCandidates([101, 101, 101, 101]))
    asked = []

    def order(left_out):
        asked.append(left_out)
        return [node for node in range(4) if node not in left_out]

    costs = Costs(problem, CountThresholds(), lambda: None, order)
    costs.of_plan(Eliminate(pattern, (RowMessage((1,)),)))
    assert asked == [frozenset({1})]


def test_explored_candidates_have_at_least_one_neighbour():
    pattern = bound("(a)-[:R]->(b)", EVEN)
    assert Rates(pattern, ExpectedCandidates([5, 5])).of(0, 0, reached=False) < 1
    assert Rates(pattern, ExpectedCandidates([5, 5], explored=True)).of(0, 0, reached=False) == 1
