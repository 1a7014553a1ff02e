from __future__ import annotations

import ast as python_ast
import datetime
import gc
import time
from itertools import product
from pathlib import Path

import neo4j.time
import pytest
from graphs import design_graph, make_graph
from hypothesis import given
from hypothesis import strategies as st

import gpugda.reference
from gpugda.errors import (
    CypherExecutionError,
    CypherTypeError,
    ParameterMissingError,
    QueryTimeoutError,
    UnsupportedQueryError,
)
from gpugda.query.ast import Direction
from gpugda.query.parser import parse
from gpugda.reference.graph import plain_graph
from gpugda.reference.run import run_reference
from gpugda.values import Entity
from strategies import multigraphs


def run(text, graph, parameters=None, **settings):
    return run_reference(parse(text), graph, parameters or {}, **settings)


def rows(text, graph, parameters=None):
    return run(text, graph, parameters).rows


# ------------------------------------------------------------------ against the definition
PATTERNS = [
    "(a)-[r]->(b)",
    "(a)-[r:R]-(b)",
    "(a)-[r]->(b)<-[s:R]-(c)",
    "(a)-[r]-(b)-[s]-(c)",
    "(a)-[r:R|S]-(b), (a)-[s:R]-(b)",
    "(a:A)-[r]->(a)",
    "(a)<-[r]-(b:A), (c)-[s]-(b)",
    "(a)-[r]->(b)-[s]->(a)",
]


@given(multigraphs(), st.sampled_from(PATTERNS))
def test_matches_equal_all_fitting_assignments(listed, pattern):
    nodes, relationships = listed
    relationships = relationships[:6]
    nodes, relationships = (
        nodes[:4],
        [each for each in relationships if each[0] < len(nodes[:4]) and each[2] < len(nodes[:4])],
    )
    graph = make_graph(nodes, relationships)
    tree = parse(f"MATCH {pattern} RETURN count(*)")
    expected = sum(1 for _ in _assignments(tree.parts[0].clauses[0].patterns, graph))
    assert run_reference(tree, graph, {}).rows == [(expected,)]


def _assignments(patterns, graph):
    """Every choice of nodes and relationships, one per place in the patterns, that fits."""
    plain = plain_graph(graph)
    elements = [element for pattern in patterns for element in pattern.elements]
    nodes = sorted({each.variable.name for each in elements if not hasattr(each, "direction")})
    steps = [
        (pattern.elements[i - 1], pattern.elements[i], pattern.elements[i + 1])
        for pattern in patterns
        for i in range(1, len(pattern.elements), 2)
    ]
    for chosen in product(range(graph.node_count), repeat=len(nodes)):
        node = dict(zip(nodes, chosen, strict=True))
        if not all(
            element.labels is None
            or element.labels.name in plain.labels[node[element.variable.name]]
            for element in elements
            if not hasattr(element, "direction")
        ):
            continue
        for used in product(range(graph.relationship_count), repeat=len(steps)):
            if len(set(used)) == len(used) and all(
                _fits(plain, step, node, relationship)
                for step, relationship in zip(steps, used, strict=True)
            ):
                yield node, used


def _fits(plain, step, node, relationship):
    left, middle, right = step
    ends = (node[left.variable.name], node[right.variable.name])
    forward = (plain.sources[relationship], plain.targets[relationship])
    allowed = {
        Direction.OUTGOING: [forward],
        Direction.INCOMING: [forward[::-1]],
        Direction.BOTH: [forward, forward[::-1]],
    }[middle.direction]
    if middle.types is None:
        return ends in allowed
    names = [each.name for each in getattr(middle.types, "operands", (middle.types,))]
    return ends in allowed and plain.types[relationship] in names


# ------------------------------------------------------------------ what cases as text cannot say
def test_rows_hold_entities():
    answer = run("MATCH (a)-[s:S]->(b) RETURN b, s", design_graph())
    assert answer.names == ("b", "s")
    ((node, relationship),) = answer.rows
    assert node == Entity(True, 1)
    assert (relationship.is_node, plain_graph(design_graph()).types[relationship.index]) == (
        False,
        "S",
    )


def test_ids_are_dense_indexes_and_element_ids_texts():
    graph = make_graph([("A", {}), ("B", {})], [(0, "R", 1, {})], element_id_prefix="x:")
    query = "MATCH (:A)-[r]->(b) RETURN id(b), elementId(b), id(r), elementId(r)"
    assert rows(query, graph) == [(1, "x:n1", 0, "x:r0")]


def test_the_order_of_steps_has_each_relationship_once():
    plain = plain_graph(design_graph())
    loops = [step for step in plain.steps(0, Direction.BOTH) if step[1] == 0]
    assert len(loops) == 1
    assert len(plain.steps(0, Direction.BOTH)) == 5
    assert len(plain.steps(0, Direction.OUTGOING)) == 4
    assert len(plain.steps(0, Direction.INCOMING)) == 2


def test_the_plain_graph_is_made_once_and_freed_with_the_graph():
    graph = design_graph()
    plain = plain_graph(graph)
    assert plain_graph(graph) is plain
    del graph
    gc.collect()
    assert plain_graph(design_graph()) is not plain


def test_a_time_limit_stops_the_search():
    graph = make_graph([("A", {})] * 8)
    names = ", ".join(f"(n{i})" for i in range(9))
    with pytest.raises(QueryTimeoutError):
        run(f"MATCH {names} RETURN count(*)", graph, deadline=time.monotonic() + 0.05)


def test_an_unreached_time_limit_changes_nothing():
    graph = make_graph([("A", {})] * 3)
    answer = run("MATCH (a), (b) RETURN count(*)", graph, deadline=time.monotonic() + 60)
    assert answer.rows == [(9,)]


def test_limit_stops_the_search():
    graph = make_graph([("A", {})] * 8)
    names = ", ".join(f"(n{i})" for i in range(12))
    assert rows(f"MATCH {names} RETURN n0 LIMIT 2", graph) == [(Entity(True, 0),)] * 2


def test_a_missing_parameter_is_refused_with_its_place():
    with pytest.raises(ParameterMissingError, match=r"\$p .*column 23") as raised:
        run("MATCH (a) WHERE a.k = $p RETURN a", design_graph())
    assert (raised.value.line, raised.value.column) == (1, 23)


def test_python_values_may_be_parameters():
    day = neo4j.time.Date(2020, 2, 1)
    graph = make_graph([("A", {"day": day, "k": 1})])
    query = "MATCH (a) WHERE a.day = $day AND a.k IN $ks RETURN $day, $ks, $map"
    parameters = {"day": datetime.date(2020, 2, 1), "ks": (1, 2), "map": {"k": (1,)}}
    assert rows(query, graph, parameters) == [(day, [1, 2], {"k": [1]})]


def test_where_is_evaluated_for_complete_matches_only():
    graph = make_graph([("A", {"k": 1})])
    assert rows("MATCH (a), (b:Nothing) WHERE a.k RETURN a", graph) == []
    with pytest.raises(CypherTypeError, match="truth value"):
        run("MATCH (a), (b:A) WHERE a.k RETURN a", graph)


@pytest.mark.parametrize(
    "query",
    [
        "CREATE (a)",
        "CALL db.labels()",
        "LOAD CSV FROM 'x' AS line RETURN line",
        "MATCH (a) RETURN my.own(a)",
    ],
)
def test_unsupported_queries_are_refused(query):
    with pytest.raises(UnsupportedQueryError):
        run(query, design_graph())


def test_the_reference_imports_no_room_that_it_checks():
    allowed = {"deadline", "errors", "values", "text_order", "data", "query.ast", "expressions"}
    # Neo4j's plan decides when it tests a condition and when it sorts, and its rewriter which
    # conditions are false, its compiler which parameters it refuses: rules that only servers can
    # check.
    allowed |= {"query.searches", "query.early_orders", "types.Span"}
    allowed |= {"query.constants.never_holds", "query.prepare.check_parameters"}
    folder = Path(gpugda.reference.__file__).parent
    for path in folder.glob("*.py"):
        for node in python_ast.walk(python_ast.parse(path.read_text("utf-8"))):
            if isinstance(node, python_ast.ImportFrom) and (node.module or "").startswith("gpugda"):
                found = [f"{node.module}.{alias.name}" for alias in node.names]
                for name in found:
                    own = name.startswith("gpugda.reference.")
                    known = any(name.startswith(f"gpugda.{start}") for start in allowed)
                    assert own or known, f"{path.name} imports {name}"


# ------------------------------------------------------------------ the whole reading language
def small_graph():
    """Two people, two places, parallel relationships, a self-loop."""
    nodes = [
        ("P", {"name": "Ann", "age": 3}),
        ("P", {"name": "Bob"}),
        ("Q", {"age": 1.5}),
        ("", {"name": "Di"}),
    ]
    relationships = [
        (0, "K", 1, {"w": 1}),
        (1, "K", 2, {"w": 2}),
        (2, "L", 0, {"w": 3}),
        (0, "L", 1, {}),
        (3, "K", 3, {"w": 5}),
        (0, "K", 3, {"w": 6}),
    ]
    return make_graph(nodes, relationships)


ANSWERS = [
    (
        "MATCH (a:P) OPTIONAL MATCH (a)-[:L]->(b) RETURN a.name, b.name",
        [("Ann", "Bob"), ("Bob", None)],
    ),
    ("OPTIONAL MATCH (x:Nothing) MATCH (x)-->(y) RETURN y", []),
    (
        "MATCH p = (:P {name: 'Ann'})-[*1..3]->(b) RETURN length(p) AS l, count(*) ORDER BY l",
        [(1, 3), (2, 3), (3, 2)],
    ),
    (
        "MATCH (a:Q)<-[rs*0..]-(b) RETURN b.name, size(rs)",
        [(None, 0), ("Bob", 1), ("Ann", 2), ("Ann", 2), (None, 3), (None, 3)],
    ),
    (
        "MATCH p = shortestPath((a {name: 'Ann'})-[*]->(b)) WHERE a <> b RETURN b.name, length(p)",
        [("Bob", 1), (None, 2), ("Di", 1)],
    ),
    (
        "MATCH p = shortestPath((a {name: 'Ann'})-[*]->(b {name: 'Di'})) WHERE length(p) > 1"
        " RETURN length(p)",
        [(2,)],
    ),
    (
        "MATCH (a {name: 'Ann'}), (b:Q) MATCH p = allShortestPaths((a)-[*]->(b)) RETURN length(p)",
        [(2,), (2,)],
    ),
    (
        "MATCH p = ALL SHORTEST (a {name: 'Ann'})-[]->+(b:Q)"
        " RETURN [r IN relationships(p) | type(r)]",
        [(["K", "K"],), (["L", "K"],)],
    ),
    (
        "MATCH p = SHORTEST 2 GROUPS (a {name: 'Ann'})-->*(b {name: 'Di'}) RETURN length(p)",
        [(1,), (2,)],
    ),
    (
        "MATCH (a {name: 'Ann'}) ((x)-[r]->(y) WHERE r.w < 4){1,3} (b)"
        " RETURN [n IN x | n.name], size(r), b.name",
        [(["Ann"], 1, "Bob"), (["Ann", "Bob"], 2, None), (["Ann", "Bob", None], 3, "Ann")],
    ),
    ("MATCH (a) WHERE NOT (a)-[:K]->(:Q) RETURN a.name", [("Ann",), (None,), ("Di",)]),
    (
        "MATCH (a:P) RETURN a.name, [(a)-[r:K]->(b) WHERE r.w < 5 | b.age] AS ages",
        [("Ann", [None]), ("Bob", [1.5])],
    ),
    (
        "MATCH (a:P) WHERE EXISTS { (a)-->(:Q) } RETURN COUNT { (a)--() } AS c,"
        " COLLECT { MATCH (a)-->(b) RETURN b.age } AS l",
        [(3, [1.5])],
    ),
    (
        "MATCH (a:P) CALL (a) { MATCH (a)-->(b) RETURN count(b) AS c } RETURN a.name, c",
        [("Ann", 3), ("Bob", 1)],
    ),
    (
        "UNWIND [1, 2] AS x CALL { WITH x RETURN x AS y UNION WITH x RETURN 1 AS y } RETURN x, y",
        [(1, 1), (2, 2), (2, 1)],
    ),
    ("UNWIND [1] AS x OPTIONAL CALL (x) { UNWIND [] AS y RETURN y } RETURN x, y", [(1, None)]),
    ("UNWIND [3, 1, 3, null] AS x WITH DISTINCT x ORDER BY x RETURN collect(x)", [([1, 3],)]),
    ("UNWIND [1, 2, 3] AS x WITH x ORDER BY x DESC SKIP 1 LIMIT 1 RETURN x", [(2,)]),
    ("UNWIND [1, 2] AS x WITH x AS y WHERE x > 1 RETURN y", [(2,)]),
    ("RETURN 1 AS x UNION RETURN 1.0 AS x UNION RETURN 2 AS x", [(1,), (2,)]),
    ("RETURN 1 AS a, 2 AS b UNION ALL RETURN 3 AS b, 4 AS a", [(1, 2), (4, 3)]),
    ("MATCH (a) RETURN a.name FINISH", None),
    ("LET x = 1 FILTER x = 1 RETURN x NEXT RETURN x + 1 AS y", [(2,)]),
    (
        "UNWIND [1, 2] AS x RETURN x NEXT"
        " WHEN x = 1 THEN { RETURN 'one' AS w } ELSE { RETURN 'more' AS w }",
        [("one",), ("more",)],
    ),
    ("RETURN reduce(s = 0, x IN [1, 2, 3] | s + x) AS r", [(6,)]),
    ("RETURN reduce(s = 7, x IN [] | s + x) AS r", [(7,)]),
    (
        "RETURN all(x IN [1, null] WHERE x > 0) AS a, any(x IN [1, null] WHERE x > 0) AS b,"
        " none(x IN [1, null] WHERE x > 1) AS c, single(x IN [1, null] WHERE x > 0) AS d",
        [(None, True, None, None)],
    ),
    ("RETURN CASE 3 WHEN 1, 2 THEN 'few' WHEN > 2 THEN 'many' END AS c", [("many",)]),
    ("RETURN CASE WHEN null THEN 1 END AS c", [(None,)]),
    (
        "MATCH (a:P) RETURN a {.name, x: 1, .*} AS m",
        [({"name": "Ann", "x": 1, "age": 3},), ({"name": "Bob", "x": 1},)],
    ),
    ("MATCH (a) RETURN a.age + count(*) AS s, a.age", [(4, 3), (None, None), (2.5, 1.5)]),
    ("UNWIND [1, 2, 2] AS x RETURN [y IN [x] | y + 1] AS l, sum(x) AS s", [([2], 1), ([3], 4)]),
    (
        "UNWIND [1, 2, 4] AS x"
        " RETURN percentileCont(x, 0.5) AS p, stDevP(x) > 1.2 AS s, avg(x) > 2.3",
        [(2, True, True)],
    ),
    ("WITH 'P' AS l MATCH (a:$(l)) RETURN a.name", [("Ann",), ("Bob",)]),
    ("MATCH ()-[r:$any(['L', 'M'])]->() RETURN count(r)", [(2,)]),
    (
        "CYPHER 25 MATCH REPEATABLE ELEMENTS ({name: 'Di'})-[r]->{1,3}() RETURN size(r)",
        [(1,), (2,), (3,)],
    ),
]


@pytest.mark.parametrize(("query", "expected"), ANSWERS, ids=[query for query, _ in ANSWERS])
def test_queries_give_their_rows(query, expected):
    if expected is None:
        assert rows(query.replace("RETURN a.name ", ""), small_graph()) == []
        return
    found = rows(query, small_graph())
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_long_paths_and_sums_need_no_recursion():
    nodes = [("First", {}), *[("A", {})] * 1099]
    chain = make_graph(nodes, [(i, "R", i + 1, {}) for i in range(1099)])
    assert rows("MATCH p = (:First)-[*1050..]->() RETURN count(p)", chain) == [(50,)]
    assert rows("MATCH (:First) (()-->()){1050,} () RETURN count(*)", chain) == [(50,)]
    for operator, value in (("+", 900), ("AND", True)):
        terms = f" {operator} ".join(["1" if operator == "+" else "(1 < 2)"] * 900)
        assert rows(f"RETURN {terms} AS x", chain) == [(value,)]


def test_a_shortest_path_needs_two_different_ends():
    with pytest.raises(CypherExecutionError, match="start and end nodes are the same"):
        rows("MATCH (a:Q), p = shortestPath((a)-[*]->(a)) RETURN p", small_graph())


def test_a_time_limit_stops_the_search_of_trails():
    nodes = [("A", {})] * 12
    edges = [(i, "R", j, {}) for i in range(12) for j in range(12)]
    with pytest.raises(QueryTimeoutError):
        run(
            "MATCH p = (a)-[*]-(b) RETURN count(*)",
            make_graph(nodes, edges),
            deadline=time.monotonic() + 0.1,
        )
