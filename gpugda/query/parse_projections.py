"""Parses the common parts of RETURN and WITH: items, DISTINCT, ORDER BY, SKIP, LIMIT."""

from __future__ import annotations

from gpugda.query import ast
from gpugda.query.constructs import column_name
from gpugda.query.keywords import FOLLOWS_OPERAND
from gpugda.query.parse_patterns import PatternParser

__all__ = ["ProjectionParser"]


class ProjectionParser(PatternParser):
    """Parses the body of RETURN and WITH."""

    __slots__ = ()

    def projection(self) -> ast.Projection:
        """Parses ``[DISTINCT] items [ORDER BY …] [SKIP …] [LIMIT …]``."""
        start = self.start
        distinct = self._distinct()
        star = self.accept("*")
        items = []
        if not star or self.accept(","):
            items.append(self._item())
            while self.accept(","):
                items.append(self._item())
        self._refuse_same_names(items)
        group_by = self._group_by() if self.kind == "GROUP" else None
        order_by = self.order_by()
        skip, limit = self.skip(), self.limit()
        return ast.Projection(
            self.span_since(start), distinct, star, tuple(items), order_by, skip, limit, group_by
        )

    def _group_by(self) -> ast.GroupBy:
        start = self.start
        self.advance()
        self.expect("BY", " after GROUP")
        if self.kind == "ALL" and self.ahead() in FOLLOWS_OPERAND:
            self.advance()
            return ast.GroupBy(self.span_since(start), (), all=True)
        if self.kind == "(" and self.ahead() == ")":
            self.move_to(self.index + 2)
            return ast.GroupBy(self.span_since(start), ())
        keys = [self.expression()]
        while self.accept(","):
            keys.append(self.expression())
        return ast.GroupBy(self.span_since(start), tuple(keys))

    def order_by(self) -> tuple[ast.SortItem, ...]:
        """Parses ``ORDER BY items``; empty if there is none."""
        if self.kind != "ORDER":
            return ()
        self.advance()
        self.expect("BY", " after ORDER")
        items = [self._sort_item()]
        while self.accept(","):
            items.append(self._sort_item())
        return tuple(items)

    def skip(self) -> ast.Expression | None:
        """Parses ``SKIP rows`` or ``OFFSET rows``."""
        if self.kind not in ("SKIP", "OFFSET"):
            return None
        self.advance()
        return self.expression()

    def limit(self) -> ast.Expression | None:
        """Parses ``LIMIT rows``."""
        return self.expression() if self.accept("LIMIT") else None

    def _distinct(self) -> bool:
        # 'distinct * 2' multiplies a variable; in 'DISTINCT *' the star means all variables.
        star = self.ahead() == "*" and (self.ahead(2) in FOLLOWS_OPERAND or self.ahead(3) == "BY")
        if not (star or self.begins_value()):
            return False
        if self.kind == "ALL" and self.ahead() not in ("(", "=", "["):  # Cypher 25: as without it
            self.advance()
        return self.accept("DISTINCT")

    def _item(self) -> ast.ReturnItem:
        start = self.start
        if self.kind == "*":
            self.fail("'*' comes before the other items: RETURN *, n.name")
        expression = self.expression()
        written = self.span_since(start)
        alias = self.expect_name("a name after AS") if self.accept("AS") else None
        name = alias if alias is not None else column_name(expression, written.of(self.text))
        return ast.ReturnItem(self.span_since(start), expression, alias, name)

    def _sort_item(self) -> ast.SortItem:
        start = self.start
        expression = self.expression()
        descending = self.kind in ("DESC", "DESCENDING")
        if descending or self.kind in ("ASC", "ASCENDING"):
            self.advance()
        return ast.SortItem(self.span_since(start), expression, descending)

    def _refuse_same_names(self, items: list[ast.ReturnItem]) -> None:
        seen: set[str] = set()
        for item in items:
            if item.name in seen:
                message = f"two columns have the same name, {item.name!r}: rename one with AS"
                self.fail(message, item.span)
            seen.add(item.name)
