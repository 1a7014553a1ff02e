"""Row estimates of paths and cycles: nodes reached along relationships are not random nodes."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import make_graph

from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.plan.bind import bind
from gpugda.plan.cardinality import with_degree_skews
from gpugda.plan.join.matching_order import make_plan
from gpugda.plan.physical import estimate
from tests.one_pattern import query_of

HUBS = make_graph(
    [("A" if i % 3 else "A:B", {"x": i % 5}) for i in range(60)],
    [(i, "R", i * i % 7, {}) for i in range(60)]
    + [(i % 4, "S", i, {}) for i in range(40)]
    + [(i, "T", i, {}) for i in range(5)],
)


def bound(text, graph=HUBS):
    return bind(query_of(f"MATCH {text} RETURN count(*)"), graph)


def rows(text, graph, strategy="extend"):
    found = make_plan(bound(text, graph), graph.statistics, strategy)
    if strategy == "extend":
        found = replace(found, find_steps=ExtendStrategy.plan)
    return estimate(found).rows


@pytest.mark.parametrize("strategy", ["extend", "gpsm"])
@pytest.mark.parametrize(("first", "second"), ["RR", "RS", "SR", "SS", "RT", "TR"])
def test_estimates_of_paths_of_two_are_exact(first, second, strategy):
    """Hubs are reached more often than others, and some types of relationships share few nodes."""
    types, ends = HUBS.relationship_types().tolist(), HUBS.outgoing.neighbours.tolist()
    links = list(zip(HUBS.start_nodes().tolist(), types, ends, strict=True))
    ids = [HUBS.types.get(name) for name in (first, second)]
    found = sum([a, b] == ids and end == start for _, a, end in links for start, b, _ in links)
    assert rows(f"(a)-[:{first}]->(b)-[:{second}]->(c)", HUBS, strategy) == pytest.approx(found)


@pytest.mark.parametrize("directed", [True, False])
def test_merged_nodes_use_the_skew_of_all_their_relationships(directed):
    """A path whose ends are merged is a triangle, and is estimated as one."""
    arrow = "->" if directed else "-"
    path = bound(f"(a)-[:S]{arrow}(b)-[:S]{arrow}(c)-[:R]{arrow}(d)")
    triangle = bound(f"(a)-[:S]{arrow}(b)-[:S]{arrow}(c)-[:R]{arrow}(a)")
    links = [replace(each, target=each.target % 3) for each in path.relationships]
    closed = replace(path, nodes=path.nodes[:3], relationships=tuple(links))
    wanted = [each.skew for each in triangle.relationships]
    assert [each.skew for each in closed.relationships] != wanted
    assert [each.skew for each in with_degree_skews(closed, HUBS).relationships] == wanted


@pytest.mark.parametrize("strategy", ["extend", "gpsm"])
def test_types_that_share_no_node_have_no_rows(strategy):
    apart = make_graph([((), {})] * 4, [(0, "R", 1, {}), (2, "S", 3, {})])
    assert rows("(a)-[:R]->(b)-[:S]->(c)", apart, strategy) == 0
    assert rows("(a)-[:R]->(b)-->(c)", apart, strategy) == 0
    assert rows("(a)-[:R]->(b)", apart, strategy) == 1


def test_the_start_node_has_no_skew():
    star = make_graph([((), {})] * 101, [(0, "R", leaf, {}) for leaf in range(1, 101)])
    assert bound("(a)-[:R]->(b)", star).relationships[0].skew[0].reached_ratio == 1.0
    assert rows("(a)-[:R]->(b)", star) == pytest.approx(100)
    assert rows("(b)<-[:R]-(a)-[:R]->(c)", star) == pytest.approx(10_000)
    assert rows("(a)-[:R]->(a)", star) == 0


@pytest.mark.parametrize("strategy", ["extend", "gpsm"])
def test_a_triangle_is_estimated_above_independence(strategy):
    graph = make_graph(
        [((), {})] * 50, [(i, "R", (i * 7 + j * j) % 50, {}) for i in range(50) for j in range(3)]
    )
    path, by_chance = rows("(a)-->(b)-->(c)", graph, strategy), 3 / 50
    triangle = rows("(a)-->(b)-->(c)-->(a)", graph, strategy)
    assert path * by_chance < triangle < path
    assert rows("(a)-->(b)-->(c)-[:S]->(a)", graph, strategy) == 0


def test_predicates_on_the_closing_relationship_lower_the_estimate():
    text = "(a)-[:R]->(b)-[:R]->(c)-[r:S]->(a)"
    assert 0 < rows(f"{text} WHERE a.x = 1", HUBS) < rows(text, HUBS)


def test_skews_are_kept_after_few_changes():
    kind = ((HUBS.types.get("R"),), True)
    counted = HUBS.reached_degree(kind, kind)
    changed = make_graph([((), {})] * 4, [(0, name, 1, {}) for name in "RST"])
    changed.inherit_derived(
        HUBS,
        max_parallel=changed_counts,
        max_parallel_undirected=changed_counts,
        label_bits={},
        changed=None,
    )
    assert changed.reached_degree(kind, kind) == counted


def changed_counts():
    return np.ones(3, np.int64)


def test_estimates_of_very_many_rows_stay_finite():
    clique = make_graph([((), {})] * 30, [(a, "R", b, {}) for a in range(30) for b in range(30)])
    text = ", ".join(f"(n{i})-->(m{i})" for i in range(120))
    assert rows(text, clique) == 1e290
