"""DISTINCT and EXISTS over patterns with cycles, against the reference engine."""

import numpy as np
import pytest
from graphs import make_graph

import gpugda
from gpugda.execute.patterns import witnesses
from gpugda.plan.bind import bind
from gpugda.plan.pattern.symmetry import exchangeable_sets
from gpugda.plan.pattern.witness_order import has_large_core
from tests.one_pattern import query_of

CLIQUE = "(a)--(b)--(c)--(a), (a)--(d), (b)--(d), (c)--(d)"
PATTERNS = [
    CLIQUE,
    "(a)--(b)--(c)--(a), (b)--(d)--(c)",
    "(a)-->(b)-->(c)<--(a), (b)-->(d)<--(c), (d)--(a)",
    "(a:A)-[:R]-(b)-[:R]-(c:B)-[:R]-(a), (b)-[:S]-(d)-[:S]-(c)",
    "(a)--(b {x: 1})--(c {x: 1})--(a), (b)--(d)--(c), (a)--(a)",
    "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b), (a)--(a)",
]
QUERIES = [
    "MATCH {} RETURN DISTINCT a.i AS i",
    "MATCH {} RETURN DISTINCT a.i AS i, d.i AS j",
    "MATCH {} RETURN count(DISTINCT a) AS n, count(DISTINCT b.x) AS m",
    "MATCH (a) WHERE EXISTS {{ {} }} RETURN a.i AS i",
    "MATCH (a) WHERE NOT EXISTS {{ {} }} RETURN a.i AS i",
    "MATCH (a)-->(d) WHERE EXISTS {{ {} }} RETURN a.i AS i, d.i AS j",
    "MATCH (a:A {{x: 0}}) WHERE EXISTS {{ {} }} RETURN count(*) AS n",
    "RETURN EXISTS {{ {} }} AS any",
    "MATCH {} WITH DISTINCT a, d MATCH (a)-->(x) RETURN a.i AS i, d.i AS j, count(x) AS n",
    "MATCH {} WITH DISTINCT a ORDER BY a.i LIMIT 3 RETURN a.i AS i",
    "MATCH {} WITH DISTINCT a.x * 0.5 AS y RETURN y",
    "MATCH (a) OPTIONAL MATCH {} RETURN a.i AS i, count(DISTINCT b) AS n",
    "MATCH (a) CALL (a) {{ MATCH {} RETURN min(d.i) AS m }} RETURN a.i AS i, m",
]


def source(seed, nodes=14, relationships=46):
    """A random multigraph with self-loops and parallel relationships."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, nodes, (relationships, 2))
    labels = [["A", "B"][: random.integers(0, 3)] for _ in range(nodes)]
    columns = {"id": range(nodes), "i": range(nodes), "labels": labels}
    columns["x"] = random.integers(0, 2, nodes)
    types = random.choice(["R", "S"], relationships)
    return gpugda.graph(columns, {"source": ends[:, 0], "target": ends[:, 1], "type": types})


@pytest.fixture(params=[True, False], ids=["rounds", "everywhere"])
def searching(request, monkeypatch):
    """Searches first among few nodes, or everywhere at once."""
    monkeypatch.setattr(witnesses, "_MIN_ROWS", 0.0 if request.param else float("inf"))
    monkeypatch.setattr(witnesses, "_ROUNDS", (2, 5))


@pytest.mark.one_in(4)
@pytest.mark.device
@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=pytest.mark.slow if n == 5 else ()) for n in range(len(PATTERNS))],
)
def test_distinct_and_exists_equal_the_reference(searching, number):
    pattern = PATTERNS[number]
    with gpugda.connect(source(number)) as accelerator:
        for text in QUERIES:
            query = text.format(pattern)
            if "d.i" in query and "(d)" not in query:
                continue
            rows = [
                sorted(map(repr, accelerator.run(query, engine=engine).values()))
                for engine in ("gpu", "reference", "gpu")
            ]
            assert rows[0] == rows[1] == rows[2], query


@pytest.mark.device
def test_a_graph_without_relationships_and_one_without_nodes(searching):
    for nodes, there in ((3, False), (0, False)):
        ends = np.zeros(0, dtype=np.int64)
        columns = {"source": ends, "target": ends, "type": ends.astype(str)}
        with gpugda.connect(gpugda.graph({"id": np.arange(nodes)}, columns)) as accelerator:
            for text, wanted in (
                ("RETURN EXISTS {{ {} }} AS any", [[there]]),
                ("MATCH {} RETURN DISTINCT a", []),
                ("MATCH (a) WHERE NOT EXISTS {{ {} }} RETURN count(*)", [[nodes]]),
            ):
                assert accelerator.run(text.format(CLIQUE), engine="gpu").values() == wanted


@pytest.mark.device
def test_steps_say_what_is_visited(searching):
    with gpugda.connect(source(1)) as accelerator:
        result = accelerator.run(f"MATCH {CLIQUE} RETURN DISTINCT a", engine="gpu")
        result.consume()
        steps = "\n".join(result.summary.steps)
    rounds = witnesses._MIN_ROWS == 0.0
    assert ("that differ by an exchange of (b), (c), (d) one is visited" in steps) is rounds
    assert ("(a) with a match among 2 nodes" in steps) is rounds


def test_explain_says_what_is_visited():
    with gpugda.connect(source(1)) as accelerator:
        shown = str(accelerator.explain(f"MATCH {CLIQUE} RETURN DISTINCT a"))
        counted = str(accelerator.explain(f"MATCH {CLIQUE} RETURN a, count(*)"))
    assert "one match per (a)" in shown
    assert "by an exchange of (b), (c), (d) one is visited" in shown
    assert "one is visited" not in counted


@pytest.mark.parametrize(
    ("pattern", "fixed", "sets"),
    [
        (CLIQUE, "a", "bcd"),
        (CLIQUE, "ab", "cd"),
        (CLIQUE, "", "abcd"),
        ("(a)--(b)--(c)--(d)--(a)", "a", "bd"),
        ("(a)--(b)--(c)--(d)--(a)", "", "ab"),
        ("(a)--(b)--(c), (a)--(d)--(e)", "a", "bd"),
        ("(a)-->(b), (a)-->(c), (a)<--(d)", "a", "bc"),
        ("(a)-->(b:A), (a)-->(c:A), (a)-->(d)", "a", "bc"),
        ("(a)-->(b {x: 1}), (a)-->(c {x: 2})", "a", ""),
        ("(a)-[:R]-(b), (a)-[:S]-(c)", "a", ""),
        ("(a)-[{x: 1}]-(b), (a)--(c)", "a", ""),
        ("(a)-[r]-(b), (a)-[s]-(c) MATCH (a)-[t]-(d) WHERE r <> t", "a", ""),
        ("(a)--(b), (a)--(c) WHERE b.x < c.x", "a", ""),
    ],
)
def test_nodes_of_which_one_order_is_visited(pattern, fixed, sets):
    graph = make_graph([("A", {"x": 1})], [(0, kind, 0, {"x": 1}) for kind in "RS"])
    found = bind(query_of(f"MATCH {pattern} RETURN count(*)"), graph)
    places = [each.position for each in found.nodes if each.name in fixed]
    made = exchangeable_sets(found, places)
    names = ["".join(found.nodes[position].name for position in each) for each in made]
    assert names == sets.split()


@pytest.mark.parametrize(
    ("pattern", "is_large"),
    [
        (CLIQUE, True),
        ("(a)--(b)--(c)--(a)", False),
        ("(a)--(b)--(c)--(d)--(a), (a)--(x)--(y)", False),
        ("(a)--(b), (a)--(c), (a)--(d), (a)--(e), (a)--(f)", False),
        ("(a)--(b)--(c)--(d)--(e)--(a)", True),
        ("(a)--(b)--(c)--(a)--(d)--(e)--(a)", False),
        ("(a)--(b)--(c)--(a), (c)--(d)--(e)--(f)--(g)--(c), (a)--(a)", True),
    ],
)
def test_which_patterns_are_joined(pattern, is_large):
    graph = make_graph([("", {})], [(0, "R", 0, {})])
    found = bind(query_of(f"MATCH {pattern} RETURN count(*)"), graph)
    assert has_large_core(found) is is_large
