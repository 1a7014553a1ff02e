import math

import pytest

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator as Op
from gpugda.query.ast import ComparisonOperator as Compare
from gpugda.query.ast import UnaryOperator as Un
from gpugda.query.parser import parse
from gpugda.types import Span

S = Span(0, 0)  # spans are not compared


def item(text):
    """The expression in a query that returns it."""
    (clause,) = parse(f"RETURN {text} AS x").parts[0].clauses
    (only,) = clause.projection.items
    return only.expression


def lit(value):
    return ast.Literal(S, value)


def var(name):
    return ast.Variable(S, name)


def binary(left, operator, right):
    return ast.Binary(S, operator, left, right)


A, B, C = var("a"), var("b"), var("c")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-1", -1), ("- 1", -1), ("1.5", 1.5), ("'x'", "x"), ("true", True), ("NULL", None)],
)
def test_literals(text, value):
    found = item(text)
    assert found == lit(value)
    assert type(found.value) is type(value)


def test_the_smallest_integer_is_a_literal():
    assert item("-9223372036854775808") == lit(-(2**63))
    with pytest.raises(CypherSyntaxError, match="too large"):
        parse("RETURN 1-9223372036854775808")
    with pytest.raises(CypherSyntaxError, match="too large"):
        parse("RETURN -(9223372036854775808)")


def test_infinities_and_nan_are_literals():
    assert item("Infinity") == item("INF") == lit(math.inf)
    assert item("-inf") == lit(-math.inf)
    assert math.isnan(item("NaN").value)


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("a OR b XOR c AND d", "a OR (b XOR (c AND d))"),
        ("a AND b OR c AND d", "(a AND b) OR (c AND d)"),
        ("NOT a AND b", "(NOT a) AND b"),
        ("NOT a = b", "NOT (a = b)"),
        ("NOT NOT a IN b", "NOT (NOT (a IN b))"),
        ("a + b * c ^ d", "a + (b * (c ^ d))"),
        ("a ^ b ^ c", "(a ^ b) ^ c"),
        ("a - b - c", "(a - b) - c"),
        ("a / b % c * d", "((a / b) % c) * d"),
        ("-a ^ b", "(-a) ^ b"),
        ("a || b + c", "(a || b) + c"),
        ("a + b = c - d", "(a + b) = (c - d)"),
        ("a + b IN c", "(a + b) IN c"),
        ("a = b IN c", "a = (b IN c)"),
        ("a IN b = c", "(a IN b) = c"),
        ("a = b IS NULL", "a = (b IS NULL)"),
        ("a STARTS WITH b + c", "a STARTS WITH (b + c)"),
        ("a.b.c[d].e", "((((a).b).c)[d]).e"),
        ("-a.b", "-(a.b)"),
        ("a:B IS NULL", "(a:B) IS NULL"),
        ("a:B = c", "(a:B) = c"),
        ("a AND b = c OR d", "(a AND (b = c)) OR d"),
    ],
)
def test_precedence_is_that_of_neo4j(text, full):
    assert item(text) == item(full)


def test_a_sign_before_a_number_belongs_to_it_before_any_operator():
    assert item("-2 ^ 2") == binary(lit(-2), Op.POWER, lit(2))  # Neo4j: 4.0
    assert item("2 ^ -1") == binary(lit(2), Op.POWER, lit(-1))
    assert item("1 -1") == binary(lit(1), Op.SUBTRACT, lit(1))
    assert item("1 - -1") == binary(lit(1), Op.SUBTRACT, lit(-1))
    assert item("--1") == ast.Unary(S, Un.MINUS, lit(-1))
    assert item("-a") == ast.Unary(S, Un.MINUS, A)


def test_comparisons_chain():
    expected = ast.Comparison(S, (lit(1), A, lit(3)), (Compare.LESS, Compare.LESS_EQUAL))
    assert item("1 < a <= 3") == expected
    assert item("a <> b") == ast.Comparison(S, (A, B), (Compare.NOT_EQUAL,))


def test_predicates_do_not_chain():
    chained = ("a IN b IN c", "a IS NULL IS NULL", "a STARTS WITH b CONTAINS c")
    computed = ("a IS NULL + 1", "a IS NOT NULL * 2", "a :: INTEGER ^ 2", "a IS NORMALIZED || b")
    for text in chained + computed:
        with pytest.raises(CypherSyntaxError, match="do not chain"):
            item(text)


def test_predicates():
    assert item("a STARTS WITH b") == binary(A, Op.STARTS_WITH, B)
    assert item("a ends with b") == binary(A, Op.ENDS_WITH, B)
    assert item("a CONTAINS b") == binary(A, Op.CONTAINS, B)
    assert item("a =~ b") == binary(A, Op.MATCHES, B)
    assert item("a IN [b, c]") == binary(A, Op.IN, ast.ListLiteral(S, (B, C)))
    assert item("a IS NULL") == ast.Unary(S, Un.IS_NULL, A)
    assert item("a IS NOT NULL") == ast.Unary(S, Un.IS_NOT_NULL, A)


def test_properties_parameters_and_functions():
    assert item("a.`b c`") == ast.Property(S, A, "b c")
    assert item("$p.x") == ast.Property(S, ast.Parameter(S, "p"), "x")
    assert item("$`a b`") == ast.Parameter(S, "a b")
    assert item("$0") == ast.Parameter(S, "0")
    assert item("count(*)") == item("COUNT ( * )") == ast.CountStar(S)
    assert item("count(DISTINCT a)") == ast.FunctionCall(S, "count", (A,), True)
    assert item("count(ALL a)") == ast.FunctionCall(S, "count", (A,))
    assert item("a.b.c(a, b)") == ast.FunctionCall(S, "a.b.c", (A, B))
    assert item("toUpper()") == ast.FunctionCall(S, "toUpper", ())


def test_maps_and_lists():
    assert item("{a: 1, `b c`: {}}") == ast.MapLiteral(
        S, (("a", lit(1)), ("b c", ast.MapLiteral(S, ())))
    )
    assert item("[]") == ast.ListLiteral(S, ())
    assert item("[a, [b]]") == ast.ListLiteral(S, (A, ast.ListLiteral(S, (B,))))


@pytest.mark.parametrize(
    "text",
    ["return", "order", "match", "not", "case", "count", "all", "in", "shortestPath", "distinct"],
)
def test_keywords_can_be_names(text):
    query = parse(f"WITH 1 AS {text} RETURN {text}, {text}.x AS y")
    first, second = query.parts[0].clauses[1].projection.items
    assert first.expression == var(text)
    assert second.expression == ast.Property(S, var(text), "x")


def test_true_null_and_nan_are_never_names():
    assert item("null") == lit(None)
    assert item("`null`") == var("null")


@pytest.mark.parametrize(
    ("text", "is_path"),
    [
        ("(a)-->(b)", True),
        ("(a)--(b)", True),
        ("(a)<-[:R]-(b)", True),
        ("(a)-[b]-(c)", True),
        ("(a {x: (b)})--({y: [1]})", True),
        ("((a)-->(b))", True),
        ("(:A)<--()", True),
        ("(1) - 1", False),
        ("(a) - (b)", False),
        ("(a)-(b)-(c)", False),
        ("(a)<-(b)", False),
        ("(a)<-1", False),
        ("(1)--(2)", False),
        ("(a)--(1)", False),
        ("(a)--1", False),
        ("(a)-[b]", False),
        ("(a)-[1][0]-(1)", False),
        ("(a.x)-[1]", False),
        ("((a))--(b)", False),
        ("(a) > (b)", False),
    ],
)
def test_paths_and_arithmetic_are_distinguished_as_in_neo4j(text, is_path):
    assert isinstance(item(text), ast.PatternExpression) is is_path


def test_arithmetic_that_resembles_a_path_is_parsed_as_arithmetic():
    assert item("(a)-(b)-(c)") == binary(binary(A, Op.SUBTRACT, B), Op.SUBTRACT, C)
    less = ast.Comparison(S, (A, ast.Unary(S, Un.MINUS, B)), (Compare.LESS,))
    assert item("(a)<-(b)") == less
    assert item("(a)--(1)") == binary(A, Op.SUBTRACT, ast.Unary(S, Un.MINUS, lit(1)))


def test_a_path_ends_where_no_node_follows():
    found = item("(a)--(b) - (c)")
    assert found.operator is Op.SUBTRACT
    assert isinstance(found.left, ast.PatternExpression)
    assert found.right == C


def labels_of(text):
    found = item(f"n:{text}")
    assert isinstance(found, ast.LabelPredicate)
    return found.labels


def test_label_predicates():
    a, b, c = (ast.LabelName(S, name) for name in "ABC")
    assert labels_of("A") == a
    assert labels_of("A:B") == ast.LabelAnd(S, (a, b), True)
    assert labels_of("A&B|!C") == ast.LabelOr(S, (ast.LabelAnd(S, (a, b)), ast.LabelNot(S, c)))
    assert labels_of("(A|B)&%") == ast.LabelAnd(S, (ast.LabelOr(S, (a, b)), ast.LabelWildcard(S)))
    assert item("n IS A|B") == ast.LabelPredicate(S, var("n"), ast.LabelOr(S, (a, b)))
    assert labels_of("$(a)") == ast.LabelDynamic(S, A)


def test_dynamic_labels():
    assert labels_of("$all(a)") == ast.LabelDynamic(S, A)
    assert labels_of("$any(a)") == ast.LabelDynamic(S, A, any=True)
    negated = ast.LabelPredicate(S, var("n"), ast.LabelNot(S, ast.LabelName(S, "A")))
    assert item("n IS NOT A") == negated


OPERAND = ast.CaseOperand(S)


def case(operand, *alternatives, otherwise=None):
    found = tuple(ast.CaseAlternative(S, conditions, result) for conditions, result in alternatives)
    return ast.Case(S, operand, found, otherwise)


def compared(operator, value):
    return ast.Comparison(S, (OPERAND, value), (Compare(operator),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CASE WHEN a THEN b END", case(None, ((A,), B))),
        (
            "CASE a WHEN 1, 2 THEN b ELSE c END",
            case(A, ((compared("=", lit(1)), compared("=", lit(2))), B), otherwise=C),
        ),
        ("CASE a WHEN = 1 THEN b END", case(A, ((compared("=", lit(1)),), B))),
        (
            "CASE a WHEN > 1, <= 0 THEN b END",
            case(A, ((compared(">", lit(1)), compared("<=", lit(0))), B)),
        ),
        ("CASE a WHEN IS NULL THEN b END", case(A, ((ast.Unary(S, Un.IS_NULL, OPERAND),), B))),
        ("CASE a WHEN IN b THEN c END", case(A, ((binary(OPERAND, Op.IN, B),), C))),
        (
            "CASE a WHEN STARTS WITH b THEN c END",
            case(A, ((binary(OPERAND, Op.STARTS_WITH, B),), C)),
        ),
        (
            "CASE a WHEN :A THEN c END",
            case(A, ((ast.LabelPredicate(S, OPERAND, ast.LabelName(S, "A")),), C)),
        ),
        (
            "CASE a WHEN 1 < b THEN c END",
            case(A, ((compared("=", ast.Comparison(S, (lit(1), B), (Compare.LESS,))),), C)),
        ),
        ("[x IN a]", ast.ListComprehension(S, var("x"), A, None, None)),
        ("[x IN a | c]", ast.ListComprehension(S, var("x"), A, None, C)),
        ("[x IN a WHERE b]", ast.ListComprehension(S, var("x"), A, B, None)),
        ("[x IN a WHERE b | c]", ast.ListComprehension(S, var("x"), A, B, C)),
        ("a[b]", ast.Subscript(S, A, B)),
        ("a[b..c]", ast.Slice(S, A, B, C)),
        ("a[..c]", ast.Slice(S, A, None, C)),
        ("a[b..]", ast.Slice(S, A, B, None)),
        (
            "a {.x, .*, y: b, c}",
            ast.MapProjection(
                S,
                A,
                (
                    ast.MapProperty(S, "x"),
                    ast.MapAllProperties(S),
                    ast.MapEntry(S, "y", B),
                    ast.MapVariable(S, C),
                ),
            ),
        ),
        ("reduce(s = a, x IN b | c)", ast.Reduce(S, var("s"), A, var("x"), B, C)),
        (
            "allReduce(s = a, x IN b | c, s < 1)",
            ast.AllReduce(
                S,
                var("s"),
                A,
                var("x"),
                B,
                C,
                ast.Comparison(S, (var("s"), lit(1)), (Compare.LESS,)),
            ),
        ),
        ("all(x IN a WHERE b)", ast.ListPredicate(S, ast.ListQuantifier.ALL, var("x"), A, B)),
        ("single(x IN a WHERE b)", ast.ListPredicate(S, ast.ListQuantifier.SINGLE, var("x"), A, B)),
        ("a IS NOT NFC NORMALIZED", ast.NormalizedPredicate(S, A, ast.NormalForm.NFC, True)),
        ("a IS NORMALIZED", ast.NormalizedPredicate(S, A)),
        ("a IS NFKD NORMALIZED", ast.NormalizedPredicate(S, A, ast.NormalForm.NFKD)),
        ("trim(a)", ast.FunctionCall(S, "trim", (A,))),
        ("trim(FROM a)", ast.Trim(S, ast.TrimSide.BOTH, None, A)),
        ("trim(LEADING b FROM a)", ast.Trim(S, ast.TrimSide.LEADING, B, A)),
        ("trim(b FROM a)", ast.Trim(S, ast.TrimSide.BOTH, B, A)),
        ("normalize(a, NFD)", ast.FunctionCall(S, "normalize", (A, lit("NFD")))),
        ("vector(a, 3, INT8)", ast.FunctionCall(S, "vector", (A, lit(3), lit("INTEGER8")))),
        ("count(ALL a)", ast.FunctionCall(S, "count", (A,))),
        ("x.y.z(DISTINCT a, b)", ast.FunctionCall(S, "x.y.z", (A, B), True)),
    ],
)
def test_expressions_with_words(text, expected):
    assert item(text) == expected


INTEGER = ast.SimpleType(S, "INTEGER")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INT", INTEGER),
        ("SIGNED INTEGER", INTEGER),
        ("INT64 NOT NULL", ast.SimpleType(S, "INTEGER", True)),
        ("bool!", ast.SimpleType(S, "BOOLEAN", True)),
        (
            "LIST<INTEGER NOT NULL> NOT NULL",
            ast.ListType(S, ast.SimpleType(S, "INTEGER", True), True),
        ),
        ("INT LIST", ast.ListType(S, INTEGER)),
        ("INT! ARRAY", ast.ListType(S, ast.SimpleType(S, "INTEGER", True))),
        (
            "ZONED DATETIME | TIME WITH TIME ZONE",
            ast.UnionType(
                S, (ast.SimpleType(S, "ZONED DATETIME"), ast.SimpleType(S, "ZONED TIME"))
            ),
        ),
        ("ANY<INT | VARCHAR>", ast.UnionType(S, (INTEGER, ast.SimpleType(S, "STRING")))),
        ("ANY VALUE", ast.SimpleType(S, "ANY")),
        ("ANY EDGE", ast.SimpleType(S, "RELATIONSHIP")),
        ("PROPERTY VALUE", ast.SimpleType(S, "PROPERTY VALUE")),
        ("TIMESTAMP WITHOUT TIMEZONE", ast.SimpleType(S, "LOCAL DATETIME")),
        ("VECTOR<FLOAT32>(3)", ast.VectorType(S, ast.SimpleType(S, "FLOAT32"), 3)),
        ("VECTOR", ast.VectorType(S, None, None)),
    ],
)
def test_types(text, expected):
    assert item(f"a :: {text}") == ast.TypePredicate(S, A, expected)
    assert item(f"a IS TYPED {text}") == item(f"a IS :: {text}") == item(f"a :: {text}")
    assert item(f"a IS NOT TYPED {text}") == ast.TypePredicate(S, A, expected, negated=True)


@pytest.mark.parametrize(
    "text", ["TIME", "LIST", "DATETIME", "INT8", "INTEGER32", "FLOAT32", "POINT<INT>"]
)
def test_malformed_types_are_refused(text):
    with pytest.raises(CypherSyntaxError):
        item(f"a :: {text}")


def body_of(text):
    return parse(text).body


def test_subqueries_are_queries():
    union = "MATCH (a) RETURN a UNION MATCH (b) RETURN b AS a"
    assert item("EXISTS { MATCH (a) WHERE a.x }") == item("EXISTS { (a) WHERE a.x }")
    assert item(f"EXISTS {{ {union} }}") == ast.ExistsSubquery(S, body_of(union))
    assert item(f"COUNT {{ {union} }}") == ast.CountSubquery(S, body_of(union))
    assert item(f"COLLECT {{ {union} }}") == ast.CollectSubquery(S, body_of(union))


def path_of(text):
    return parse(f"MATCH {text} RETURN 1").parts[0].clauses[0].patterns[0]


def test_patterns_as_values():
    path = path_of("p = (a)-->(b)")
    found = item("[p = (a)-->(b) WHERE b | c]")
    assert found == ast.PatternComprehension(S, path, B, C)
    assert item("[(a)-->(b) | c]") == ast.PatternComprehension(S, path_of("(a)-->(b)"), None, C)
    for word in ("shortestPath", "allShortestPaths"):
        text = f"{word}((a)-[*]->(b))"
        assert item(text) == ast.ShortestPathExpression(S, path_of(text))
    assert item("exists((a)-->(b))") == ast.FunctionCall(
        S, "exists", (ast.PatternExpression(S, path_of("(a)-->(b)")),)
    )


def test_a_list_whose_first_item_is_an_in_is_a_list():
    assert isinstance(item("[x IN a, b]"), ast.ListLiteral)
    assert isinstance(item("[x IN a OR b, c]"), ast.ListLiteral)
    assert isinstance(item("[x IN a OR b]"), ast.ListComprehension)
    assert isinstance(item("[(a)-->(b), c]"), ast.ListLiteral)
    assert isinstance(item("[(a) IN b]"), ast.ListLiteral)


@pytest.mark.parametrize(
    ("text", "separator"),
    [  # each as Neo4j reads it
        ("[x IN l WHERE x:A|x.y]", "x.y"),
        ("[x IN l WHERE x:A|x]", "x"),
        ("[x IN l WHERE x:A|B|x.y]", "x.y"),
        ("[(a)--(x) WHERE x:A|B|x.y]", "x.y"),
        ("[x IN l | x:A|B]", "x:A|B"),
    ],
)
def test_the_last_possible_bar_separates(text, separator):
    assert item(text).projection == item(separator)


def test_not_before_other_values_is_refused():
    with pytest.raises(CypherSyntaxError, match="NOT cannot stand here"):
        item("1 = NOT true")


@pytest.mark.slow
def test_long_chains_give_flat_trees():
    many = 10_000
    tree = item(" AND ".join(f"n.x = {i}" for i in range(many)))
    assert hash(tree) == hash(item(" AND ".join(f"n.x = {i}" for i in range(many))))
    leaves, depth, level = [], 0, [tree]
    while level:
        leaves += [n for n in level if isinstance(n, ast.Comparison)]
        level = [c for n in level if isinstance(n, ast.Binary) for c in (n.left, n.right)]
        depth += 1
    assert depth <= 16
    assert sorted(leaf.operands[1].value for leaf in leaves) == list(range(many))


def test_spans_are_the_text_of_each_node():
    text = "RETURN a.x + count(b) * 2 AS x"
    only = parse(text).parts[0].clauses[0].projection.items[0]
    assert only.span.of(text) == "a.x + count(b) * 2 AS x"
    assert only.expression.span.of(text) == "a.x + count(b) * 2"
    assert only.expression.left.span.of(text) == "a.x"
    assert only.expression.right.span.of(text) == "count(b) * 2"
