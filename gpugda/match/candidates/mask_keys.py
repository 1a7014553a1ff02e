"""Cache keys of masks, for predicates that only depend on their node's property values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gpugda.data.values.dictionaries import identity_of
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from gpugda.expressions.parameters import Parameters

__all__ = ["MaskKey", "mask_key"]

_PLAIN = (bool, int, float, str, type(None))


class MaskKey(NamedTuple):
    """Identifies predicates, including the types of values, and names the properties they read."""

    form: Hashable
    reads: frozenset[str]


def mask_key(
    predicates: Sequence[ast.Expression], name: str, parameters: Parameters
) -> MaskKey | None:
    """The key of the mask of some predicates; None if it may depend on something else.

    Function calls have no key: they may depend on time, chance or relationships.

    Args:
        predicates: Conjuncts.
        name: Name of the variable.
        parameters: Values by name.

    Raises:
        ParameterMissingError: A parameter has no value.
    """
    reads: set[str] = set()
    found = _all(predicates, name, parameters, reads)
    return None if found is None else MaskKey(found, frozenset(reads))


def _all(
    some: Sequence[ast.Expression], name: str, parameters: Parameters, reads: set[str]
) -> Hashable | None:
    found = tuple([_form(each, name, parameters, reads) for each in some])
    return None if None in found else found


def _form(
    node: ast.Expression, name: str, parameters: Parameters, reads: set[str]
) -> Hashable | None:
    """An expression as nested tuples, without text positions; None if it has no key."""
    if isinstance(node, ast.Literal):
        return _value("literal", node.value)
    if isinstance(node, ast.Parameter):
        return _value("parameter", parameters.get(node.name, node.span))
    if isinstance(node, ast.Property):
        if not isinstance(node.subject, ast.Variable) or node.subject.name != name:
            return None
        reads.add(node.key)
        return "property", node.key
    parts: Sequence[ast.Expression]
    what: Hashable
    if isinstance(node, ast.Comparison):
        what, parts = node.operators, node.operands
    elif isinstance(node, ast.Binary):
        what, parts = node.operator, (node.left, node.right)
    elif isinstance(node, ast.Unary):
        what, parts = node.operator, (node.operand,)
    elif isinstance(node, ast.ListLiteral):
        what, parts = "list", node.items
    else:
        return None
    inside = _all(parts, name, parameters, reads)
    return None if inside is None else (type(node).__name__, what, inside)


def _value(source: str, value: Any) -> Hashable | None:
    """The source is part of the key: literals and parameters may order strings differently."""
    if type(value) is list:
        if not all(type(each) in _PLAIN for each in value):
            return None
    elif type(value) not in _PLAIN:
        return None
    return source, identity_of(value)
