"""Text operators on dictionary codes; the texts themselves are read as rarely as possible."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import StringDictionary, encode_strings, merge_strings
from gpugda.expressions.boolean_columns import UNKNOWN, Truth, pairwise
from gpugda.expressions.operands import (
    Constant,
    Flags,
    Operand,
    both,
    inverted,
    used_codes,
    validity,
)
from gpugda.query.ast import BinaryOperator
from gpugda.text_order import StoredText, may_differ, refuse_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "Cache",
    "common_codes",
    "refuse_unknown_order",
    "texts_equal",
    "texts_less",
    "texts_match",
]

Cache = dict[Any, Any]
"""Results per dictionary, kept for the next batch of rows; keeps the dictionaries alive."""


def texts_equal(column: Column, text: str) -> Flags:
    """Mask of rows that hold this text; undefined for null rows."""
    code = _dictionary(column).find(text)
    return False if code < 0 else column.values == code


def texts_less(column: Column, text: str, *, or_equal: bool, swapped: bool) -> Flags:
    """``column < text``, or ``text < column`` if swapped, by code point.

    Raises:
        UnsupportedQueryError: Neo4j may order some of these texts differently.
    """
    dictionary = _dictionary(column)
    if may_differ(text) and not (dictionary.stored and isinstance(text, StoredText)):
        for other in dictionary.with_two_orders():
            refuse_texts((other, text))
    below = dictionary.lower_bound(text)
    upto = below + (1 if dictionary.find(text) >= 0 else 0)
    if swapped:
        first = below if or_equal else upto
        return column.values >= first
    end = upto if or_equal else below
    return column.values < end


def refuse_unknown_order(*columns: Column) -> None:
    """Checks that texts may be sorted or compared with each other by code point.

    Raises:
        UnsupportedQueryError: Neo4j may order some of these texts differently.
    """
    dictionaries = [each.dictionary for each in columns]
    texts = [each for each in dictionaries if isinstance(each, StringDictionary)]
    if not all(each.stored for each in texts):
        refuse_texts(chain.from_iterable(each.with_two_orders() for each in texts))


def common_codes(
    left: Column, right: Column, cache: Cache
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Codes of both columns in one sorted dictionary."""
    a, b = _dictionary(left), _dictionary(right)
    if a is b or len(a) == 0 or len(b) == 0:  # without entries all rows are null
        return left.values, right.values
    if len(a) + len(b) > 4 * (len(left) + len(right)) + 1024:
        left, right = _narrowed(left), _narrowed(right)
        _, (new_a, new_b) = merge_strings([_dictionary(left), _dictionary(right)])
        return new_a[left.values], new_b[right.values]
    key = ("merged", id(a), id(b))
    if key not in cache:
        cache[key] = merge_strings([a, b])[1], a, b
    new_a, new_b = cache[key][0]
    return new_a[left.values], new_b[right.values]


def _narrowed(column: Column) -> Column:
    # A dictionary much larger than the column: keep only the used entries.
    import pyarrow as pa

    used, places = used_codes(column.values, len(_dictionary(column)))
    texts = _dictionary(column).array.take(pa.array(used))
    codes, dictionary = encode_strings(texts)
    return Column(ColumnKind.STRING, codes[places], column.valid, dictionary)


# ------------------------------------------------------------------ STARTS WITH and the like
_TESTS: dict[BinaryOperator, Callable[[str, str], bool]] = {
    BinaryOperator.STARTS_WITH: str.startswith,
    BinaryOperator.ENDS_WITH: str.endswith,
    BinaryOperator.CONTAINS: str.__contains__,
}


def texts_match(
    operator: BinaryOperator, left: Operand, right: Operand, row_count: int, cache: Cache
) -> Truth:
    """STARTS WITH, ENDS WITH and CONTAINS; null if a side is no text."""
    test = _TESTS[operator]

    def both_texts(a: Any, b: Any) -> bool | None:
        return test(a, b) if isinstance(a, str) and isinstance(b, str) else None

    if isinstance(right, Constant) and not isinstance(right.value, str):
        return UNKNOWN
    if not (isinstance(right, Constant) and isinstance(left, Column)):
        return pairwise(both_texts, left, right, row_count)
    if left.kind is ColumnKind.OBJECT:
        return pairwise(both_texts, left, right, row_count)
    if left.kind is not ColumnKind.STRING or len(_dictionary(left)) == 0:
        return UNKNOWN
    valid = validity(left)
    found = _matches(operator, left, right.value, cache)
    return Truth(both(found, valid), both(inverted(found), valid))


def _matches(
    operator: BinaryOperator, column: Column, text: str, cache: Cache
) -> NDArray[np.bool_]:
    dictionary = _dictionary(column)
    if operator is BinaryOperator.STARTS_WITH:
        low, high = dictionary.bounds(text)
        in_range: NDArray[np.bool_] = (column.values >= low) & (column.values < high)
        return in_range
    if len(dictionary) > 8 * len(column) + 1024:
        used, places = used_codes(column.values, len(dictionary))
        texts = dictionary.values(used.astype(np.int32))
        test = _TESTS[operator]
        return np.array([test(each, text) for each in texts], dtype=np.bool_)[places]
    key = (operator, id(dictionary), text)
    if key not in cache:
        ends = operator is BinaryOperator.ENDS_WITH
        match = dictionary.matching_suffix if ends else dictionary.matching_substring
        cache[key] = match(text), dictionary
    found: NDArray[np.bool_] = cache[key][0][column.values]
    return found


def _dictionary(column: Column) -> StringDictionary:
    assert isinstance(column.dictionary, StringDictionary)
    return column.dictionary
