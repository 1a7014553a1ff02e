"""Names, scopes and types. All rejections and acceptances here were checked on Neo4j 5.26."""

import pytest

from gpugda.errors import CypherSyntaxError
from gpugda.query.analyse import analyse
from gpugda.query.parser import parse
from gpugda.query.render import expression_text


def analysed(text):
    return analyse(parse(text))


def graph(text):
    return analysed(f"MATCH {text} RETURN 1").graph


def predicates(text):
    return [expression_text(each) for each in graph(text).predicates]


# ------------------------------------------------------------------ rejected, with code and place
REFUSED = [
    ("MATCH (r)-[r]->(b) RETURN 1", "conflicting type Node (expected Relationship)", 12),
    ("MATCH (a)-[r]->(r) RETURN 1", "conflicting type Relationship (expected Node)", 17),
    ("MATCH (a)-[r]->(b) MATCH (r) RETURN 1", "conflicting type", 27),
    ("MATCH (a) WHERE b.x = 1 MATCH (b) RETURN a", "Variable `b` not defined", 17),
    ("MATCH (b {x: a.x}) MATCH (a) RETURN b", "Variable `a` not defined", 14),
    ("MATCH (a) RETURN b", "Variable `b` not defined", 18),
    ("MATCH (a) RETURN count(b)", "Variable `b` not defined", 24),
    ("MATCH (a) RETURN a ORDER BY d", "Variable `d` not defined", 29),
    ("MATCH (a) RETURN a.x AS c ORDER BY d", "Variable `d` not defined", 36),
    ("MATCH () RETURN *", "no variables in scope", 17),
    ("MATCH (a) RETURN a.x AS a, a.y AS a", "same name", 28),
    # conditions
    ("MATCH (a) WHERE 'text' RETURN a", "expected Boolean but was String", 17),
    ("MATCH (a) WHERE 1 RETURN a", "expected Boolean but was Integer", 17),
    ("MATCH (a) WHERE a RETURN a", "expected Boolean but was Node", 17),
    ("MATCH (a)-[r]->() WHERE r RETURN a", "expected Boolean but was Relationship", 25),
    ("MATCH (a) WHERE [] RETURN a", "list is not a condition", 17),
    ("MATCH (a) WHERE labels(a) RETURN a", "list is not a condition", 17),
    ("MATCH (a) WHERE id(a) RETURN a", "expected Boolean but was Integer", 17),
    ("MATCH (a) WHERE NOT 1 RETURN a", "expected Boolean", 21),
    ("MATCH (a) WHERE 1 AND true RETURN a", "expected Boolean", 17),
    ("MATCH (a) WHERE true XOR 1 RETURN a", "expected Boolean", 26),
    ("MATCH (a) WHERE a.x = 1 OR 'x' RETURN a", "expected Boolean", 28),
    ("MATCH (a WHERE 1) RETURN a", "expected Boolean", 16),
    ("MATCH (a) RETURN NOT 1", "expected Boolean", 22),
    ("MATCH (a) RETURN a ORDER BY NOT 1", "expected Boolean", 33),
    # operands
    ("MATCH (a) WHERE 'a' IN 3 RETURN a", "expected List but was Integer", 24),
    ("MATCH (a) WHERE 'a' IN 'abc' RETURN a", "expected List but was String", 24),
    ("MATCH (a) WHERE 'a' IN a RETURN a", "expected List but was Node", 24),
    ("MATCH (a) WHERE 1.5 IN id(a) RETURN a", "expected List but was Integer", 24),
    ("MATCH (a)-[r]->() WHERE labels(r) = [] RETURN a", "expected Node but was Rel", 32),
    ("MATCH (a) WHERE type(a) = 'x' RETURN a", "expected Relationship but was Node", 22),
    ("MATCH (a) WHERE type(a.x) = 'x' RETURN a", "expected Relationship", 22),
    ("MATCH (a) WHERE id(1) = 1 RETURN a", "expected Node or Relationship", 20),
    ("MATCH (a) WHERE elementId([a]) = 1 RETURN a", "expected Node or Relationship", 27),
    ("MATCH (a) WHERE (1).x = 1 RETURN a", "but was Integer", 18),
    ("MATCH (a) WHERE labels(a).x = 1 RETURN a", "but was List", 17),
    ("MATCH (a) WHERE (a.x):A RETURN a", "expected Node or Relationship", 18),
    # functions
    ("MATCH (a) WHERE id() = 1 RETURN a", "Insufficient parameters for function 'id'", 17),
    ("MATCH (a) WHERE id(a, a) = 1 RETURN a", "Too many parameters", 17),
    ("MATCH (a) WHERE nosuch(a) = 1 RETURN a", "Unknown function 'nosuch'", 17),
    ("MATCH (a) WHERE id(DISTINCT a) = 1 RETURN a", "DISTINCT with function 'id'", 17),
    # aggregates
    ("MATCH (a) WHERE count(*) > 1 RETURN a", "Invalid use of aggregating function", 17),
    ("MATCH (a {x: count(*)}) RETURN a", "Invalid use of aggregating function", 14),
    ("MATCH (a) RETURN count(count(*))", "inside of aggregate functions", 24),
    ("MATCH (a) RETURN count(a.x = count(a))", "inside of aggregate functions", 30),
    ("MATCH (a) RETURN count(*) > a.x", "implicit grouping", 29),
    ("MATCH (a) RETURN a.x, a.name = count(*)", "implicit grouping", 23),
    ("MATCH (a) RETURN a.x = 1, count(*) > 1 AND a.x = 1", "implicit grouping", 44),
    ("MATCH (a) RETURN labels(a), count(*) = 1 OR 'A' IN labels(a)", "implicit grouping", 59),
    ("MATCH (a) RETURN id(a), id(a) = count(*)", "implicit grouping", 28),
    ("MATCH (a) RETURN a:A, a:A OR count(*) = 1", "implicit grouping", 23),
    ("MATCH (a), (b) RETURN a, count(*) = 1 OR a = b", "implicit grouping", 46),
    # ORDER BY
    ("MATCH (a) RETURN DISTINCT a.x ORDER BY a.name", "not possible to access variables", 40),
    ("MATCH (a) RETURN DISTINCT a.x AS x ORDER BY a", "not possible to access variables", 45),
    ("MATCH (a) RETURN DISTINCT a.x > 1 AS t ORDER BY 1 < a.x", "not possible to access", 53),
    ("MATCH (a) RETURN count(*) AS c ORDER BY a.x", "not possible to access variables", 41),
    ("MATCH (a) RETURN a.x, count(*) AS c ORDER BY count(a)", "not possible to access", 52),
    ("MATCH (a) RETURN a.x AS y ORDER BY count(*)", "Cannot use aggregation in ORDER BY", 36),
    ("MATCH (a) RETURN DISTINCT a.x ORDER BY count(*)", "Cannot use aggregation", 40),
    ("MATCH (a) RETURN count(*), a ORDER BY count(a)", "column of its own", 39),
    ("MATCH (a) RETURN count(*) > 1 AS c ORDER BY count(*)", "column of its own", 45),
    ("MATCH (a) RETURN count(a) AS c ORDER BY count(*)", "column of its own", 41),
    ("MATCH (a) RETURN count(a) AS a, a.x AS x ORDER BY a.y", "but was Integer", 51),
    # SKIP, LIMIT
    ("MATCH (a) RETURN a SKIP -1", "SKIP must be a non-negative integer", 25),
    ("MATCH (a) RETURN a LIMIT 1.0", "LIMIT must be a non-negative integer", 26),
    ("MATCH (a) RETURN a LIMIT '1'", "non-negative integer", 26),
    ("MATCH (a) RETURN a LIMIT null", "non-negative integer", 26),
    ("MATCH (a) RETURN a LIMIT true", "non-negative integer", 26),
    ("MATCH (a) RETURN a LIMIT a.x", "not allowed to refer to variables in LIMIT", 26),
    ("MATCH (a) RETURN a LIMIT count(*)", "LIMIT must not contain an aggregate", 26),
    ("MATCH (a) RETURN a LIMIT [1]", "expected Integer but was List", 26),
    ("MATCH (a) RETURN a LIMIT 1 = 1", "expected Integer but was Boolean", 26),
]


@pytest.mark.parametrize(("text", "message", "column"), REFUSED, ids=[case[0] for case in REFUSED])
def test_wrong_queries_are_refused_at_their_place(text, message, column):
    with pytest.raises(CypherSyntaxError) as caught:
        analysed(text)
    assert message in caught.value.message
    assert caught.value.column == column or "same name" in message


PASSES = [
    "MATCH (a {x: b.x}), (b) RETURN a",
    "MATCH (a WHERE a.x = b.x), (b) RETURN a",
    "MATCH (a)-[r {w: a.x} WHERE b.x = r.w]->(b) RETURN a",
    "MATCH (b) MATCH (a WHERE a.x = b.x) RETURN a",
    "MATCH (a {x: a.x}) RETURN a",
    "MATCH (a) WHERE null RETURN a",
    "MATCH (a) WHERE a.x RETURN a",
    "MATCH (a) WHERE $p RETURN a",
    "MATCH (a) WHERE $p.x RETURN a",
    "MATCH (a) WHERE 'a' IN null OR 'a' IN a.x OR 'a' IN $p RETURN a",
    "MATCH (a) WHERE 1 STARTS WITH 'a' OR a CONTAINS 'x' OR labels(a) ENDS WITH 1 RETURN a",
    "MATCH (a), (b) WHERE a < b OR a < 1 OR 'x' < 1 OR [] < 1 OR {} = 1 OR 1 = 2 = 3 RETURN a",
    "MATCH (a)-[r]->() WHERE a = r OR a = 1 OR r:R|S RETURN a",
    "MATCH (a) WHERE type(null) = 'x' OR id(null) = 1 OR (null).x = 1 OR (null):A RETURN a",
    "MATCH (a) RETURN labels(null), ID(a), COUNT(a), count(1), count(null), count($p)",
    "MATCH (a) WHERE (a:A) = true RETURN a",
    "MATCH (a) RETURN a LIMIT $p",
    "MATCH (a) RETURN a SKIP $m.x LIMIT $m.y",
    "MATCH (a) RETURN count(*) > 1, $p = count(*), [count(*), 1]",
    "MATCH (a) RETURN a.x = 'x', count(*) ORDER BY a.x = 'x'",
    "MATCH (a) RETURN a.x AS x, count(*) AS c ORDER BY x, c, a.x, count(*), x = 1, c > 1, $p, 1",
    "MATCH (a) RETURN count(a) AS count ORDER BY count",
    "MATCH (a) RETURN DISTINCT a ORDER BY a.name, a:A, id(a)",
    "MATCH (a) RETURN a AS b, count(*) ORDER BY a.name, b.name, count(*) > a.x",
    "CYPHER 25 MATCH (a) RETURN id(a)",
]


@pytest.mark.parametrize("text", PASSES)
def test_correct_queries_are_analysed(text):
    assert analysed(text).text == text


# ------------------------------------------------------------------ the query graph
def test_occurrences_of_a_node_are_combined():
    found = graph("(a:A {x: 1})-->(b), (a:B&C {y: 2}) MATCH (b)-->(a:A)")
    assert [label.name for label in found.nodes[0].labels] == ["A", "B", "C"]
    assert len(found.nodes) == 2
    assert predicates("(a:A {x: 1})-->(b), (a:B&C {y: 2})") == ["a.x = 1", "a.y = 2"]


@pytest.mark.parametrize(
    ("pattern", "ends"),
    [
        ("(a)-[r]->(b)", (0, 1, True)),
        ("(a)<-[r]-(b)", (1, 0, True)),
        ("(a)-[r]-(b)", (0, 1, False)),
        ("(a)-[r]->(a)", (0, 0, True)),
        ("(a)<-[r]->(b)", (0, 1, False)),
    ],
)
def test_directions_are_analysed(pattern, ends):
    relationship = graph(pattern).relationships[0]
    assert (relationship.source, relationship.target, relationship.directed) == ends


def test_relationships_know_their_clause_and_earlier_occurrence():
    found = graph(
        "(n) MATCH (a)-[r]->(b)-[s]->(c) MATCH (c)-[r]-(d), (d)-[t]->(a) MATCH ()-[r]->()"
    )
    places = [(r.name, r.clause, r.same_as) for r in found.relationships[:4]]
    assert places == [("r", 0, None), ("s", 0, None), ("r", 1, 0), ("t", 1, None)]
    assert found.relationships[4].same_as == 0
    assert found.no_rows is None


def test_a_relationship_variable_twice_in_one_clause_gives_no_rows():
    assert "`r`" in (graph("(a)-[r]->(b), (c)-[r]->(d)").no_rows or "")
    assert "`r`" in (graph("(a)-[r]->(b) MATCH (c)-[r]->(d)-[r]-(e)").no_rows or "")


def test_conditions_become_conjuncts_in_order():
    text = (
        "(a {x: 1, y: b.y} WHERE a.z AND b.z)-[r {w: 1}]->(b)"
        " WHERE a.u AND (b.u OR r.u) AND (a.v AND b.v)"
    )
    assert predicates(text) == [
        "a.x = 1",
        "a.y = b.y",
        "a.z",
        "b.z",
        "r.w = 1",
        "a.u",
        "b.u OR r.u",
        "a.v",
        "b.v",
    ]


def test_parameters_are_collected():
    text = (
        "MATCH (a {x: $one}) WHERE a.y IN [$two] RETURN $three ORDER BY $four SKIP $five LIMIT $six"
    )
    assert analysed(text).parameters == {"one", "two", "three", "four", "five", "six"}


def test_mode_and_version():
    query = analysed("CYPHER 25 EXPLAIN MATCH (a) RETURN a")
    assert (query.mode, query.version) == ("EXPLAIN", 25)


@pytest.mark.parametrize("prefix", ["", "CYPHER 5 "])
@pytest.mark.parametrize("mode", ["DIFFERENT RELATIONSHIPS", "DIFFERENT RELATIONSHIP BINDINGS"])
def test_match_modes_are_refused_in_cypher_5(prefix, mode):
    text = f"{prefix}MATCH {mode} (a)-->(b) RETURN a"
    with pytest.raises(CypherSyntaxError, match="DIFFERENT RELATIONSHIP") as caught:
        analyse(parse(text))
    assert caught.value.column == text.index("DIFFERENT") + 1
    assert analyse(parse(f"CYPHER 25 MATCH {mode} (a)-->(b) RETURN a")).graph.relationships
