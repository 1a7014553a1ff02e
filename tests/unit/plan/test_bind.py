"""Queries bound to a data graph."""

import pytest
from graphs import make_graph

from gpugda.plan.bind import bind
from gpugda.plan.plan import DegreeNeed, LabelOp
from gpugda.query.render import expression_text
from tests.one_pattern import query_of


@pytest.fixture(scope="module")
def data():
    nodes = [("A", {"x": 1}), ("A:B", {"x": 2}), ("C", {}), ("", {})]
    relationships = [(0, "R", 1, {"w": 1}), (1, "S", 2, {}), (2, "T", 2, {}), (0, "R", 1, {})]
    return make_graph(nodes, relationships)


def bound(text, data):
    return bind(query_of(f"MATCH {text} RETURN 1"), data)


A, B, C = ((LabelOp.LABEL, i) for i in range(3))
AND, OR, NOT, ANY = ((op, 0) for op in (LabelOp.AND, LabelOp.OR, LabelOp.NOT, LabelOp.ANY))


# ------------------------------------------------------------------ labels
@pytest.mark.parametrize(
    ("pattern", "program"),
    [
        ("(n)", ()),
        ("(n:A)", (A,)),
        ("(n:A:B)", (A, B, AND)),
        ("(n:A|C)", (A, C, OR)),
        ("(n:A&!B)", (A, B, NOT, AND)),
        ("(n:%)", (ANY,)),
        ("(n:!%)", (ANY, NOT)),
        ("(n:A|Nowhere)", (A,)),
        ("(n:!Nowhere)", ()),
        ("(n:A&!Nowhere)", (A,)),
        ("(n:A|!Nowhere)", ()),
        ("(n:A) WHERE n:B", (A, B, AND)),
        ("(n) WHERE NOT n:A OR n:B AND n:C", (A, NOT, B, C, AND, OR)),
        ("(n) WHERE n:A MATCH (n:C)", (C, A, AND)),
    ],
)
def test_label_programs(pattern, program, data):
    found = bound(pattern, data)
    assert found.nodes[0].labels == program
    assert found.nodes[0].predicates == ()
    assert found.no_rows is None


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(n:Nowhere)", "No node has the label :Nowhere."),
        ("(n:A&(X|Y))", "No node has the labels :X, :Y."),
        ("(n) WHERE n:A AND n:X", "No node has the label :X."),
        ("()-[:X]->()", "No relationship has the type :X."),
        ("()-[r:R]->() WHERE r:X", "No relationship has the type :X."),
        ("()-[:R&S]->()", "No relationship can satisfy the requested types."),
        ("()-[r:R]->() MATCH ()-[r:S]->()", "No relationship can satisfy the requested types."),
        ("(n) WHERE n <> n", "differ from itself"),
        ("(a)-[r]->()-[r]->()", "`r` occurs twice"),
    ],
)
def test_patterns_without_rows_give_the_reason(pattern, reason, data):
    assert reason in (bound(pattern, data).no_rows or "")


def test_an_empty_graph_gives_the_reason():
    assert bound("(n)", make_graph([])).no_rows == "The graph has no nodes."
    assert bound("(n)--()", make_graph([("A", {})])).no_rows == "The graph has no relationships."
    assert "`R`" in (bound("(n)", make_graph([("", {})])).no_rows or "`R`")
    assert (
        bound("(n:%)", make_graph([("", {})])).no_rows
        == "No node can satisfy the requested labels."
    )


# ------------------------------------------------------------------ types
@pytest.mark.parametrize(
    ("pattern", "types"),
    [
        ("()-[r]->()", None),
        ("()-[r:R]->()", (0,)),
        ("()-[r:T|R]->()", (0, 2)),
        ("()-[r:!R]->()", (1, 2)),
        ("()-[r:!R&!S]->()", (2,)),
        ("()-[r:%]->()", None),
        ("()-[r:R|S|T]->()", None),
        ("()-[r:!X]->()", None),
        ("()-[r:R|X]->()", (0,)),
        ("()-[r]->() WHERE type(r) = 'R'", (0,)),
        ("()-[r]->() WHERE NOT type(r) = 'R' AND 'S' <> type(r)", (2,)),
        ("()-[r]->() WHERE r:R OR type(r) = 'S'", (0, 1)),
        ("()-[r:!S]->() MATCH ()-[r:S|T]->()", (2,)),
    ],
)
def test_type_names_become_ids(pattern, types, data):
    found = bound(pattern, data)
    assert {each.types for each in found.relationships} == {types}
    assert found.relationships[0].predicates == ()


# ------------------------------------------------------------------ predicates
def test_predicates_are_assigned_to_their_variables(data):
    found = bound(
        "(a {x: 1})-[r {w: 2}]->(b) WHERE 1 < a.x < b.x AND $p AND a.x = r.w"
        " AND (a:A XOR a:B) AND type(r) STARTS WITH 'R' AND a = r",
        data,
    )
    assert [expression_text(each) for each in found.nodes[0].predicates] == [
        "a.x = 1",
        "1 < a.x",
        "(a:A) XOR (a:B)",
    ]
    assert [expression_text(each) for each in found.relationships[0].predicates] == [
        "r.w = 2",
        "type(r) STARTS WITH 'R'",
    ]
    residuals = [expression_text(each) for each in found.residuals]
    assert residuals == ["a.x < b.x", "a.x = r.w", "a = r"]
    assert [expression_text(each) for each in found.constants] == ["$p"]


def row_tests(pattern, data):
    signs = {True: "=", False: "<>"}
    return [
        f"{'n' if t.on_nodes else 'r'}{t.left} {signs[t.equal]} {t.right}"
        for t in bound(pattern, data).tests
    ]


def test_comparisons_of_variables_become_row_tests(data):
    text = "(a), (b), (c) WHERE a = b AND b <> c AND NOT a = c AND NOT NOT c <> a AND a = a"
    # a and b are one query node, so c is number 1.
    assert row_tests(text, data) == ["n0 <> 1", "n0 <> 1", "n1 <> 0"]
    assert row_tests("()-[r:R]->()-[s:S]->() WHERE r <> s", data) == ["r0 <> 1"]
    assert not bound(text, data).residuals


def test_relationships_of_one_clause_are_distinct_where_types_overlap(data):
    text = "()-[:R]->()-[:S]->()-[:R|S]->()-[]->()"
    assert row_tests(text, data) == ["r0 <> 2", "r0 <> 3", "r1 <> 2", "r1 <> 3", "r2 <> 3"]
    assert row_tests("()-->() MATCH ()-->()", data) == []
    assert row_tests("()-[r]->() MATCH ()-[r]->()-->()", data) == ["r0 = 1", "r1 <> 2"]


# ------------------------------------------------------------------ degrees
def needs(pattern, data, node=0):
    return set(bound(pattern, data).nodes[node].degree_needs)


def test_degrees_count_relationships_of_one_direction_and_type_set(data):
    assert needs("(a)-[:R]->(), (a)-[:R]->(), (a)-[:R|S]->(), (a)-->(), (a)<-[:R]-()", data) == {
        DegreeNeed(True, False, (0,), 2),
        DegreeNeed(True, False, (0, 1), 1),
        DegreeNeed(True, False, None, 1),
        DegreeNeed(False, True, (0,), 1),
    }


def test_degrees_count_undirected_relationships_and_loops(data):
    assert needs("(a)-[:R]-()-[:R]-(a)", data) == {DegreeNeed(True, True, (0,), 2)}
    loop = {DegreeNeed(True, False, (0,), 1), DegreeNeed(False, True, (0,), 1)}
    assert needs("(a)-[:R]->(a)", data) == loop
    assert needs("(a)-[:R]-(a)", data) == loop


def test_degrees_are_not_summed_over_clauses(data):
    text = "(a)-[r:R]->() MATCH (a)-[:R]->(), (a)-[r]->()"
    assert needs(text, data) == {DegreeNeed(True, False, (0,), 2)}
    assert needs("(a)-[r:R]->() MATCH (a)-[r]->() MATCH (a)-[s:R]->()", data) == {
        DegreeNeed(True, False, (0,), 1)
    }


# ------------------------------------------------------------------ estimates
def test_cardinalities_with_statistics_are_exact(data):
    found = bound("(:A)-[:R]->(:B), (:C)-[:T]->(:C), (a)-->(a), ()-[:R]-()", data)
    assert found.nodes[0].cardinality == 2
    assert [each.cardinality for each in found.relationships] == [2, 1, 1, 4]


def test_a_predicate_on_an_unknown_property_gives_no_rows(data):
    assert bound("(a {nowhere: 1})", data).nodes[0].cardinality == 0
    assert bound("()-[{nowhere: 1}]->()", data).relationships[0].cardinality == 0
    assert bound("(a) WHERE a.nowhere IS NULL", data).nodes[0].cardinality == 4
