"""Constructs by their names, for messages, and those that are not supported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from gpugda.errors import (
    CypherArgumentError,
    CypherSyntaxError,
    CypherTypeError,
    UnsupportedQueryError,
)
from gpugda.query import ast
from gpugda.query.ast import Parameter
from gpugda.query.walk import walk
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from gpugda.errors import QueryError
    from gpugda.query.ast import Expression

__all__ = [
    "FUNCTIONS",
    "bound_paths",
    "check_supported",
    "clause_name",
    "column_name",
    "expression_name",
    "paging_error",
]


def clause_name(clause: ast.Clause) -> str:
    """The keywords of a clause: ``OPTIONAL MATCH``, ``CALL subquery``, ``DETACH DELETE``."""
    name = _CLAUSES[type(clause)]
    return name if isinstance(name, str) else name(clause)


def expression_name(expression: ast.Expression) -> str | None:
    """The name of an expression that is not an operator, value or call; None for those."""
    name = _EXPRESSIONS.get(type(expression))
    return name if name is None or isinstance(name, str) else name(expression)


def column_name(expression: ast.Expression, written: str) -> str:
    """Neo4j's name of a column without an alias, mostly the text as written.

    Args:
        expression: The column's expression.
        written: Its text.
    """
    if isinstance(expression, ast.MapProjection):
        expression = expression.subject
    return expression.name if isinstance(expression, ast.Variable) else written


def _first_part(clause: ast.OrderSkipLimit) -> str:
    if clause.order_by:
        return "ORDER BY"
    return "SKIP" if clause.skip is not None else "LIMIT"


def _shortest_path(expression: ast.ShortestPathExpression) -> str:
    selector = expression.pattern.selector
    assert selector is not None, "the parser reads the word before the bracket"
    return f"{selector.kind}()"


_CLAUSES: Final[dict[type[ast.Clause], str | Callable[[Any], str]]] = {
    ast.Braces: "query in braces",
    ast.CallProcedure: "CALL procedure",
    ast.CallSubquery: "CALL subquery",
    ast.Filter: "FILTER",
    ast.Finish: "FINISH",
    ast.Let: "LET",
    ast.LoadCsv: "LOAD CSV",
    ast.Match: lambda clause: "OPTIONAL MATCH" if clause.optional else "MATCH",
    ast.Next: "NEXT",
    ast.OrderSkipLimit: _first_part,
    ast.OtherClause: lambda clause: clause.construct,
    ast.Return: "RETURN",
    ast.Unwind: lambda clause: "FOR" if clause.is_for else "UNWIND",
    ast.Use: "USE",
    ast.When: "WHEN",
    ast.With: "WITH",
}
_EXPRESSIONS: Final[dict[type[ast.Node], str | Callable[[Any], str]]] = {
    ast.AllReduce: "allReduce()",
    ast.Case: "CASE",
    ast.CollectSubquery: "COLLECT subquery",
    ast.CountSubquery: "COUNT subquery",
    ast.ExistsSubquery: "EXISTS subquery",
    ast.ListComprehension: "list comprehension",
    ast.ListPredicate: lambda expression: f"{expression.quantifier}()",
    ast.MapProjection: "map projection",
    ast.NormalizedPredicate: "normalization predicate",
    ast.PatternComprehension: "pattern comprehension",
    ast.PatternExpression: "a pattern expression",
    ast.Reduce: "reduce()",
    ast.ShortestPathExpression: _shortest_path,
    ast.Slice: "list slice",
    ast.Subscript: "list subscript",
    ast.Trim: "function trim()",
    ast.TypePredicate: "type predicate",
}


FUNCTIONS: Final = frozenset(("id", "elementid", "labels", "type", "count"))
"""The supported functions, in lower case; ``count`` in RETURN and ORDER BY only."""

_BINARY: Final = frozenset(
    (
        ast.BinaryOperator.OR,
        ast.BinaryOperator.XOR,
        ast.BinaryOperator.AND,
        ast.BinaryOperator.IN,
        ast.BinaryOperator.STARTS_WITH,
        ast.BinaryOperator.ENDS_WITH,
        ast.BinaryOperator.CONTAINS,
    )
)
_NOT_ARITHMETIC: Final = {
    ast.BinaryOperator.MATCHES: "the operator =~",
    ast.BinaryOperator.CONCATENATE: "the operator ||",
}
_SIGNS: Final = (ast.UnaryOperator.MINUS, ast.UnaryOperator.PLUS)

_NAMES: Final = frozenset[type[ast.Node]]((ast.Variable, ast.LabelName))
"""Node classes that need no check and make up most of a tree."""
_ELEMENTS: Final = (ast.NodePattern, ast.RelationshipPattern)

_Finding = tuple[str, Span]
_OtherClause = (
    ast.With
    | ast.Unwind
    | ast.Finish
    | ast.OrderSkipLimit
    | ast.Let
    | ast.Filter
    | ast.Use
    | ast.LoadCsv
    | ast.CallSubquery
    | ast.CallProcedure
    | ast.When
    | ast.Braces
    | ast.Next
    | ast.OtherClause
)
_OtherExpression = (
    ast.AllReduce
    | ast.Case
    | ast.ExistsSubquery
    | ast.CountSubquery
    | ast.CollectSubquery
    | ast.ListComprehension
    | ast.ListPredicate
    | ast.MapProjection
    | ast.NormalizedPredicate
    | ast.PatternComprehension
    | ast.PatternExpression
    | ast.Reduce
    | ast.ShortestPathExpression
    | ast.Slice
    | ast.Subscript
    | ast.Trim
    | ast.TypePredicate
)


def check_supported(query: ast.Query) -> None:
    """Checks that a query consists of supported forms of MATCH, WHERE and RETURN.

    ``query.mode`` (EXPLAIN, PROFILE) is left to the caller.

    Raises:
        UnsupportedQueryError: It does not; the error names the first such construct in the text.
        CypherSyntaxError: It does, but a function does not have its one argument.
    """
    clauses = [clause for part in query.parts for clause in part.clauses]
    nodes = [(clause, list(_checked_nodes(clause))) for clause in clauses]
    findings = [*_in_structure(query), *_in_nodes(nodes)]
    if findings:
        construct, span = min(findings, key=lambda finding: finding[1].start)
        message = f"{construct} is not supported by this engine"
        raise UnsupportedQueryError(message, query.text, span, construct=construct)
    for call in (node for _, below in nodes for node in below):
        if isinstance(call, ast.FunctionCall) and len(call.arguments) != 1:
            message = f"{call.name}() takes one argument, not {len(call.arguments)}"
            raise CypherSyntaxError(message, query.text, call.span)


def _checked_nodes(clause: ast.Clause) -> Iterator[ast.Node]:
    """A clause and its descendants, parents first, without nodes that need no check."""
    if not isinstance(clause, ast.Match):
        yield from walk(clause, without=_NAMES)
        return
    yield clause
    for pattern in clause.patterns:
        if pattern.selector is not None or pattern.variable is not None:
            yield pattern
        for element in pattern.elements:
            if not _is_plain(element):
                yield from walk(element, without=_NAMES)
    if clause.where is not None:
        yield from walk(clause.where, without=_NAMES)


def _is_plain(element: ast.PatternElement) -> bool:
    """True if it has at most a name and one label or type, as most elements do."""
    if element.where is not None:
        return False
    if isinstance(element, ast.NodePattern):
        labels = element.labels
    elif isinstance(element, ast.RelationshipPattern):
        if element.length is not None or element.quantifier is not None:
            return False
        labels = element.types
    else:
        return False
    return element.properties is None and (labels is None or isinstance(labels, ast.LabelName))


def _in_structure(query: ast.Query) -> Iterator[_Finding]:
    for union in query.unions:
        yield "UNION", union
    for part in query.parts:
        first = part.clauses[0]
        if isinstance(first, ast.Return):
            yield "RETURN without MATCH", _head(first.span, "RETURN")


def _in_nodes(nodes: list[tuple[ast.Clause, list[ast.Node]]]) -> Iterator[_Finding]:
    """Args: ``nodes``: each clause with its `_checked_nodes` nodes."""
    for clause, below in nodes:
        property_maps = set()
        for node in below:
            check = _CHECKS.get(type(node))
            construct = check(node) if check is not None else None
            if construct is not None:
                yield construct, _place(node, construct)
            elif isinstance(node, _ELEMENTS):
                property_maps.add(id(node.properties))
            elif isinstance(node, ast.MapLiteral) and id(node) not in property_maps:
                yield "a map", node.span
            elif isinstance(clause, ast.Match) and _is_count(node):
                yield "count() outside RETURN", node.span


# ------------------------------------------------------------------ one check per kind of node
def _match(clause: ast.Match) -> str | None:
    if clause.optional:
        return "OPTIONAL MATCH"
    if clause.mode is not None and not clause.mode.startswith("DIFFERENT"):
        return clause.mode
    return None


def _projection(projection: ast.Projection) -> str | None:
    return "GROUP BY" if projection.group_by is not None else None


def _pattern(pattern: ast.Pattern) -> str | None:
    if pattern.selector is not None:
        return _selector(pattern.selector)
    return "a path variable" if pattern.variable is not None else None


def _selector(selector: ast.Selector) -> str:
    if selector.kind in (ast.SelectorKind.SHORTEST_PATH, ast.SelectorKind.ALL_SHORTEST_PATHS):
        return f"{selector.kind}()"
    return str(selector.kind)


def _relationship(relationship: ast.RelationshipPattern) -> str | None:
    if relationship.length is not None:
        return "a variable-length relationship"
    return "a quantified relationship" if relationship.quantifier is not None else None


def _group(group: ast.GroupPattern) -> str:
    return "a quantified path pattern" if group.quantified else "a parenthesised path pattern"


def _function(call: ast.FunctionCall) -> str | None:
    return None if call.name.lower() in FUNCTIONS else f"function {call.name}()"


def _property(access: ast.Property) -> str | None:
    # Maps are excluded, too: $map.key is known only with the parameters.
    return None if isinstance(access.subject, ast.Variable) else "a property of an expression"


def _label_predicate(predicate: ast.LabelPredicate) -> str | None:
    known = isinstance(predicate.subject, ast.Variable)
    return None if known else "a label predicate on an expression"


def _binary(expression: ast.Binary) -> str | None:
    if expression.operator in _BINARY:
        return None
    return _NOT_ARITHMETIC.get(expression.operator, "arithmetic")


def _unary(expression: ast.Unary) -> str | None:
    return "arithmetic" if expression.operator in _SIGNS else None


def _dynamic_label(_: ast.LabelDynamic) -> str:
    return "a dynamic label or type"


_CHECKS: Final[dict[type, Callable[[Any], str | None]]] = {
    **dict.fromkeys(get_args(_OtherClause), clause_name),
    **dict.fromkeys(get_args(_OtherExpression), expression_name),
    ast.Match: _match,
    ast.Projection: _projection,
    ast.Pattern: _pattern,
    ast.RelationshipPattern: _relationship,
    ast.GroupPattern: _group,
    ast.FunctionCall: _function,
    ast.Property: _property,
    ast.LabelPredicate: _label_predicate,
    ast.Binary: _binary,
    ast.Unary: _unary,
    ast.LabelDynamic: _dynamic_label,
}


def _is_count(node: ast.Node) -> bool:
    return isinstance(node, ast.CountStar) or (
        isinstance(node, ast.FunctionCall) and node.name.lower() == "count"
    )


def _place(node: ast.Node, construct: str) -> Span:
    """The span for the error's caret: the offending part, if it is smaller than the node."""
    if isinstance(node, ast.Pattern) and node.selector is not None:
        return node.selector.span
    if isinstance(node, ast.Pattern) and node.variable is not None:
        return node.variable.span
    if isinstance(node, ast.RelationshipPattern):
        return (node.length or node.quantifier or node).span
    if isinstance(node, ast.Match):
        return _head(node.span, construct) if node.optional else node.mode_span or node.span
    if isinstance(node, ast.Projection) and node.group_by is not None:
        return node.group_by.span
    if isinstance(node, _OtherClause):
        return _head(node.span, construct)
    return node.span


def _head(span: Span, construct: str) -> Span:
    return Span(span.start, min(span.end, span.start + len(construct)))


def bound_paths(clause: ast.Match, known: Container[str], text: str) -> dict[str, str]:
    """Names of such paths, each with the single node that it consists of.

    Neo4j creates them from their elements even if the clause finds nothing.

    Args:
        clause: The OPTIONAL MATCH clause.
        known: The variables bound before it.
        text: The whole query text.

    Raises:
        UnsupportedQueryError: A path has relationships, which then need not match its nodes.
    """
    found = {}
    for pattern in clause.patterns:
        named = pattern.variable
        if (
            named is None
            or named.name in known
            or not all(_is_in(e, known) for e in pattern.elements)
        ):
            continue
        (node, *more) = pattern.elements
        if more or not isinstance(node, ast.NodePattern) or node.variable is None:
            construct = "a path of OPTIONAL MATCH all of whose parts are bound before"
            message = f"{construct} is not supported by this engine: name a new part in it"
            raise UnsupportedQueryError(message, text, pattern.span, construct=construct)
        found[named.name] = node.variable.name
    return found


def _is_in(element: ast.PatternElement, known: Container[str]) -> bool:
    variable = None if isinstance(element, ast.GroupPattern) else element.variable
    return variable is not None and variable.name in known


def paging_error(clause: str, value: Any, text: str, expression: Expression) -> QueryError:
    """The error for a value that is not a non-negative integer; Neo4j's class of error.

    Args:
        clause: ``SKIP`` or ``LIMIT``.
        value: The value of the expression.
        text: The whole query text.
        expression: The expression.
    """
    shown = "null" if value is None else str(value)
    message = (
        f"{clause}: Invalid input. '{shown}' is not a valid value. Must be a non-negative integer."
    )
    if isinstance(value, int | float) and not isinstance(value, bool):
        return CypherArgumentError(message, text, expression.span)
    if value is not None and isinstance(expression, Parameter):
        return CypherSyntaxError(message, text, expression.span)
    return CypherTypeError(message, text, expression.span)
