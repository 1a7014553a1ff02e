"""Checks of arguments at run time, with the errors that Neo4j reports."""

from __future__ import annotations

from typing import Any

from gpugda.errors import CypherTypeError
from gpugda.expressions.kinds import kind_of_value
from gpugda.values import describe

__all__ = ["integer", "number", "string", "type_error"]


def type_error(function: str, wanted: str, given: Any) -> CypherTypeError:
    """The error of a function that was given a value of a wrong type."""
    return CypherTypeError(f"{function} takes {wanted}, not {describe(given)}")


def string(function: str, given: Any) -> str:
    """The argument, which must be a string."""
    if not isinstance(given, str):
        raise type_error(function, "a string", given)
    return given


def integer(function: str, given: Any) -> int:
    """The argument, which must be an integer."""
    if kind_of_value(given) != "integer":
        raise type_error(function, "an integer", given)
    return int(given)


def number(function: str, given: Any) -> int | float:
    """The argument, which must be an integer or a float."""
    if kind_of_value(given) not in ("integer", "float"):
        raise type_error(function, "a number", given)
    result: int | float = given
    return result
