"""``subject.key`` for columns of nodes or relationships."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import ObjectDictionary, StringDictionary
from gpugda.expressions.operands import Constant, Operand

if TYPE_CHECKING:
    from gpugda.expressions.environment import Environment

__all__ = ["property_of_entities"]


def property_of_entities(subject: Column, key: str, environment: Environment) -> Operand:
    """The property; null where there is none."""
    graph = environment.graph
    assert graph is not None
    node = subject.kind is ColumnKind.NODE
    column = (graph.node_properties if node else graph.relationship_properties).get(key)
    if column is None or len(column) == 0:
        return Constant(None)
    if isinstance(column.dictionary, StringDictionary):
        column.dictionary.stored = True
    elif isinstance(column.dictionary, ObjectDictionary):
        column.dictionary.mark_stored()
    if environment.has_all(subject):
        return column
    if subject.valid is None:
        return column.take(subject.values)
    # The value of a null row is no valid index.
    found = column.take(np.where(subject.valid, subject.values, 0))
    valid = subject.valid if found.valid is None else subject.valid & found.valid
    return Column(found.kind, found.values, valid, found.dictionary)
