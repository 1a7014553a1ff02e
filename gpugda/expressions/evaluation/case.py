"""``CASE`` and ``coalesce()``: which operands' errors count depends on the other operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.expressions.evaluation.apply_function import faulty_rows
from gpugda.expressions.operands import (
    Constant,
    Evaluated,
    Fault,
    Flags,
    Operand,
    both,
    either,
    inverted,
    restricted_to,
    take,
    validity,
)
from gpugda.expressions.scatter import Piece, scattered, selected_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.expressions.evaluation.evaluator import Evaluator
    from gpugda.query import ast

__all__ = ["case", "case_operand", "coalesce"]


def case(evaluator: Evaluator, node: ast.Case) -> Evaluated:
    """``CASE [operand] WHEN … THEN … [ELSE …] END``."""
    faults: tuple[Fault, ...] = ()
    tested = evaluator
    if node.operand is not None:
        operand = evaluator.value(node.operand)
        faults = operand.faults
        tested = evaluator.within_case(operand.operand)
    undecided = inverted(faulty_rows(faults))
    chosen: list[tuple[Flags, Operand]] = []
    for alternative in node.alternatives:
        taken: Flags = False
        for condition in alternative.conditions:
            truth = tested.truth(condition)
            counting = restricted_to(truth.faults, undecided)
            holds = both(truth.holds, undecided)
            taken = either(taken, holds)
            undecided = both(undecided, inverted(either(holds, faulty_rows(counting))))
            faults = (*faults, *counting)
        if taken is False:
            continue
        result = evaluator.value(alternative.result)
        faults = (*faults, *restricted_to(result.faults, taken))
        chosen.append((taken, result.operand))
    if node.otherwise is not None and undecided is not False:
        otherwise = evaluator.value(node.otherwise)
        faults = (*faults, *restricted_to(otherwise.faults, undecided))
        chosen.append((undecided, otherwise.operand))
    return Evaluated(_chosen(chosen, evaluator.row_count), faults)


def case_operand(evaluator: Evaluator, _: ast.CaseOperand) -> Evaluated:
    """The operand of the nearest enclosing CASE that has one."""
    return Evaluated(evaluator.case_operands[-1])


def coalesce(evaluator: Evaluator, node: ast.FunctionCall) -> Evaluated:
    """The first argument that is not null; later arguments are not evaluated."""
    undecided: Flags = True
    faults: tuple[Fault, ...] = ()
    chosen: list[tuple[Flags, Operand]] = []
    for argument in node.arguments:
        if undecided is False:
            break
        found = evaluator.value(argument)
        counting = restricted_to(found.faults, undecided)
        faults = (*faults, *counting)
        undecided = both(undecided, inverted(faulty_rows(counting)))
        known = both(undecided, validity(found.operand))
        chosen.append((known, found.operand))
        undecided = both(undecided, inverted(known))
        if not np.any(undecided):
            break
    return Evaluated(_chosen(chosen, evaluator.row_count), faults)


def _chosen(chosen: Sequence[tuple[Flags, Operand]], row_count: int) -> Operand:
    some = [(rows, operand) for rows, operand in chosen if np.any(rows)]
    if not some:
        return Constant(None)
    for rows, operand in some:
        if rows is True or np.all(rows):
            return operand
    numbers = selected_values(some, row_count)
    if numbers is not None:
        return numbers
    pieces: list[Piece] = []
    for rows, operand in some:
        assert not isinstance(rows, bool)
        pieces.append((rows, take(operand, rows)))
    return scattered(pieces, row_count)
