"""Vectorised temporal calls: constructors, truncation, durations between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import StringDictionary
from gpugda.expressions.operands import Constant, Evaluated, used_codes, validity
from gpugda.expressions.temporal import building_columns as building
from gpugda.expressions.temporal.moment_columns import moments_of, moments_of_operand
from gpugda.expressions.temporal.parsing_columns import parsed_rows
from gpugda.expressions.temporal.rows import DurationRows, MomentRows, moment_column
from gpugda.expressions.temporal.zones import parse_zone
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.expressions.evaluation.evaluator import Evaluator
    from gpugda.expressions.operands import Operand

__all__ = ["TEMPORAL_CALLS", "fields_call", "temporal_call"]

_KINDS: Final = frozenset({"date", "localdatetime", "datetime"})
_BETWEEN: Final = frozenset(
    f"duration.{name}" for name in ("between", "inmonths", "indays", "inseconds")
)
_EPOCHS: Final = frozenset({"datetime.fromepoch", "datetime.fromepochmillis"})
TEMPORAL_CALLS: Final = _KINDS | {f"{kind}.truncate" for kind in _KINDS} | _BETWEEN | _EPOCHS
"""Functions that may have a vectorised form, in lower case."""
_FEW: Final = 64
"""Below this many rows, single values are as fast."""


def fields_call(evaluator: Evaluator, name: str, node: ast.FunctionCall) -> Evaluated | None:
    """``datetime({…})`` with numeric fields; None if it must go value by value."""
    if name not in _KINDS or evaluator.row_count < _FEW or len(node.arguments) != 1:
        return None
    (given,) = node.arguments
    if not isinstance(given, ast.MapLiteral) or not given.entries:
        return None
    fields = {key.lower(): item for key, item in given.entries}
    if len(fields) < len(given.entries) or not fields.keys() <= _FIELDS:
        return None
    zone = fields.pop("timezone", None)
    offset = _offset(evaluator, zone)
    if offset is None or not fields or (zone is not None and name != "datetime"):
        return None
    numbers = {key: _numbers(evaluator.value(item), evaluator) for key, item in fields.items()}
    known = {key: each for key, each in numbers.items() if each is not None}
    if len(known) < len(numbers) or not any(each.strides[0] for each in known.values()):
        return None  # constant fields are evaluated once
    return _evaluated(building.from_numbers(name, known, offset), None)


_FIELDS: Final = building.NUMBER_FIELDS | {"timezone"}


def temporal_call(
    evaluator: Evaluator, name: str, arguments: Sequence[Evaluated]
) -> Evaluated | None:
    """The result of another call of `TEMPORAL_CALLS`; None as `fields_call`."""
    if evaluator.row_count < _FEW or not arguments:
        return None
    operands = [each.operand for each in arguments]
    faults = tuple(fault for each in arguments for fault in each.faults)
    if faults or not any(isinstance(operand, Column) for operand in operands):
        return None
    if name in _EPOCHS:
        return _from_epochs(evaluator, name, arguments)
    if name in _BETWEEN:
        return _between(name, operands)
    offset = _offset(evaluator, None)
    if offset is None:
        return None
    if name in _KINDS:
        return _converted(name, operands, offset)
    return _truncated(name.partition(".")[0], operands, offset)


# ------------------------------------------------------------------ single functions
def _from_epochs(
    evaluator: Evaluator, name: str, arguments: Sequence[Evaluated]
) -> Evaluated | None:
    found = [_numbers(each, evaluator) for each in arguments]
    numbers = [each for each in found if each is not None]
    if len(numbers) < len(found):
        return None
    if name == "datetime.fromepochmillis" and len(numbers) == 1:
        return _evaluated(building.at_instants(numbers[0], 1000, 0), None)
    if len(numbers) != 2 or not bool(((numbers[1] >= 0) & (numbers[1] < 10**9)).all()):
        return None
    rows = building.at_instants(numbers[0], 1, 0)
    if rows is None or rows.nanos is None:
        return None
    return _evaluated(MomentRows(rows.days, rows.nanos + numbers[1], 0), None)


def _converted(kind: str, operands: Sequence[Operand], offset: int) -> Evaluated | None:
    (given, *more) = operands
    if more or not isinstance(given, Column):
        return None
    if given.kind is ColumnKind.STRING:
        return _parsed(kind, given, offset)
    rows = moments_of(given)
    return None if rows is None else _with_codes(building.converted_rows(kind, rows, offset), given)


def _parsed(kind: str, texts: Column, offset: int) -> Evaluated | None:
    """Parses each text once; None if parsing single rows is needed."""
    assert isinstance(texts.dictionary, StringDictionary)
    codes = texts.values if texts.valid is None else texts.values[texts.valid]
    if not len(codes):
        return None
    used, _ = used_codes(codes, len(texts.dictionary))
    rows = parsed_rows(texts.dictionary.array.take(used), kind, offset)
    if rows is None:
        return None
    places = np.zeros(len(texts.dictionary), dtype=np.int32)
    places[used] = np.arange(len(used))
    return Evaluated(Column(ColumnKind.OBJECT, places[texts.values], texts.valid, rows))


def _truncated(kind: str, operands: Sequence[Operand], offset: int) -> Evaluated | None:
    (unit, *more) = operands
    if len(more) != 1 or not isinstance(unit, Constant) or not isinstance(unit.value, str):
        return None
    (given,) = more
    if not isinstance(given, Column) or not np.all(validity(given)):
        return None  # null is an error for truncate()
    rows = moments_of(given)
    if rows is None:
        return None
    return _with_codes(building.truncated_rows(kind, unit.value, rows, offset), given)


def _between(name: str, operands: Sequence[Operand]) -> Evaluated | None:
    if len(operands) != 2:
        return None
    first, last = (moments_of_operand(operand) for operand in operands)
    if first is None or last is None:
        return None
    valid = [each.valid for each in operands if isinstance(each, Column) and each.valid is not None]
    known = np.logical_and.reduce(valid) if valid else None
    return _evaluated(building.between(name, first, last), known)


# ------------------------------------------------------------------ operands
def _numbers(given: Evaluated, evaluator: Evaluator) -> NDArray[np.int64] | None:
    """One integer per row, none null; else None."""
    operand = given.operand
    if given.faults:
        return None
    if isinstance(operand, Constant):
        whole = type(operand.value) is int
        return np.broadcast_to(np.int64(operand.value), evaluator.row_count) if whole else None
    if operand.kind is not ColumnKind.INTEGER:
        return None
    whole_column = operand.valid is None or bool(operand.valid.all())
    return operand.values if whole_column else None


def _offset(evaluator: Evaluator, zone: ast.Expression | None) -> int | None:
    """Offset in seconds of datetimes without a zone of their own; None for named zones."""
    name: Any = evaluator.context.zone
    if zone is not None:
        operand = evaluator.value(zone).operand
        name = operand.value if isinstance(operand, Constant) else None
    if not isinstance(name, str) or not (name in ("Z", "z") or name[:1] in ("+", "-")):
        return None
    found = parse_zone(name)
    return found if isinstance(found, int) and not found % 60 else None


# ------------------------------------------------------------------ results
def _evaluated(
    rows: MomentRows | DurationRows | None, valid: NDArray[np.bool_] | None
) -> Evaluated | None:
    return None if rows is None else Evaluated(moment_column(rows, valid))


def _with_codes(rows: MomentRows | None, given: Column) -> Evaluated | None:
    """The given column with the entries of its dictionary replaced by these."""
    if rows is None:
        return None
    return Evaluated(Column(ColumnKind.OBJECT, given.values, given.valid, rows))
