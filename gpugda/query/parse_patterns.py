"""Parses paths: nodes in parentheses, relationships as arrows, groups, selectors."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NoReturn

from gpugda.query import ast
from gpugda.query.cursor import DASHES, LEFT, MAXIMUM_NESTING, RIGHT, Cursor, arrow_follows
from gpugda.query.lexer import NOT_WORDS, words
from gpugda.query.parse_expressions import (
    read_expression,
    read_map_literal,
    read_parameter,
    read_variable,
)
from gpugda.query.parse_types import at_labels, read_labels, read_relationship_types
from gpugda.types import Span

if TYPE_CHECKING:
    from gpugda.query.lexer import Token

__all__ = ["SHORTEST_PATHS", "read_path", "read_pattern", "read_patterns", "read_shortest_path"]

DIRECTIONS: Final = {
    (True, False): ast.Direction.INCOMING,
    (False, True): ast.Direction.OUTGOING,
    (True, True): ast.Direction.BOTH,
    (False, False): ast.Direction.BOTH,
}
_Detail = tuple[
    ast.Variable | None,
    ast.LabelExpression | None,
    ast.Length | None,
    ast.MapLiteral | ast.Parameter | None,
    ast.Expression | None,
]
_NOTHING: Final[_Detail] = (None, None, None, None, None)


def read_relationship(cursor: Cursor, *, may_repeat: bool = False) -> ast.RelationshipPattern:
    """Parses an arrow with its brackets, and a quantifier if one is allowed."""
    start = cursor.start
    incoming = cursor.kind in LEFT
    if incoming:
        cursor.advance()
    _dash(cursor, after="the arrow's head" if incoming else "a node")
    bracketed = cursor.kind == "["
    detail = _detail(cursor) if bracketed else _NOTHING
    _dash(cursor, after="']'" if bracketed else "the first '-'")
    outgoing = cursor.kind in RIGHT
    if outgoing:
        cursor.advance()
    span = cursor.span_since(start)
    quantifier = read_quantifier(cursor) if may_repeat else None
    variable, types, length, properties, where = detail
    direction = DIRECTIONS[incoming, outgoing]
    return ast.RelationshipPattern(
        span, variable, types, direction, length, properties, where, quantifier
    )


def _detail(cursor: Cursor) -> _Detail:
    cursor.open("[")
    variable = read_pattern_variable(cursor, "]")
    types, old_bar = read_relationship_types(cursor) if at_labels(cursor) else (None, None)
    length = _length(cursor)
    properties = read_properties(cursor)
    where = read_expression(cursor) if cursor.accept("WHERE") else None
    if cursor.kind != "]":
        cursor.unexpected("']' or more of the relationship: types, *length, {properties}")
    bare = (variable, length, properties, where) == (None, None, None, None)
    if old_bar is not None and not (bare and _is_plain(types)):
        cursor.fail("types are not joined with '|:' any more: write '|'", old_bar)
    if length is not None and where is not None:
        cursor.fail("a variable-length relationship cannot have a WHERE of its own", where.span)
    cursor.close("]")
    return variable, types, length, properties, where


def _dash(cursor: Cursor, after: str) -> None:
    if cursor.kind not in DASHES:
        cursor.unexpected(f"'-' after {after}")
    cursor.advance()


def _length(cursor: Cursor) -> ast.Length | None:
    start = cursor.start
    if not cursor.accept("*"):
        return None
    minimum = cursor.unsigned_integer("a length") if cursor.kind == "number" else None
    if not cursor.accept(".."):
        return ast.Length(cursor.span_since(start), minimum, minimum)
    maximum = cursor.unsigned_integer("a length") if cursor.kind == "number" else None
    return ast.Length(cursor.span_since(start), minimum, maximum)


def read_quantifier(cursor: Cursor) -> ast.Quantifier | None:
    """Parses ``+``, ``*``, ``{2}`` or ``{1,3}`` after a relationship or group."""
    start = cursor.start
    if cursor.kind in ("+", "*"):
        minimum = 1 if cursor.advance()[0] == "+" else 0
        return ast.Quantifier(cursor.span_since(start), minimum, None)
    if cursor.kind != "{":
        return None
    cursor.advance()
    minimum = 0
    if cursor.kind != ",":
        minimum = cursor.unsigned_integer("a number of repetitions, as in {1,3}")
    maximum: int | None = minimum
    if cursor.accept(","):
        maximum = None
        if cursor.kind != "}":
            maximum = cursor.unsigned_integer("a number of repetitions or '}'")
    cursor.expect("}")
    return ast.Quantifier(cursor.span_since(start), minimum, maximum)


def read_pattern_variable(cursor: Cursor, closing: str) -> ast.Variable | None:
    """Parses the name before labels and properties, unless the word is a keyword there."""
    if not cursor.is_word():
        return None
    after = cursor.ahead()
    if cursor.kind == "WHERE" and after == "$" and cursor.ahead(3) not in (closing, "WHERE"):
        return None  # a condition that begins with a parameter
    if cursor.kind == "WHERE" and after not in (closing, ":", "{", "$", "WHERE", "IS", "*"):
        return None
    if cursor.kind == "IS" and after not in (closing, ":", "{", "$", "WHERE", "IS", "*"):
        return None
    return read_variable(cursor)


def read_properties(cursor: Cursor) -> ast.MapLiteral | ast.Parameter | None:
    """Parses the property map of a node or relationship."""
    if cursor.kind == "{":
        return read_map_literal(cursor)
    return read_parameter(cursor) if cursor.kind == "$" else None


def _is_plain(types: ast.LabelExpression | None) -> bool:
    """True if only names are joined, as in the older syntax."""
    return isinstance(types, ast.LabelOr) and all(
        isinstance(operand, ast.LabelName) for operand in types.operands
    )


_NOT_PLAIN: Final = NOT_WORDS | {"WHERE", "IS"}
_REPEATED: Final = ("+", "*", "{")

_Plain = tuple[ast.Variable | None, ast.LabelName | None, int]


def read_plain_node(cursor: Cursor) -> ast.NodePattern | None:
    """Parses a plain node; None, with nothing consumed, for other forms."""
    if cursor.kind != "(" or cursor.nesting >= MAXIMUM_NESTING:
        return None
    tokens, first = cursor.tokens, cursor.index
    variable, label, last = _name_and_label(tokens, first + 1)
    if tokens[last][0] != ")":
        return None
    cursor.move_to(last + 1)
    span = Span(tokens[first][2], tokens[last][3])
    return ast.NodePattern(span, variable, label, None, None)


def read_plain_relationship(cursor: Cursor) -> ast.RelationshipPattern | None:
    """Parses a plain unrepeated relationship; None, with nothing consumed, for other forms."""
    tokens, first = cursor.tokens, cursor.index
    incoming = tokens[first][0] in LEFT
    at = first + incoming
    if tokens[at][0] not in DASHES or cursor.nesting >= MAXIMUM_NESTING:
        return None
    variable = label = None
    if tokens[at + 1][0] == "[":
        variable, label, at = _name_and_label(tokens, at + 2)
        if tokens[at][0] != "]":
            return None
    last = at + 1
    if tokens[last][0] not in DASHES:
        return None
    outgoing = tokens[last + 1][0] in RIGHT
    last += outgoing
    if tokens[last + 1][0] in _REPEATED:
        return None
    cursor.move_to(last + 1)
    span = Span(tokens[first][2], tokens[last][3])
    direction = DIRECTIONS[incoming, outgoing]
    return ast.RelationshipPattern(span, variable, label, direction, None, None, None)


def _name_and_label(tokens: list[Token], at: int) -> _Plain:
    """Variable and label of ``name:Label`` at a position, and the position after it."""
    variable = label = None
    kind, piece, start, end = tokens[at]
    if kind not in _NOT_PLAIN:
        variable = ast.Variable(Span(start, end), piece)
        at += 1
    if tokens[at][0] == ":" and tokens[at + 1][0] not in NOT_WORDS:
        _, piece, start, end = tokens[at + 1]
        label = ast.LabelName(Span(start, end), piece)
        at += 2
    return variable, label, at


SHORTEST_PATHS: Final = {
    "SHORTESTPATH": ast.SelectorKind.SHORTEST_PATH,
    "ALLSHORTESTPATHS": ast.SelectorKind.ALL_SHORTEST_PATHS,
}


_AFTER_SELECTOR: Final = words("( number $ SHORTEST PATH PATHS GROUP GROUPS")


def read_patterns(cursor: Cursor) -> tuple[ast.Pattern, ...]:
    """Parses comma-separated patterns."""
    patterns = [read_pattern(cursor)]
    while cursor.accept(","):
        patterns.append(read_pattern(cursor))
    return tuple(patterns)


def read_pattern(cursor: Cursor) -> ast.Pattern:
    """Parses ``[name =] [selector] path``."""
    start = cursor.start
    if cursor.kind == "(":
        elements = _elements(cursor)
        return ast.Pattern(cursor.span_since(start), None, elements)
    variable = None
    if cursor.is_word() and cursor.ahead() == "=":
        variable = read_variable(cursor)
        cursor.expect("=")
    selector = _selector(cursor)
    if cursor.kind in SHORTEST_PATHS and cursor.ahead() == "(":
        shortest = read_shortest_path(cursor)
        span = cursor.span_since(start)
        return ast.Pattern(span, variable, shortest.elements, shortest.selector)
    elements = _elements(cursor)
    return ast.Pattern(cursor.span_since(start), variable, elements, selector)


def read_shortest_path(cursor: Cursor) -> ast.Pattern:
    """Parses ``shortestPath(path)`` or ``allShortestPaths(path)``."""
    start = cursor.start
    selector = ast.Selector(cursor.span(), SHORTEST_PATHS[cursor.kind])
    cursor.advance()
    cursor.open("(")
    elements = _elements(cursor)
    cursor.close(")")
    return ast.Pattern(cursor.span_since(start), None, elements, selector)


# ------------------------------------------------------------------ paths in expressions
def read_path(cursor: Cursor) -> ast.Pattern:
    """Parses a node followed by at least one relationship with its node.

    The path ends when no arrow to a further node follows: ``(a)--(b)-[c]`` subtracts.
    """
    start = cursor.start
    elements: list[ast.PatternElement] = [_node(cursor)]
    _hop(cursor, elements)
    while arrow_follows(cursor, cursor.index - 1):
        _hop(cursor, elements)
    return ast.Pattern(cursor.span_since(start), None, tuple(elements))


def _hop(cursor: Cursor, elements: list[ast.PatternElement]) -> None:
    elements.append(read_relationship(cursor))
    elements.append(_node(cursor))


# ------------------------------------------------------------------ elements
def _elements(cursor: Cursor) -> tuple[ast.PatternElement, ...]:
    elements: list[ast.PatternElement] = []
    parts = 0
    while not elements or cursor.kind == "(":
        parts += 1
        node = read_plain_node(cursor)
        if node is None and _group_follows(cursor):
            elements.append(_group(cursor))
        else:
            elements.append(node or _node(cursor))
            _relationships(cursor, elements)
    if parts > 1:
        _check_neighbours(cursor, elements)
    return tuple(elements)


def _relationships(cursor: Cursor, elements: list[ast.PatternElement]) -> None:
    while cursor.kind in DASHES or cursor.kind in LEFT:
        elements.append(
            read_plain_relationship(cursor) or read_relationship(cursor, may_repeat=True)
        )
        node = read_plain_node(cursor)
        if node is None and _group_follows(cursor):
            cursor.fail("a relationship must lead to a node, such as (), not to a group")
        elements.append(node or _node(cursor))


def _check_neighbours(cursor: Cursor, elements: list[ast.PatternElement]) -> None:
    """Checks that adjacent parts have a relationship between them, unless one is repeated."""
    for left, right in pairwise(elements):
        if _is_relationship(left) or _is_relationship(right):
            continue
        if not any(isinstance(e, ast.GroupPattern) and e.quantified for e in (left, right)):
            message = "a relationship is missing between these two parts of the pattern"
            cursor.fail(message, right.span)


def _group_follows(cursor: Cursor) -> bool:
    if cursor.kind != "(":
        return False
    inner = cursor.ahead()
    if inner == "(" or (cursor.is_word_ahead(1) and cursor.ahead(2) == "="):
        return True
    if inner in ("ANY", "ALL", "SHORTEST"):
        return cursor.ahead(2) in (
            "(",
            "number",
            "$",
            "SHORTEST",
            "PATH",
            "PATHS",
            "GROUP",
            "GROUPS",
        )
    return inner in SHORTEST_PATHS and cursor.ahead(2) == "("


def _group(cursor: Cursor) -> ast.GroupPattern:
    start = cursor.start
    cursor.open("(")
    pattern = read_pattern(cursor)
    where = read_expression(cursor) if cursor.accept("WHERE") else None
    cursor.close(")")
    quantifier = read_quantifier(cursor)
    return ast.GroupPattern(cursor.span_since(start), pattern, where, quantifier)


def _node(cursor: Cursor) -> ast.NodePattern:
    start = cursor.start
    if cursor.kind != "(":
        _no_node(cursor)
    cursor.open("(")
    variable = read_pattern_variable(cursor, ")")
    labels = read_labels(cursor) if at_labels(cursor) else None
    properties = read_properties(cursor)
    where = read_expression(cursor) if cursor.accept("WHERE") else None
    if cursor.kind != ")":
        cursor.unexpected("')' or more of the node: labels, {properties}, WHERE")
    cursor.close(")")
    return ast.NodePattern(cursor.span_since(start), variable, labels, properties, where)


def _no_node(cursor: Cursor) -> NoReturn:
    hint = " (nodes are written in round brackets)" if cursor.is_word() else ""
    cursor.unexpected(f"a node, such as (n:Label){hint}")


# ------------------------------------------------------------------ selectors
def _selector(cursor: Cursor) -> ast.Selector | None:
    """Parses a path selector; 'ANY SHORTEST' and 'SHORTEST' are 'SHORTEST 1'."""
    start, kind = cursor.start, cursor.kind
    if kind == "SHORTEST":
        cursor.advance()
        return _shortest(cursor, start)
    if kind not in ("ANY", "ALL"):
        return None
    cursor.advance()
    shortest = cursor.accept("SHORTEST")
    count = _count(cursor) if kind == "ANY" and not shortest else None
    _accept_any(cursor, "PATH", "PATHS")
    span = cursor.span_since(start)
    if kind == "ALL":
        every = ast.SelectorKind.ALL_SHORTEST if shortest else ast.SelectorKind.ALL
        return ast.Selector(span, every)
    some = ast.SelectorKind.SHORTEST if shortest else ast.SelectorKind.ANY
    return ast.Selector(span, some, 1 if count is None else count)


def _shortest(cursor: Cursor, start: int) -> ast.Selector:
    count = _count(cursor)
    _accept_any(cursor, "PATH", "PATHS")
    groups = _accept_any(cursor, "GROUP", "GROUPS")
    kind = ast.SelectorKind.SHORTEST_GROUPS if groups else ast.SelectorKind.SHORTEST
    return ast.Selector(cursor.span_since(start), kind, 1 if count is None else count)


def _count(cursor: Cursor) -> int | ast.Parameter | None:
    if cursor.kind == "$":
        return read_parameter(cursor)
    return cursor.unsigned_integer("a number of paths") if cursor.kind == "number" else None


def _accept_any(cursor: Cursor, *kinds: str) -> bool:
    if cursor.kind not in kinds:
        return False
    cursor.advance()
    return True


def _is_relationship(element: ast.PatternElement) -> bool:
    return isinstance(element, ast.RelationshipPattern)
