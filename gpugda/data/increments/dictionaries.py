"""Dictionaries extended by new entries, and codes of values in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.integer_sets import unique_values
from gpugda.data.patches.splice import Splice
from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.arrow_numbers import arrow_numbers, numpy_numbers
from gpugda.data.values.column import Column
from gpugda.data.values.dictionaries import ObjectDictionary, StringDictionary, merge_strings

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["extended_objects", "extended_strings", "without_unused"]

_FEW = 1 << 12
"""Up to this many new texts are inserted one by one; more are merged with the old ones."""
_SEARCHED_TOGETHER = 6
"""From this many texts on, one vectorised search finds all of them; fewer are searched singly."""
_LARGEST_STRING_ARRAY = 2**31 - 1


def extended_strings(
    old: StringDictionary, new: Column
) -> tuple[StringDictionary, Splice | NDArray[np.int32] | None, NDArray[np.int32]]:
    """A dictionary with the texts of another column added.

    Args:
        old: The dictionary.
        new: A column of texts.

    Returns:
        The dictionary; how the old codes move: the splice of the old texts, the new code of each
        old one, or None if they stay; and the new column's codes.
    """
    given = new.dictionary
    assert isinstance(given, StringDictionary)
    if given is old:
        return old, None, new.values
    if len(given) > _FEW or old.nbytes + given.nbytes > _LARGEST_STRING_ARRAY:
        merged, (of_old, of_new) = merge_strings([old, given])
        moves = of_old if len(of_old) else None
        return merged, moves, _recoded(of_new, new.values)
    texts = given.array.cast(old.array.type)
    found, there = _looked_up(old, texts)
    missing = np.flatnonzero(~there)  # ascending, as the dictionary is sorted
    if not len(missing):
        return old, None, _recoded(found.astype(np.int32), new.values)
    places = found[missing]
    splice = Splice(len(old), np.empty(0, dtype=np.int64), places)
    dictionary = StringDictionary(_with_texts(old.array, texts, missing, places))
    new_codes = np.empty(len(given), dtype=np.int32)
    new_codes[missing] = splice.new_places()
    new_codes[there] = splice.moved(found[there])
    return dictionary, splice if len(old) else None, _recoded(new_codes, new.values)


def _looked_up(
    old: StringDictionary, texts: pa.Array
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Code of each text, or its insertion point, and ``bool``: True if it is present."""
    if len(texts) < _SEARCHED_TOGETHER:
        some = texts.to_pylist()
        codes = np.array([old.lower_bound(text) for text in some], dtype=np.int64)
        size = len(old)
        pairs = zip(codes.tolist(), some, strict=True)
        same = [code < size and old.value(code) == text for code, text in pairs]
        return codes, np.array(same, dtype=np.bool_)
    codes = old.lower_bounds(texts)
    there = codes < len(old)
    known = old.array.take(arrow_numbers(codes[there]))
    asked = texts.take(arrow_numbers(np.flatnonzero(there)))
    there[there] = numpy_numbers(pc.equal(known, asked))
    return codes, there


def _with_texts(
    old: pa.Array, given: pa.Array, missing: NDArray[np.intp], places: NDArray[np.int64]
) -> pa.Array:
    """The old texts with ``given[missing]`` inserted before the given positions."""
    added = given.take(arrow_numbers(missing))
    pieces, start = [], 0
    for number, place in enumerate(places.tolist()):
        pieces.append(old.slice(start, place - start))
        pieces.append(added.slice(number, 1))
        start = place
    return pa.concat_arrays([*pieces, old.slice(start)])


def _recoded(table: NDArray[np.int32], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    return table[codes] if len(table) else codes


def extended_objects(
    old: ObjectDictionary, new: Column
) -> tuple[ObjectDictionary, NDArray[np.int32]]:
    """A dictionary with the values of another column added, and that column's codes in it."""
    given = new.dictionary
    assert isinstance(given, ObjectDictionary)
    if given is old:
        return old, new.values
    dictionary, codes = old.extended(given.entries.tolist())
    return dictionary, _recoded(codes, new.values)


def without_unused(column: Column) -> Column:
    """The same column with a dictionary of only the values that it uses."""
    codes = column.values if column.valid is None else column.values[column.valid]
    used: NDArray[Any] = unique_values(codes)
    dictionary = column.dictionary
    new_codes = np.zeros(len(dictionary) if dictionary is not None else 0, dtype=np.int32)
    new_codes[used] = np.arange(len(used), dtype=np.int32)
    renewed: StringDictionary | ObjectDictionary
    if isinstance(dictionary, StringDictionary):
        renewed = StringDictionary(dictionary.array.take(arrow_numbers(used)))
    else:
        assert isinstance(dictionary, ObjectDictionary)
        renewed = ObjectDictionary(dictionary.entries[used].tolist())
    return Column(column.kind, new_codes[column.values], column.valid, renewed)
