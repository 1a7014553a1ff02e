"""Labels, types and property keys that a query names, each with its span."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from gpugda.errors import QueryError
from gpugda.query import ast
from gpugda.query.parser import tree_of
from gpugda.query.query_graph import ColumnReference, KeyReference, nodes_of
from gpugda.query.statement import Statement
from gpugda.query.walk import walk
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.query.query_graph import Query

__all__ = ["KindAndName", "Named", "names_in", "names_of"]

_TO_KEY: Final = re.compile(r"\s*\.\s*")
_TO_ENTRY: Final = re.compile(r"[\s,)]*")


KindAndName: TypeAlias = tuple[str, str, bool]
"""(kind, name, True if it is on a relationship); the kinds are those of `Named`."""


class Named(NamedTuple):
    """A name in a query.

    Args:
        kind: The kind of name.
        name: The name without backticks.
        of_relationship: True if it is on a relationship, as a type always is.
        span: Its span in the text.
    """

    kind: Literal["label", "type", "property"]
    name: str
    of_relationship: bool
    span: Span


@lru_cache(maxsize=512)
def names_in(text: str) -> tuple[Named, ...]:
    """The names in a text, in order; empty if it cannot be parsed."""
    try:
        tree = tree_of(text)
    except QueryError:
        return ()
    return tuple(sorted(_Names(tree, text).found(), key=lambda each: each.span.start))


def names_of(query: Query | Statement) -> set[KindAndName]:
    """The result of `names_in` for a query's text, without spans."""
    if isinstance(query, Statement):
        return {named[:3] for named in _Names(query.tree, query.text).found()}
    found: set[KindAndName] = set()
    for each in query.graph.nodes:
        for labels in each.labels:
            _add_labels(labels, found, of_relationship=False)
    for relationship in query.graph.relationships:
        if relationship.types is not None:
            _add_labels(relationship.types, found, of_relationship=True)
    is_relationship = {each.name: False for each in query.graph.nodes}
    is_relationship |= {each.name: True for each in query.graph.relationships}
    for node in nodes_of(query):
        is_one = is_relationship.get(_variable(getattr(node, "subject", None), query))
        if is_one is None:
            continue
        if isinstance(node, ast.Property):
            found.add(("property", node.key, is_one))
        elif isinstance(node, ast.LabelPredicate):
            _add_labels(node.labels, found, of_relationship=is_one)
    return found


def _add_labels(
    expression: ast.LabelExpression, found: set[KindAndName], *, of_relationship: bool
) -> None:
    if isinstance(expression, ast.LabelName):  # the most frequent case
        found.add(("type" if of_relationship else "label", expression.name, of_relationship))
    else:
        found |= {named[:3] for named in _labels(expression, of_relationship=of_relationship)}


def _variable(subject: object, query: Query) -> str:
    """The variable's name, also through a column or key reference; empty for other expressions."""
    if isinstance(subject, ColumnReference):
        return _variable(query.columns[subject.position].expression, query)
    if isinstance(subject, KeyReference):
        return _variable(query.grouping[subject.position], query)
    return subject.name if isinstance(subject, ast.Variable) else ""


class _Names:
    def __init__(self, tree: ast.Query, text: str) -> None:
        self._text = text
        self._nodes = list(walk(tree))
        self._is_relationship: dict[str, bool] = {}
        for node in self._nodes:
            if isinstance(node, ast.NodePattern | ast.RelationshipPattern) and node.variable:
                is_one = isinstance(node, ast.RelationshipPattern)
                self._is_relationship[node.variable.name] = is_one
        for node in self._nodes:
            # Exclude names that are also used for a value.
            if isinstance(node, ast.ReturnItem) and not isinstance(node.expression, ast.Variable):
                self._is_relationship.pop(node.name, None)

    def found(self) -> Iterator[Named]:
        for node in self._nodes:
            if isinstance(node, ast.NodePattern | ast.RelationshipPattern):
                yield from self._in_pattern(node)
            elif isinstance(node, ast.LabelPredicate):
                is_one = self._kind_of(node.subject)
                if is_one is not None:
                    yield from _labels(node.labels, of_relationship=is_one)
            elif isinstance(node, ast.Property):
                yield from self._key(node.subject, node.key, node.subject.span.end, node.span.end)
            elif isinstance(node, ast.MapProjection):
                for each in node.selectors:
                    if isinstance(each, ast.MapProperty):
                        yield from self._key(node.subject, each.key, each.span.start, each.span.end)

    def _in_pattern(self, node: ast.NodePattern | ast.RelationshipPattern) -> Iterator[Named]:
        is_one = isinstance(node, ast.RelationshipPattern)
        labels = node.types if isinstance(node, ast.RelationshipPattern) else node.labels
        yield from _labels(labels, of_relationship=is_one)
        if isinstance(node.properties, ast.MapLiteral):
            before = node.properties.span.start + 1
            for key, expression in node.properties.entries:
                start = self._after(_TO_ENTRY, before)
                yield Named("property", key, is_one, Span(start, start + len(key)))
                before = expression.span.end

    def _key(self, subject: ast.Expression, key: str, before: int, end: int) -> Iterator[Named]:
        is_one = self._kind_of(subject)
        if is_one is not None:
            yield Named("property", key, is_one, Span(self._after(_TO_KEY, before), end))

    def _kind_of(self, subject: ast.Expression) -> bool | None:
        """True for a relationship variable, False for a node variable, None for anything else."""
        if not isinstance(subject, ast.Variable):
            return None
        return self._is_relationship.get(subject.name)

    def _after(self, pattern: re.Pattern[str], place: int) -> int:
        found = pattern.match(self._text, place)
        return place if found is None else found.end()


def _labels(expression: ast.LabelExpression | None, *, of_relationship: bool) -> Iterator[Named]:
    if expression is not None:
        for node in walk(expression):
            if isinstance(node, ast.LabelName):
                kind: Literal["type", "label"] = "type" if of_relationship else "label"
                yield Named(kind, node.name, of_relationship, node.span)
