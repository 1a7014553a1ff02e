"""Decodes property columns that gpugda's plugin packs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.values.column import Column, ColumnKind
from gpugda.data.values.columns import column_from_arrow
from gpugda.errors import StaleSnapshotError

from .bolt_pages import IdList
from .bolt_reading import Call
from .bolt_values import column_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import neo4j
    from numpy.typing import NDArray

    from .bolt_pages import Page

__all__ = ["plugin_properties"]

_Answer = tuple[int, dict[str, Column]]
_GONE = "The database changed while properties were read: nodes or relationships are gone."


def plugin_properties(keys: Sequence[str], of_nodes: bool) -> Call[_Answer]:
    """Requests the values of the keys for a page of nodes or relationships."""
    asker = _Asker(list(keys), of_nodes)
    return Call("CALL gpugda.properties($ofNodes, $keys, $ids)", asker.arguments, asker.decode)


@dataclass(frozen=True, slots=True)
class _Asker:
    keys: list[str]
    of_nodes: bool

    def arguments(self, page: Page) -> Mapping[str, Any]:
        """Parameters with the ids as bytes."""
        assert isinstance(page, IdList)
        ids = page.numbers.astype("<i8").tobytes()
        return {"ofNodes": self.of_nodes, "keys": self.keys, "ids": ids}

    def decode(self, page: Page, records: list[neo4j.Record]) -> _Answer:
        """Columns of the keys that occur."""
        found: dict[str, Column] = {}
        for row in records:
            if row["key"] is not None:
                found[row["key"]] = _column(row, len(page))
            elif row["found"] != len(page):
                raise StaleSnapshotError(_GONE)
        return len(page), found


def _column(row: neo4j.Record, count: int) -> Column:
    valid = np.frombuffer(row["valid"], np.bool_) if row["valid"] else None
    kind = row["kind"]
    if kind == "other":
        return column_of(row["key"], row["values"])
    if kind == "text":
        return column_from_arrow(_texts(row, valid, count))
    if kind == "integer":
        return Column(ColumnKind.INTEGER, np.frombuffer(row["numbers"], "<i8"), valid)
    if kind == "float":
        return Column(ColumnKind.FLOAT, np.frombuffer(row["numbers"], "<f8"), valid)
    return Column(ColumnKind.BOOLEAN, np.frombuffer(row["numbers"], "<i8") != 0, valid)


def _texts(row: neo4j.Record, valid: NDArray[np.bool_] | None, count: int) -> pa.Array:
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.frombuffer(row["numbers"], "<i8")])
    bits = None if valid is None else pa.array(valid).buffers()[1]
    buffers = [bits, pa.py_buffer(offsets), pa.py_buffer(row["text"])]
    return pa.Array.from_buffers(pa.large_string(), count, buffers)
