"""Type names after ``::``; they are checked and left out of the tree."""

from __future__ import annotations

from typing import Final

from gpugda.query.keywords import words
from gpugda.query.parse_labels import LabelParser

__all__ = ["TypeParser"]

_SIMPLE: Final = words(
    "ARRAY BOOL BOOLEAN DATE DATETIME DURATION EDGE FLOAT FLOAT32 FLOAT64 INT INT8 INT16 INT32"
    " INT64 INTEGER INTEGER8 INTEGER16 INTEGER32 INTEGER64 LIST MAP NODE NOTHING NULL PATH PATHS"
    " POINT RELATIONSHIP STRING TIME TIMESTAMP VARCHAR VECTOR VERTEX"
)


class TypeParser(LabelParser):
    """Reads ``INTEGER NOT NULL``, ``LIST<STRING | FLOAT>``, and the like."""

    __slots__ = ()

    def type_name(self) -> None:
        """Steps over a type, alternatives with ``|`` included.

        Raises:
            CypherSyntaxError: There is no type here.
        """
        self._type_part()
        while self.at_bar():
            self.advance()
            self._type_part()

    def _type_part(self) -> None:
        self._bare_type()
        self._not_null()
        while self.kind in ("LIST", "ARRAY"):
            self.advance()
            self._not_null()

    def _not_null(self) -> None:
        if not self.accept("!"):
            self.accept_words("NOT", "NULL")

    def _bare_type(self) -> None:
        kind = self.kind
        if kind == "ANY":
            self._any_type()
        elif kind in ("LOCAL", "ZONED"):
            self.advance()
            if self.kind not in ("TIME", "DATETIME"):
                self.unexpected("TIME or DATETIME")
            self.advance()
        elif kind == "SIGNED":
            self.advance()
            self.expect("INTEGER")
        elif kind == "PROPERTY":
            self.advance()
            self.expect("VALUE")
        elif kind in _SIMPLE:
            self._simple_type()
        else:
            self.unexpected("a type such as INTEGER, STRING or LIST<FLOAT>")

    def _simple_type(self) -> None:
        kind = self.advance()[0]
        if kind in ("LIST", "ARRAY", "VECTOR") and (kind != "VECTOR" or self.kind == "<"):
            self._angle_brackets()
        elif kind in ("TIME", "TIMESTAMP") and self.kind in ("WITH", "WITHOUT"):
            self.advance()
            if not self.accept_words("TIME", "ZONE"):
                self.expect("TIMEZONE")

    def _any_type(self) -> None:
        self.expect("ANY")
        if self.accept("PROPERTY"):
            self.expect("VALUE")
        elif self.kind in ("NODE", "VERTEX", "RELATIONSHIP", "EDGE", "MAP", "VALUE"):
            self.advance()
        if self.kind == "<":
            self._angle_brackets()

    def _angle_brackets(self) -> None:
        self.expect("<")
        self.deeper()
        self.type_name()
        self.shallower()
        self.expect(">")
