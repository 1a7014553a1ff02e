"""Join orders are searched once for texts that differ only in names."""

from __future__ import annotations

from dataclasses import replace

from graphs import make_graph

from gpugda.plan.bind import bind
from gpugda.plan.join import join_order
from gpugda.plan.join.join_order import best_order, node_order, planned_order
from gpugda.plan.join.join_rates import Rates
from tests.one_pattern import query_of

GRAPH = make_graph(
    [("A" if node % 3 else "A:B", {}) for node in range(30)],
    [(node, "R", node * node % 7, {}) for node in range(30)],
)


def bound(text):
    return bind(query_of(f"MATCH {text} RETURN count(*)"), GRAPH)


def searches(monkeypatch):
    found = []
    best = join_order._Estimate.best
    monkeypatch.setattr(
        join_order._Estimate, "best", lambda *each: found.append(each) or best(*each)
    )
    monkeypatch.setattr(join_order, "_orders", join_order.LruCache(512))
    return found


def test_other_names_share_the_cached_order(monkeypatch):
    found = searches(monkeypatch)
    one = planned_order(bound("(a)-[:R]->(b:B)-[:R]->(c), (a)-[:R]->(c)"))
    made = planned_order(bound("(x)-[:R]->(y:B)-[:R]->(z), (x)-[:R]->(z)"))
    assert made == one
    made.clear()  # the caller's own copy
    assert planned_order(bound("(x)-[:R]->(y:B)-[:R]->(z), (x)-[:R]->(z)")) == one
    assert len(found) == 1


def test_other_labels_candidates_or_excluded_nodes_are_ordered_anew(monkeypatch):
    found = searches(monkeypatch)
    path = bound("(a)-[:R]->(b)-[:R]->(c)")
    planned_order(path)
    planned_order(bound("(a)-[:R]->(b)-[:R]->(c:B)"))
    first, *others = path.nodes
    fewer = replace(path, nodes=(replace(first, cardinality=first.cardinality / 2), *others))
    assert planned_order(fewer)[0] == 0
    assert len(found) == 3
    assert node_order(path, Rates(path), [2]) in ([0, 1], [1, 0])
    assert len(found) == 4


def test_nodes_that_are_left_out_do_not_connect_the_others():
    path = bound("(a)-[:R]->(b)-[:R]->(c)-[:R]->(d)")
    assert sorted(node_order(path, Rates(path), [1])) == [0, 2, 3]
    assert node_order(path, Rates(path), [1, 2, 3]) == [0]


def test_the_cost_of_a_join_is_that_of_its_components():
    def cost(text):
        pattern = bound(text)
        return best_order(pattern, Rates(pattern)).cost

    one = cost("(a:B)-[:R]->(b:B)")
    assert 0 < one < cost("(a:B)-[:R]->(b:B)-[:R]->(c)")
    two = best_order(bound("(a:B)-[:R]->(b:B), (c:B)"), Rates(bound("(a:B)-[:R]->(b:B), (c:B)")))
    assert two.cost > one
