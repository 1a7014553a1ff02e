"""Neo4j's notifications on a query at compile time, with Neo4j's texts and codes.

Only notifications that depend on the text alone, and on constructs that are supported here.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from gpugda.errors import QueryError
from gpugda.query import ast
from gpugda.query.parser import tree_of
from gpugda.query.render import expression_text, labels_text, name_text
from gpugda.query.walk import walk
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.types import Span

__all__ = ["Notice", "notices_of", "written_pattern"]


def written_pattern(match: ast.Match) -> str:
    """All patterns of a clause, without MATCH and WHERE."""
    return ", ".join(map(_path, match.patterns))


def _path(pattern: ast.Pattern) -> str:
    name = "" if pattern.variable is None else f"{name_text(pattern.variable.name)} = "
    return name + "".join(map(_element, pattern.elements))


def _element(element: ast.PatternElement) -> str:
    if isinstance(element, ast.NodePattern):
        return f"({_inside(element, element.labels, '')})"
    if isinstance(element, ast.RelationshipPattern):
        return _relationship(element)
    return f"({_path(element.pattern)})"


def _relationship(element: ast.RelationshipPattern) -> str:
    inside = _inside(element, element.types, _length(element.length))
    left = "<-" if element.direction is ast.Direction.INCOMING else "-"
    right = "->" if element.direction is ast.Direction.OUTGOING else "-"
    return f"{left}[{inside}]{right}" if inside else f"{left}{right}"


def _inside(
    element: ast.NodePattern | ast.RelationshipPattern,
    labels: ast.LabelExpression | None,
    length: str,
) -> str:
    name = "" if element.variable is None else name_text(element.variable.name)
    if labels is not None:
        name += f":{_labels(labels)}"
    parts = [name + length]
    if element.properties is not None:
        parts.append(_properties(element.properties))
    if element.where is not None:
        parts.append(f"WHERE {expression_text(element.where)}")
    return " ".join(part for part in parts if part)


def _properties(properties: ast.MapLiteral | ast.Parameter) -> str:
    return expression_text(properties)


def _labels(labels: ast.LabelExpression) -> str:
    if isinstance(labels, ast.LabelAnd) and labels.colon:
        return ":".join(map(labels_text, labels.operands))
    return labels_text(labels)


def _length(length: ast.Length | None) -> str:
    if length is None:
        return ""
    if length.minimum is None and length.maximum is None:
        return "*"
    low, high = length.minimum, length.maximum
    return f"*{'' if low is None else low}..{'' if high is None else high}"


_CODE: Final = "Neo.ClientNotification.Statement."


@value(frozen=True, slots=True)
class Notice:
    """A notification on a query.

    Args:
        code: Neo4j's code without the common prefix.
        gql_status: GQLSTATUS such as ``03N90``; notifications are sorted by its first digits.
        status: The description of the GQLSTATUS.
        title: The title in the older format.
        description: The description in the older format.
        severity: ``WARNING`` or ``INFORMATION``.
        category: Such as ``PERFORMANCE``.
        span: The span in the text; None if there is none.
    """

    code: str
    gql_status: str
    status: str
    title: str
    description: str
    severity: str
    category: str
    span: Span | None

    @property
    def neo4j_code(self) -> str:
        """The full code."""
        return _CODE + self.code


@lru_cache(maxsize=512)
def notices_of(text: str) -> tuple[Notice, ...]:
    """Neo4j's notifications on a text; empty if it cannot be parsed."""
    try:
        tree = tree_of(text)
    except QueryError:
        return ()
    return tuple(_found_in(tree))


def _found_in(tree: ast.Query) -> Iterator[Notice]:
    for node in walk(tree):
        if isinstance(node, ast.FunctionCall) and node.name.lower() == "id":
            yield _deprecated_id(node)
        elif isinstance(node, ast.Match):
            yield from (_product(node, names) for names in _further_components(node))
            yield from _repeated(node)


# ------------------------------------------------------------------ disconnected patterns
def _further_components(match: ast.Match) -> list[list[str]]:
    """Node names of each connected component of a clause, without the first component."""
    parts: list[set[object]] = []
    for number, pattern in enumerate(match.patterns):
        # A pattern without names is a component of its own.
        joined: set[object] = {number, *_node_names(pattern)}
        apart = []
        for part in parts:
            if part.isdisjoint(joined):
                apart.append(part)
            else:
                joined = part | joined
        parts = sorted([*apart, joined], key=_first_position)
    return [sorted(name for name in part if isinstance(name, str)) for part in parts[1:]]


def _first_position(part: set[object]) -> int:
    return min(number for number in part if isinstance(number, int))


def _node_names(pattern: ast.Pattern) -> set[str]:
    return {
        element.variable.name
        for element in pattern.elements
        if isinstance(element, ast.NodePattern) and element.variable is not None
    }


def _product(match: ast.Match, names: list[str]) -> Notice:
    which = "identifier is" if len(names) == 1 else "identifiers are"
    return Notice(
        code="CartesianProduct",
        gql_status="03N90",
        status=(
            f"info: cartesian product. The disconnected pattern '{written_pattern(match)}' builds "
            "a cartesian product. A cartesian product may produce a large amount of data and slow "
            "down query processing."
        ),
        title="This query builds a cartesian product between disconnected patterns.",
        description=(
            "If a part of a query contains multiple disconnected patterns, this will build a "
            "cartesian product between all those parts. This may produce a large amount of data "
            "and slow down query processing. While occasionally intended, it may often be possible "
            "to reformulate the query that avoids the use of this cross product, perhaps by adding "
            "a relationship between the different parts or by using OPTIONAL MATCH "
            f"({which}: ({', '.join(names)}))"
        ),
        severity="INFORMATION",
        category="PERFORMANCE",
        span=match.span,
    )


# ------------------------------------------------------------------ the others
def _deprecated_id(call: ast.FunctionCall) -> Notice:
    return Notice(
        code="FeatureDeprecationWarning",
        gql_status="01N02",
        status=(
            "warn: feature deprecated without replacement. id is deprecated and will be removed "
            "without a replacement."
        ),
        title="This feature is deprecated and will be removed in future versions.",
        description="The query used a deprecated function: `id`.",
        severity="WARNING",
        category="DEPRECATION",
        span=call.span,
    )


def _repeated(match: ast.Match) -> Iterator[Notice]:
    named = [
        element.variable
        for pattern in match.patterns
        for element in pattern.elements
        if isinstance(element, ast.RelationshipPattern) and element.variable is not None
    ]
    counted = Counter(variable.name for variable in named)
    for name, count in counted.items():
        if count > 1 and not match.repeats_relationships:
            first = next(variable for variable in named if variable.name == name)
            yield _repeated_relationship(match, first)


def _repeated_relationship(match: ast.Match, variable: ast.Variable) -> Notice:
    return Notice(
        code="RepeatedRelationshipReference",
        gql_status="01N63",
        status=(
            f"warn: repeated relationship pattern variable. `{variable.name}` is repeated in "
            f"'{written_pattern(match)}', which leads to no results."
        ),
        title="The query returns no results due to repeated references to a relationship.",
        description=(
            "A relationship is referenced more than once in the query, which leads to no results "
            "because relationships must not occur more than once in each result. (Relationship "
            f"`{variable.name}` was repeated)"
        ),
        severity="WARNING",
        category="GENERIC",
        span=variable.span,
    )
