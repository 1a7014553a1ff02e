"""Records of the Neo4j driver from columns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from neo4j import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["make_records"]

_KEYS = "_Record__keys"
"""Where a record keeps its keys; all of an answer's records share one tuple."""
_make: Callable[..., Record] = Record  # the constructor is untyped
_is_known = vars(_make([("a", 1)])) == {_KEYS: ("a",)}


def make_records(names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> list[Record]:
    """A record a row."""
    if not _is_known:  # another version of the driver: by its public constructor
        return [_make(zip(names, row, strict=True)) for row in rows]
    # As the driver's decoder does, which sets the same attribute, but without a call per record.
    records = list(map(partial(tuple.__new__, Record), rows))
    for record in records:
        record._Record__keys = names  # type: ignore[attr-defined]
    return records
