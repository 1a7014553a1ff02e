"""Run-time checks of arguments, with the errors that Neo4j reports."""

from __future__ import annotations

from typing import Any, Final

from gpugda.errors import (
    CypherExecutionError,
    CypherTypeError,
    MemoryLimitError,
    UnsupportedQueryError,
)
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.numbers import saturated
from gpugda.values import describe

__all__ = [
    "LARGEST_POSITION",
    "check_items",
    "check_text",
    "check_token_name",
    "list_of",
    "not_callable",
    "number",
    "position",
    "string",
    "type_error",
    "whole",
]

_MAX_ITEMS: Final = 1 << 26
_MAX_CHARACTERS: Final = 1 << 30


def check_items(count: int) -> None:
    """Checks that a list of ``count`` elements may be created.

    Raises:
        MemoryLimitError: It exceeds the length limit.
    """
    if count > _MAX_ITEMS:
        _refuse("list", "elements", count, _MAX_ITEMS)


def check_text(count: int) -> None:
    """Checks that a text of ``count`` characters may be created.

    Raises:
        MemoryLimitError: It exceeds the length limit.
    """
    if count > _MAX_CHARACTERS:
        _refuse("text", "characters", count, _MAX_CHARACTERS)


def _refuse(what: str, parts: str, count: int, most: int) -> None:
    raise MemoryLimitError(
        f"a {what} of {count} {parts} exceeds the limit of {most}: use a part of it, or UNWIND"
        " its source"
    )


LARGEST_POSITION = 2**31 - 1


def type_error(function: str, wanted: str, given: Any) -> CypherTypeError:
    """The error for an argument of a wrong type."""
    return CypherTypeError(f"{function} takes {wanted}, not {describe(given)}")


def check_token_name(name: str) -> None:
    """Checks a label or type name computed by an expression, as Neo4j does.

    Raises:
        UnsupportedQueryError: No label or type can have this name. Whether Neo4j raises an error
            before the first row depends on the expression.
    """
    if not name or "\0" in name:
        raise UnsupportedQueryError(
            f"{name!r} is not a valid label or type name: it is empty or has a null character",
            construct="an invalid label or type name",
        )


def not_callable(function: str, given: Any) -> CypherTypeError:
    """The error for an argument of a wrong type to a function of a built-in procedure."""
    error = type_error(function, "another type of value", given)
    error.code = "Neo.ClientError.Procedure.ProcedureCallFailed"
    return error


def string(function: str, given: Any) -> str:
    """Checks that the argument is a string and returns it."""
    if not isinstance(given, str):
        raise type_error(function, "a string", given)
    return given


def number(function: str, given: Any) -> int | float:
    """Checks that the argument is an integer or a float and returns it."""
    if kind_of_value(given) not in ("integer", "float"):
        raise type_error(function, "a number", given)
    result: int | float = given
    return result


def whole(function: str, given: Any) -> int:
    """The argument as an integer; a float is truncated. It must be a number."""
    return saturated(given) if isinstance(number(function, given), float) else int(given)


def position(function: str, given: Any) -> int:
    """The argument as a position in a string or a number of characters.

    Raises:
        CypherExecutionError: It is negative or exceeds 32 bits.
    """
    place = whole(function, given)
    if not 0 <= place <= LARGEST_POSITION:
        raise CypherExecutionError(f"{function} cannot use {place} as a position or length")
    return place


def list_of(function: str, given: Any) -> list[Any]:
    """Checks that the argument is a list and returns it."""
    if kind_of_value(given) != "list":
        raise type_error(function, "a list", given)
    return list(given)
