"""Joins rows with nodes by equality of a property and a value."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.runs import places_in_runs
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.batch import in_batches
from gpugda.execute.entry_windows import windows_of
from gpugda.execute.operator import Operator, text_of
from gpugda.expressions.evaluate import evaluate_value
from gpugda.expressions.list_columns import is_in
from gpugda.expressions.operands import Constant, distinct_values
from gpugda.values import group_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.expressions.operands import Fault
    from gpugda.query.ast import Expression

__all__ = ["Lookup"]

_MAX_ROWS = 1 << 20


class Lookup(Operator):
    """Joins each row with each node whose property may equal a value; a filter follows.

    Values are looked up once per batch. One row whose value raises an error is joined with all
    nodes, so that the filter raises the error if there is any node.

    Args:
        child: Input rows.
        node: Name of the added node column.
        key: Name of the property.
        value: Expression over the rows.
    """

    def __init__(self, child: Operator, node: str, key: str, value: Expression) -> None:
        self.children = (child,)
        self.columns = (*child.columns, node)
        self.node = node
        self.key = key
        self.value = value

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        graph = context.graph
        column = graph.node_properties.get(self.key)
        for batch in in_batches(self.children[0].batches(context), context.enough):
            nothing = np.zeros(0, dtype=np.int64)
            yield self._batch(batch, nothing, nothing)
            found = evaluate_value(self.value, context.environment(batch))
            wrong = _faulty_row(found.faults, batch.row_count)
            if wrong is not None:
                everything = np.arange(graph.node_count)
                yield self._batch(batch, np.full(len(everything), wrong), everything)
            if column is None or not batch.row_count:
                continue
            places, values = distinct_values(found.operand, batch.row_count)
            table = _Table(column, values)
            for rows, nodes in table.joined(places):
                yield self._batch(batch, rows, nodes)

    def _batch(self, batch: Batch, rows: NDArray[np.int64], nodes: NDArray[np.int64]) -> Batch:
        made = Column(ColumnKind.NODE, nodes.astype(np.uint32))
        return batch.take(rows).adding({self.node: made})

    def describe(self) -> str:
        """Describes the property and its value."""
        return f"look up {self.node}.{self.key} = {text_of(self.value)}"


class _Table:
    """A hash table of nodes by property value.

    Args:
        column: The property of all nodes.
        values: Values to look up; None stands for null.
    """

    def __init__(self, column: Column, values: Sequence[Any]) -> None:
        nodes = _candidates(column, values)
        codes: dict[Any, list[int]] = defaultdict(list)
        for code, value in enumerate(values):
            if value is not None:
                codes[group_key(value)].append(code)
        places, own = distinct_values(column.take(nodes), len(nodes))
        pairs = [
            (code, place)
            for place, value in enumerate(own)
            if value is not None
            for code in codes.get(group_key(value), ())
        ]
        # Sort nodes by value, then collect the runs of each code.
        order = np.argsort(places, kind="stable")
        counts = np.bincount(places, minlength=len(own))
        starts = np.cumsum(counts) - counts
        code_of = np.array([code for code, _ in pairs], dtype=np.int64)
        place_of = np.array([place for _, place in pairs], dtype=np.int64)
        sizes = counts[place_of] if len(pairs) else np.zeros(0, dtype=np.int64)
        inside = places_in_runs(sizes)
        entries = nodes[order[np.repeat(starts[place_of], sizes) + inside]]
        by_code = np.repeat(code_of, sizes)
        ranked = np.argsort(by_code, kind="stable")
        self._nodes = entries[ranked]
        self._counts = np.bincount(by_code, minlength=len(values))
        self._starts = np.cumsum(self._counts) - self._counts

    def joined(
        self, places: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Pairs of rows and nodes with equal values, in windows; ``places`` holds value codes."""
        counts = self._counts[places]
        for start, stop in windows_of(counts, _MAX_ROWS):
            piece = counts[start:stop]
            rows = np.repeat(np.arange(start, stop), piece)
            firsts = np.repeat(self._starts[places[start:stop]], piece)
            yield rows, self._nodes[firsts + places_in_runs(piece)]


def _candidates(column: Column, values: Sequence[Any]) -> NDArray[np.int64]:
    """Nodes that may have one of the values."""
    if column.kind is ColumnKind.OBJECT:
        everything = np.arange(len(column))
        return everything if column.valid is None else np.flatnonzero(column.valid)
    wanted = [value for value in values if value is not None]
    truth = is_in(column, Constant(wanted), len(column), {})
    return np.flatnonzero(np.broadcast_to(truth.holds, len(column)))


def _faulty_row(faults: Sequence[Fault], row_count: int) -> int | None:
    for fault in faults:
        rows = np.flatnonzero(np.broadcast_to(fault.rows, row_count))
        if len(rows):
            return int(rows[0])
    return None
