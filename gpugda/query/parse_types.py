"""Parses label expressions (``A&(B|!C)``, ``A:B``, ``%``, ``$(…)``) and type names after ``::``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.lexer import words
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from gpugda.query.cursor import Cursor
    from gpugda.types import Span

__all__ = [
    "at_labels",
    "begins_label",
    "read_coordinate_type",
    "read_labels",
    "read_labels_after_is",
    "read_relationship_types",
    "read_type_name",
]

_NO_LABEL_AFTER_IS: Final = words("NOT NULL TYPED NORMALIZED NFC NFD NFKC NFKD")


def at_labels(cursor: Cursor) -> bool:
    """True if a label expression begins here, with ``:`` or IS."""
    if cursor.kind == ":":
        return True
    return cursor.kind == "IS" and begins_label(cursor, 1)


def begins_label(cursor: Cursor, distance: int = 0) -> bool:
    """True if a later token can begin a label expression after IS."""
    after = cursor.ahead(distance)
    if after in ("(", "!", "%", "$", "quoted", "name"):
        return True
    return after[0].isalpha() and after.isupper() and after not in _NO_LABEL_AFTER_IS


def at_bar(cursor: Cursor) -> bool:
    """True at a ``|`` that joins alternatives."""
    return cursor.kind == "|" and cursor.index != cursor.bar_stop


def read_labels(cursor: Cursor) -> ast.LabelExpression:
    """Parses the labels of a node, or of a value in a label predicate."""
    expression, old_bar = _label_expression(cursor)
    if old_bar is not None:
        cursor.fail("labels are not joined with '|:': write '|'", old_bar)
    return expression


def read_labels_after_is(cursor: Cursor) -> ast.LabelExpression:
    """Parses the labels after ``IS NOT``."""
    cursor.is_labels.add(cursor.start)
    expression, old_bar = _label_or(cursor)
    if old_bar is not None:
        cursor.fail("labels are not joined with '|:': write '|'", old_bar)
    return expression


def read_relationship_types(cursor: Cursor) -> tuple[ast.LabelExpression, Span | None]:
    """Parses the types of a relationship, and the span of the older ``|:`` between two."""
    expression, old_bar = _label_expression(cursor)
    if cursor.colon_labels and any(_is_colon(node) for node in walk(expression)):
        message = "relationship types are not joined with ':': a relationship has one type"
        cursor.fail(message, expression.span)
    return expression, old_bar


def _label_expression(cursor: Cursor) -> tuple[ast.LabelExpression, Span | None]:
    if cursor.advance()[0] == "IS":
        cursor.is_labels.add(cursor.start)
    return _label_or(cursor)


def _label_or(cursor: Cursor) -> tuple[ast.LabelExpression, Span | None]:
    start = cursor.start
    first, old_bar = _label_and(cursor)
    if not at_bar(cursor):
        return first, old_bar
    operands = [first]
    while at_bar(cursor):
        cursor.advance()
        if cursor.kind == ":":
            old_bar = old_bar or cursor.span()
            cursor.advance()
        operand, inner_bar = _label_and(cursor)
        operands.append(operand)
        old_bar = old_bar or inner_bar
    return ast.LabelOr(cursor.span_since(start), tuple(operands)), old_bar


def _label_and(cursor: Cursor) -> tuple[ast.LabelExpression, Span | None]:
    start = cursor.start
    first, old_bar = _label_not(cursor)
    if cursor.kind not in ("&", ":"):
        return first, old_bar
    operands, joint = [first], cursor.kind
    while cursor.kind in ("&", ":"):
        if cursor.kind != joint:
            cursor.fail("'&' and ':' between labels do not mix: write '&' throughout")
        if joint == ":":
            cursor.colon_labels = True
        cursor.advance()
        operand, inner_bar = _label_not(cursor)
        operands.append(operand)
        old_bar = old_bar or inner_bar
    return ast.LabelAnd(cursor.span_since(start), tuple(operands), joint == ":"), old_bar


def _label_not(cursor: Cursor) -> tuple[ast.LabelExpression, Span | None]:
    starts = []
    while cursor.kind == "!":
        starts.append(cursor.start)
        cursor.deeper()
        cursor.advance()
    expression, old_bar = _label_atom(cursor)
    for start in reversed(starts):
        expression = ast.LabelNot(cursor.span_since(start), expression)
    cursor.shallower(len(starts))
    return expression, old_bar


def _label_atom(cursor: Cursor) -> tuple[ast.LabelExpression, Span | None]:
    span = cursor.span()
    if cursor.is_word():
        return ast.LabelName(span, cursor.advance()[1]), None
    if cursor.kind == "(":
        return _label_group(cursor)
    if cursor.accept("%"):
        return ast.LabelWildcard(span), None
    if cursor.kind == "$":
        return _dynamic_label(cursor), None
    cursor.unexpected("a label or type name, '(', '!', '%' or '$('")


def _label_group(cursor: Cursor) -> tuple[ast.LabelExpression, Span | None]:
    cursor.open("(")
    expression, old_bar = _label_or(cursor)
    cursor.close(")")
    return expression, old_bar


def _dynamic_label(cursor: Cursor) -> ast.LabelExpression:
    start = cursor.start
    cursor.expect("$")
    joint = cursor.kind
    if joint in ("ALL", "ANY"):
        cursor.advance()
    elif cursor.kind != "(":
        cursor.unexpected("'(', 'all(' or 'any(' (a parameter here is written $($name))")
    cursor.open("(")
    value = cursor.grammar.expression(cursor)
    cursor.close(")")
    return ast.LabelDynamic(cursor.span_since(start), value, joint == "ANY")


def _is_colon(node: ast.Node) -> bool:
    return isinstance(node, ast.LabelAnd) and node.colon


_NAMES: Final = {
    **{word: word for word in words("DATE DURATION MAP NODE NOTHING NULL PATH POINT STRING")},
    **dict.fromkeys(words("BOOL BOOLEAN"), "BOOLEAN"),
    **dict.fromkeys(words("INT INT64 INTEGER INTEGER64"), "INTEGER"),
    **dict.fromkeys(words("FLOAT FLOAT64"), "FLOAT"),
    "EDGE": "RELATIONSHIP",
    "PATHS": "PATH",
    "RELATIONSHIP": "RELATIONSHIP",
    "VARCHAR": "STRING",
    "VERTEX": "NODE",
}
_COORDINATES: Final = {
    **{f"{word}{bits}": f"INTEGER{bits}" for word in ("INT", "INTEGER") for bits in (8, 16, 32)},
    **dict.fromkeys(words("INT INT64 INTEGER INTEGER64"), "INTEGER"),
    **dict.fromkeys(words("FLOAT FLOAT64"), "FLOAT"),
    "FLOAT32": "FLOAT32",
}
_AFTER_ANY: Final = words("NODE VERTEX RELATIONSHIP EDGE MAP")


def read_type_name(cursor: Cursor) -> ast.CypherType:
    """Parses a type, including alternatives with ``|``.

    Raises:
        CypherSyntaxError: There is no type here.
    """
    start = cursor.start
    alternatives = [_type_part(cursor)]
    while at_bar(cursor):
        cursor.advance()
        alternatives.append(_type_part(cursor))
    if len(alternatives) == 1:
        return alternatives[0]
    return ast.UnionType(cursor.span_since(start), tuple(alternatives))


def _type_part(cursor: Cursor) -> ast.CypherType:
    start = cursor.start
    found = _bare_type(cursor)
    while cursor.kind in ("LIST", "ARRAY"):
        cursor.advance()
        not_null = _not_null(cursor)
        found = ast.ListType(cursor.span_since(start), found, not_null)
    return found


def _not_null(cursor: Cursor) -> bool:
    return cursor.accept("!") or cursor.accept_words("NOT", "NULL")


def _bare_type(cursor: Cursor) -> ast.CypherType:
    start, kind = cursor.start, cursor.kind
    if kind == "ANY":
        return _any_type(cursor)
    if kind in ("LIST", "ARRAY"):
        cursor.advance()
        element = _angle_brackets(cursor)
        not_null = _not_null(cursor)
        return ast.ListType(cursor.span_since(start), element, not_null)
    if kind == "VECTOR":
        return _vector_type(cursor)
    name = _name(cursor)
    not_null = _not_null(cursor)
    return ast.SimpleType(cursor.span_since(start), name, not_null)


def _name(cursor: Cursor) -> str:
    kind = cursor.kind
    if kind in ("LOCAL", "ZONED", "TIME", "TIMESTAMP"):
        return _temporal_name(cursor)
    if kind == "SIGNED":
        cursor.advance()
        cursor.expect("INTEGER")
        return "INTEGER"
    if kind == "PROPERTY":
        cursor.advance()
        cursor.expect("VALUE")
        return "PROPERTY VALUE"
    if kind not in _NAMES:
        cursor.unexpected("a type such as INTEGER, STRING or LIST<FLOAT>")
    return _NAMES[cursor.advance()[0]]


def _temporal_name(cursor: Cursor) -> str:
    kind = cursor.advance()[0]
    if kind in ("LOCAL", "ZONED"):
        if cursor.kind not in ("TIME", "DATETIME"):
            cursor.unexpected("TIME or DATETIME")
        return f"{kind} {cursor.advance()[0]}"
    if cursor.kind not in ("WITH", "WITHOUT"):
        cursor.unexpected("WITH TIME ZONE or WITHOUT TIME ZONE")
    zone = "ZONED" if cursor.advance()[0] == "WITH" else "LOCAL"
    if not cursor.accept_words("TIME", "ZONE"):
        cursor.expect("TIMEZONE")
    return f"{zone} {'TIME' if kind == 'TIME' else 'DATETIME'}"


def _any_type(cursor: Cursor) -> ast.CypherType:
    start = cursor.start
    cursor.expect("ANY")
    name = "ANY"
    if cursor.kind in _AFTER_ANY:
        name = _NAMES[cursor.advance()[0]]
    elif cursor.kind == "PROPERTY":
        name = _name(cursor)
    else:
        cursor.accept("VALUE")
        if cursor.kind == "<":
            return _angle_brackets(cursor)
    not_null = _not_null(cursor)
    return ast.SimpleType(cursor.span_since(start), name, not_null)


def _vector_type(cursor: Cursor) -> ast.VectorType:
    start = cursor.start
    cursor.advance()
    coordinate = dimension = None
    if cursor.accept("<"):
        coordinate = read_coordinate_type(cursor)
        cursor.expect(">")
    if cursor.accept("("):
        dimension = cursor.unsigned_integer("the number of coordinates")
        cursor.expect(")")
    not_null = _not_null(cursor)
    return ast.VectorType(cursor.span_since(start), coordinate, dimension, not_null)


def read_coordinate_type(cursor: Cursor) -> ast.SimpleType:
    """Parses the coordinate type of a vector, such as ``FLOAT32``."""
    start = cursor.start
    if cursor.kind == "SIGNED":
        cursor.advance()
        if cursor.kind != "INTEGER":
            cursor.unexpected("INTEGER")
    if cursor.kind not in _COORDINATES:
        cursor.unexpected("a coordinate's type, such as FLOAT32 or INTEGER8")
    name = _COORDINATES[cursor.advance()[0]]
    not_null = _not_null(cursor)
    return ast.SimpleType(cursor.span_since(start), name, not_null)


def _angle_brackets(cursor: Cursor) -> ast.CypherType:
    cursor.expect("<")
    cursor.deeper()
    found = read_type_name(cursor)
    cursor.shallower()
    cursor.expect(">")
    return found
