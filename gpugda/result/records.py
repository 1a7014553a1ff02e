"""Makes records of the Neo4j driver from rows of values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from neo4j import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["make_records"]

_KEYS = "_Record__keys"
"""The attribute that holds a record's keys; all records of a result share one tuple."""
_make: Callable[..., Record] = Record  # the constructor is untyped
_is_known = vars(_make([("a", 1)])) == {_KEYS: ("a",)}


def make_records(names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> list[Record]:
    """One record per row."""
    if not _is_known:  # another version of the driver: use the public constructor
        return [_make(zip(names, row, strict=True)) for row in rows]
    # Sets the attribute that the driver's decoder sets, but without a call per record.
    records = list(map(partial(tuple.__new__, Record), rows))
    for record in records:
        record._Record__keys = names  # type: ignore[attr-defined]
    return records
