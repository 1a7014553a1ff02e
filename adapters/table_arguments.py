"""Normalises the forms in which tables are given: one, several, by label or type, by path."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpugda.errors import ConfigurationError

__all__ = ["GivenTable", "given_tables"]

_ENDS = 3


@dataclass(frozen=True, slots=True, eq=False)
class GivenTable:
    """A table that the user gave.

    Args:
        table: The table, or the path of a file.
        origin: Name in messages.
        key: Labels or type for which it was given; empty for none.
        ends: Labels of the tables that hold the nodes at both ends, or empty.
    """

    table: Any
    origin: str
    key: str = ""
    ends: tuple[str, ...] = ()

    @property
    def is_file(self) -> bool:
        """True if it is the path of a file."""
        return _is_path(self.table)

    @property
    def is_text_file(self) -> bool:
        """True if it is the path of delimited text."""
        if not self.is_file:
            return False
        from .table_files import is_text_file  # tables in memory do not need it

        return is_text_file(self.table)


def given_tables(given: Any, what: str) -> list[GivenTable]:
    """The tables of an argument in order.

    Args:
        given: A table or path, a list of them, or tables by key: a mapping, or pairs in a list.
        what: ``nodes`` or ``relationships``, for messages.

    Raises:
        ConfigurationError: A key is neither a text nor ``(label, type, label)``.
    """
    if given is None:
        return []
    if isinstance(given, Mapping) and given and all(map(_is_whole, given.values())):
        return [_keyed(key, table, what) for key, table in given.items()]
    if not isinstance(given, list | tuple):
        return [GivenTable(given, _origin(given, what))]
    return [_entry(entry, f"{what}[{place}]", what) for place, entry in enumerate(given)]


def _entry(entry: Any, origin: str, what: str) -> GivenTable:
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str | tuple):
        return _keyed(*entry, what)
    return GivenTable(entry, _origin(entry, origin))


def _keyed(key: Any, table: Any, what: str) -> GivenTable:
    words = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(word, str) for word in words):
        raise ConfigurationError(f"{what}: the key {key!r} is no text")
    if len(words) == 1:
        return GivenTable(table, _origin(table, f"{what}[{key!r}]"), key)
    if len(words) != _ENDS or what == "nodes":
        wanted = "a label" if what == "nodes" else "a type or (label, type, label)"
        raise ConfigurationError(f"{what}: the key {key!r} is not {wanted}")
    source, name, target = words
    return GivenTable(table, _origin(table, f"{what}[{name!r}]"), name, (source, target))


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_whole(value: Any) -> bool:
    """True for a table, False for a column of one."""
    return _is_path(value) or isinstance(value, Mapping) or hasattr(value, "columns")


def _origin(table: Any, otherwise: str) -> str:
    return os.path.basename(os.fspath(table)) if _is_path(table) else otherwise
