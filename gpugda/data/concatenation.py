"""Concatenation of the pieces of a column from several batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.column import Column, ColumnKind, constant_null, to_values
from gpugda.data.dictionaries import (
    ObjectDictionary,
    StringDictionary,
    encode_objects,
    merge_objects,
    merge_strings,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["concatenate_columns"]


def concatenate_columns(columns: Sequence[Column | None], counts: Sequence[int]) -> Column:
    """See ``concatenate``."""
    pieces = [None if column is None or _all_null(column) else column for column in columns]
    kinds = {piece.kind for piece in pieces if piece is not None}
    if not kinds:
        return constant_null(sum(counts))
    if len(pieces) == 1 and pieces[0] is not None:
        return pieces[0]
    if len(kinds) > 1:
        return _mixed(pieces, counts)
    kind = kinds.pop()
    dictionary, values = _common_codes([piece for piece in pieces if piece is not None])
    filled = _fill(pieces, counts, values)
    return Column(kind, np.concatenate(filled), _join_valid(pieces, counts), dictionary)


def _all_null(column: Column) -> bool:
    return column.valid is not None and not column.valid.any()


def _common_codes(
    pieces: Sequence[Column],
) -> tuple[StringDictionary | ObjectDictionary | None, list[NDArray[Any]]]:
    dictionaries = [piece.dictionary for piece in pieces]
    values = [piece.values for piece in pieces]
    first = dictionaries[0]
    if first is None or all(dictionary is first for dictionary in dictionaries):
        assert first is None or isinstance(first, StringDictionary | ObjectDictionary)
        return first, values
    merged: StringDictionary | ObjectDictionary
    if isinstance(first, StringDictionary):
        strings = [each for each in dictionaries if isinstance(each, StringDictionary)]
        merged, new_codes = merge_strings(strings)
    else:
        objects = [each for each in dictionaries if isinstance(each, ObjectDictionary)]
        merged, new_codes = merge_objects(objects)
    renewed = [new[old] if len(new) else old for new, old in zip(new_codes, values, strict=True)]
    return merged, renewed


def _fill(
    pieces: Sequence[Column | None], counts: Sequence[int], values: Sequence[NDArray[Any]]
) -> list[NDArray[Any]]:
    remaining = iter(values)
    dtype = values[0].dtype
    return [
        np.zeros(count, dtype=dtype) if piece is None else next(remaining)
        for piece, count in zip(pieces, counts, strict=True)
    ]


def _join_valid(pieces: Sequence[Column | None], counts: Sequence[int]) -> NDArray[np.bool_] | None:
    if all(piece is not None and piece.valid is None for piece in pieces):
        return None
    parts = [_piece_valid(piece, count) for piece, count in zip(pieces, counts, strict=True)]
    return np.concatenate(parts)


def _piece_valid(piece: Column | None, count: int) -> NDArray[np.bool_]:
    if piece is None:
        return np.zeros(count, dtype=np.bool_)
    return np.ones(count, dtype=np.bool_) if piece.valid is None else piece.valid


def _mixed(pieces: Sequence[Column | None], counts: Sequence[int]) -> Column:
    values: list[Any] = []
    for piece, count in zip(pieces, counts, strict=True):
        values.extend([None] * count if piece is None else to_values(piece))
    codes, dictionary = encode_objects(values)
    return Column(ColumnKind.OBJECT, codes, _join_valid(pieces, counts), dictionary)
