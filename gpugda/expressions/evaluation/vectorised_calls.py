"""Vectorised function calls on arrays, without creating a value per row."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.arrow_numbers import arrow_numbers, numpy_numbers
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import StringDictionary
from gpugda.expressions.evaluation.text_calls import text_call
from gpugda.expressions.functions.rounding import round_numbers
from gpugda.expressions.list_columns import element_at, part_of
from gpugda.expressions.lists import (
    ColumnLists,
    PathRows,
    nodes_of_paths,
    relationships_of_paths,
)
from gpugda.expressions.operands import Constant, Evaluated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["vectorised_call"]

_BEYOND = 2.0**63


def vectorised_call(name: str, arguments: Sequence[Evaluated]) -> Evaluated | None:
    """The result of a call, its name in lower case; None if it has no vectorised form."""
    if not arguments or not isinstance(arguments[0].operand, Column):
        return None
    if name == "round":
        return _round(arguments)
    texts = text_call(name, arguments)
    if texts is not None:
        return Evaluated(texts, arguments[0].faults)
    if len(arguments) != 1:
        return None
    column, faults = arguments[0].operand, arguments[0].faults
    if column.kind in (ColumnKind.INTEGER, ColumnKind.FLOAT):
        found = _of_numbers(name, column)
    else:
        make = _VECTORISED.get((name, type(column.dictionary)))
        found = None if make is None else make(column, column.dictionary)
    return None if found is None else Evaluated(found, faults)


# ------------------------------------------------------------------ numbers
def _of_numbers(name: str, column: Column) -> Column | None:
    function = _OF_NUMBERS.get(name)
    if function is None:
        return None
    with np.errstate(all="ignore"):
        values = function(column.values)
    return None if values is None else Column(_KINDS[values.dtype.kind], values, column.valid)


_KINDS = {"i": ColumnKind.INTEGER, "f": ColumnKind.FLOAT, "b": ColumnKind.BOOLEAN}


def _sign(numbers: Any) -> Any:
    return (numbers > 0).astype(np.int64) - (numbers < 0)


def _is_nan(numbers: Any) -> Any:
    return np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(len(numbers), np.bool_)


def _to_float(numbers: Any) -> Any:
    return numbers.astype(np.float64, copy=False)


def _to_integer(numbers: Any) -> Any:
    if numbers.dtype.kind == "i":
        return numbers
    # Numbers out of range saturate; those go one by one.
    return numbers.astype(np.int64) if bool((np.abs(numbers) < _BEYOND).all()) else None


def _by_arrow(function: str, numbers: Any) -> Any:
    return numpy_numbers(pc.call_function(function, [arrow_numbers(_to_float(numbers))]))


_OF_C = ("exp", "log10", "sin", "cos", "tan", "asin", "acos", "atan")

_OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "sign": _sign,
    "isnan": _is_nan,
    "tofloat": _to_float,
    "tointeger": _to_integer,
    # These are exact; for others, NumPy may differ from C, which single values use.
    "sqrt": lambda numbers: np.sqrt(_to_float(numbers)),
    "ceil": lambda numbers: np.ceil(_to_float(numbers)),
    "floor": lambda numbers: np.floor(_to_float(numbers)),
    "log": lambda numbers: _by_arrow("ln", numbers),
    **{name: partial(_by_arrow, name) for name in _OF_C},
}


def _round(arguments: Sequence[Evaluated]) -> Evaluated | None:
    """``round(number)`` and ``round(number, 2)``."""
    places = _places(arguments)
    column = arguments[0].operand
    assert isinstance(column, Column)
    if places is None or column.kind not in (ColumnKind.INTEGER, ColumnKind.FLOAT):
        return None
    with np.errstate(all="ignore"):
        values = round_numbers(column.values, places)
    if values is None:
        return None
    return Evaluated(Column(ColumnKind.FLOAT, values, column.valid), arguments[0].faults)


def _places(arguments: Sequence[Evaluated]) -> int | None:
    """Number of digits kept, if it is a constant non-negative integer; else None."""
    if len(arguments) == 1:
        return 0
    given = arguments[1].operand
    if len(arguments) > 2 or arguments[1].faults or not isinstance(given, Constant):
        return None
    plain = type(given.value) is int and given.value >= 0
    return given.value if plain else None


# ------------------------------------------------------------------ texts, lists and paths
def _nodes(column: Column, paths: PathRows) -> Column:
    return Column(ColumnKind.OBJECT, column.values, column.valid, nodes_of_paths(paths))


def _relationships(column: Column, paths: PathRows) -> Column:
    return Column(ColumnKind.OBJECT, column.values, column.valid, relationships_of_paths(paths))


def _lengths(column: Column, lists: ColumnLists | PathRows) -> Column:
    if not len(lists):
        return Column(ColumnKind.INTEGER, np.zeros(len(column), np.int64), column.valid)
    return Column(ColumnKind.INTEGER, np.diff(lists.offsets)[column.values], column.valid)


def _head(column: Column, _: ColumnLists) -> Column | None:
    return element_at(column, Constant(0))


def _last(column: Column, _: ColumnLists) -> Column | None:
    return element_at(column, Constant(-1))


def _tail(column: Column, _: ColumnLists) -> Column | None:
    return part_of(column, Constant(1), Constant(...))


def _text_lengths(column: Column, texts: StringDictionary) -> Column | None:
    if not len(texts) or len(texts) > _FEW_ROWS * len(column):
        return None  # count only the texts that rows have, one by one
    lengths = numpy_numbers(pc.utf8_length(texts.array)).astype(np.int64)
    return Column(ColumnKind.INTEGER, lengths[column.values], column.valid)


_FEW_ROWS = 4
"""Dictionary entries per row from which on only the used entries are processed."""

_VECTORISED: dict[tuple[str, type], Callable[[Column, Any], Column | None]] = {
    **{
        (name, StringDictionary): _text_lengths
        for name in ("size", "char_length", "character_length")
    },
    ("head", ColumnLists): _head,
    ("last", ColumnLists): _last,
    ("tail", ColumnLists): _tail,
    ("size", ColumnLists): _lengths,
    ("length", PathRows): _lengths,
    ("nodes", PathRows): _nodes,
    ("relationships", PathRows): _relationships,
}
