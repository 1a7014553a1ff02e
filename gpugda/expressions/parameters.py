"""A query's parameter values, converted to the value types of expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.temporal import is_stored_object, rezoned, temporal_from_native
from gpugda.errors import CypherTypeError, ParameterMissingError
from gpugda.query.query_graph import ExpectedType
from gpugda.values import kind_of

if TYPE_CHECKING:
    from gpugda.query.query_graph import TypedParameter
    from gpugda.types import Span

__all__ = ["Parameters"]

_SMALLEST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**63 - 1
_LARGEST_DEPTH = 100  # comparing and printing values recurses, bounded by Python's stack


class Parameters:
    """Parameters by name, converted at first access.

    Args:
        given: Values of any type that a driver accepts.
        text: Query text, for error messages.
    """

    def __init__(self, given: Mapping[str, Any], text: str) -> None:
        self._given = given
        self._text = text
        self._converted: dict[str, Any] = {}

    def get(self, name: str, span: Span | None = None) -> Any:
        """The value of a parameter.

        Raises:
            ParameterMissingError: No value was given.
            CypherTypeError: Cypher has no such value.
        """
        if name not in self._converted:
            if name not in self._given:
                raise ParameterMissingError(
                    f"no value was given for the parameter ${name}: pass {name}=…", self._text, span
                )
            try:
                self._converted[name] = _converted(self._given[name], 0)
            except (ValueError, OverflowError) as error:
                message = f"the parameter ${name} cannot be used: {error}"
                raise CypherTypeError(message, self._text, span) from error
        return self._converted[name]

    def check_type(self, typed: TypedParameter) -> None:
        """Checks the type of a parameter as Neo4j does before it runs a query.

        Null and floats always pass: Neo4j does not check the type of such parameters.

        Raises:
            ParameterMissingError: No value was given.
            CypherTypeError: The value's type is not the expected one.
        """
        name, span = typed.parameter.name, typed.parameter.span
        value = self.get(name, span)
        if value is None or isinstance(value, float):
            return
        kind = kind_of(value)
        if kind in _ACCEPTED[typed.expected]:
            return
        raise CypherTypeError(
            f"Type mismatch for parameter '{name}': "
            f"expected {typed.expected} but was {_TYPES[kind]}",
            self._text,
            span,
        )


_TYPES = {
    "boolean": "Boolean",
    "number": "Integer",
    "string": "String",
    "list": "List<T>",
    "map": "Map, Node or Relationship",
    "date": "Date",
    "time": "Time",
    "localtime": "LocalTime",
    "datetime": "DateTime",
    "localdatetime": "LocalDateTime",
    "duration": "Duration",
    "point": "Point",
}

# A map passes for an entity as long as no row reads the entity.
_ACCEPTED = {
    ExpectedType.TRUTH: {"boolean", "list"},
    ExpectedType.LIST: {"list"},
    ExpectedType.NODE: {"map"},
    ExpectedType.RELATIONSHIP: {"map"},
    ExpectedType.ENTITY: {"map"},
}


def _converted(value: Any, depth: int) -> Any:
    if depth > _LARGEST_DEPTH:
        raise ValueError(f"lists and maps are nested more than {_LARGEST_DEPTH} deep")
    if value is None or type(value) in (bool, float):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int):
        return _checked_integer(int(value))
    if isinstance(value, str):
        return _checked_text(str(value))
    if isinstance(value, Mapping):
        return {_checked_name(key): _converted(item, depth + 1) for key, item in value.items()}
    if is_stored_object(value):
        return rezoned(value)
    if isinstance(value, np.generic):
        return _from_numpy(value, depth)
    if isinstance(value, list | tuple) or _is_array(value):
        return [_converted(item, depth + 1) for item in _items(value)]
    return _from_datetime(value)


def _items(value: Any) -> Iterator[Any]:
    return iter(value.tolist() if isinstance(value, np.ndarray) and value.ndim else value)


def _is_array(value: Any) -> bool:
    # NumPy arrays, pandas and Polars series.
    return hasattr(value, "__array__") and hasattr(value, "__len__")


def _checked_integer(value: int) -> int:
    if not _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER:
        raise ValueError(f"the integer {value} does not fit 64 bits")
    return value


def _checked_text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("the text has half a surrogate pair: fix its encoding") from None
    return value


def _checked_name(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"map keys must be strings, not {key!r}")
    return _checked_text(str(key))


def _from_numpy(value: np.generic, depth: int) -> Any:
    if isinstance(value, np.datetime64 | np.timedelta64):
        from gpugda.data.native import property_value

        return property_value(value)
    if isinstance(value, np.void | np.complexfloating):
        raise ValueError(f"{value!r} is not a Cypher value")
    return _converted(value.item(), depth)


def _from_datetime(value: Any) -> Any:
    if type(value).__name__ in ("NaTType", "NAType"):  # pandas' nulls
        return None
    converted = temporal_from_native(value)
    if converted is None:
        raise ValueError(f"values of type {type(value).__name__} are not Cypher values")
    return converted
