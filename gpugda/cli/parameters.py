"""Parses query parameters from the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError, QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.query.ast import Expression

__all__ = ["parse_parameters"]

_NAMED = re.compile(r"\s*:?\s*(?:`([^`]+)`|([^\W\d]\w*)|(\d+))\s*(?:=>|=|:)\s*(.+)", re.DOTALL)


def parse_parameters(arguments: Iterable[str], option: str = "-P") -> dict[str, Any]:
    """Parameter values by name.

    Args:
        arguments: Each is ``name=value``, ``name => value`` or a map ``{name: value}``, with values
            in Cypher or JSON, or ``@file`` with such a map. Later arguments override earlier ones.
        option: Name of the option, for messages.

    Raises:
        ConfigurationError: An argument cannot be parsed.
    """
    found: dict[str, Any] = {}
    for argument in arguments:
        if argument.startswith("@"):
            found.update(_value(_file(argument[1:], option), f"{option} {argument}"))
        elif argument.lstrip().startswith("{"):
            found.update(_value(argument, f"{option} {argument!r}"))
        elif match := _NAMED.fullmatch(argument):
            name = match[1] or match[2] or match[3]
            found[name] = _value(match[4], f"{option} {argument!r}")
        else:
            raise ConfigurationError(
                f"{option} {argument!r} is no parameter; write name=value, name => value, "
                "{name: value}, or @FILE for a file with such a map."
            )
    return found


def _file(name: str, option: str) -> str:
    try:
        text = Path(name).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise ConfigurationError(f"{option} @{name} cannot be read: {reason}.") from error
    if not text.lstrip().startswith("{"):
        raise ConfigurationError(f"{option} @{name} holds no map of parameters: {{name: value}}.")
    return text


def _value(text: str, said: str) -> Any:
    from gpugda.query.parser import parse

    try:
        # Parentheses ensure that the text is a single value.
        (part,) = parse(f"RETURN (\n{_keys_as_names(text)}\n) AS value").parts
        projection = part.clauses[0].projection  # type: ignore[attr-defined]  # it is RETURN
        (item,) = projection.items
        return _evaluated(item.expression)
    except (QueryError, ValueError):
        raise ConfigurationError(
            f"{said}: {text!r} is no value. Write numbers, true, false, null, [lists] and {{maps}} "
            'as they are, text in quotes: name="text".'
        ) from None


def _keys_as_names(text: str) -> str:
    """Converts a JSON value to Cypher, whose keys are not quoted; other texts unchanged."""
    import json

    try:
        return _cypher(json.loads(text, parse_float=_Number, parse_int=_Number))
    except ValueError:
        return text


class _Number(str):
    """A number as written, because the JSON parser would round it."""

    __slots__ = ()


def _cypher(value: Any) -> str:
    if isinstance(value, dict):
        entries = (f"`{key.replace('`', '``')}`: {_cypher(each)}" for key, each in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_cypher, value))}]"
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return {None: "null", True: "true", False: "false"}.get(value, str(value))


def _evaluated(expression: Expression) -> Any:
    from gpugda.query import ast

    if isinstance(expression, ast.Literal):
        return expression.value
    if isinstance(expression, ast.ListLiteral):
        return [_evaluated(item) for item in expression.items]
    if isinstance(expression, ast.MapLiteral):
        return {key: _evaluated(value) for key, value in expression.entries}
    raise ValueError("not a literal")
