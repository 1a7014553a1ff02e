"""The best of all orders of a few query nodes."""

from itertools import pairwise, permutations
from math import inf

import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.plan.bind import bind
from gpugda.plan.join.join_order import ExhaustiveOrders, node_order
from gpugda.plan.join.join_rates import ROW_COST, ExpectedCandidates, Rates, combined_selectivity
from gpugda.thresholds import CPU, GPU, CountThresholds
from tests.one_pattern import query_of

NODES = 120
# Few nodes have most outgoing relationships; all have equally many incoming ones.
GRAPH = make_graph(
    [("A", {})] * NODES,
    [(i % 7 if i % 2 else i % NODES, "R", (i * 11 + 1) % NODES, {}) for i in range(1200)],
)


def best(counts, growths, search=64.0):
    adjacent = [[] for _ in counts]
    for (node, other), growth in growths.items():
        adjacent[node].append((other, growth, growth))
    found = ExhaustiveOrders(counts, adjacent, [[] for _ in counts], search)
    return found.best(range(len(counts)))


def test_the_most_recent_node_gives_the_base_list():
    long, short = 90.0, 10.0
    growths = {(0, 1): 20.0, (1, 0): 20.0, (2, 0): 50.0, (2, 1): 50.0, (0, 2): long, (1, 2): short}
    assert best([100.0, 100.0, 1000.0], growths) == (0, 1, 2)
    growths |= {(0, 2): short, (1, 2): long}
    assert best([100.0, 100.0, 1000.0], growths) == (1, 0, 2)


@given(st.lists(st.floats(1, 50), min_size=12, max_size=12), st.sampled_from([1.0, 8.0, 64.0]))
def test_the_chosen_order_has_the_least_cost(growths, search):
    nodes = range(4)
    pairs = [(a, b) for a in nodes for b in nodes if a != b]
    links = dict(zip(pairs, growths, strict=True))
    counts = [100.0, 120.0, 90.0, 110.0]

    def rows(nodes):
        if len(nodes) == 1:
            return counts[min(nodes)]
        return min(
            rows(nodes - {node})
            * counts[node]
            * combined_selectivity([links[each, node] / counts[node] for each in nodes - {node}])
            for node in nodes
        )

    def cost(order):
        total = counts[order[0]] * ROW_COST
        for number, node in enumerate(order[1:], 1):
            *others, last = [links[each, node] for each in order[:number]]
            looks = min([last, *(search * each for each in others)])
            made = rows(frozenset(order[: number + 1])) if number < 3 else 0.0
            total += rows(frozenset(order[:number])) * looks + ROW_COST * made
        return total

    found = best(counts, links, search)
    assert cost(found) == pytest.approx(min(map(cost, permutations(nodes))))


def test_large_joins_of_cycles_have_all_orders_compared():
    """Few nodes have most outgoing relationships; the query node with them is no good last."""
    triangle = bind(query_of("MATCH (a)-[:R]->(b)-[:R]->(c), (a)-[:R]->(c) RETURN 1"), GRAPH)
    counts = ExpectedCandidates([NODES, NODES // 2, NODES])

    def order(least):
        thresholds = CountThresholds(order_pairs=least)
        return node_order(triangle, Rates(triangle, counts, thresholds=thresholds))

    assert order(inf) == [1, 0, 2]
    assert order(0) == [0, 1, 2]


def test_orders_of_trees_and_of_many_nodes_stay_connected():
    path = "(a)-[:R]->(b)-[:R]->(c)-[:R]->(d)"
    for text in (path, f"{path}-[:R]->(e)-[:R]->(f), (a)-[:R]->(c)"):
        bound = bind(query_of(f"MATCH {text} RETURN 1"), GRAPH)
        order = node_order(bound, Rates(bound, thresholds=CountThresholds(order_pairs=0)))
        ends = [{each.source, each.target} for each in bound.relationships]
        for _, node in pairwise(order):
            before = {*order[: order.index(node)]}
            assert any(node in each and each & before for each in ends)


def test_devices_that_search_lists_do_not_compare_orders():
    assert CPU.count.list_search > GPU.count.list_search == 1.0
    assert CPU.count.order_pairs < GPU.count.order_pairs
