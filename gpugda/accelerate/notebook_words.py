"""Parses the line of a magic: options, which may be variables of the notebook.

By default, IPython pastes Python values into the text of a magic. Our magics are registered so
that it does not: `$name` and `{name}` as whole words mean the variable itself, of any type.
"""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Arguments", "refuse", "source_named", "words_of"]

_VARIABLE = re.compile(r"\$([^\W\d]\w*)|\{\s*([^\W\d]\w*)\s*\}")


class Arguments(ArgumentParser):
    """A parser that does not exit the notebook on errors, and accepts no abbreviated options."""

    def __init__(self, name: str) -> None:
        super().__init__(name, add_help=False, allow_abbrev=False)

    def read(self, words: list[Any]) -> Namespace:
        """Parses words that may be objects; argparse gets placeholders for objects."""
        objects = {f"\0{place}": word for place, word in enumerate(words)}
        texts = [_typed(word, f"\0{place}") for place, word in enumerate(words)]
        given = self.parse_args(texts)
        for name, value in vars(given).items():
            if isinstance(value, str):
                setattr(given, name, objects.get(value, value))
        return given

    def error(self, message: str) -> NoReturn:
        """Ends the magic with one sentence about the error."""
        refuse(f"{message}; see %{self.prog}?")


def refuse(reason: object) -> NoReturn:
    """Ends a magic with a message that IPython shows without a traceback."""
    from IPython.core.error import UsageError

    cause = reason if isinstance(reason, BaseException) else None
    raise UsageError(str(reason)) from cause


def words_of(line: str, variables: Mapping[str, Any]) -> list[Any]:
    """Splits a line like a shell; words that name a variable become its value."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        refuse(f"{error}: {line}")
    return [_value(word, variables) for word in words]


def source_named(word: Any, variables: Mapping[str, Any]) -> Any:
    """The source that a word names: the variable of that name, else the word itself."""
    if not isinstance(word, str) or not word.isidentifier() or word not in variables:
        return word
    if Path(word).exists():
        refuse(f"{word!r} is a variable and a file: write ${word} or ./{word}.")
    return variables[word]


def _typed(word: Any, stand_in: str) -> str:
    """The text of a word as a user would type it; the placeholder for an object."""
    return str(word) if isinstance(word, str | int | float) else stand_in


def _value(word: str, variables: Mapping[str, Any]) -> Any:
    match = _VARIABLE.fullmatch(word)
    if match is None:
        return word
    name = match[1] or match[2]
    if name not in variables:
        refuse(f"there is no variable {name!r} in this notebook.")
    return variables[name]
