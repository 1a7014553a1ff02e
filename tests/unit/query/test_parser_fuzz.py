"""Any text gives a tree or a CypherSyntaxError; rendered trees parse to the same tree."""

import string
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator as Op
from gpugda.query.ast import ComparisonOperator as Compare
from gpugda.query.ast import UnaryOperator as Un
from gpugda.query.parser import parse
from gpugda.query.statement import statement_of
from gpugda.query.walk import walk
from gpugda.types import Span
from strategies import examples

QUERIES = [
    line
    for path in sorted((Path(__file__).parent / "corpus").glob("*.txt"))
    for line in path.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
WORDS = sorted({word for query in QUERIES for word in query.split()})


def attempt(function, *arguments):
    """A function's result, and the error if it raises one of ours."""
    try:
        return function(*arguments), None
    except (CypherSyntaxError, UnsupportedQueryError) as error:
        return None, error


def check_anything(text):
    """Parses any text; checks the spans if that succeeds."""
    query, error = attempt(parse, text)
    if query is not None:
        for node in walk(query):
            assert 0 <= node.span.start <= node.span.end <= len(text)
        hash(query)
        _, error = attempt(statement_of, query)
    else:
        assert isinstance(error, CypherSyntaxError)
    if error is not None:
        assert 0 <= error.span.start <= error.span.end <= len(text)
        assert error.line >= 1
        assert error.column >= 1


@settings(max_examples=examples(300), deadline=None)
@given(st.text())
@example("\x00")
@example("'\\")
@example("RETURN 0x")
@example("RETURN .")
@example("MATCH (a)-")
@example("MATCH (a)<")
@example("CYPHER")
@example("CYPHER a=")
def test_random_text_is_parsed_or_refused(text):
    check_anything(text)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_random_words_of_cypher_are_parsed_or_refused(text):
    check_anything(text)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(alphabet="()[]{}<>-|:*+.,=!&%$'\"`\\/ \nanAR10", max_size=40))
def test_random_symbols_of_cypher_are_parsed_or_refused(text):
    check_anything("MATCH " + text)
    check_anything("RETURN " + text)


@settings(max_examples=examples(500), deadline=None)
@given(st.data())
def test_damaged_queries_are_parsed_or_refused(data):
    text = data.draw(st.sampled_from(QUERIES))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 3)))
        piece = data.draw(st.one_of(st.just(""), st.sampled_from(WORDS), st.text(max_size=2)))
        text = text[:start] + piece + text[end:]
    check_anything(text)


@pytest.mark.parametrize("text", QUERIES)
def test_truncated_queries_are_parsed_or_refused(text):
    for end in range(len(text)):
        check_anything(text[:end])


# ------------------------------------------------------------------ round trips
S = Span(0, 0)  # spans are not compared

# Lowest precedence first; the parser has its own table.
LEVELS = [
    {Op.OR},
    {Op.XOR},
    {Op.AND},
    {Un.NOT},
    set(Compare),
    {Op.IN, Op.STARTS_WITH, Op.ENDS_WITH, Op.CONTAINS, Op.MATCHES, Un.IS_NULL, Un.IS_NOT_NULL},
    {Op.ADD, Op.SUBTRACT, Op.CONCATENATE},
    {Op.MULTIPLY, Op.DIVIDE, Op.MODULO},
    {Op.POWER},
    set(),  # signs: their operators equal those of sums, as they are strings
]
LEVEL = {operator: level for level, operators in enumerate(LEVELS) for operator in operators}
SIGNS, POSTFIX, ATOM = len(LEVELS) - 1, len(LEVELS), len(LEVELS) + 1

NAMES = st.one_of(
    st.sampled_from(["a", "n", "order", "match", "x y", "`", "é"]),
    st.text(alphabet=string.ascii_letters + " `'\"-", min_size=1, max_size=3),
)
LITERALS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 2**63 - 1),
    st.floats(0, allow_nan=False, allow_infinity=False),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5),
).map(lambda value: ast.Literal(S, value))
BASE = st.one_of(
    LITERALS,
    NAMES.map(lambda name: ast.Variable(S, name)),
    NAMES.map(lambda name: ast.Parameter(S, name)),
    st.just(ast.CountStar(S)),
)


def _larger(inner):
    several = st.lists(inner, max_size=3).map(tuple)
    arithmetic = [o for o in Op if o not in (Op.AND, Op.OR, Op.XOR)]
    return st.one_of(
        st.builds(ast.Binary, st.just(S), st.sampled_from(arithmetic), inner, inner),
        # AND, OR and XOR regroup by association, so that here they get operands without them.
        st.builds(ast.Binary, st.just(S), st.sampled_from([Op.AND, Op.OR, Op.XOR]), BASE, BASE),
        st.builds(ast.Unary, st.just(S), st.sampled_from([Un.NOT, *Un]), inner),
        st.builds(_comparison, st.lists(inner, min_size=2, max_size=4), st.data()),
        st.builds(ast.Property, st.just(S), inner, NAMES),
        st.builds(ast.ListLiteral, st.just(S), several),
        st.builds(ast.FunctionCall, st.just(S), st.just("f.g"), several, st.booleans()),
        st.builds(
            ast.MapLiteral, st.just(S), st.lists(st.tuples(NAMES, inner), max_size=2).map(tuple)
        ),
        st.builds(ast.LabelPredicate, st.just(S), inner, st.just(ast.LabelName(S, "A B"))),
    )


def _comparison(operands, data):
    operators = data.draw(
        st.lists(
            st.sampled_from(list(Compare)), min_size=len(operands) - 1, max_size=len(operands) - 1
        )
    )
    return ast.Comparison(S, tuple(operands), tuple(operators))


TREES = st.recursive(BASE, _larger, max_leaves=10)


def level_of(tree):
    match tree:
        case ast.Comparison():
            return LEVEL[Compare.EQUAL]
        case ast.Unary(operator=Un.MINUS | Un.PLUS):
            return SIGNS
        case ast.Binary() | ast.Unary():
            return LEVEL[tree.operator]
        case ast.Property() | ast.LabelPredicate():
            return POSTFIX
    return ATOM


def written(tree, lowest=0):
    """The tree as text, with parentheses only where the surrounding expression requires them."""
    text = _written(tree)
    return f"({text})" if level_of(tree) < lowest else text


def _written(tree):  # noqa: C901 - one case for each kind of node
    level = level_of(tree)
    match tree:
        case ast.Literal(value=value):
            return literal(value)
        case ast.Variable(name=name):
            return quoted(name)
        case ast.Parameter(name=name):
            return "$" + quoted(name)
        case ast.CountStar():
            return "count(*)"
        case ast.Comparison(operands=operands, operators=operators):
            first, *rest = [written(operand, level + 1) for operand in operands]
            return first + "".join(f" {o} {r}" for o, r in zip(operators, rest, strict=True))
        case ast.Binary(operator=operator, left=left, right=right):
            own = level + 1 if level == LEVEL[Op.IN] else level  # these do not chain
            return f"{written(left, own)} {operator} {written(right, level + 1)}"
        case ast.Unary(operator=Un.NOT, operand=operand):
            return f"NOT {written(operand, level)}"
        case ast.Unary(operator=Un.MINUS | Un.PLUS as sign, operand=operand):
            text = written(operand, POSTFIX)
            number = text[0] in ".0123456789"  # -1 is a literal of its own
            return f"{sign}({text})" if number else f"{sign}{text}"
        case ast.Unary(operator=operator, operand=operand):
            return f"{written(operand, level + 1)} {operator}"
        case ast.Property(subject=subject, key=key):
            return f"{written(subject, POSTFIX)}.{quoted(key)}"
        case ast.LabelPredicate(subject=subject):
            again = isinstance(subject, ast.LabelPredicate)  # n:A:B would be one predicate
            return f"{written(subject, ATOM if again else POSTFIX)}:`A B`"
        case ast.ListLiteral(items=items):
            texts = [written(item) for item in items]
            if len(items) == 1 and isinstance(items[0], (ast.Binary, ast.Comparison, ast.Unary)):
                texts = [f"({texts[0]})"]  # [a IN b] would be a comprehension, and [a IN b = c]
            return f"[{', '.join(texts)}]"
        case ast.MapLiteral(entries=entries):
            return f"{{{', '.join(f'{quoted(k)}: {written(v)}' for k, v in entries)}}}"
        case ast.FunctionCall(arguments=arguments, distinct=distinct):
            inner = ", ".join(written(argument) for argument in arguments)
            return f"f.g({'DISTINCT ' if distinct else ''}{inner})"
    raise AssertionError(tree)


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def literal(value):
    if value is None or isinstance(value, bool):
        return str(value).replace("None", "null").lower()
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return repr(value)


@settings(max_examples=examples(500), deadline=None)
@given(TREES)
def test_a_rendered_tree_is_parsed_back(tree):
    text = f"RETURN {written(tree)} AS column"
    (item,) = parse(text).parts[0].clauses[0].projection.items
    assert item.expression == tree
    assert item.name == "column"
