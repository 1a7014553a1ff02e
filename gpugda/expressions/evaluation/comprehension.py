"""List comprehensions and ``all``, ``any``, ``none``, ``single``, for all elements at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions import boolean_columns as logic
from gpugda.expressions.boolean_columns import Truth
from gpugda.expressions.evaluation.apply_function import faulty_rows
from gpugda.expressions.evaluation.exploded import (
    Exploded,
    Lists,
    faults_of_rows,
    is_of_element,
    lists_of,
    with_elements,
)
from gpugda.expressions.evaluation.row_parts import joined_faults, joined_truths, parts_of
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.operands import (
    Constant,
    Evaluated,
    Fault,
    Flags,
    as_column,
    both,
    either,
    inverted,
)
from gpugda.expressions.scatter import scattered
from gpugda.query.ast import ListQuantifier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.expressions.evaluation.evaluator import Evaluator
    from gpugda.query import ast

__all__ = ["list_comprehension", "list_predicate"]


def _lists_of(
    evaluator: Evaluator, elements: ast.Expression
) -> tuple[Lists, tuple[Fault, ...]] | None:
    """The lists, and the rows that fail; None if all are null."""
    found = evaluator.value(elements)
    if isinstance(found.operand, Constant) and found.operand.value is None and not found.faults:
        return None
    sound = inverted(faulty_rows(found.faults))
    return lists_of(found.operand, evaluator.row_count, sound), found.faults


# ------------------------------------------------------------------ [x IN xs WHERE p | y]
def list_comprehension(evaluator: Evaluator, node: ast.ListComprehension) -> Evaluated:
    """``[variable IN elements WHERE where | projection]``."""
    found = _lists_of(evaluator, node.elements)
    if found is None:
        return Evaluated(Constant(None))
    lists, faults = found
    if (mapped := _mapped(evaluator, node, lists)) is not None:
        return Evaluated(mapped, faults)
    parts = parts_of(lists.counts)
    if len(parts) > 1:
        made = [list_comprehension(evaluator.inner(rows, {}), node) for rows in parts]
        pieces = [(rows, each.operand) for rows, each in zip(parts, made, strict=True)]
        column = scattered(pieces, evaluator.row_count)
        return Evaluated(column, joined_faults(parts, [each.faults for each in made]))
    exploded = lists.exploded()
    name, row_count = node.variable.name, evaluator.row_count
    elements, rows, counts = exploded.elements, exploded.rows, exploded.counts
    if node.where is not None:
        truth = evaluator.inner(rows, {name: elements}).truth(node.where)
        faults += faults_of_rows(truth.faults, True, rows, row_count)
        kept = np.flatnonzero(np.broadcast_to(truth.holds, len(rows)))
        elements, rows = elements.take(kept), rows[kept]
        counts = np.bincount(rows, minlength=row_count)
    inner = evaluator.inner(rows, {name: elements})
    result = Evaluated(elements)
    if node.projection is not None:
        result = inner.value(node.projection)
        faults += faults_of_rows(result.faults, True, rows, row_count)
    values = as_column(result.operand, len(rows))
    column = _lists(values, counts, exploded.valid)
    return Evaluated(column, faults)


def _mapped(evaluator: Evaluator, node: ast.ListComprehension, lists: Lists) -> Column | None:
    """The mapped lists if the projection depends on the element only (once per list); else None."""
    name = node.variable.name
    if node.where is not None or node.projection is None or not lists.is_mostly_used():
        return None
    if not is_of_element(name, node.projection):
        return None
    inner = with_elements(evaluator, name, lists.column)
    found = inner.value(node.projection)
    if found.faults:
        return None
    elements = as_column(found.operand, inner.row_count)
    codes = lists.places.astype(np.int32, copy=False)
    valid = None if lists.valid is True else np.array(np.broadcast_to(lists.valid, len(codes)))
    return Column(ColumnKind.OBJECT, codes, valid, ColumnLists(lists.firsts, elements))


def _lists(elements: Column, counts: NDArray[np.int64], valid: Flags) -> Column:
    """The element values as one list per row."""
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    codes = np.arange(len(counts), dtype=np.int32)
    known = None if valid is True else np.array(np.broadcast_to(valid, len(counts)))
    return Column(ColumnKind.OBJECT, codes, known, ColumnLists(ends, elements))


# ------------------------------------------------------------------ all, any, none, single
def list_predicate(evaluator: Evaluator, node: ast.ListPredicate) -> Truth:
    """``all(variable IN elements WHERE where)`` and the like, with Neo4j's short-circuiting."""
    found = _lists_of(evaluator, node.elements)
    if found is None:
        return logic.UNKNOWN
    lists, faults = found
    if (known := _decided(evaluator, node, lists)) is not None:
        sound = both(lists.valid, inverted(faulty_rows(faults)))
        return Truth(both(known.holds, sound), both(known.fails, sound), faults)
    parts = parts_of(lists.counts)
    if len(parts) > 1:
        made = [list_predicate(evaluator.inner(rows, {}), node) for rows in parts]
        return joined_truths(parts, made)
    exploded = lists.exploded()
    rows, row_count = exploded.rows, evaluator.row_count
    truth = evaluator.inner(rows, {node.variable.name: exploded.elements}).truth(node.where)
    holds, fails = (np.broadcast_to(each, len(rows)) for each in (truth.holds, truth.fails))
    deciding = fails if node.quantifier is ListQuantifier.ALL else holds
    needed = 2 if node.quantifier is ListQuantifier.SINGLE else 1
    if truth.faults:
        before = _before(deciding, exploded)
        faults += faults_of_rows(truth.faults, before < needed, rows, row_count)
    unknown = np.bincount(rows[~holds & ~fails], minlength=row_count) > 0
    decided = np.bincount(rows[deciding], minlength=row_count)
    outcome = _outcome(node.quantifier, decided, unknown)
    sound = both(exploded.valid, inverted(faulty_rows(faults)))
    return Truth(both(outcome.holds, sound), both(outcome.fails, sound), faults)


def _decided(evaluator: Evaluator, node: ast.ListPredicate, lists: Lists) -> Truth | None:
    """The result if the condition depends on the element only (once per list); else None."""
    if not lists.is_mostly_used() or not is_of_element(node.variable.name, node.where):
        return None
    count = len(lists.column)
    truth = with_elements(evaluator, node.variable.name, lists.column).truth(node.where)
    if truth.faults:
        return None
    holds, fails = (np.broadcast_to(each, count) for each in (truth.holds, truth.fails))
    decided = _per_list(fails if node.quantifier is ListQuantifier.ALL else holds, lists)
    unknown = _per_list(~(holds | fails), lists) > 0
    return _outcome(node.quantifier, decided[lists.places], unknown[lists.places])


def _per_list(chosen: NDArray[np.bool_], lists: Lists) -> NDArray[Any]:
    """Number of chosen elements per list."""
    if not chosen.any():
        return np.zeros(len(lists.firsts) - 1, dtype=np.int64)
    total = np.zeros(len(chosen) + 1, dtype=np.int32 if len(chosen) < 2**31 else np.int64)
    np.cumsum(chosen, out=total[1:])
    return np.diff(total[lists.firsts])


def _before(deciding: NDArray[np.bool_], exploded: Exploded) -> NDArray[np.int64]:
    """Per element, the number of deciding elements before it in its list."""
    total = np.concatenate([[0], np.cumsum(deciding)])
    before: NDArray[np.int64] = total[:-1] - total[exploded.starts[exploded.rows]]
    return before


def _outcome(
    quantifier: ListQuantifier, decided: NDArray[np.int64], unknown: NDArray[np.bool_]
) -> Truth:
    if quantifier is ListQuantifier.SINGLE:
        several = decided > 1
        known: Flags = ~unknown & ~several
        return Truth(both(decided == 1, known), either(both(decided == 0, known), several))
    some, none = decided > 0, (decided == 0) & ~unknown
    return Truth(some, none) if quantifier is ListQuantifier.ANY else Truth(none, some)
