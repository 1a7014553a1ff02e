"""Arguments of an import: groups of files, and characters in ``neo4j-admin``'s notation."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from gpugda.errors import ConfigurationError

from .csv_records import CsvFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FileArgument", "GroupArgument", "csv_format", "named_groups", "one_character"]

FileArgument: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
GroupArgument: TypeAlias = (
    "Mapping[str, FileArgument] | Sequence[tuple[str, FileArgument] | str | os.PathLike[str]]"
)


def named_groups(given: GroupArgument | None, what: str) -> list[tuple[str, FileArgument]]:
    """Labels or type, and files, of each group; the name is empty for a path alone.

    Args:
        given: A mapping from names to files, or a sequence of pairs and paths.
        what: ``nodes`` or ``relationships``, for the message.

    Raises:
        ConfigurationError: It is neither.
    """
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(_name(name, what), files) for name, files in given.items()]
    if isinstance(given, str | os.PathLike) or not isinstance(given, Iterable):
        raise _no_groups(given, what)
    return [_pair(entry, what) for entry in given]


def _pair(entry: Any, what: str) -> tuple[str, FileArgument]:
    if isinstance(entry, str | os.PathLike):
        return "", entry
    if not isinstance(entry, tuple | list) or len(entry) != 2:
        raise _no_groups(entry, what)
    return _name(entry[0], what), entry[1]


def _name(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise _no_groups(name, what)
    return name


def _no_groups(given: object, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{what}: {given!r} names no group of files. Give a mapping such as "
        "{'Person': 'people.csv'}, or pairs such as [('Person', 'a.csv'), ('Person', 'b.csv')] "
        "where files have headers of their own; gpugda.connect reads a folder"
    )


def csv_format(delimiter: str, quote: str) -> CsvFormat:
    """Delimiter and quote.

    Raises:
        ConfigurationError: One is not a character, or both are the same.
    """
    layout = CsvFormat(
        one_character(delimiter, "delimiter"), one_character(quote, "quote") if quote else ""
    )
    if layout.delimiter == layout.quote:
        raise ConfigurationError(f"delimiter and quote are both {quote!r}; they must differ")
    return layout


def one_character(text: str, what: str) -> str:
    """One ASCII character, in any notation that ``neo4j-admin`` accepts."""
    named = {"TAB": "\t", "\\t": "\t"}.get(text, text)
    code = re.fullmatch(r"U\+([0-9A-Fa-f]{4})|\\(\d{1,3})", named)
    if code:
        named = chr(int(code[1], 16) if code[1] else int(code[2]))
    if len(named) != 1 or not named.isascii() or named in "\r\n\0":
        raise ConfigurationError(
            f"{what}={text!r}: must be one ASCII character that ends no line, TAB, or U+ and "
            "four hex digits"
        )
    return named
