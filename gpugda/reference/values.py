"""The value of one expression for one row."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.data.temporal import is_stored_object, rezoned, temporal_from_native
from gpugda.errors import CypherTypeError, ParameterMissingError, UnsupportedQueryError
from gpugda.query import ast
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gpugda.reference.graph import PlainGraph

__all__ = ["Evaluator", "Scope", "has_labels", "parts_of", "shape", "variables_of"]


class Scope(dict[Any, Any]):
    """A row that also holds the values of whole expressions, by their ``shape``."""


class Evaluator:
    """Evaluates expressions over a graph with parameters.

    Args:
        graph: Where labels, types and properties are looked up.
        parameters: Values by name; tuples count as lists, Python's dates and times as Neo4j's.
        text: The query, for error messages.
    """

    def __init__(self, graph: PlainGraph, parameters: Mapping[str, Any], text: str) -> None:
        self.graph = graph
        self.text = text
        self._given = parameters
        self._parameters: dict[str, Any] = {}
        self._methods: dict[type, Callable[[Any, Mapping[Any, Any]], Any]] = {
            ast.Property: self._property,
            ast.Unary: self._unary,
            ast.Binary: self._binary,
            ast.Comparison: self._comparison,
            ast.LabelPredicate: self._label_predicate,
            ast.FunctionCall: self._function,
            ast.Parameter: lambda node, row: self._parameter(node),
            ast.Literal: lambda node, row: node.value,
            ast.ListLiteral: lambda node, row: [self.value(item, row) for item in node.items],
        }

    def value(self, node: ast.Expression, row: Mapping[Any, Any]) -> Any:
        """The value, given the row's variables."""
        if isinstance(node, ast.Variable) and node.name in row:
            return row[node.name]
        if isinstance(row, Scope) and (known := shape(node)) in row:
            return row[known]
        method = self._methods.get(type(node))
        if method is None:
            name = getattr(node, "construct", type(node).__name__)
            raise UnsupportedQueryError(f"{name} is not answered here", self.text, node.span)
        return method(node, row)

    def holds(self, node: ast.Expression, row: Mapping[Any, Any]) -> bool:
        """Does a condition let the row pass? Only true does, neither false nor null."""
        return self._truth(node, row) is True

    def _truth(self, node: ast.Expression, row: Mapping[Any, Any]) -> bool | None:
        value = self.value(node, row)
        if value is None or isinstance(value, bool):
            return value
        # A list is true when it holds something.
        if isinstance(value, list):
            return len(value) > 0
        raise self._type_error(f"a truth value was expected, not {value!r}", node)

    def _type_error(self, message: str, node: ast.Expression) -> CypherTypeError:
        return CypherTypeError(message, self.text, node.span)

    def check_parameters(self, tree: ast.Node) -> None:
        """Parameters without value, or of a wrong type, are errors even without rows."""
        for part in parts_of(tree):
            for operand, expected in _typed_operands(part):
                self._check_kind(operand, expected)
        for part in parts_of(tree):
            if isinstance(part, ast.Parameter):
                self._parameter(part)

    def _parameter(self, node: ast.Parameter) -> Any:
        if node.name not in self._parameters:
            if node.name not in self._given:
                message = f"no value was given for the parameter ${node.name}"
                raise ParameterMissingError(message, self.text, node.span)
            given = self._given[node.name]
            if _is_deep(given):
                message = f"the parameter ${node.name} cannot be used: it is nested too deeply"
                raise self._type_error(message, node)
            self._parameters[node.name] = _normalised(given)
        return self._parameters[node.name]

    def _check_kind(self, node: ast.Expression | None, expected: _Expected) -> None:
        # Neo4j checks this when it compiles, and leaves floats alone.
        if not isinstance(node, ast.Parameter):
            return
        value = self._parameter(node)
        words, kinds = expected
        if value is None or isinstance(value, float) or values.kind_of(value) in kinds:
            return
        message = f"Type mismatch for parameter '{node.name}': expected {words} but was {value!r}"
        raise self._type_error(message, node)

    def _property(self, node: ast.Property, row: Mapping[Any, Any]) -> Any:
        subject = self.value(node.subject, row)
        if subject is None:
            return None
        if isinstance(subject, Entity):
            return self.graph.property(subject, node.key)
        if isinstance(subject, dict):
            return subject.get(node.key)
        raise self._type_error(f"{subject!r} has no properties", node)

    def _unary(self, node: ast.Unary, row: Mapping[Any, Any]) -> Any:
        if node.operator is ast.UnaryOperator.NOT:
            if isinstance(node.operand, ast.Unary) and node.operand.operator is node.operator:
                return self.value(node.operand.operand, row)  # NOT NOT x is x, whatever it is
            return values.not_(self._truth(node.operand, row))
        if node.operator is ast.UnaryOperator.IS_NULL:
            return self.value(node.operand, row) is None
        if node.operator is ast.UnaryOperator.IS_NOT_NULL:
            return self.value(node.operand, row) is not None
        raise UnsupportedQueryError("arithmetic is not answered here", self.text, node.span)

    def _binary(self, node: ast.Binary, row: Mapping[Any, Any]) -> Any:
        operator = node.operator
        if operator in _NEUTRAL and (rest := _what_counts(node)) is not None:
            return self.value(rest, row)
        if operator is ast.BinaryOperator.AND:
            return self._connected(node, row, values.and_, decides=False)
        if operator is ast.BinaryOperator.OR:
            return self._connected(node, row, values.or_, decides=True)
        if operator is ast.BinaryOperator.XOR:
            return values.xor_(self._truth(node.left, row), self._truth(node.right, row))
        left, right = self.value(node.left, row), self.value(node.right, row)
        if operator is ast.BinaryOperator.IN:
            return _is_in(left, right)
        if operator in _TEXT_TESTS:
            both = isinstance(left, str) and isinstance(right, str)
            return _TEXT_TESTS[operator](left, right) if both else None
        raise UnsupportedQueryError(f"{operator} is not answered here", self.text, node.span)

    def _connected(
        self,
        node: ast.Binary,
        row: Mapping[Any, Any],
        connect: Callable[..., Any],
        *,
        decides: bool,
    ) -> bool | None:
        # A deciding operand (false for AND, true for OR) wins even over an error on the other side.
        results: list[bool | None] = []
        error: CypherTypeError | None = None
        for operand in (node.left, node.right):
            try:
                results.append(self._truth(operand, row))
            except CypherTypeError as raised:
                error = error or raised
        if error is not None and decides not in results:
            raise error
        return decides if decides in results else connect(*results)

    def _comparison(self, node: ast.Comparison, row: Mapping[Any, Any]) -> bool | None:
        operands = [self.value(operand, row) for operand in node.operands]
        result: bool | None = True
        for left, operator, right in zip(operands, node.operators, operands[1:], strict=False):
            sides = (self.graph.in_order(left), self.graph.in_order(right))
            result = values.and_(result, _COMPARISONS[operator](*sides))
        return result

    def _label_predicate(self, node: ast.LabelPredicate, row: Mapping[Any, Any]) -> bool | None:
        subject = self.value(node.subject, row)
        if subject is None:
            return None
        if not isinstance(subject, Entity):
            raise self._type_error(f"{subject!r} has no labels", node)
        return has_labels(self._labels(subject), node.labels)

    def _labels(self, entity: Entity) -> Sequence[str]:
        graph = self.graph
        return graph.labels[entity.index] if entity.is_node else (graph.types[entity.index],)

    def _function(self, node: ast.FunctionCall, row: Mapping[Any, Any]) -> Any:
        function = _FUNCTIONS.get(node.name.lower())
        if function is None or len(node.arguments) != 1:
            raise UnsupportedQueryError(f"{node.name}() is not answered here", self.text, node.span)
        argument = self.value(node.arguments[0], row)
        if argument is None:
            return None
        if not isinstance(argument, Entity):
            raise self._type_error(f"{node.name}() of {argument!r}", node)
        return function(self.graph, argument)


_FUNCTIONS: dict[str, Callable[[PlainGraph, Entity], Any]] = {
    "id": lambda graph, entity: graph.id(entity),
    "elementid": lambda graph, entity: graph.element_id(entity),
    "labels": lambda graph, entity: list(graph.labels[entity.index]),
    "type": lambda graph, entity: graph.types[entity.index],
}

_NEUTRAL = {
    ast.BinaryOperator.AND: True,
    ast.BinaryOperator.OR: False,
    ast.BinaryOperator.XOR: False,
}

_LARGEST_DEPTH = 100

_TEXT_TESTS: dict[ast.BinaryOperator, Callable[[str, str], bool]] = {
    ast.BinaryOperator.STARTS_WITH: str.startswith,
    ast.BinaryOperator.ENDS_WITH: str.endswith,
    ast.BinaryOperator.CONTAINS: str.__contains__,
}

_COMPARISONS: dict[ast.ComparisonOperator, Callable[[Any, Any], bool | None]] = {
    ast.ComparisonOperator.EQUAL: values.equals,
    ast.ComparisonOperator.NOT_EQUAL: lambda a, b: values.not_(values.equals(a, b)),
    ast.ComparisonOperator.LESS: values.less,
    ast.ComparisonOperator.LESS_EQUAL: lambda a, b: values.less(a, b, or_equal=True),
    ast.ComparisonOperator.GREATER: values.greater,
    ast.ComparisonOperator.GREATER_EQUAL: lambda a, b: values.greater(a, b, or_equal=True),
}


def _what_counts(node: ast.Binary) -> ast.Expression | None:
    """``x`` of ``x AND true``, ``x OR false``, ``x XOR false``, ``x AND x``, ``x OR x``.

    Neo4j takes such a condition for its operand, of whatever type, before it runs the query.
    """
    neutral = ("Literal", ("value", shape(_NEUTRAL[node.operator])))
    counting: list[ast.Expression] = []
    pending: list[ast.Expression] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Binary) and part.operator is node.operator:
            pending += [part.right, part.left]
        elif shape(part) != neutral:
            counting.append(part)
    repeats = 1 if node.operator is ast.BinaryOperator.XOR else len(counting)
    same = len({shape(part) for part in counting}) == 1
    return counting[0] if same and len(counting) <= repeats else None


_Expected = tuple[str, frozenset[str]]
"""A type's name, and the kinds of value that a parameter where it is expected may have."""

_TRUTH: _Expected = "Boolean", frozenset(("boolean", "list"))
_LIST: _Expected = "List<T>", frozenset(("list",))
_MAPS = frozenset(("map",))  # Neo4j takes them for nodes and relationships until it runs
_ENTITIES: dict[str, _Expected] = {
    "id": ("Node or Relationship", _MAPS),
    "elementid": ("Node or Relationship", _MAPS),
    "labels": ("Node", _MAPS),
    "type": ("Relationship", _MAPS),
}


def _typed_operands(node: ast.Node) -> list[tuple[ast.Expression | None, _Expected]]:
    """Operands with what a parameter in their place must be."""
    match node:
        case ast.Match(where=where) | ast.NodePattern(where=where):
            return [(where, _TRUTH)]
        case ast.RelationshipPattern(where=where):
            return [(where, _TRUTH)]
        case ast.Unary(operator=ast.UnaryOperator.NOT, operand=operand):
            return [(operand, _TRUTH)]
        case ast.Binary(operator=ast.BinaryOperator.IN, right=right):
            return [(right, _LIST)]
        case ast.Binary(operator=operator, left=left, right=right) if operator in _NEUTRAL:
            return [(left, _TRUTH), (right, _TRUTH)]
        case ast.FunctionCall(name=name, arguments=(argument,)) if name.lower() in _ENTITIES:
            return [(argument, _ENTITIES[name.lower()])]
    return []


def _is_in(item: Any, items: Any) -> bool | None:
    if items is None:
        return None
    # What is no list counts as the list of itself.
    result: bool | None = False
    for other in items if isinstance(items, list) else [items]:
        result = values.or_(result, values.equals(item, other))
    return result


def _is_deep(value: Any) -> bool:
    """Whether lists and maps are nested more than 100 deep; level by level, so without recursion.

    Each container of a level is looked at once, however often it stands there.
    """
    level = [value]
    for _ in range(_LARGEST_DEPTH + 1):
        containers = {id(each): each for each in level if isinstance(each, list | tuple | dict)}
        level = [
            item
            for each in containers.values()
            for item in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _normalised(value: Any) -> Any:
    if is_stored_object(value):  # durations and points are tuples, but no lists
        return rezoned(value)
    if isinstance(value, list | tuple):
        return [_normalised(item) for item in value]
    if isinstance(value, dict):
        return {key: _normalised(item) for key, item in value.items()}
    native = temporal_from_native(value)
    return value if native is None else native


# ------------------------------------------------------------------ label expressions and trees
def has_labels(labels: Sequence[str], wanted: ast.LabelExpression | None) -> bool:
    """Do a node's labels, or a relationship's type as the only one, satisfy a label expression?"""
    if wanted is None:
        return True
    if isinstance(wanted, ast.LabelName):
        return wanted.name in labels
    if isinstance(wanted, ast.LabelWildcard):
        return len(labels) > 0
    if isinstance(wanted, ast.LabelNot):
        return not has_labels(labels, wanted.operand)
    if isinstance(wanted, ast.LabelAnd):
        return all(has_labels(labels, operand) for operand in wanted.operands)
    if isinstance(wanted, ast.LabelOr):
        return any(has_labels(labels, operand) for operand in wanted.operands)
    raise UnsupportedQueryError("dynamic labels are not answered here")


def shape(node: Any) -> Any:
    """A hashable form of an expression without its spans; 1, 1.0 and true are three things."""
    if isinstance(node, ast.Node):
        named = [(f.name, getattr(node, f.name)) for f in fields(node) if f.name != "span"]
        return (type(node).__name__, *((name, shape(value)) for name, value in named))
    if isinstance(node, tuple):
        return tuple(shape(item) for item in node)
    return (type(node).__name__, repr(node))


def parts_of(node: Any) -> Iterator[ast.Node]:
    """A syntax node and all below it."""
    if isinstance(node, ast.Node):
        yield node
        for field in fields(node):
            yield from parts_of(getattr(node, field.name))
    elif isinstance(node, tuple):
        for item in node:
            yield from parts_of(item)


def variables_of(node: ast.Node) -> frozenset[str]:
    """Names of the variables that an expression reads."""
    return frozenset(part.name for part in parts_of(node) if isinstance(part, ast.Variable))
