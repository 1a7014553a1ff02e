"""Property columns from Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.arrow import convert_array
from gpugda.data.arrow_numbers import arrow_texts
from gpugda.data.column import Column, ColumnKind, constant_null, to_values
from gpugda.data.dictionaries import encode_objects, encode_strings
from gpugda.data.temporal import is_stored_object, rezoned, temporal_from_native
from gpugda.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["convert_values", "property_value"]

_SMALLEST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**63 - 1
_PLAIN = frozenset({bool, int, float, str, type(None)})
_ADVICE: dict[type, str] = {
    dict: "a property cannot be a map; make each key a column of its own",
    set: "a property cannot be a set; make it a list",
    frozenset: "a property cannot be a set; make it a list",
    bytes: "a property cannot be bytes; encode them as text, for instance with base64",
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
    if isinstance(value, np.generic):
        return _from_numpy(value)
    if is_stored_object(value):
        return _rezoned(value)
    for kind in (int, float, str):  # subclasses such as enumerations; bool has none
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, list | tuple | np.ndarray):
        items = [property_value(item) for item in value]
        _check_integers(items)
        return items
    return _from_datetime(value)


def _rezoned(value: Any) -> Any:
    try:
        return rezoned(value)
    except (ValueError, OverflowError) as error:
        raise SourceError(f"a time cannot be a property: {error}") from error


def _from_datetime(value: Any) -> Any:
    if type(value).__name__ in ("NaTType", "NAType"):  # pandas' nulls
        return None
    try:
        converted = temporal_from_native(value)
    except (ValueError, OverflowError) as error:
        raise SourceError(f"the value {value!r} cannot be a property: {error}") from error
    if converted is None:
        advice = _ADVICE.get(
            type(value), "convert it to a number, text, boolean, list, date or time"
        )
        raise SourceError(
            f"the value {value!r} of type {type(value).__name__} cannot be a property: {advice}"
        )
    return converted


def _from_numpy(value: np.generic) -> Any:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return to_values(convert_array(pa.array([value])))[0]
    if isinstance(value, np.void | np.complexfloating | np.longdouble):
        raise SourceError(
            f"the value {value!r} of numpy cannot be a property: convert it to a float"
        )
    return property_value(value.item())


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
