"""Implicit grouping with count(), batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.errors import UnsupportedQueryError
from gpugda.execute.aggregation.group_keys import group_key
from gpugda.execute.aggregation.grouping import Groups, group_rows, single_rows
from gpugda.execute.batch import RowTable, stacked
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.operands import Operand, take, validity
from gpugda.query import ast
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.expressions.environment import Environment
    from gpugda.query.query_graph import Query

__all__ = ["LARGEST_INTEGER", "GroupTable", "GroupedCounts", "summed_counts", "too_large"]

LARGEST_INTEGER = 2**63 - 1
"""Cypher's largest integer."""

_MERGE_ROWS = 1 << 16
"""Partial results are merged once this many rows wait, and more rows than are merged already."""


@value(frozen=True, slots=True, eq=False)
class GroupTable:
    """The groups, one row each, in order of first appearance."""

    row_count: int
    keys: tuple[Operand, ...]
    aggregates: tuple[Operand, ...]


class GroupedCounts:
    """Groups rows by the query's keys and counts them; memory grows with the number of groups.

    Args:
        query: A query with ``aggregating`` set.
        single: Nodes and relationships that are in one row only.
    """

    def __init__(self, query: Query, single: Container[str] = ()) -> None:
        self._single = single
        self._keys = query.grouping
        self._aggregates = query.aggregates
        self._rows_seen = 0
        self._once = frozenset[int]()
        self._query = query
        self._partial = _Merging(query)
        self._distinct = {
            place: _Merging(query)
            for place, aggregate in enumerate(query.aggregates)
            if isinstance(aggregate, ast.FunctionCall) and aggregate.distinct
        }

    def push(
        self,
        environment: Environment,
        weights: NDArray[np.uint64] | None = None,
        *,
        apart: bool = False,
        once: Mapping[int, Sequence[Operand]] | None = None,
    ) -> None:
        """Adds rows with their multiplicities.

        Args:
            environment: The rows.
            weights: Multiplicity of each row.
            apart: True if no two rows have the same keys.
            once: Per position of a distinct aggregate, columns that make its values unique: if
                each column has one value per group, no argument repeats within a group over all
                rows of the query, so no deduplication is needed.

        Raises:
            UnsupportedQueryError: A count exceeds Cypher's largest integer.
        """
        # Pairs of a distinct count are matched with groups by value, which fails for NaN.
        single = () if self._distinct else self._single
        keys = tuple(group_key(each, environment, single) for each in self._keys)
        counts: list[Operand] = []
        rows = environment.row_count
        groups = single_rows(rows) if apart else group_rows(keys, rows)
        if rows and not self._rows_seen:
            self._once = frozenset(_same_in_groups(once or {}, groups))
            for place in self._once:
                self._distinct.pop(place, None)
        for place, aggregate in enumerate(self._aggregates):
            counted, argument = self._counted(aggregate, environment)
            if place in self._distinct:
                pairs = RowTable(environment.row_count, keys + argument)
                if counted is not None:
                    pairs = pairs.take(np.flatnonzero(counted))
                self._distinct[place].add(pairs, None)
                counted = np.zeros(environment.row_count, dtype=np.bool_)
            chosen = groups.group_of if counted is None else groups.group_of[counted]
            if weights is None or place in self._once:
                counts.append(_integers(np.bincount(chosen, minlength=len(groups.first))))
                continue
            some = weights if counted is None else weights[counted]
            counts.append(summed_counts(self._query, place, chosen, some, len(groups.first)))
        firsts = tuple(take(key, groups.first) for key in keys)
        self._partial.add(RowTable(len(groups.first), firsts + tuple(counts)), len(firsts))
        self._rows_seen += environment.row_count

    def finish(self) -> GroupTable:
        """The groups; exactly one if there are no keys."""
        table = self._partial.merged()
        if table is None or (table.row_count == 0 and not self._keys):
            empty = 0 if self._keys else 1
            zeros = _integers(np.zeros(empty, dtype=np.int64))
            keys = tuple(_integers(np.zeros(0, dtype=np.int64)) for _ in self._keys)
            return GroupTable(empty, keys, (zeros,) * len(self._aggregates))
        key_count = len(table.columns) - len(self._aggregates)
        aggregates = list(table.columns[key_count:])
        found = RowTable(table.row_count, table.columns[:key_count])
        for place, pairs in self._distinct.items():
            aggregates[place] = _pairs_per_group(found, pairs.merged())
        return GroupTable(table.row_count, found.columns, tuple(aggregates))

    def _counted(
        self, aggregate: ast.Expression, environment: Environment
    ) -> tuple[NDArray[np.bool_] | None, tuple[Operand, ...]]:
        """A mask of the rows that count (None for all), and the argument of a distinct count."""
        if not isinstance(aggregate, ast.FunctionCall):
            return None, ()
        argument = aggregate.arguments[0]
        if isinstance(argument, ast.Variable) and argument.name not in environment.variables:
            return None, ()  # a pattern variable, so never null; its column was pruned
        if aggregate.distinct:
            operand = group_key(argument, environment, self._single)
        else:
            operand = evaluate_operand(argument, environment)
        valid = validity(operand)
        if valid is True:
            return None, (operand,)
        return np.array(np.broadcast_to(valid, environment.row_count)), (operand,)


def _same_in_groups(columns: Mapping[int, Sequence[Operand]], groups: Groups) -> Iterator[int]:
    """Positions whose columns all hold one value per group."""
    known: dict[int, bool] = {}
    for place, some in columns.items():
        for each in some:
            if id(each) not in known:
                known[id(each)] = _is_same(each, groups)
        if all(known[id(each)] for each in some):
            yield place


def _is_same(operand: Operand, groups: Groups) -> bool:
    if not isinstance(operand, Column):
        return True
    arrays = (operand.values, operand.valid)
    return all(
        bool((each[groups.first][groups.group_of] == each).all())
        for each in arrays
        if each is not None
    )


class _Merging:
    """Tables of distinct rows that are merged from time to time.

    The first ``key_count`` columns are keys, the others counts to be summed, one per aggregate;
    None means that all columns are keys.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        self._tables: list[RowTable] = []
        self._waiting = 0
        self._merged_rows = 0
        self._key_count: int | None = None

    def add(self, table: RowTable, key_count: int | None) -> None:
        self._key_count = key_count
        self._tables.append(table)
        self._waiting += table.row_count
        if self._waiting > max(_MERGE_ROWS, self._merged_rows):
            self._merge()

    def merged(self) -> RowTable | None:
        # A table of keys and counts already holds each key once.
        if len(self._tables) != 1 or self._key_count is None:
            self._merge()
        return self._tables[0] if self._tables else None

    def _merge(self) -> None:
        if not self._tables:
            return
        table = stacked(self._tables)
        key_count = len(table.columns) if self._key_count is None else self._key_count
        keys = table.columns[:key_count]
        groups = group_rows(keys, table.row_count)
        sums: list[Operand] = []
        for place, counts in enumerate(table.columns[key_count:]):
            assert isinstance(counts, Column)
            values = counts.values.view(np.uint64)
            sums.append(
                summed_counts(self._query, place, groups.group_of, values, len(groups.first))
            )
        firsts = tuple(take(key, groups.first) for key in keys)
        self._tables = [RowTable(len(groups.first), firsts + tuple(sums))]
        self._waiting, self._merged_rows = 0, len(groups.first)


def _pairs_per_group(keys: RowTable, pairs: RowTable | None) -> Operand:
    """Number of (key, value) pairs per group; the rows of ``keys`` are distinct."""
    assert pairs is not None
    both = stacked([keys, RowTable(pairs.row_count, pairs.columns[: len(keys.columns)])])
    groups = group_rows(both.columns, both.row_count)
    return _integers(
        np.bincount(groups.group_of[keys.row_count :], minlength=keys.row_count).astype(np.int64)
    )


def summed_counts(
    query: Query,
    place: int,
    group_of: NDArray[np.int64],
    counts: NDArray[np.uint64],
    group_count: int,
) -> Column:
    """Sums of counts per group, for the aggregate at position ``place``."""
    low = np.zeros(group_count, dtype=np.uint64)
    largest = int(counts.max()) if len(counts) else 0
    if largest * len(counts) <= LARGEST_INTEGER:
        np.add.at(low, group_of, counts)
        return _integers(low)
    # Sum in two 32-bit halves, neither of which overflows.
    high, half = np.zeros(group_count, dtype=np.uint64), np.uint64(32)
    np.add.at(low, group_of, counts & np.uint64(0xFFFFFFFF))
    np.add.at(high, group_of, counts >> half)
    high += low >> half
    if high.max() >> np.uint64(31):
        raise too_large(query, place, "the count of a group exceeds 64 bits")
    return _integers(high << half | low & np.uint64(0xFFFFFFFF))


def too_large(query: Query, place: int, what: str) -> UnsupportedQueryError:
    """The error for a count above Cypher's largest integer."""
    message = f"{what}, above Cypher's largest integer {LARGEST_INTEGER}"
    span = query.aggregates[place].span
    construct = "counts of more than 64 bits"
    return UnsupportedQueryError(message, query.text, span, construct=construct)


def _integers(values: NDArray[Any]) -> Column:
    return Column(ColumnKind.INTEGER, values.astype(np.int64, copy=False))
