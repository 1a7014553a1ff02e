"""Property columns from Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.arrow_numbers import arrow_texts
from gpugda.data.values.column import Column, ColumnKind, constant_null
from gpugda.data.values.dehydration import dehydrated
from gpugda.data.values.dictionaries import encode_objects, encode_strings
from gpugda.data.values.driver_values import from_driver
from gpugda.errors import SourceError
from gpugda.values import ByteArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["convert_values", "property_value"]

_SMALLEST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**63 - 1
_PLAIN = frozenset({bool, int, float, str, type(None)})
_ADVICE: dict[type, str] = {
    dict: "make each key a column of its own",
    set: "make it a list",
    frozenset: "make it a list",
    bytes: "encode them as text, for instance with base64",
}


def convert_values(values: Sequence[Any]) -> Column:
    """See ``column_from_values``."""
    kinds = set(map(type, values))
    if not kinds <= _PLAIN:
        values = [property_value(value) for value in values]
        kinds = set(map(type, values))
    if int in kinds:
        _check_integers(values)
    valid = None
    if type(None) in kinds:
        kinds.discard(type(None))
        valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
    return _column_of_kinds(values, kinds, valid)


def property_value(value: Any) -> Any:
    """Converts a value to the form of a property: a plain Python type, a list, or a neo4j type.

    Raises:
        SourceError: The value cannot be a property.
    """
    if type(value) in _PLAIN:
        return value
    try:
        value = from_driver(value)
    except ValueError as error:
        raise SourceError(f"Neo4j has a value that cannot be kept here: {error}") from error
    try:
        found = dehydrated(value)
    except ValueError as error:
        raise _not_storable(value, str(error)) from error
    if _has(found, dict):
        raise _not_storable(value, "a property cannot be a map")
    if _has(found, ByteArray):
        raise _not_storable(value, "bytes are not kept here")
    return found


def _has(value: Any, kind: type) -> bool:
    return any(_has(item, kind) for item in value) if type(value) is list else type(value) is kind


def _not_storable(value: Any, reason: str) -> SourceError:
    advice = "convert it to a number, text, boolean, list, date or time"
    return SourceError(
        f"the value {value!r} of type {type(value).__name__} cannot be a property: {reason}; "
        + _ADVICE.get(type(value), advice)
    )


def _check_integers(values: Sequence[Any]) -> None:
    for value in values:
        if type(value) is int and not _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER:
            raise SourceError(
                f"the integer {value} does not fit 64 bits: store it as text or as a float"
            )


def _column_of_kinds(
    values: Sequence[Any], kinds: set[type], valid: NDArray[np.bool_] | None
) -> Column:
    if not kinds:
        return constant_null(len(values))
    if kinds == {str}:
        return _string_column(values, valid)
    for kind, column_kind, dtype in (
        (bool, ColumnKind.BOOLEAN, np.bool_),
        (int, ColumnKind.INTEGER, np.int64),
        (float, ColumnKind.FLOAT, np.float64),
    ):
        if kinds == {kind}:
            filled = values if valid is None else [kind() if v is None else v for v in values]
            return Column(column_kind, np.array(filled, dtype=dtype), valid)
    codes, dictionary = encode_objects(values)
    return Column(ColumnKind.OBJECT, codes, valid, dictionary)


def _string_column(values: Sequence[Any], valid: NDArray[np.bool_] | None) -> Column:
    try:
        array = arrow_texts(values)
    except UnicodeEncodeError as error:
        raise SourceError(
            f"the text {error.object!r} has an unpaired surrogate: fix its encoding"
        ) from error
    codes, dictionary = encode_strings(array)
    return Column(ColumnKind.STRING, codes, valid, dictionary)
