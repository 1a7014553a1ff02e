"""Parses type names after ``::``."""

from __future__ import annotations

from typing import Final

from gpugda.query import ast
from gpugda.query.keywords import words
from gpugda.query.parse_labels import LabelParser

__all__ = ["TypeParser"]

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


class TypeParser(LabelParser):
    """Parses ``INTEGER NOT NULL``, ``LIST<STRING | FLOAT>``, and the like."""

    __slots__ = ()

    def type_name(self) -> ast.CypherType:
        """Parses a type, including alternatives with ``|``.

        Raises:
            CypherSyntaxError: There is no type here.
        """
        start = self.start
        alternatives = [self._type_part()]
        while self.at_bar():
            self.advance()
            alternatives.append(self._type_part())
        if len(alternatives) == 1:
            return alternatives[0]
        return ast.UnionType(self.span_since(start), tuple(alternatives))

    def _type_part(self) -> ast.CypherType:
        start = self.start
        found = self._bare_type()
        while self.kind in ("LIST", "ARRAY"):
            self.advance()
            not_null = self._not_null()
            found = ast.ListType(self.span_since(start), found, not_null)
        return found

    def _not_null(self) -> bool:
        return self.accept("!") or self.accept_words("NOT", "NULL")

    def _bare_type(self) -> ast.CypherType:
        start, kind = self.start, self.kind
        if kind == "ANY":
            return self._any_type()
        if kind in ("LIST", "ARRAY"):
            self.advance()
            element = self._angle_brackets()
            not_null = self._not_null()
            return ast.ListType(self.span_since(start), element, not_null)
        if kind == "VECTOR":
            return self._vector_type()
        name = self._name()
        not_null = self._not_null()
        return ast.SimpleType(self.span_since(start), name, not_null)

    def _name(self) -> str:
        kind = self.kind
        if kind in ("LOCAL", "ZONED", "TIME", "TIMESTAMP"):
            return self._temporal_name()
        if kind == "SIGNED":
            self.advance()
            self.expect("INTEGER")
            return "INTEGER"
        if kind == "PROPERTY":
            self.advance()
            self.expect("VALUE")
            return "PROPERTY VALUE"
        if kind not in _NAMES:
            self.unexpected("a type such as INTEGER, STRING or LIST<FLOAT>")
        return _NAMES[self.advance()[0]]

    def _temporal_name(self) -> str:
        kind = self.advance()[0]
        if kind in ("LOCAL", "ZONED"):
            if self.kind not in ("TIME", "DATETIME"):
                self.unexpected("TIME or DATETIME")
            return f"{kind} {self.advance()[0]}"
        if self.kind not in ("WITH", "WITHOUT"):
            self.unexpected("WITH TIME ZONE or WITHOUT TIME ZONE")
        zone = "ZONED" if self.advance()[0] == "WITH" else "LOCAL"
        if not self.accept_words("TIME", "ZONE"):
            self.expect("TIMEZONE")
        return f"{zone} {'TIME' if kind == 'TIME' else 'DATETIME'}"

    def _any_type(self) -> ast.CypherType:
        start = self.start
        self.expect("ANY")
        name = "ANY"
        if self.kind in _AFTER_ANY:
            name = _NAMES[self.advance()[0]]
        elif self.kind == "PROPERTY":
            name = self._name()
        else:
            self.accept("VALUE")
            if self.kind == "<":
                return self._angle_brackets()
        not_null = self._not_null()
        return ast.SimpleType(self.span_since(start), name, not_null)

    def _vector_type(self) -> ast.VectorType:
        start = self.start
        self.advance()
        coordinate = dimension = None
        if self.accept("<"):
            coordinate = self.coordinate_type()
            self.expect(">")
        if self.accept("("):
            dimension = self.unsigned_integer("the number of coordinates")
            self.expect(")")
        not_null = self._not_null()
        return ast.VectorType(self.span_since(start), coordinate, dimension, not_null)

    def coordinate_type(self) -> ast.SimpleType:
        """Parses the coordinate type of a vector, such as ``FLOAT32``."""
        start = self.start
        if self.kind == "SIGNED":
            self.advance()
            if self.kind != "INTEGER":
                self.unexpected("INTEGER")
        if self.kind not in _COORDINATES:
            self.unexpected("a coordinate's type, such as FLOAT32 or INTEGER8")
        name = _COORDINATES[self.advance()[0]]
        not_null = self._not_null()
        return ast.SimpleType(self.span_since(start), name, not_null)

    def _angle_brackets(self) -> ast.CypherType:
        self.expect("<")
        self.deeper()
        found = self.type_name()
        self.shallower()
        self.expect(">")
        return found
