"""Evaluates expressions without graph variables, for tests of functions.

It walks the syntax tree and calls the functions and operators of `gpugda.expressions`; all
semantics are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugda import values
from gpugda.errors import CypherSyntaxError, CypherTypeError, QueryError
from gpugda.expressions import functions
from gpugda.expressions.context import Context
from gpugda.expressions.functions.registry import known_kinds
from gpugda.expressions.functions.text import trimmed
from gpugda.expressions.kinds import Kinds
from gpugda.expressions.operators import access, arithmetic, text
from gpugda.expressions.operators.maps import projected
from gpugda.expressions.operators.types import is_of_type
from gpugda.expressions.regex.matching import matches
from gpugda.query import ast
from gpugda.query.parser import parse


class Evaluator:
    """Evaluates the expressions of one text."""

    def __init__(self, query: str, context: Context, version: int = 5) -> None:
        self.query = query
        self.context = context
        self.version = version
        self.variables: dict[str, Any] = {}

    def value(self, node: Any) -> Any:
        return getattr(self, f"_{type(node).__name__.lower()}")(node)

    def _literal(self, node: Any) -> Any:
        return node.value

    def _variable(self, node: Any) -> Any:
        return self.variables[node.name]

    def _listliteral(self, node: Any) -> Any:
        return [self.value(item) for item in node.items]

    def _mapliteral(self, node: Any) -> Any:
        return {key: self.value(item) for key, item in node.entries}

    def _property(self, node: Any) -> Any:
        return access.property_of(self.value(node.subject), node.key, self.context)

    def _unary(self, node: Any) -> Any:
        if node.operator == "NOT":
            return values.not_(self._truth(node.operand))
        operand = self.value(node.operand)
        if node.operator in ("IS NULL", "IS NOT NULL"):
            return (operand is None) == (node.operator == "IS NULL")
        return (arithmetic.minus if node.operator == "-" else arithmetic.plus)(operand)

    def _truth(self, node: Any) -> bool | None:
        try:
            return values.truth_of(self.value(node))
        except TypeError as error:
            raise CypherTypeError(str(error)) from None

    def _binary(self, node: Any) -> Any:
        if node.operator in ("AND", "OR"):
            return self._connected(node)
        if node.operator == "XOR":
            return values.xor_(self._truth(node.left), self._truth(node.right))
        left, right = self.value(node.left), self.value(node.right)
        if node.operator == "/" and isinstance(node.left, ast.Literal):
            folded = isinstance(node.right, ast.Literal) and isinstance(left, float)
            return arithmetic.divide(left, float(right) if folded and right == 0 else right)
        return _BINARY[node.operator](left, right)

    def _connected(self, node: Any) -> bool | None:
        decides = node.operator == "OR"
        known, error = [], None
        for operand in (node.left, node.right):
            try:
                known.append(self._truth(operand))
            except QueryError as raised:
                error = error or raised
        if decides in known:
            return decides
        if error is not None:
            raise error
        return (values.or_ if decides else values.and_)(*known)

    def _comparison(self, node: Any) -> bool | None:
        operands = [self.value(operand) for operand in node.operands]
        result: bool | None = True
        for left, operator, right in zip(operands, node.operators, operands[1:], strict=False):
            result = values.and_(result, _COMPARISONS[operator](left, right))
        return result

    def _functioncall(self, node: Any) -> Any:
        function = functions.find_function(node.name, self.version)
        if function is None:
            raise CypherSyntaxError(f"unknown function {node.name}")
        known = [self._known(argument) for argument in node.arguments]
        if why := function.signature.refusal(known):
            raise CypherSyntaxError(f"{node.name}: {why}")
        return function(self.context, [self.value(argument) for argument in node.arguments])

    def _known(self, node: Any) -> Kinds | None:
        """Facts that a compiler knows: kinds of literals and of function results."""
        if isinstance(node, ast.Literal):
            return known_kinds(node.value)
        if isinstance(node, ast.ListLiteral):
            return frozenset(("list",))
        if isinstance(node, ast.MapLiteral):
            return frozenset(("map",))
        if isinstance(node, ast.FunctionCall):
            function = functions.find_function(node.name, self.version)
            return None if function is None else function.signature.result
        return None

    # -------------------------------------------------------------- parts of values
    def _subscript(self, node: Any) -> Any:
        return access.subscript(self.value(node.subject), self.value(node.index), self.context)

    def _slice(self, node: Any) -> Any:
        bounds = [... if each is None else self.value(each) for each in (node.start, node.end)]
        return access.slice_of(self.value(node.subject), *bounds)

    def _trim(self, node: Any) -> Any:
        characters = ... if node.characters is None else self.value(node.characters)
        return trimmed(str(node.side), characters, self.value(node.subject))

    def _typepredicate(self, node: Any) -> Any:
        return is_of_type(self.value(node.operand), node.type) != node.negated

    def _mapprojection(self, node: Any) -> Any:
        parts = [self._selected(selector) for selector in node.selectors]
        return projected(self.value(node.subject), parts, self.context)

    def _selected(self, selector: Any) -> tuple[str | None, Any]:
        if isinstance(selector, ast.MapEntry):
            return selector.key, self.value(selector.value)
        if isinstance(selector, ast.MapVariable):
            return selector.variable.name, self.value(selector.variable)
        return getattr(selector, "key", None), ...

    def _normalizedpredicate(self, node: Any) -> Any:
        found = text.is_normalized(self.value(node.operand), str(node.form))
        return values.not_(found) if node.negated else found


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "IN": values.is_in,
    "STARTS WITH": text.starts_with,
    "ENDS WITH": text.ends_with,
    "CONTAINS": text.contains,
    "=~": matches,
    "||": arithmetic.concatenate,
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "%": arithmetic.modulo,
    "^": arithmetic.power,
}

_COMPARISONS: dict[str, Callable[[Any, Any], bool | None]] = {
    "=": values.equals,
    "<>": lambda a, b: values.not_(values.equals(a, b)),
    "<": values.less,
    "<=": lambda a, b: values.less(a, b, or_equal=True),
    ">": values.greater,
    ">=": lambda a, b: values.greater(a, b, or_equal=True),
}


def evaluate(expression: str, context: Context, version: int = 5) -> Any:
    """The value of an expression, or of ``UNWIND list AS x RETURN aggregate``."""
    if expression.startswith("UNWIND "):
        items, _, aggregate = expression[7:].partition(" AS x RETURN ")
        return _aggregated(evaluate(items, context, version), aggregate, context, version)
    query = f"RETURN {expression}"
    evaluator = Evaluator(query, context, version)
    return evaluator.value(_expression(query))


def _aggregated(items: list[Any], text_of_call: str, context: Context, version: int) -> Any:
    query = f"RETURN {text_of_call}"
    call = _expression(query)
    aggregate = functions.find_aggregate(call.name)
    assert aggregate is not None
    evaluator = Evaluator(query, context, version)
    further = [evaluator.value(argument) for argument in call.arguments[1:]]
    return aggregate.fold(items, *further, distinct=call.distinct)


def _expression(query: str) -> Any:
    return parse(query).parts[0].clauses[0].projection.items[0].expression
