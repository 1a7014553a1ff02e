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
from strategies import multigraphs

import gpugda.reference
from gpugda.errors import (
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
def test_matches_are_the_assignments_that_fit(listed, pattern):
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


def test_order_of_steps_is_each_relationship_once():
    plain = plain_graph(design_graph())
    loops = [step for step in plain.steps(0, Direction.BOTH) if step[1] == 0]
    assert len(loops) == 1
    assert len(plain.steps(0, Direction.BOTH)) == 5
    assert len(plain.steps(0, Direction.OUTGOING)) == 4
    assert len(plain.steps(0, Direction.INCOMING)) == 2


def test_plain_graph_is_made_once_and_dropped_with_the_graph():
    graph = design_graph()
    plain = plain_graph(graph)
    assert plain_graph(graph) is plain
    del graph
    gc.collect()
    assert plain_graph(design_graph()) is not plain


def test_time_limit():
    graph = make_graph([("A", {})] * 8)
    names = ", ".join(f"(n{i})" for i in range(9))
    with pytest.raises(QueryTimeoutError):
        run(f"MATCH {names} RETURN count(*)", graph, deadline=time.monotonic() + 0.05)


def test_time_limit_that_is_not_reached():
    graph = make_graph([("A", {})] * 3)
    answer = run("MATCH (a), (b) RETURN count(*)", graph, deadline=time.monotonic() + 60)
    assert answer.rows == [(9,)]


def test_limit_ends_the_search():
    graph = make_graph([("A", {})] * 8)
    names = ", ".join(f"(n{i})" for i in range(12))
    assert rows(f"MATCH {names} RETURN n0 LIMIT 2", graph) == [(Entity(True, 0),)] * 2


def test_missing_parameter_shows_its_place():
    with pytest.raises(ParameterMissingError, match=r"\$p .*column 23") as raised:
        run("MATCH (a) WHERE a.k = $p RETURN a", design_graph())
    assert (raised.value.line, raised.value.column) == (1, 23)


def test_python_values_as_parameters():
    day = neo4j.time.Date(2020, 2, 1)
    graph = make_graph([("A", {"day": day, "k": 1})])
    query = "MATCH (a) WHERE a.day = $day AND a.k IN $ks RETURN $day, $ks, $map"
    parameters = {"day": datetime.date(2020, 2, 1), "ks": (1, 2), "map": {"k": (1,)}}
    assert rows(query, graph, parameters) == [(day, [1, 2], {"k": [1]})]


def test_where_is_asked_for_full_matches_only():
    graph = make_graph([("A", {"k": 1})])
    assert rows("MATCH (a), (b:Nothing) WHERE a.k RETURN a", graph) == []
    with pytest.raises(CypherTypeError, match="truth value"):
        run("MATCH (a), (b:A) WHERE a.k RETURN a", graph)


@pytest.mark.parametrize(
    "query",
    [
        "OPTIONAL MATCH (a) RETURN a",
        "MATCH REPEATABLE ELEMENTS (a) RETURN a",
        "MATCH p = (a)-->(b) RETURN 1",
        "MATCH (a) RETURN a.k + 1",
        "MATCH (a) RETURN size(a.k)",
        "MATCH (a) RETURN a UNION MATCH (a) RETURN a",
        "MATCH (a) WITH a RETURN a",
        "UNWIND [1] AS x RETURN x",
    ],
)
def test_what_it_does_not_answer_it_refuses(query):
    with pytest.raises(UnsupportedQueryError):
        run(query, design_graph())


def test_it_is_independent_of_the_way_to_the_device():
    allowed = {"deadline", "errors", "values", "data", "query.ast"}
    folder = Path(gpugda.reference.__file__).parent
    for path in folder.glob("*.py"):
        for node in python_ast.walk(python_ast.parse(path.read_text("utf-8"))):
            if isinstance(node, python_ast.ImportFrom) and (node.module or "").startswith("gpugda"):
                found = [f"{node.module}.{alias.name}" for alias in node.names]
                for name in found:
                    own = name.startswith("gpugda.reference.")
                    known = any(name.startswith(f"gpugda.{start}") for start in allowed)
                    assert own or known, f"{path.name} imports {name}"
