import pytest

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.constructs import clause_name
from gpugda.query.parser import parse
from gpugda.types import Span

S = Span(0, 0)  # spans are not compared


def clauses(text):
    (part,) = parse(text).parts
    return part.clauses


def names(text):
    """The columns of the last clause."""
    return [item.name for item in clauses(text)[-1].projection.items]


def test_match_where_return():
    match, projected = clauses("MATCH (a), (b) WHERE a.x = b.x RETURN a")
    assert isinstance(match, ast.Match)
    assert not match.optional
    assert len(match.patterns) == 2
    assert isinstance(match.where, ast.Comparison)
    assert isinstance(projected, ast.Return)


def test_optional_match():
    _, optional, _ = clauses("MATCH (a) OPTIONAL MATCH (b) RETURN a")
    assert optional.optional


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("REPEATABLE ELEMENTS", "REPEATABLE ELEMENTS"),
        ("repeatable element bindings", "REPEATABLE ELEMENT BINDINGS"),
        ("DIFFERENT RELATIONSHIPS", "DIFFERENT RELATIONSHIPS"),
        ("DIFFERENT RELATIONSHIP", "DIFFERENT RELATIONSHIP"),
    ],
)
def test_match_modes(text, mode):
    source = f"MATCH {text} (a)-->(b) RETURN a"
    match = clauses(source)[0]
    assert match.mode == mode
    assert match.mode_span.of(source) == text


def test_hints():
    source = (
        "MATCH (a:A)-->(b) USING INDEX a:A(x, y) USING RANGE INDEX SEEK b:B(z)"
        " USING SCAN a:A USING JOIN ON a, b WHERE a.x RETURN a"
    )
    match = clauses(source)[0]
    assert [hint.span.of(source) for hint in match.hints] == [
        "USING INDEX a:A(x, y)",
        "USING RANGE INDEX SEEK b:B(z)",
        "USING SCAN a:A",
        "USING JOIN ON a, b",
    ]
    assert match.hints[1] == ast.Hint(
        S, "RANGE INDEX SEEK", (ast.Variable(S, "b"),), label="B", keys=("z",)
    )
    assert [v.name for v in match.hints[3].variables] == ["a", "b"]
    assert match.where is not None


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("n", "n"),
        ("`a b`", "a b"),
        ("(n)", "n"),
        ("((n))", "n"),
        ("n.x", "n.x"),
        ("n . x", "n . x"),
        ("n.`x`", "n.`x`"),
        ("((n.x))", "((n.x))"),
        ("  1 + /* two */ 2  /* three */", "1 + /* two */ 2"),
        ("COUNT( * )", "COUNT( * )"),
        ("'text'", "'text'"),
        ("- 1", "- 1"),
        ("$p", "$p"),
        ("n {.x, .*}", "n"),
        ("n.x AS y", "y"),
        ("n.x AS `y z`", "y z"),
        ("1 AS return", "return"),
    ],
)
def test_columns_have_the_names_of_neo4j(written, name):
    assert names(f"MATCH (n) RETURN {written}") == [name]


def test_a_projection_with_all_parts_is_parsed():
    text = "MATCH (n) RETURN DISTINCT *, n.x AS y ORDER BY y DESC, n.z ASCENDING, n SKIP 1 LIMIT $k"
    body = clauses(text)[-1].projection
    assert body.distinct
    assert body.star
    assert [i.alias for i in body.items] == ["y"]
    assert [key.descending for key in body.order_by] == [True, False, False]
    assert body.skip == ast.Literal(S, 1)
    assert body.limit == ast.Parameter(S, "k")


def test_offset_means_skip():
    assert clauses("RETURN 1 OFFSET 2")[0].projection.skip == ast.Literal(S, 2)


def test_star_alone():
    body = clauses("MATCH (n) RETURN *")[-1].projection
    assert body.star
    assert body.items == ()


def test_union():
    text = "RETURN 1 AS x UNION ALL RETURN 2 AS x UNION ALL RETURN 3 AS x"
    query = parse(text)
    assert len(query.parts) == 3
    assert [span.of(text) for span in query.unions] == ["UNION ALL", "UNION ALL"]
    assert query.union_all
    assert not parse("RETURN 1 AS x UNION RETURN 2 AS x").union_all
    assert len(parse("RETURN 1 AS x UNION DISTINCT RETURN 2 AS x UNION RETURN 3 AS x").unions) == 2


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("WITH 1 AS x RETURN x", "WITH"),
        ("UNWIND [1] AS x RETURN x", "UNWIND"),
        ("CALL { RETURN 1 AS x } RETURN x", "CALL subquery"),
        ("OPTIONAL CALL (x, y) { RETURN 1 AS x } RETURN x", "CALL subquery"),
        (
            "CALL (*) { CREATE (n) } IN 2 CONCURRENT TRANSACTIONS OF 10 ROWS"
            " ON ERROR RETRY FOR 2.5 SECONDS THEN FAIL REPORT STATUS AS s RETURN s",
            "CALL subquery",
        ),
        ("CALL db.labels() YIELD label AS l WHERE l = 'a' RETURN l", "CALL procedure"),
        ("CALL db.labels", "CALL procedure"),
        ("CREATE (a)-[:R]->(b)", "CREATE"),
        ("INSERT (a)-[:R]->(b)", "INSERT"),
        ("MERGE (a:A) ON CREATE SET a.x = 1 ON MATCH SET a += {y: 1}, a:B", "MERGE"),
        ("SET n.x = 1, n[$k] = 2", "SET"),
        ("REMOVE n.x, n:A", "REMOVE"),
        ("DELETE n, m", "DELETE"),
        ("DETACH DELETE n", "DETACH DELETE"),
        ("NODETACH DELETE n", "NODETACH DELETE"),
        ("FOREACH (x IN [1] | CREATE (n) SET n.x = 1)", "FOREACH"),
        ("LOAD CSV WITH HEADERS FROM 'u' AS r FIELDTERMINATOR ';' RETURN r", "LOAD CSV"),
        ("USE neo4j RETURN 1", "USE"),
        ("USE graph.byName('x') RETURN 1", "USE"),
        ("FINISH", "FINISH"),
        ("FILTER WHERE true RETURN 1", "FILTER"),
        ("LET x = 1, y = 2 RETURN x", "LET"),
        ("FOR x IN [1] RETURN x", "FOR"),
        ("ORDER BY 1 LIMIT 1 RETURN 1", "ORDER BY"),
        ("SKIP 1 RETURN 1", "SKIP"),
        ("LIMIT 1 RETURN 1", "LIMIT"),
        ("WHEN true THEN RETURN 1 WHEN false THEN { RETURN 2 } ELSE RETURN 3", "WHEN"),
        ("{ RETURN 1 UNION RETURN 2 }", "query in braces"),
        ("CREATE INDEX i FOR (n:A) ON (n.x)", "CREATE INDEX"),
        ("create or replace database x", "CREATE OR"),
        ("DROP CONSTRAINT c IF EXISTS", "DROP CONSTRAINT"),
        ("SHOW DATABASES YIELD name RETURN name", "SHOW DATABASES"),
        ("GRANT ROLE r TO u", "GRANT ROLE"),
    ],
)
def test_clauses_have_names(text, construct):
    assert clause_name(clauses(text)[0]) == construct


X, Y, ONE, TWO = ast.Variable(S, "x"), ast.Variable(S, "y"), ast.Literal(S, 1), ast.Literal(S, 2)


def body(text):
    return parse(text).body


def projected(text):
    return clauses(f"RETURN {text}")[0].projection


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "WITH DISTINCT 1 AS x ORDER BY x SKIP 1 LIMIT 2 WHERE x RETURN x",
            ast.With(S, projected("DISTINCT 1 AS x ORDER BY x SKIP 1 LIMIT 2"), X),
        ),
        ("WITH *, 1 AS x RETURN x", ast.With(S, projected("*, 1 AS x"))),
        ("UNWIND 1 AS x RETURN x", ast.Unwind(S, ONE, X)),
        ("FOR x IN 1 RETURN x", ast.Unwind(S, ONE, X, is_for=True)),
        ("FINISH", ast.Finish(S)),
        ("LET x = 1, y = 2 RETURN x", ast.Let(S, (ast.LetItem(S, X, ONE), ast.LetItem(S, Y, TWO)))),
        ("FILTER WHERE x RETURN 1", ast.Filter(S, X)),
        ("FILTER x RETURN 1", ast.Filter(S, X)),
        (
            "ORDER BY x DESC OFFSET 1 LIMIT 2 RETURN x",
            ast.OrderSkipLimit(S, (ast.SortItem(S, X, True),), ONE, TWO),
        ),
        ("LIMIT 1 RETURN 1", ast.OrderSkipLimit(S, (), None, ONE)),
        ("USE x.y RETURN 1", ast.Use(S, ast.Property(S, X, "y"))),
        (
            "LOAD CSV WITH HEADERS FROM 'u' AS x FIELDTERMINATOR ';' RETURN x",
            ast.LoadCsv(S, ast.Literal(S, "u"), X, True, ast.Literal(S, ";")),
        ),
        ("CALL { RETURN 1 } RETURN 1", ast.CallSubquery(S, body("RETURN 1"), None)),
        ("CALL () { RETURN 1 } RETURN 1", ast.CallSubquery(S, body("RETURN 1"), ())),
        ("CALL (x, y) { RETURN 1 } RETURN 1", ast.CallSubquery(S, body("RETURN 1"), (X, Y))),
        (
            "OPTIONAL CALL (*) { RETURN 1 } RETURN 1",
            ast.CallSubquery(S, body("RETURN 1"), (), True, True),
        ),
        (
            "CALL { RETURN 1 AS x UNION ALL RETURN 2 AS x } RETURN 1",
            ast.CallSubquery(S, body("RETURN 1 AS x UNION ALL RETURN 2 AS x"), None),
        ),
        ("CALL a.b", ast.CallProcedure(S, "a.b", None)),
        ("CALL a.b(1) YIELD *", ast.CallProcedure(S, "a.b", (ONE,), (), True)),
        (
            "OPTIONAL CALL a.b() YIELD c AS x, y WHERE x RETURN x",
            ast.CallProcedure(
                S, "a.b", (), (ast.YieldItem(S, "c", X), ast.YieldItem(S, "y", Y)), False, X, True
            ),
        ),
        (
            "WHEN x THEN RETURN 1 WHEN y THEN { RETURN 2 } ELSE RETURN 1",
            ast.When(
                S,
                (ast.WhenBranch(S, X, body("RETURN 1")), ast.WhenBranch(S, Y, body("RETURN 2"))),
                body("RETURN 1"),
            ),
        ),
        ("{ RETURN 1 }", ast.Braces(S, body("RETURN 1"))),
    ],
)
def test_clauses_are_nodes(text, expected):
    assert clauses(text)[0] == expected


def test_group_by():
    assert projected("x, 1 GROUP BY x, y ORDER BY x").group_by == ast.GroupBy(S, (X, Y))
    assert projected("x GROUP BY ALL").group_by == ast.GroupBy(S, (), all=True)
    assert projected("1 GROUP BY ()").group_by == ast.GroupBy(S, ())
    assert projected("ALL x") == projected("x")


def test_next_lets_clauses_follow_return():
    found = clauses("MATCH (n) RETURN n NEXT RETURN n")
    assert [type(c) for c in found] == [ast.Match, ast.Return, ast.Next, ast.Return]


def test_next_binds_less_tightly_than_union():
    joined = "RETURN 1 AS x UNION RETURN 2 AS x"
    found = clauses(f"{joined} NEXT RETURN x NEXT {joined}")
    assert found == clauses(f"{{ {joined} }} NEXT RETURN x NEXT {{ {joined} }}")
    assert [type(c) for c in found] == [ast.Braces, ast.Next, ast.Return, ast.Next, ast.Braces]
    assert found[0].query == body(joined)
    when = clauses("WHEN true THEN RETURN 1 AS x NEXT RETURN x")
    assert [type(c) for c in when] == [ast.When, ast.Next, ast.Return]


@pytest.mark.parametrize(("text", "writes"), [("CREATE (a)", True), ("SHOW INDEXES", False)])
def test_writing_clauses_are_marked(text, writes):
    assert clauses(text)[0].writes is writes


def test_create_of_a_variable_named_like_a_command_is_a_clause():
    assert clauses("CREATE index = (a)-[:R]->(b)")[0].construct == "CREATE"


# ------------------------------------------------------------------ around the query
@pytest.mark.parametrize(
    ("text", "version", "options", "mode"),
    [
        ("RETURN 1", None, (), None),
        ("CYPHER 5 RETURN 1", 5, (), None),
        ("cypher 25 explain RETURN 1", 25, (), "EXPLAIN"),
        ("EXPLAIN CYPHER 5 RETURN 1", 5, (), "EXPLAIN"),
        ("PROFILE CYPHER runtime=slotted RETURN 1", None, (("runtime", "slotted"),), "PROFILE"),
        (
            "/* c */ CYPHER 5 planner = cost runtime=slotted EXPLAIN RETURN 1",
            5,
            (("planner", "cost"), ("runtime", "slotted")),
            "EXPLAIN",
        ),
        ("EXPLAIN EXPLAIN RETURN 1", None, (), "EXPLAIN"),
        ("CYPHER RETURN 1", None, (), None),
    ],
)
def test_prefixes(text, version, options, mode):
    query = parse(text)
    assert (query.version, query.options, query.mode) == (version, options, mode)
    assert query.text == text


def test_a_semicolon_may_end_the_query():
    assert parse("RETURN 1;").parts == parse("RETURN 1").parts


# ------------------------------------------------------------------ rejected texts
@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("", "", "there is no query here"),
        ("// only a comment", "", "there is no query here"),
        ("EXPLAIN", "", "there is no query here"),
        ("MACTH (n) RETURN n", "MACTH", "did you mean MATCH?"),
        ("MATCH (n) WHRE n.x RETURN n", "WHRE", "did you mean WHERE?"),
        ("MATCH (n) RETRUN n", "RETRUN", "did you mean RETURN?"),
        ("MATCH (n) RETURN n LIMT 1", "LIMT", "did you mean LIMIT?"),
        ("MATCH (n) RETURN n ODER BY n", "ODER", "did you mean ORDER?"),
        ("MATCH (n) WHERE n.x ADN n.y RETURN n", "ADN", "did you mean AND?"),
        ("OPTIONAL MTCH (n) RETURN n", "MTCH", "did you mean MATCH?"),
        ("MATCH (n) WHERE n.x != 1 RETURN n", "!=", "'not equal' is written <>"),
        ("MATCH (n) WHERE n.x == 1 RETURN n", "==", "'equal' is written ="),
        ("MATCH (n) WHERE RETURN n", "RETURN", "a value is missing before RETURN"),
        ("MATCH (n), RETURN n", "RETURN", "expected a node"),
        ("MATCH (n)", "MATCH", "cannot conclude with MATCH"),
        ("OPTIONAL MATCH (n)", "OPTIONAL", "cannot conclude with OPTIONAL MATCH"),
        ("WITH 1 AS x", "WITH", "cannot conclude with WITH"),
        ("UNWIND [1] AS x", "UNWIND", "cannot conclude with UNWIND"),
        ("RETURN 1 AS x UNION MATCH (x)", "MATCH", "cannot conclude with MATCH"),
        ("CALL { MATCH (n) } RETURN 1", "MATCH", "cannot conclude with MATCH"),
        ("RETURN COLLECT { MATCH (n) }", "MATCH", "cannot conclude with MATCH"),
        ("MATCH (n) RETURN 1 RETURN 2", "RETURN 2", "RETURN can only stand at the end"),
        ("MATCH (n) RETURN 1 MATCH (m) RETURN 2", "MATCH (m", "MATCH comes before it"),
        ("MATCH (n) FINISH RETURN 1", "RETURN", "FINISH can only stand at the end"),
        ("MATCH (n) RETURN n LIMIT 1 SKIP 1", "SKIP", "in the order ORDER BY, SKIP, LIMIT"),
        ("MATCH (n) RETURN n WHERE n.x", "WHERE", "WHERE comes before RETURN"),
        ("MATCH (n) WHERE n.x WHERE n.y RETURN n", "WHERE n.y", "join with AND"),
        ("MATCH (n) RETURN n.x AS y, *", "*", "comes before the other items"),
        ("MATCH (n) RETURN n ORDER n.x", "n.x", "'BY' after ORDER"),
        ("MATCH (n) WITH n.x RETURN 1", "n.x", "add AS"),
        ("RETURN 1 AS x UNION RETURN 2 AS x UNION ALL RETURN 3 AS x", "UNION ALL", "combined"),
        ("RETURN 1; RETURN 2", "RETURN 2", "only one statement"),
        ("RETURN 1;;", ";", "only one statement"),
        ("CYPHER 4.4 RETURN 1", "4.4", "CYPHER 5 and CYPHER 25 are"),
        ("CYPHER 5 CYPHER 25 RETURN 1", "25", "cannot be combined"),
        ("EXPLAIN PROFILE RETURN 1", "PROFILE", "cannot be combined"),
        ("RETURN [1, (2", "(", "'(' is never closed"),
        ("RETURN {a: 1", "{", "'{' is never closed"),
        ("MATCH (n) RETURN count(n", "(n", "'(' is never closed"),
        ("USING PERIODIC COMMIT LOAD CSV FROM 'x' AS r", "USING", "IN TRANSACTIONS"),
        ("MERGE (n $p)", "$p", "cannot be a property map"),
        ("RETURN EXISTS { CREATE (n) }", "CREATE", "it writes"),
        ("CREATE n", "n", "expected a node"),
        ("SELECT 1", "SELECT", "expected a clause"),
        ("RETURN $", "", "a parameter's name"),
        ("RETURN a[..]", "]", "a slice needs"),
        ("RETURN all(x IN [1])", ")", "needs a WHERE"),
        ("RETURN - - a", "- a", "put a second sign in parentheses"),
    ],
)
def test_malformed_queries_are_refused_at_their_place(text, at, said):
    with pytest.raises(CypherSyntaxError) as caught:
        parse(text)
    assert said in caught.value.message
    place = text.rindex(at) if at else len(text)
    assert caught.value.span.start == place


def test_an_error_shows_line_column_and_caret():
    with pytest.raises(CypherSyntaxError) as caught:
        parse("MATCH (n)\nRETRUN n")
    assert (caught.value.line, caught.value.column) == (2, 1)
    assert str(caught.value).endswith("(line 2, column 1)\n  RETRUN n\n  ^^^^^^")
