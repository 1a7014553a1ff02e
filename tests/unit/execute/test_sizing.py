"""Physical plans: expected rows of operators."""

import pytest
from graphs import make_graph

from gpugda.execute.pipeline import plan_of
from gpugda.query.prepare import prepare

PEOPLE, TEAMS = 400, 20


@pytest.fixture(scope="module")
def graph():
    """Each person knows the next four and is in one team; teams form a chain."""
    nodes = [("Person", {"name": f"p{i}", "age": i % 50}) for i in range(PEOPLE)]
    nodes += [("Team", {"name": f"t{i}"}) for i in range(TEAMS)]
    links = [(i, "KNOWS", (i + j) % PEOPLE, {}) for i in range(PEOPLE) for j in range(1, 5)]
    links += [(i, "IN", PEOPLE + i % TEAMS, {}) for i in range(PEOPLE)]
    links += [(PEOPLE + i, "PART_OF", PEOPLE + i + 1, {}) for i in range(TEAMS - 1)]
    return make_graph(nodes, links)


def physical(graph, text, **values):
    return plan_of(prepare(text), graph, "extend").physical(values=values)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("MATCH (p:Person) WHERE p.age < 10 RETURN p.name", 80),
        ("MATCH (p:Person {name: 'p7'})-[:KNOWS*1..3]->(q) RETURN q", 4 + 16 + 64),
        ("MATCH (t:Team {name: 't0'})-[:PART_OF*1..]->(u) RETURN u", TEAMS - 1),
        ("MATCH (t:Team)-[:PART_OF*1..]->(u) RETURN t, u", TEAMS * (TEAMS - 1) / 2),
        ("MATCH (t:Team {name: 't0'})-[:PART_OF*1..]->(u) RETURN DISTINCT u", TEAMS - 1),
        ("MATCH (p:Person) RETURN p.age, count(*)", 50),
        ("MATCH (p:Person) WITH p LIMIT 10 MATCH (p)-[:KNOWS]->(q) RETURN p, q", 40),
        ("MATCH (p:Person) OPTIONAL MATCH (p)-[:IN]->(t) RETURN p, t", PEOPLE),
        ("MATCH (p) WITH p, 1 / p.age AS x RETURN p, x ORDER BY p.age SKIP 9 LIMIT 4", 4),
        ("UNWIND range(1, 30) AS i MATCH (t:Team) RETURN i, t", 30 * TEAMS),
        ("UNWIND $names AS n MATCH (p:Person {name: n})-[:KNOWS]->(q) RETURN q", 8 * 4),
        ("MATCH (p:Person) RETURN p.name ORDER BY p.age LIMIT $most", 7),
        ("MATCH (p:Person) RETURN p.name UNION ALL MATCH (t:Team) RETURN t.name AS `p.name`", 420),
        ("MATCH (t:Team) CALL (t) { MATCH (t)<-[:IN]-(p) RETURN count(p) AS n } RETURN n", TEAMS),
        ("MATCH (p:Person) WITH p, collect(p.name) AS l UNWIND l AS x RETURN x", PEOPLE),
        ("MATCH (n:Nowhere) RETURN n", 0),
        ("MATCH (t:Team)<-[:IN]-(p) RETURN t, count(*)", TEAMS),
    ],
)
def test_rows_of_the_result(graph, text, rows):
    found = physical(graph, text, names=[f"p{i}" for i in range(8)], most=7).root.rows
    assert rows / 2 <= found <= rows * 2, found


def test_plans_are_equal_by_value_and_price_each_operator(graph):
    text = "MATCH (p:Person)-[:KNOWS*1..2]->(q) RETURN p.name, count(q)"
    one, other = physical(graph, text), physical(graph, text)
    assert one == other
    assert hash(one) == hash(other)
    parts = sum(one.seconds_of(node) for node in one.root.nodes())
    assert parts == pytest.approx(one.device.seconds(one.work))
    assert one.found > 1000 > 0 < one.device_seconds < one.native_seconds


def test_a_limit_cuts_what_is_below_it(graph):
    text = "MATCH (p:Person), (q:Person), (r:Person) RETURN p, q, r"
    whole, part = physical(graph, text), physical(graph, f"{text} LIMIT 5")
    assert part.work.pairs < whole.work.pairs / 1000
    ordered = physical(graph, f"{text} ORDER BY p.name LIMIT 5")
    assert ordered.work.pairs == whole.work.pairs


def test_a_first_run_pays_fixed_costs_again(graph):
    one = physical(graph, "MATCH (p:Person) RETURN p.name")
    several = physical(graph, "MATCH (p:Person) WITH p LIMIT 10 MATCH (p)-[:KNOWS]->(q) RETURN q")
    assert 0 < one.first_seconds < several.first_seconds


def test_ids_in_parameters_share_a_plan(graph):
    text = "MATCH (p:Person {age: $age})-[:KNOWS]->(q) RETURN q"
    plan = plan_of(prepare(text), graph, "extend")
    assert plan.physical(values={"age": 33}) is plan.physical(values={"age": 60})
    assert plan.physical(values={"age": -(2**70)}) == plan.physical(values={"age": 2**70})


def test_a_shortest_path_is_searched_from_both_ends(graph):
    """Neo4j took 1 ms a pair where one end alone reaches 200 thousand relationships."""

    def expansions(length):
        text = f"MATCH p = shortestPath((a:Person)-[:KNOWS{length}]->(b:Team)) RETURN count(p)"
        nodes = physical(graph, text).root.nodes()
        return next(each.work.expansions for each in nodes if each.kind == "ShortestPath")

    pairs, reached = PEOPLE * TEAMS, PEOPLE * 4
    assert pairs * reached**0.5 <= expansions("*1..") <= 5 * pairs * reached**0.5
    assert expansions("*1..1") <= 4 * pairs * 4**0.5
