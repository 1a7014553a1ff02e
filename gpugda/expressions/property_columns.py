"""``subject.key``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.data.dictionaries import ObjectDictionary
from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.operands import Constant, Flags, Operand, distinct_values, validity
from gpugda.values import kind_of

if TYPE_CHECKING:
    from gpugda.expressions.environment import Environment

__all__ = ["property_of"]

_WITHOUT_PROPERTIES = frozenset({"boolean", "number", "string", "list"})


def property_of(subject: Operand, key: str, environment: Environment) -> tuple[Operand, Flags]:
    """The property, null where there is none, and the rows whose subject cannot have properties."""
    if isinstance(subject, Constant):
        value, refused = _of_value(subject.value, key)
        return Constant(value), refused
    if subject.kind is ColumnKind.NODE or subject.kind is ColumnKind.RELATIONSHIP:
        return _of_entities(subject, key, environment), False
    if subject.kind is not ColumnKind.OBJECT:
        return Constant(None), validity(subject)
    return _of_objects(subject, key)


def _of_entities(subject: Column, key: str, environment: Environment) -> Operand:
    graph = environment.graph
    assert graph is not None
    node = subject.kind is ColumnKind.NODE
    column = (graph.node_properties if node else graph.relationship_properties).get(key)
    if column is None:
        return Constant(None)
    if environment.everything:
        return column
    found = column.take(subject.values)
    if subject.valid is None:
        return found
    valid = subject.valid if found.valid is None else subject.valid & found.valid
    return Column(found.kind, found.values, valid, found.dictionary)


def _of_objects(subject: Column, key: str) -> tuple[Operand, Flags]:
    places, values = distinct_values(subject, len(subject))
    found = [_of_value(value, key) for value in values]
    entries = [value for value, _ in found]
    refused = np.array([each for _, each in found], dtype=np.bool_)[places]
    valid = np.array([value is not None for value in entries], dtype=np.bool_)[places]
    codes = places.astype(np.int32)
    return Column(ColumnKind.OBJECT, codes, valid, ObjectDictionary(entries)), refused


def _of_value(value: Any, key: str) -> tuple[Any, bool]:
    if value is None:
        return None, False
    if isinstance(value, dict):
        return value.get(key), False
    if kind_of(value) in _WITHOUT_PROPERTIES:
        return None, True
    message = f"the component {key} of a temporal or spatial value is not answered here"
    raise UnsupportedQueryError(message, construct="components of temporal and spatial values")
