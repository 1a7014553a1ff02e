"""Checks that arguments are plain values, for which APOC's results are known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.functions.registry import Function, Signature, signature
from gpugda.expressions.kinds import ANY, kind_of_value
from gpugda.values import group_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["apoc", "keys_of", "plain_list", "plain_text", "refuse"]

_PLAIN = frozenset(("boolean", "float", "integer", "string"))


def refuse(name: str) -> NoReturn:
    """Raises the error that leaves the call to the server."""
    raise UnsupportedQueryError(
        f"{name}() of these values is not supported by this engine", construct=name
    )


def apoc(
    name: str, types: str, evaluate: Callable[..., Any], optional: int = 0, *, nulls: bool = False
) -> Function:
    """A function that refuses null arguments, unless ``nulls`` is set.

    It also refuses further arguments: some APOC functions have rarely used optional ones.
    """
    known = signature(types, optional)
    most = len(known.arguments)

    def evaluated(*given: Any) -> Any:
        if len(given) > most or (not nulls and any(each is None for each in given)):
            refuse(name)
        return evaluate(name, *given)

    any_number = Signature(known.minimum, None, (*known.arguments, ANY), known.result)
    return Function(name, any_number, evaluated, null_in_null_out=False)


def plain_list(name: str, given: Any, kinds: Iterable[str] = _PLAIN) -> list[Any]:
    """Checks that the argument is a list of plain values, without NaN and -0.0, and returns it."""
    if not isinstance(given, list):
        refuse(name)
    for item in given:
        wrong = kind_of_value(item) not in kinds
        if wrong or (isinstance(item, float) and (math.isnan(item) or item == 0)):
            refuse(name)
    return given


def plain_text(name: str, given: Any) -> str:
    """Checks that the argument is a string without surrogate pairs in UTF-16, and returns it."""
    if not isinstance(given, str) or max(given, default="") > "\ud7ff":
        refuse(name)
    return given


def keys_of(items: Iterable[Any]) -> list[Any]:
    """Keys that are equal exactly for equal values."""
    return [group_key(item) for item in items]
