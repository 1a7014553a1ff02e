"""``reduce()`` and ``allReduce()``, position by position for all rows at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.expressions.boolean_columns import Truth
from gpugda.expressions.evaluation.apply_function import faulty_rows
from gpugda.expressions.evaluation.exploded import Lists, lists_of
from gpugda.expressions.evaluation.reduce_sums import summed_reduce
from gpugda.expressions.operands import (
    Constant,
    Evaluated,
    Fault,
    Operand,
    both,
    inverted,
    restricted_to,
    take,
)
from gpugda.expressions.scatter import Piece, scattered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.errors import QueryError
    from gpugda.expressions.evaluation.evaluator import Evaluator
    from gpugda.query import ast

__all__ = ["all_reduce", "reduce_list"]


@dataclass(slots=True)
class _Walk:
    """The rows whose lists have further elements, and their accumulators."""

    evaluator: Evaluator
    node: ast.Reduce | ast.AllReduce
    lists: Lists
    initial: Operand
    rows: NDArray[np.int64]
    accumulated: Operand
    faults: list[Fault] = field(default_factory=list)

    def steps(self) -> Iterator[tuple[NDArray[np.int64], Operand]]:
        """Before each step, yields the rows that have ended, with their accumulators."""
        counts = self.lists.counts
        position = 0
        while len(self.rows):
            ended = counts[self.rows] == position
            if ended.any():
                yield self.rows[ended], take(self.accumulated, np.flatnonzero(ended))
                self.keep(~ended)
            if len(self.rows):
                self._step(self.lists.at(self.rows, position))
                position += 1
                yield _NO_ROWS, Constant(None)

    def inner(self, element: Operand | None) -> Evaluator:
        """An evaluator that sees the accumulator, and an element if there is one."""
        added = {self.node.accumulator.name: self.accumulated}
        if element is not None:
            added[self.node.variable.name] = element
        return self.evaluator.inner(self.rows, added)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Keeps a subset of the rows."""
        self.accumulated = take(self.accumulated, np.flatnonzero(kept))
        self.rows = self.rows[kept]

    def note(self, faults: tuple[Fault, ...]) -> None:
        """Records faults and drops the faulty rows."""
        if not faults:
            return
        self.faults += [self._outside(fault) for fault in faults]
        failing = np.broadcast_to(faulty_rows(faults), len(self.rows))
        if failing.any():
            self.keep(~failing)

    def _step(self, element: Operand) -> None:
        found = self.inner(element).value(self.node.step)
        self.accumulated = found.operand
        self.note(found.faults)

    def _outside(self, fault: Fault) -> Fault:
        rows = self.rows
        failing = np.zeros(self.evaluator.row_count, dtype=np.bool_)
        failing[rows[np.broadcast_to(fault.rows, len(rows))]] = True

        def error(row: int) -> QueryError:
            return fault.error(int(np.flatnonzero(rows == row)[0]))

        return Fault(failing, error)


_NO_ROWS = np.zeros(0, dtype=np.int64)


def _walk(evaluator: Evaluator, node: ast.Reduce | ast.AllReduce) -> _Walk:
    found, initial = evaluator.value(node.elements), evaluator.value(node.initial)
    lists = lists_of(found.operand, evaluator.row_count, inverted(faulty_rows(found.faults)))
    # Without a list the initial value is not evaluated.
    faults = found.faults + restricted_to(initial.faults, lists.valid)
    begun = both(lists.valid, inverted(faulty_rows(faults)))
    rows = np.flatnonzero(np.broadcast_to(begun, evaluator.row_count))
    begin = initial.operand
    return _Walk(evaluator, node, lists, begin, rows, take(begin, rows), list(faults))


def reduce_list(evaluator: Evaluator, node: ast.Reduce) -> Evaluated:
    """``reduce(accumulator = initial, variable IN elements | step)``."""
    walk = _walk(evaluator, node)
    if not walk.faults and len(walk.rows):
        sums = summed_reduce(evaluator, node, walk.lists, walk.initial)
        if sums is not None:
            return Evaluated(sums)
    pieces: list[Piece] = [piece for piece in walk.steps() if len(piece[0])]
    faults = tuple(walk.faults)
    if len(pieces) == 1 and isinstance(pieces[0][1], Constant):
        (rows, operand) = pieces[0]
        if len(rows) == evaluator.row_count:
            return Evaluated(operand, faults)
    return Evaluated(scattered(pieces, evaluator.row_count), faults)


def all_reduce(evaluator: Evaluator, node: ast.AllReduce) -> Truth:
    """``allReduce(accumulator = initial, variable IN elements | step, predicate)``."""
    walk = _walk(evaluator, node)
    holds = np.zeros(evaluator.row_count, dtype=np.bool_)
    fails, unknown = np.zeros_like(holds), np.zeros_like(holds)
    for rows, _ in walk.steps():
        if len(rows):
            holds[rows] = ~unknown[rows]
            continue
        truth = walk.inner(None).truth(node.predicate)
        failing: Any = np.broadcast_to(truth.fails, len(walk.rows))
        fails[walk.rows[failing]] = True
        unknown[walk.rows[np.broadcast_to(~(truth.holds | failing), len(walk.rows))]] = True
        faults, rest = truth.faults, ~failing
        walk.note(tuple(Fault(both(each.rows, rest), each.error) for each in faults))
        walk.keep(~fails[walk.rows])
    return Truth(holds, fails, tuple(walk.faults))
