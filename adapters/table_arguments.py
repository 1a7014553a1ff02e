"""Normalises the forms in which tables are given: one, several, by label or type, by path, rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpugda.errors import ConfigurationError
from gpugda.types import value

from .table_columns import TableColumns, columns_of_rows, open_table
from .table_kinds import table_kind

__all__ = ["GivenTable", "given_tables"]

_ENDS = 3


@value(frozen=True, slots=True, eq=False)
class GivenTable:
    """A table that the user gave.

    Args:
        table: The table, or an `InputFile`.
        origin: Name in messages.
        key: Labels or type for which it was given; empty for none.
        ends: Labels of the tables that hold the nodes at both ends, or empty.
        is_file: True if it is in a file.
        default_type: Type of its relationships if none is given.
    """

    table: Any
    origin: str
    key: str = ""
    ends: tuple[str, ...] = ()
    is_file: bool = False
    default_type: str = ""

    def open(self) -> TableColumns:
        """Its columns.

        Raises:
            SourceError: The file cannot be read, or it is no table.
        """
        if isinstance(self.table, TableColumns):
            return self.table
        if self.is_file:
            from .table_files import read_table  # tables in memory do not need it

            return read_table(self.table)
        return open_table(self.table, self.origin)


def given_tables(given: Any, what: str) -> list[GivenTable]:
    """The tables of an argument in order.

    Args:
        given: A table, a path, rows (a list of dicts, or of pairs of ids), a list of tables and
            paths, or all these by key: a mapping, or pairs in a list.
        what: ``nodes`` or ``relationships``, for messages.

    Raises:
        ConfigurationError: A key is neither a text nor ``(label, type, label)``.
        SourceError: A path names no file.
    """
    if given is None:
        return []
    if isinstance(given, Mapping) and given and all(map(_is_whole, given.values())):
        return [each for key, table in given.items() for each in _keyed(key, table, what)]
    if not isinstance(given, list | tuple) or _are_rows(given):
        return _tables(given, what)
    return [
        each
        for place, entry in enumerate(given)
        for each in _entry(entry, f"{what}[{place}]", what)
    ]


def _entry(entry: Any, origin: str, what: str) -> list[GivenTable]:
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str | tuple):
        return _keyed(*entry, what)
    return _tables(entry, origin)


def _keyed(key: Any, table: Any, what: str) -> list[GivenTable]:
    words = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(word, str) for word in words):
        raise ConfigurationError(f"{what}: the key {key!r} is no text")
    if len(words) == 1:
        return _tables(table, f"{what}[{key!r}]", key)
    if len(words) != _ENDS or what == "nodes":
        wanted = "a label" if what == "nodes" else "a type or (label, type, label)"
        raise ConfigurationError(f"{what}: the key {key!r} is not {wanted}")
    source, name, target = words
    return _tables(table, f"{what}[{name!r}]", name, (source, target))


def _tables(table: Any, origin: str, key: str = "", ends: tuple[str, ...] = ()) -> list[GivenTable]:
    """The table, or the tables in the files that a path names."""
    if isinstance(table, str | os.PathLike):
        from .input_files import expand_files  # tables in memory do not need it

        files = expand_files(table)
        return [GivenTable(file, file.name, key, ends, is_file=True) for file in files]
    if isinstance(table, list | tuple) and _are_rows(table):
        default = "RELATED" if _is_pair(table[0]) else ""
        return [GivenTable(_columns_of(table), origin, key, ends, default_type=default)]
    return [GivenTable(table, origin, key, ends)]


def _is_whole(value: Any) -> bool:
    """True for a table, False for a column of one."""
    if isinstance(value, list | tuple):
        return _are_rows(value)
    kinds = (str, os.PathLike, Mapping, TableColumns)
    # The type is asked, as LazyFrame.columns is expensive, and warns.
    return isinstance(value, kinds) or any(hasattr(type(value), name) for name in _TABLE)


_TABLE = ("columns", "to_table", "collect")


# ------------------------------------------------------------------ rows
def _are_rows(given: list[Any] | tuple[Any, ...]) -> bool:
    """True for a list of dicts of values, or of pairs of ids."""
    return bool(given) and (all(map(_is_row, given)) or all(map(_is_pair, given)))


def _is_row(entry: Any) -> bool:
    """True for a dict of values; a table is one of columns."""
    if not isinstance(entry, Mapping):
        return False
    return any(
        value is None or (isinstance(value, int | float | str) and not _is_file(value))
        for value in entry.values()
    )


def _is_pair(entry: Any) -> bool:
    """True for two ids, as opposed to a key and its table."""
    if not isinstance(entry, list | tuple) or len(entry) != 2:
        return False
    first, second = entry
    is_pattern = isinstance(first, str) and isinstance(second, str) and "*" in second
    if is_pattern or _is_file(second):
        return False
    return all(hasattr(each, "__index__") or isinstance(each, str) for each in entry)


def _is_file(value: Any) -> bool:
    return isinstance(value, str) and table_kind(value) is not None


def _columns_of(rows: list[Any] | tuple[Any, ...]) -> dict[str, list[Any]]:
    if _is_pair(rows[0]):
        sources, targets = zip(*rows, strict=True)
        return {"source": list(sources), "target": list(targets)}
    return columns_of_rows(rows)
