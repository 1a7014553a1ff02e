"""Columns of computed values, including entities, paths, lists and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind, column_from_values
from gpugda.data.values.dictionaries import ObjectDictionary
from gpugda.values import ByteArray, Entity, Path

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["column_of", "object_column"]


def column_of(values: Sequence[Any]) -> Column:
    """The values as a column of the narrowest kind that fits all of them."""
    kinds = {type(value) for value in values}
    if kinds <= {Entity, type(None)} and Entity in kinds:
        is_node = {value.is_node for value in values if value is not None}
        if len(is_node) == 1:
            return _entity_column(values, is_node.pop())
    if kinds & {Entity, Path, list, dict, ByteArray}:
        return object_column(values)
    return column_from_values(values)


def _entity_column(values: Sequence[Any], is_node: bool) -> Column:
    indexes = [0 if value is None else value.index for value in values]
    return Column(
        ColumnKind.NODE if is_node else ColumnKind.RELATIONSHIP,
        np.array(indexes, dtype=np.uint32),
        _validity(values),
    )


def object_column(values: Sequence[Any]) -> Column:
    """The values unchanged, with one dictionary entry each."""
    # One entry per row: maps and entities are not hashed by value.
    codes = np.arange(len(values), dtype=np.int32)
    return Column(ColumnKind.OBJECT, codes, _validity(values), ObjectDictionary(values))


def _validity(values: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    valid = np.array([value is not None for value in values], dtype=np.bool_)
    return None if valid.all() else valid
