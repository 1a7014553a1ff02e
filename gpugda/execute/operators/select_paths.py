"""Applies a path selector to the paths that a subquery finds per row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.errors import CypherTypeError
from gpugda.execute.aggregation.equal_rows import EqualRows
from gpugda.execute.batch import CARRIED, Batch, in_batches, joined
from gpugda.execute.operator import Operator
from gpugda.execute.operators.apply import numbered, owners_of
from gpugda.execute.seeds import entity_column
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.lists import step_lengths
from gpugda.expressions.operands import as_column, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.execute.context import ExecutionContext
    from gpugda.plan.logical import SelectPaths as LogicalSelectPaths

__all__ = ["SelectPaths"]


class SelectPaths(Operator):
    """Joins each row with the shortest of its paths, per pair of ends.

    Rows that agree in all columns the subquery reads share one result.

    Args:
        child: Input rows.
        sub: Finds all paths; its argument is a batch of input rows.
        asked: The logical operator that describes the selector.
        added: Columns that the operator adds.
        read: Input columns that the subquery reads.
        depth: Nesting depth of this subquery.
    """

    def __init__(
        self,
        child: Operator,
        sub: Operator,
        asked: LogicalSelectPaths,
        added: tuple[str, ...],
        read: tuple[str, ...],
        *,
        depth: int,
    ) -> None:
        self.children = (child, sub)
        self.asked = asked
        self.added = added
        self.read = read
        self.columns = (*child.columns, *added)
        self.owner = f"{CARRIED}{depth}"

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        child, sub = self.children
        for batch in in_batches(child.batches(context), context.enough):
            if not batch.row_count:
                continue
            most = self._most(context)
            equal = EqualRows(batch, self.read) if self.asked.deterministic else None
            given = batch if equal is None else batch.take(equal.firsts)
            inner = context.within(numbered(given, self.owner, None))
            kept: Batch | None = None
            for found in in_batches(sub.batches(inner)):
                # Select incrementally, so that memory holds only the paths selected so far.
                both = found if kept is None else joined([kept, found])
                kept = both.take(self._taken(both, most))
            if kept is not None and kept.row_count:
                rows = owners_of(kept, self.owner)
                if equal is not None:
                    places, rows = equal.rows_of(rows)
                    kept = kept.take(places)
                made = batch.take(rows)
                yield made.adding({name: kept.columns[name] for name in self.added})

    def _most(self, context: ExecutionContext) -> int:
        if isinstance(self.asked.most, int):
            return self.asked.most
        environment = Environment(1, context.parameters, context.text)
        given = value_at(evaluate_operand(self.asked.most, environment), 0)
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            shown = "null" if given is None else repr(given)
            message = f"the number of paths must be a positive integer, not {shown}"
            raise CypherTypeError(message, context.text, self.asked.most.span)
        return given

    def _taken(self, batch: Batch, most: int) -> NDArray[np.int64]:
        """Positions of the selected paths; for equal ends, shorter paths first."""
        count = batch.row_count
        ends = [batch.columns[name] for name in (self.asked.start, self.asked.end)]
        keys: list[NDArray[np.int64]] = [owners_of(batch, self.owner)]
        keys += [entity_column(e, count, is_node=True).values.astype(np.int64) for e in ends]
        steps = [as_column(batch.columns[name], count) for name in self.asked.steps]
        lengths = sum(map(step_lengths, steps), np.zeros(count, dtype=np.int64))
        order = np.lexsort((lengths, *keys[::-1]))
        begins = np.zeros(len(order), dtype=np.bool_)
        begins[:1] = True
        for key in keys:
            begins[1:] |= np.diff(key[order]) != 0
        # Count paths one by one, or those of one length together.
        counted = np.ones(len(order), dtype=np.int64)
        if self.asked.by_group:
            counted[1:] = begins[1:] | (np.diff(lengths[order]) != 0)
        ranks = np.cumsum(counted)
        firsts = np.flatnonzero(begins)
        counts = np.diff(np.append(firsts, len(order)))
        ranks -= np.repeat(ranks[firsts], counts)
        taken: NDArray[np.int64] = order[ranks < most]
        return taken

    def describe(self) -> str:
        """Describes how many paths are selected."""
        asked = self.asked
        most = asked.most if isinstance(asked.most, int) else f"${asked.most.name}"
        what = "lengths" if asked.by_group else "paths"
        return f"the shortest {most} {what} between two nodes"
