"""Parses values: operators by precedence, lists, calls, CASE, literals, names and brackets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from gpugda.deadline import check_time
from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator as Two
from gpugda.query.constants import number_of
from gpugda.query.cursor import Cursor, path_follows
from gpugda.query.lexer import CLAUSE_STARTS, FOLLOWS_OPERAND, number_value, string_value, words
from gpugda.query.parse_types import (
    at_labels,
    begins_label,
    read_coordinate_type,
    read_labels,
    read_labels_after_is,
    read_type_name,
)
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


__all__ = [
    "begins_value",
    "product",
    "read_atom",
    "read_expression",
    "read_expressions_until",
    "read_map_literal",
    "read_operand",
    "read_parameter",
    "read_variable",
]


def product(span: Span, left: ast.Expression, right: ast.Expression) -> ast.Expression:
    """``left * right``; the numbers of both are multiplied first if exactly one is a number."""
    plain = ast.Binary(span, Two.MULTIPLY, left, right)
    value, last, number = left, right, number_of(right)
    if number is None:
        value, last, number = right, left, number_of(left)
    if number is None or not isinstance(value, ast.Binary) or value.operator is not Two.MULTIPLY:
        return plain
    rest, first, other = value.left, value.right, number_of(value.right)
    if other is None:
        rest, first, other = value.right, value.left, number_of(value.left)
    if other is None or number_of(rest) is not None:
        return plain
    joined = number_of(ast.Binary(span, Two.MULTIPLY, first, last))
    return plain if joined is None else product(span, rest, ast.Literal(first.span, joined))


_OR, _XOR, _AND, _NOT, _COMPARISON, _PREDICATE, _SUM, _PRODUCT, _POWER = range(1, 10)

_PRECEDENCE: Final = {
    "OR": _OR,
    "XOR": _XOR,
    "AND": _AND,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _COMPARISON),
    **dict.fromkeys(("=~", "STARTS", "ENDS", "CONTAINS", "IN", "IS", "::"), _PREDICATE),
    **dict.fromkeys(("+", "-", "||"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
    "^": _POWER,
}
_BOOLEAN: Final = {
    _OR: ast.BinaryOperator.OR,
    _XOR: ast.BinaryOperator.XOR,
    _AND: ast.BinaryOperator.AND,
}
_SYMBOLS: Final = {
    operator.value: operator
    for operator in ast.BinaryOperator
    if _PRECEDENCE.get(operator.value, 0) >= _SUM
}
_NORMAL_FORMS: Final = ("NFC", "NFD", "NFKC", "NFKD")


def read_expression(cursor: Cursor) -> ast.Expression:
    """Parses a value."""
    return _binary(cursor, _OR)


# ------------------------------------------------------------------ two operands
def _binary(cursor: Cursor, lowest: int) -> ast.Expression:
    """Parses operators with at least the precedence ``lowest``, and their operands."""
    check_time()
    start = cursor.start
    left = _negations(cursor) if lowest <= _NOT and cursor.kind == "NOT" else _signed(cursor)
    while (precedence := _PRECEDENCE.get(cursor.kind, 0)) >= lowest:
        if precedence <= _AND:
            left = _boolean(cursor, left, start, precedence)
        elif precedence == _COMPARISON:
            left = _comparison(cursor, left, start)
        elif precedence == _PREDICATE:
            left = _predicate(cursor, left, start)
            if _PRECEDENCE.get(cursor.kind, 0) >= _PREDICATE:
                cursor.fail(
                    "IN, IS, =~ and the like do not chain, nor does arithmetic follow them:"
                    " put the first in parentheses"
                )
        else:
            operator = _SYMBOLS[cursor.advance()[0]]
            right = _binary(cursor, precedence + 1)
            span = cursor.span_since(start)
            if operator is ast.BinaryOperator.MULTIPLY:
                left = product(span, left, right)
            else:
                left = ast.Binary(span, operator, left, right)
    return left


def _boolean(cursor: Cursor, left: ast.Expression, start: int, precedence: int) -> ast.Expression:
    operator = _BOOLEAN[precedence]
    operands = [(start, left, cursor.span_since(start).end)]
    while cursor.accept(operator.value):
        begin = cursor.start
        operand = _binary(cursor, precedence + 1)
        operands.append((begin, operand, cursor.span_since(begin).end))
    return _balanced(operator, operands)


def _comparison(cursor: Cursor, left: ast.Expression, start: int) -> ast.Expression:
    operands, operators = [left], []
    while _PRECEDENCE.get(cursor.kind) == _COMPARISON:
        operators.append(ast.ComparisonOperator(cursor.advance()[0]))
        operands.append(_binary(cursor, _PREDICATE))
    return ast.Comparison(cursor.span_since(start), tuple(operands), tuple(operators))


def _predicate(cursor: Cursor, left: ast.Expression, start: int) -> ast.Expression:
    if cursor.kind in ("IS", "::"):
        return _is_predicate(cursor, left, start)
    kind = cursor.advance()[0]
    if kind in ("STARTS", "ENDS"):
        cursor.expect("WITH", f" after {kind}")
        kind = f"{kind} WITH"
    right = _binary(cursor, _SUM)
    return ast.Binary(cursor.span_since(start), ast.BinaryOperator(kind), left, right)


def _is_predicate(cursor: Cursor, left: ast.Expression, start: int) -> ast.Expression:
    if cursor.accept("::"):
        return _type_predicate(cursor, left, start, negated=False)
    cursor.expect("IS")
    negated = cursor.accept("NOT")
    if cursor.accept("NULL"):
        null = ast.UnaryOperator.IS_NOT_NULL if negated else ast.UnaryOperator.IS_NULL
        return ast.Unary(cursor.span_since(start), null, left)
    if cursor.kind in ("TYPED", "::"):
        cursor.advance()
        return _type_predicate(cursor, left, start, negated=negated)
    if cursor.kind == "NORMALIZED" or cursor.ahead() == "NORMALIZED":
        return _normalized_predicate(cursor, left, start, negated=negated)
    if negated and begins_label(cursor):
        return _negated_labels(cursor, left, start)
    cursor.unexpected("NULL, NOT NULL, '::' and a type, NORMALIZED, or a label after IS")


def _type_predicate(
    cursor: Cursor, left: ast.Expression, start: int, *, negated: bool
) -> ast.TypePredicate:
    wanted = read_type_name(cursor)
    return ast.TypePredicate(cursor.span_since(start), left, wanted, negated)


def _normalized_predicate(
    cursor: Cursor, left: ast.Expression, start: int, *, negated: bool
) -> ast.NormalizedPredicate:
    form = ast.NormalForm.NFC
    if cursor.kind != "NORMALIZED":
        if cursor.kind not in _NORMAL_FORMS:
            cursor.unexpected("NFC, NFD, NFKC or NFKD")
        form = ast.NormalForm(cursor.advance()[0])
    cursor.expect("NORMALIZED")
    return ast.NormalizedPredicate(cursor.span_since(start), left, form, negated)


def _negated_labels(cursor: Cursor, left: ast.Expression, start: int) -> ast.LabelPredicate:
    begin = cursor.start
    operand = read_labels_after_is(cursor)
    labels = ast.LabelNot(cursor.span_since(begin), operand)
    return ast.LabelPredicate(cursor.span_since(start), left, labels)


def read_when_operand(cursor: Cursor) -> ast.Expression:
    """Parses the operand of WHEN in ``CASE x``: a value, or an operator and a value."""
    start = cursor.start
    precedence = _PRECEDENCE.get(cursor.kind, 0)
    operand = ast.CaseOperand(Span(start, start))
    if precedence == _COMPARISON:
        operator = ast.ComparisonOperator(cursor.advance()[0])
        operands = (operand, _binary(cursor, _PREDICATE))
        return ast.Comparison(cursor.span_since(start), operands, (operator,))
    if at_labels(cursor):
        labels = read_labels(cursor)
        return ast.LabelPredicate(cursor.span_since(start), operand, labels)
    if _predicate_follows(cursor):
        return _predicate(cursor, operand, start)
    value = read_expression(cursor)
    equal = (ast.ComparisonOperator.EQUAL,)
    return ast.Comparison(cursor.span_since(start), (operand, value), equal)


def _predicate_follows(cursor: Cursor) -> bool:
    """True if an operator follows whose left operand is that of CASE."""
    if cursor.kind in ("=~", "IS", "::"):
        return True
    if cursor.kind in ("STARTS", "ENDS"):
        return cursor.ahead() == "WITH"
    return cursor.kind in ("IN", "CONTAINS") and begins_value(cursor)


# ------------------------------------------------------------------ one operand
def _negations(cursor: Cursor) -> ast.Expression:
    starts = []
    while cursor.kind == "NOT" and begins_value(cursor):
        starts.append(cursor.start)
        cursor.deeper()
        cursor.advance()
    operand = _binary(cursor, _COMPARISON)
    for start in reversed(starts):
        span = cursor.span_since(start)
        operand = ast.Unary(span, ast.UnaryOperator.NOT, operand)
    cursor.shallower(len(starts))
    return operand


def _signed(cursor: Cursor) -> ast.Expression:
    """Parses at most one sign before a value; a minus right before a number belongs to it."""
    if cursor.kind not in ("-", "+"):
        return read_operand(cursor)
    if cursor.kind == "-" and cursor.ahead() in ("number", "INF", "INFINITY"):
        return read_operand(cursor)
    start = cursor.start
    sign = ast.UnaryOperator(cursor.advance()[0])
    if cursor.kind == "+" or (cursor.kind == "-" and cursor.ahead() != "number"):
        cursor.unexpected("a value after the sign; put a second sign in parentheses")
    operand = read_operand(cursor)
    return ast.Unary(cursor.span_since(start), sign, operand)


def read_operand(cursor: Cursor) -> ast.Expression:
    """Parses a value with ``.name``, ``[index]`` and ``:Label`` suffixes, without operators."""
    start = cursor.start
    value = _negative_number(cursor) if cursor.kind == "-" else read_atom(cursor)
    while True:
        if cursor.kind == ".":
            cursor.advance()
            key = cursor.expect_name("a property name after '.'")
            value = ast.Property(cursor.span_since(start), value, key)
        elif cursor.kind == "[":
            value = _subscript(cursor, value, start)
        elif at_labels(cursor):
            labels = read_labels(cursor)
            value = ast.LabelPredicate(cursor.span_since(start), value, labels)
        else:
            return value


def _negative_number(cursor: Cursor) -> ast.Expression:
    start = cursor.start
    cursor.expect("-")
    kind, piece, _, _ = cursor.advance()
    span = cursor.span_since(start)
    if kind != "number":
        return ast.Literal(span, float("-inf"))
    return ast.Literal(span, number_value(piece, cursor.text, span, negative=True))


def _subscript(cursor: Cursor, value: ast.Expression, start: int) -> ast.Expression:
    cursor.open("[")
    first = None if cursor.kind == ".." else read_expression(cursor)
    if first is not None and cursor.kind != "..":
        cursor.close("]")
        return ast.Subscript(cursor.span_since(start), value, first)
    cursor.expect("..", " or ']'")
    end = None if cursor.kind == "]" else read_expression(cursor)
    if first is None and end is None:
        cursor.fail("a slice needs a start or an end: [1..], [..3], [1..3]")
    cursor.close("]")
    return ast.Slice(cursor.span_since(start), value, first, end)


def begins_value(cursor: Cursor) -> bool:
    """True if the next token can begin an operand of the current word, so it is no name."""
    after = cursor.ahead()
    if after in FOLLOWS_OPERAND:
        return after[0].isalpha() and cursor.ahead(2) == "."
    return True


def _balanced(
    operator: ast.BinaryOperator, operands: list[tuple[int, ast.Expression, int]]
) -> ast.Expression:
    # AND, OR and XOR are associative, also with null, so a long chain becomes a balanced tree: ten
    # thousand operands have depth fourteen. Three operands still nest to the left.
    if len(operands) == 1:
        return operands[0][1]
    middle = (len(operands) + 1) // 2
    left, right = operands[:middle], operands[middle:]
    span = Span(operands[0][0], operands[-1][2])
    return ast.Binary(span, operator, _balanced(operator, left), _balanced(operator, right))


LIST_PREDICATES: Final = frozenset(("ALL", "ANY", "NONE", "SINGLE"))

_Elements = tuple[ast.Variable, ast.Expression, ast.Expression | None]
_Comprehension = tuple[ast.Variable, ast.Expression, ast.Expression | None, ast.Expression | None]
_Part = TypeVar("_Part", bound=tuple[Any, ...])


def read_list_atom(cursor: Cursor) -> ast.Expression:
    """Parses a list literal, a list comprehension or a pattern comprehension."""
    start = cursor.start
    opening = cursor.index
    cursor.open("[")
    if cursor.is_word() and cursor.ahead() == "IN":
        comprehension = _list_comprehension(cursor, opening)
        if comprehension is not None:
            return ast.ListComprehension(cursor.span_since(start), *comprehension)
    elif _pattern_comprehension_follows(cursor):
        (pattern, where), end = _split_at_bar(cursor, opening, _pattern_and_where, "]")
        assert end is not None, "_without_bar expects the bar after a pattern"
        return ast.PatternComprehension(cursor.span_since(start), pattern, where, end)
    items = read_expressions_until(cursor, "]")
    cursor.close("]")
    return ast.ListLiteral(cursor.span_since(start), items)


def read_expressions_until(cursor: Cursor, closing: str) -> tuple[ast.Expression, ...]:
    """Parses comma-separated values up to a closing bracket, which is not consumed."""
    if cursor.kind == closing:
        return ()
    items = [read_expression(cursor)]
    while cursor.accept(","):
        items.append(read_expression(cursor))
    if cursor.kind != closing:
        cursor.unexpected(f"',' or '{closing}'")
    return tuple(items)


def read_reduce(cursor: Cursor) -> ast.Reduce:
    """Parses ``reduce(sum = 0, x IN list | sum + x)``."""
    start = cursor.start
    cursor.advance()
    opening = cursor.index
    cursor.open("(")
    reduction, step = _split_at_bar(cursor, opening, _reduction, ")")
    assert step is not None, "_without_bar expects the bar before a round bracket"
    return ast.Reduce(cursor.span_since(start), *reduction, step)


def read_all_reduce(cursor: Cursor) -> ast.AllReduce:
    """Parses ``allReduce(sum = 0, x IN list | sum + x, sum < 9)``."""
    start = cursor.start
    cursor.advance()
    opening = cursor.index
    cursor.open("(")
    reduction, step = _split_at_bar(cursor, opening, _reduction, ",")
    predicate = read_expression(cursor)
    cursor.close(")")
    assert step is not None, "_without_bar expects the bar before a comma"
    return ast.AllReduce(cursor.span_since(start), *reduction, step, predicate)


def read_list_predicate(cursor: Cursor) -> ast.ListPredicate:
    """Parses ``all(x IN list WHERE predicate)`` and the like."""
    start = cursor.start
    quantifier = ast.ListQuantifier(cursor.advance()[0].lower())
    cursor.open("(")
    variable, elements, where = _filtered_elements(cursor)
    if where is None:
        cursor.fail(f"{quantifier}(…) needs a WHERE with a condition")
    cursor.close(")")
    return ast.ListPredicate(cursor.span_since(start), quantifier, variable, elements, where)


def read_variable(cursor: Cursor, what: str = "a variable") -> ast.Variable:
    """Parses a variable."""
    span = cursor.span()
    return ast.Variable(span, cursor.expect_name(what))


# ------------------------------------------------------------------ bracket contents
def _list_comprehension(cursor: Cursor, opening: int) -> _Comprehension | None:
    """The parts of a comprehension; None, with nothing consumed, if it is a list literal."""
    state = cursor.state()
    if any(True for _ in _bars(cursor, opening)):
        elements, projection = _split_at_bar(cursor, opening, _filtered_elements, "]")
        return *elements, projection
    elements = _filtered_elements(cursor)
    if cursor.kind == ",":  # [x IN xs, y]: the first item of a list
        cursor.restore(state)
        return None
    cursor.close("]")
    return *elements, None


def _pattern_comprehension_follows(cursor: Cursor) -> bool:
    """True if a ``|`` or WHERE follows the path, unlike in a list of paths."""
    state = cursor.state()
    try:
        if cursor.is_word() and cursor.ahead() == "=":
            cursor.move_to(cursor.index + 2)
        if not path_follows(cursor):
            return False
        cursor.grammar.path(cursor)
        return cursor.kind in ("|", "WHERE")
    except CypherSyntaxError:
        return False
    finally:
        cursor.restore(state)


def _pattern_and_where(cursor: Cursor) -> tuple[ast.Pattern, ast.Expression | None]:
    variable = None
    if cursor.ahead() == "=":
        variable = read_variable(cursor)
        cursor.expect("=")
    path = cursor.grammar.path(cursor)
    return (path if variable is None else _named(path, variable)), _where(cursor)


def _filtered_elements(cursor: Cursor) -> _Elements:
    return (*_element(cursor), _where(cursor))


def _reduction(cursor: Cursor) -> tuple[ast.Variable, ast.Expression, ast.Variable, ast.Expression]:
    accumulator = read_variable(cursor)
    cursor.expect("=", " after the name of the accumulator")
    initial = read_expression(cursor)
    cursor.expect(",")
    return (accumulator, initial, *_element(cursor))


def _element(cursor: Cursor) -> tuple[ast.Variable, ast.Expression]:
    variable = read_variable(cursor)
    cursor.expect("IN")
    return variable, read_expression(cursor)


def _where(cursor: Cursor) -> ast.Expression | None:
    return read_expression(cursor) if cursor.accept("WHERE") else None


# ------------------------------------------------------------------ bars
def _split_at_bar(
    cursor: Cursor, opening: int, before: Callable[[Cursor], _Part], closing: str
) -> tuple[_Part, ast.Expression | None]:
    """Parses ``before | expression`` up to the closing bracket, or to a comma.

    A ``|`` may also join labels: ``x:A|B|x.y``. As in Neo4j, the last one that gives a valid
    parse separates; a list comprehension may have none.
    """
    state = cursor.state()
    failure: CypherSyntaxError | None = None
    outer = cursor.bar_stop
    for stop in _bars(cursor, opening):
        cursor.bar_stop = stop
        try:
            part = before(cursor)
            if cursor.index == stop:
                cursor.advance()
                expression = read_expression(cursor)
                _end_of_split(cursor, closing)
                return part, expression
        except CypherSyntaxError as error:
            failure = furthest(failure, error)
        finally:
            cursor.bar_stop = outer
        cursor.restore(state)
    return _without_bar(cursor, before, closing, failure), None


def _end_of_split(cursor: Cursor, closing: str) -> None:
    if closing == ",":
        cursor.expect(",")
    else:
        cursor.close(closing)


def _without_bar(
    cursor: Cursor,
    before: Callable[[Cursor], _Part],
    closing: str,
    failure: CypherSyntaxError | None,
) -> _Part:
    try:
        part = before(cursor)
        if closing != "]" or isinstance(part[0], ast.Pattern):
            cursor.expect("|")
        cursor.close(closing)
    except CypherSyntaxError as error:
        raise furthest(failure, error) from None
    return part


def _bars(cursor: Cursor, opening: int) -> Iterator[int]:
    """Positions of ``|`` directly inside a bracket, the last one first."""
    end = cursor.matching(opening)
    bars = []
    index = opening + 1
    while end is not None and index < end:
        if cursor.kind_at(index) == "|":
            bars.append(index)
        index = (cursor.matching(index) or index) + 1
    return reversed(bars)


def furthest(first: CypherSyntaxError | None, second: CypherSyntaxError) -> CypherSyntaxError:
    """The error of two attempted readings that is further in the text."""
    if first is None or first.span is None or second.span is None:
        return second
    return first if first.span.start > second.span.start else second


def _named(path: ast.Pattern, variable: ast.Variable) -> ast.Pattern:
    return ast.Pattern(variable.span.to(path.span), variable, path.elements)


_SIDES: Final = {side.value: side for side in ast.TrimSide}
_VECTOR_METRICS: Final = words("COSINE DOT EUCLIDEAN EUCLIDEAN_SQUARED HAMMING MANHATTAN")
# Position of a keyword among the arguments; None for the coordinate type of a vector.
_KEYWORD_ARGUMENTS: Final[dict[str, tuple[frozenset[str] | None, int]]] = {
    "NORMALIZE": (words("NFC NFD NFKC NFKD"), 1),
    "VECTOR": (None, 2),
    "VECTOR_DISTANCE": (_VECTOR_METRICS, 2),
    "VECTOR_NORM": (_VECTOR_METRICS, 1),
}


# ------------------------------------------------------------------ functions
def function_name_length(cursor: Cursor) -> int:
    """Number of tokens of a name ``a.b.c`` before '('; 0 if there is none."""
    length = 1
    while cursor.ahead(length) == "." and cursor.is_word_ahead(length + 1):
        length += 2
    return length if cursor.ahead(length) == "(" else 0


def read_function(cursor: Cursor, length: int) -> ast.FunctionCall:
    """Parses a call of a function whose name has this number of tokens."""
    start = cursor.start
    name = "".join([cursor.advance()[1] for _ in range(length)])
    cursor.open("(")
    distinct = _quantifies(cursor, "DISTINCT")
    if distinct or _quantifies(cursor, "ALL"):
        cursor.advance()
    arguments = _arguments(cursor, name.upper())
    cursor.close(")")
    return ast.FunctionCall(cursor.span_since(start), name, arguments, distinct)


def _arguments(cursor: Cursor, name: str) -> tuple[ast.Expression, ...]:
    """Parses the arguments; a final keyword argument becomes a string literal."""
    if name not in _KEYWORD_ARGUMENTS:
        return read_expressions_until(cursor, ")")
    keywords, place = _KEYWORD_ARGUMENTS[name]
    arguments: list[ast.Expression] = []
    while cursor.kind != ")":
        if len(arguments) == place and _keyword_argument(cursor, keywords, arguments):
            break
        arguments.append(read_expression(cursor))
        if not cursor.accept(","):
            break
    if cursor.kind != ")":
        cursor.unexpected("',' or ')'")
    return tuple(arguments)


def _keyword_argument(
    cursor: Cursor, keywords: frozenset[str] | None, arguments: list[ast.Expression]
) -> bool:
    start = cursor.start
    if keywords is not None:
        if cursor.kind not in keywords or cursor.ahead() != ")":
            return False
        word = cursor.advance()[0]
    elif cursor.kind in ("string", "$") or (cursor.is_word() and cursor.ahead() == "."):
        return False
    else:
        wanted = read_coordinate_type(cursor)
        word = wanted.name + (" NOT NULL" if wanted.not_null else "")
    arguments.append(ast.Literal(cursor.span_since(start), word))
    return True


def _quantifies(cursor: Cursor, kind: str) -> bool:
    """True if DISTINCT or ALL is a keyword here, rather than a variable or all(…)."""
    if cursor.kind != kind or (kind == "ALL" and cursor.ahead() == "("):
        return False
    # No clause begins within parentheses: call is a variable in count(DISTINCT call).
    return cursor.ahead() == ")" or begins_value(cursor) or cursor.ahead() in CLAUSE_STARTS


def read_trim(cursor: Cursor) -> ast.Trim | None:
    """Parses ``trim([BOTH|LEADING|TRAILING] [characters] FROM text)``; None without FROM."""
    state, start = cursor.state(), cursor.start
    cursor.advance()
    cursor.open("(")
    side = ast.TrimSide.BOTH
    if cursor.kind in _SIDES and begins_value(cursor):
        side = _SIDES[cursor.advance()[0]]
    bare = cursor.kind == ")" or (cursor.kind == "FROM" and begins_value(cursor))
    characters = None if bare else read_expression(cursor)
    if not cursor.accept("FROM"):
        cursor.restore(state)
        return None
    subject = read_expression(cursor)
    cursor.close(")")
    return ast.Trim(cursor.span_since(start), side, characters, subject)


# ------------------------------------------------------------------ CASE
def read_case(cursor: Cursor) -> ast.Case:
    """Parses ``CASE … END``."""
    start = cursor.start
    cursor.expect("CASE")
    cursor.deeper()
    operand = read_expression(cursor) if cursor.kind != "WHEN" else None
    if cursor.kind != "WHEN":
        cursor.unexpected("WHEN")
    alternatives = []
    while cursor.kind == "WHEN":
        alternatives.append(_alternative(cursor, simple=operand is not None))
    otherwise = read_expression(cursor) if cursor.accept("ELSE") else None
    cursor.expect("END", " of CASE")
    cursor.shallower()
    return ast.Case(cursor.span_since(start), operand, tuple(alternatives), otherwise)


def _alternative(cursor: Cursor, *, simple: bool) -> ast.CaseAlternative:
    start = cursor.start
    cursor.advance()
    conditions = [read_when_operand(cursor) if simple else read_expression(cursor)]
    while simple and cursor.accept(","):
        conditions.append(read_when_operand(cursor))
    cursor.expect("THEN")
    result = read_expression(cursor)
    return ast.CaseAlternative(cursor.span_since(start), tuple(conditions), result)


_CONSTANTS: Final = {
    "TRUE": True,
    "FALSE": False,
    "NULL": None,
    "INF": float("inf"),
    "INFINITY": float("inf"),
    "NAN": float("nan"),
}
_SUBQUERIES: Final[dict[str, type[ast.Subquery]]] = {
    "EXISTS": ast.ExistsSubquery,
    "COUNT": ast.CountSubquery,
    "COLLECT": ast.CollectSubquery,
}
_SHORTEST: Final = frozenset(("SHORTESTPATH", "ALLSHORTESTPATHS"))
_STRAY: Final = frozenset(("number", "string", "$", "quoted"))


def read_atom(cursor: Cursor) -> ast.Expression:
    """Parses a literal, name, call, bracket …: a value without operators."""
    kind = cursor.kind
    if kind == "number":
        span, piece = cursor.span(), cursor.advance()[1]
        return ast.Literal(span, number_value(piece, cursor.text, span))
    if kind == "string":
        span, piece = cursor.span(), cursor.advance()[1]
        return ast.Literal(span, string_value(piece, cursor.text, span.start))
    if kind == "(" or kind == "[":
        return _bracket(cursor)
    if kind == "{":
        return read_map_literal(cursor)
    if kind == "$":
        return read_parameter(cursor)
    if cursor.is_word():
        return _word(cursor)
    cursor.unexpected("a value")


# ------------------------------------------------------------------ brackets
def _bracket(cursor: Cursor) -> ast.Expression:
    start, nesting = cursor.state()
    known = cursor.bracketed.get(start)
    if known is None:
        try:
            value = _parenthesis(cursor) if cursor.kind == "(" else read_list_atom(cursor)
            known = value, cursor.index
        except CypherSyntaxError as error:
            known = error
        cursor.bracketed[start] = known
    if isinstance(known, CypherSyntaxError):
        raise known
    cursor.restore((known[1], nesting))
    return known[0]


def _parenthesis(cursor: Cursor) -> ast.Expression:
    """Parses a path if possible, otherwise a value in parentheses.

    ``(a)--(b)`` is a path, but ``(1)--(2)`` is not. As in Neo4j, a path takes precedence if
    both readings are possible; if neither is, the reading that got further reports the error.
    """
    failure: CypherSyntaxError | None = None
    state = cursor.state()
    if path_follows(cursor):
        try:
            path = cursor.grammar.path(cursor)
            return ast.PatternExpression(path.span, path)
        except CypherSyntaxError as error:
            failure = error
            cursor.restore(state)
    try:
        cursor.open("(")
        value = read_expression(cursor)
        cursor.close(")")
    except CypherSyntaxError as error:
        raise furthest(failure, error) from None
    return value


def read_map_literal(cursor: Cursor) -> ast.MapLiteral:
    """Parses ``{key: value}``."""
    start = cursor.start
    entries: list[tuple[str, ast.Expression]] = []
    cursor.open("{")
    while cursor.kind != "}":
        key = cursor.expect_name("a property name" if entries else "a property name or '}'")
        cursor.expect(":", " after a property name")
        entries.append((key, read_expression(cursor)))
        if cursor.kind != "}":
            cursor.expect(",", " or '}'")
            if cursor.kind == "}":
                cursor.unexpected("a property name")
    cursor.close("}")
    return ast.MapLiteral(cursor.span_since(start), tuple(entries))


def read_parameter(cursor: Cursor) -> ast.Parameter:
    """Parses ``$name``."""
    start = cursor.start
    cursor.expect("$")
    piece = cursor.piece()
    if not cursor.is_word() and not (cursor.kind == "number" and piece.replace("_", "").isalnum()):
        cursor.unexpected("a parameter's name after '$': $name, $0 or $`any name`")
    cursor.advance()
    return ast.Parameter(cursor.span_since(start), piece)


# ------------------------------------------------------------------ words
def _word(cursor: Cursor) -> ast.Expression:
    kind = cursor.kind
    if kind in _CONSTANTS:
        span = cursor.span()
        cursor.advance()
        return ast.Literal(span, _CONSTANTS[kind])
    after = cursor.ahead()
    if after == "(":
        return _call_of(cursor, kind)
    if after == "{":
        return _braced(cursor, kind)
    if kind == "CASE" and (after == "WHEN" or begins_value(cursor)):
        return read_case(cursor)
    if after == "." and (parts := function_name_length(cursor)):
        return read_function(cursor, parts)
    _refuse_stray_keyword(cursor, kind, after)
    return read_variable(cursor)


def _call_of(cursor: Cursor, kind: str) -> ast.Expression:
    if kind == "CASE":
        return read_case(cursor)
    if kind in LIST_PREDICATES and cursor.ahead(3) == "IN":
        return read_list_predicate(cursor)
    if kind == "REDUCE" and cursor.ahead(3) == "=":
        return read_reduce(cursor)
    if kind == "ALLREDUCE" and cursor.ahead(3) == "=":
        return read_all_reduce(cursor)
    if kind in _SHORTEST and cursor.ahead(2) == "(":
        path = cursor.grammar.shortest_path(cursor)
        return ast.ShortestPathExpression(path.span, path)
    if kind == "COUNT" and cursor.ahead(2) == "*" and cursor.ahead(3) == ")":
        start = cursor.start
        cursor.move_to(cursor.index + 4)
        return ast.CountStar(cursor.span_since(start))
    if kind == "TRIM" and (trim := read_trim(cursor)) is not None:
        return trim
    return read_function(cursor, 1)


def _braced(cursor: Cursor, kind: str) -> ast.Expression:
    if kind == "CASE":
        return read_case(cursor)
    has_key = cursor.ahead(3) == ":" and cursor.ahead(2) != "("
    if kind in _SUBQUERIES and cursor.ahead(2) not in ("}", ".") and not has_key:
        start = cursor.start
        cursor.advance()
        query = cursor.grammar.subquery(cursor, kind)
        return _SUBQUERIES[kind](cursor.span_since(start), query)
    return _map_projection(cursor)


def _refuse_stray_keyword(cursor: Cursor, kind: str, after: str) -> None:
    """Rejects ``WHERE RETURN n``: RETURN is not a variable there, a value is missing."""
    if kind == "NOT" and begins_value(cursor):
        cursor.fail("NOT cannot stand here: put it and its operand in parentheses")
    if kind in CLAUSE_STARTS and (
        after in _STRAY or (after[0].isalpha() and after.isupper() and after not in _WORDS_AFTER)
    ):
        cursor.fail(f"a value is missing before {kind}")


def _map_projection(cursor: Cursor) -> ast.Expression:
    start = cursor.start
    subject = read_variable(cursor)
    selectors: list[ast.MapSelector] = []
    cursor.open("{")
    if cursor.kind != "}":
        selectors.append(_map_selector(cursor))
        while cursor.accept(","):
            selectors.append(_map_selector(cursor))
    cursor.close("}")
    return ast.MapProjection(cursor.span_since(start), subject, tuple(selectors))


def _map_selector(cursor: Cursor) -> ast.MapSelector:
    start = cursor.start
    if cursor.accept("."):
        if cursor.accept("*"):
            return ast.MapAllProperties(cursor.span_since(start))
        key = cursor.expect_name("a property name or '*'")
        return ast.MapProperty(cursor.span_since(start), key)
    if cursor.is_word() and cursor.ahead() == ":":
        key = cursor.advance()[1]
        cursor.advance()
        value = read_expression(cursor)
        return ast.MapEntry(cursor.span_since(start), key, value)
    variable = read_variable(cursor, "'.name', '.*', 'key: value' or a variable")
    return ast.MapVariable(variable.span, variable)


_WORDS_AFTER: Final = frozenset(kind for kind in FOLLOWS_OPERAND if kind.isalpha())
