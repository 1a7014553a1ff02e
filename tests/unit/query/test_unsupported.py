import pytest

from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.query.constructs import check_supported
from gpugda.query.parser import parse


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n) RETURN n",
        "MATCH (a:A)-[r:R|S]->(b {x: 1}), (c) MATCH (d)--(c) RETURN *",
        "MATCH (a:A&!B|%) MATCH (c:C:D) WHERE c:E RETURN a",
        "MATCH (a WHERE a.x > 1)-[r WHERE r.y IS NULL]->() RETURN a",
        "MATCH DIFFERENT RELATIONSHIPS (a)-->(b) USING SCAN a:A RETURN a",
        "MATCH (a) WHERE a.x = 1 AND NOT a.y < $p OR a.z IN [1, 'b', null] XOR true RETURN a",
        "MATCH (a) WHERE 1 < a.x <= 3 AND a.y STARTS WITH 'b' AND a.z IS NOT NULL RETURN a",
        "MATCH (a) WHERE a.x ENDS WITH 'b' AND a.y CONTAINS $c RETURN a",
        "MATCH (a)-[r]->(b) WHERE a <> b AND id(a) < ID(b) AND elementid(r) <> '' RETURN a",
        "MATCH (a)-[r]->() WHERE type(r) IN $types AND 'A' IN labels(a) RETURN a",
        "MATCH (a) RETURN DISTINCT a.x AS x, count(*) AS c ORDER BY c DESC, x SKIP 1 LIMIT $k",
        "MATCH (a) RETURN count(a), count(DISTINCT a.x) ORDER BY count(*) OFFSET 2",
        "MATCH (a) RETURN 1, -2.5, 'x', true, null, $p, [1, [2]], a.x = 1",
        "EXPLAIN MATCH (a) RETURN a",
    ],
)
def test_the_subset_is_supported(text):
    check_supported(parse(text))


@pytest.mark.parametrize(
    ("text", "construct", "at"),
    [
        ("MATCH (a)\nOPTIONAL MATCH (b) RETURN a", "OPTIONAL MATCH", "OPTIONAL MATCH"),
        ("MATCH (a) WITH a RETURN a", "WITH", "WITH"),
        ("UNWIND [1] AS x MATCH (a) RETURN a", "UNWIND", "UNWIND"),
        ("MATCH (a) RETURN a UNION MATCH (a) RETURN a", "UNION", "UNION"),
        ("MATCH (a) CALL { RETURN 1 AS x } RETURN a", "CALL subquery", "CALL { RETURN"),
        ("CALL db.labels() YIELD label RETURN label", "CALL procedure", "CALL db.labels"),
        ("CREATE (a)", "CREATE", "CREATE"),
        ("MATCH (a) SET a.x = toUpper(a.y) RETURN a", "SET", "SET"),
        ("MATCH (a) DETACH DELETE a", "DETACH DELETE", "DETACH DELETE"),
        ("MATCH (a) RETURN a NEXT RETURN a", "NEXT", "NEXT"),
        ("MATCH (a) FINISH", "FINISH", "FINISH"),
        ("SHOW INDEXES", "SHOW INDEXES", "SHOW INDEXES"),
        ("RETURN 1", "RETURN without MATCH", "RETURN"),
        ("MATCH p = (a)-->(b) RETURN p", "a path variable", "p"),
        ("MATCH (a)-[:R*1..3]->(b) RETURN a", "a variable-length relationship", "*1..3"),
        ("MATCH (a)-[:R]->{2}(b) RETURN a", "a quantified relationship", "{2}"),
        ("MATCH ((a)-->(b))+ RETURN a", "a quantified path pattern", "((a)-->(b))+"),
        ("MATCH ((a)-->(b)) RETURN a", "a parenthesised path pattern", "((a)-->(b))"),
        ("MATCH shortestPath((a)--(b)) RETURN a", "shortestPath()", "shortestPath"),
        ("MATCH ALL SHORTEST (a)--(b) RETURN a", "ALL SHORTEST", "ALL SHORTEST"),
        (
            "MATCH REPEATABLE ELEMENTS (a)--(b) RETURN a",
            "REPEATABLE ELEMENTS",
            "REPEATABLE ELEMENTS",
        ),
        ("MATCH (a:$('A')) RETURN a", "a dynamic label or type", "$('A')"),
        ("MATCH (a) WHERE a.x + 1 = 2 RETURN a", "arithmetic", "a.x + 1"),
        ("MATCH (a) WHERE -a.x = 2 RETURN a", "arithmetic", "-a.x"),
        ("MATCH (a) RETURN a LIMIT 1 + 1", "arithmetic", "1 + 1"),
        ("MATCH (a) WHERE a.x =~ 'b' RETURN a", "the operator =~", "a.x =~ 'b'"),
        ("MATCH (a) RETURN a.x || 'b'", "the operator ||", "a.x || 'b'"),
        ("MATCH (a) RETURN toUpper(a.x)", "function toUpper()", "toUpper(a.x)"),
        ("MATCH (a) RETURN sum(a.x)", "function sum()", "sum(a.x)"),
        ("MATCH (a) RETURN a.x.y", "a property of an expression", "a.x.y"),
        ("MATCH (a) WHERE a.x = $p.x RETURN a", "a property of an expression", "$p.x"),
        ("MATCH (a) WHERE a.x:B RETURN a", "a label predicate on an expression", "a.x:B"),
        ("MATCH (a) RETURN {x: 1}", "a map", "{x: 1}"),
        ("MATCH (a {x: {y: 1}}) RETURN a", "a map", "{y: 1}"),
        ("MATCH (a) RETURN a.x[0]", "list subscript", "a.x[0]"),
        ("MATCH (a) RETURN a {.x}", "map projection", "a {.x}"),
        ("MATCH (a) RETURN CASE WHEN a.x THEN 1 END", "CASE", "CASE WHEN"),
        ("MATCH (a) WHERE (a)-->() RETURN a", "a pattern expression", "(a)-->()"),
        ("MATCH (a) WHERE EXISTS { (a)-->() } RETURN a", "EXISTS subquery", "EXISTS {"),
        ("MATCH (a) RETURN [x IN a.x | 1]", "list comprehension", "[x IN"),
        ("MATCH (a) RETURN all(x IN a.x WHERE x)", "all()", "all("),
        ("MATCH (a) WHERE a.x IS :: INTEGER RETURN a", "type predicate", "a.x IS"),
        ("MATCH (a) WHERE count(a) > 1 RETURN a", "count() outside RETURN", "count(a)"),
        ("MATCH (a {x: count(*)}) RETURN a", "count() outside RETURN", "count(*)"),
    ],
)
def test_an_unsupported_construct_is_named_with_its_place(text, construct, at):
    with pytest.raises(UnsupportedQueryError) as caught:
        check_supported(parse(text))
    assert caught.value.construct == construct
    assert caught.value.message == f"{construct} is not supported by this engine"
    assert caught.value.span.start == text.index(at)


def test_the_first_unsupported_construct_is_named():
    text = (
        "MATCH (a)\nWHERE toUpper(a.x) = 'B'\nOPTIONAL MATCH (b) RETURN a UNION MATCH (c) RETURN c"
    )
    with pytest.raises(UnsupportedQueryError, match=r"function toUpper\(\)") as caught:
        check_supported(parse(text))
    assert (caught.value.line, caught.value.column) == (2, 7)


def test_the_message_shows_the_place():
    with pytest.raises(UnsupportedQueryError) as caught:
        check_supported(parse("MATCH (a)\nOPTIONAL MATCH (b)\nRETURN a"))
    assert str(caught.value) == (
        "OPTIONAL MATCH is not supported by this engine (line 2, column 1)\n"
        "  OPTIONAL MATCH (b)\n"
        "  ^^^^^^^^^^^^^^"
    )


@pytest.mark.parametrize("call", ["id()", "labels(a, a)", "count()"])
def test_functions_take_one_argument(call):
    with pytest.raises(CypherSyntaxError, match="takes one argument"):
        check_supported(parse(f"MATCH (a) RETURN {call}"))
