"""A strategy of another package: joins tables of relationships on the host, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.data.patches.patched import whole
from gpugda.match.candidates.label_words import program_bits
from gpugda.match.fetching import HostTable
from gpugda.match.matcher import Cursor, Matcher
from gpugda.match.need import Count, Rows
from gpugda.match.windowed_join import WindowedJoin
from gpugda.plan.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

    Column = NDArray[np.uint32]

__all__ = ["MergeStrategy"]

_MOST_RELATIONSHIPS = 8
_WINDOW = 1 << 12


class MergeStrategy(Matcher):
    """Binds one query relationship after the other, by a look-up in its sorted table."""

    name = "merge"
    method = "looks rows up in sorted tables of relationships, on the host"

    @classmethod
    def can_match(cls, pattern: BoundQuery, need: object) -> str | None:
        """See `Matcher.can_match`: it compares each pair of relationships of a row."""
        if len(pattern.relationships) > _MOST_RELATIONSHIPS:
            return f"strategy {cls.name} takes at most {_MOST_RELATIONSHIPS} relationships"
        return None

    def start(self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count) -> Cursor:
        """See `Matcher.start`."""
        with run.stage("filter"):
            steps = list(_steps(run, pattern, masks))
        rows = Rows(frozenset(), frozenset()) if isinstance(need, Count) else need
        return _Join(run, pattern, steps, rows)


class _Step(NamedTuple):
    """Binds variables by the rows of a table, which has a column for each."""

    variables: tuple[Variable, ...]
    columns: tuple[Column, ...]


def _steps(run: Run, pattern: BoundQuery, masks: Masks) -> Iterator[_Step]:
    """A step for each query relationship, in order of connection, then for each other node."""
    passing = [_passing_nodes(run, pattern, masks, node) for node in range(len(pattern.nodes))]
    left, bound = list(pattern.relationships), set[int]()
    while left:
        each = next((each for each in left if {each.source, each.target} & bound), left[0])
        left.remove(each)
        bound |= {each.source, each.target}
        starts, ends, indexes = _entries(run, masks, each.position, each.types)
        if not each.directed:  # a loop is one entry
            turned = starts != ends
            both = np.concatenate([starts, ends[turned]]), np.concatenate([ends, starts[turned]])
            starts, ends = both
            indexes = np.concatenate([indexes, indexes[turned]])
        kept = passing[each.source][starts] & passing[each.target][ends]
        if each.source == each.target:
            kept &= starts == ends
        nodes = Variable(True, each.source), Variable(True, each.target)
        table = starts[kept], ends[kept], indexes[kept]
        yield _Step((*nodes, Variable(False, each.position)), table)
    for node in pattern.nodes:
        if node.position not in bound:
            found = np.flatnonzero(passing[node.position]).astype(np.uint32)
            yield _Step((Variable(True, node.position),), (found,))


def _passing_nodes(run: Run, pattern: BoundQuery, masks: Masks, node: int) -> NDArray[np.bool_]:
    """Which data nodes pass the labels and the predicates of a query node."""
    bits = np.full(run.graph.words, 0xFFFFFFFF, dtype=np.uint32)
    if pattern.nodes[node].labels:
        bits &= program_bits(pattern.nodes[node].labels, run.graph)
    if node in masks.nodes:
        bits &= masks.nodes[node]
    return _unpacked(bits, run.graph.graph.node_count)


def _entries(
    run: Run, masks: Masks, position: int, types: tuple[int, ...] | None
) -> tuple[Column, Column, Column]:
    """Start, end and index of the data relationships that a query relationship can take."""
    graph = run.graph.graph
    kept = np.ones(graph.relationship_count, dtype=bool)
    if types is not None:
        kept &= np.isin(whole(graph.relationship_types()), types)
    if position in masks.relationships:
        kept &= _unpacked(masks.relationships[position], graph.relationship_count)
    indexes = np.flatnonzero(kept).astype(np.uint32)
    return graph.start_nodes()[indexes], whole(graph.outgoing.neighbours)[indexes], indexes


def _unpacked(bits: NDArray[np.uint32], count: int) -> NDArray[np.bool_]:
    return np.unpackbits(bits.view(np.uint8), count=count, bitorder="little").astype(bool)


class _Join(WindowedJoin[HostTable], Cursor):
    """The join: `WindowedJoin` walks through the steps, this class makes the rows of one."""

    def __init__(self, run: Run, pattern: BoundQuery, steps: Sequence[_Step], need: Rows) -> None:
        super().__init__(len(steps))
        self._run = run
        self._steps = steps
        self._bound: list[list[Variable]] = [[]]
        for step in steps:
            before = self._bound[-1]
            self._bound.append(list(dict.fromkeys([*before, *step.variables])))
        self._tests = [
            (Variable(test.on_nodes, test.left), Variable(test.on_nodes, test.right), test.equal)
            for test in pattern.tests
        ]
        self._wanted = [
            each
            for each in self._bound[-1]
            if each.position in (need.nodes if each.is_node else need.relationships)
        ]

    @property
    def variables(self) -> Sequence[Variable]:
        """See `Cursor.variables`."""
        return self._wanted

    def tables(self, enough: int | None = None) -> Iterator[HostTable | None]:
        """See `Cursor.tables`."""
        yield from self.rows_from(0, HostTable((), 1))

    def counts(self) -> Iterator[int]:
        """See `Cursor.counts`."""
        yield from self.counts_from(0, HostTable((), 1))

    def describe(self, run: Run) -> None:
        """See `Cursor.describe`."""
        for step, rows in zip(self._steps, self.rows, strict=True):
            run.report.steps.append(f"merge {len(step.columns[0]):,} entries: {rows:,} rows")

    def complete(self, table: HostTable) -> Iterator[HostTable]:
        """See `WindowedJoin.complete`: the columns that are read."""
        places = [self._bound[-1].index(each) for each in self._wanted]
        yield HostTable(tuple(table.columns[each] for each in places), table.row_count)

    def totals(self, number: int, table: HostTable) -> Iterator[int]:
        """See `WindowedJoin.totals`."""
        for made in self.made(number, table):
            yield made.row_count

    def made(self, number: int, table: HostTable) -> Iterator[HostTable]:
        """See `WindowedJoin.made`."""
        step, before = self._steps[number], self._bound[number]
        known = [each for each in dict.fromkeys(step.variables) if each in before]
        by = step.columns[step.variables.index(known[0])] if known else None
        order = None if by is None else np.argsort(by, kind="stable")
        for first in range(0, table.row_count, _WINDOW):
            self._run.check_deadline()
            rows = table.part(first, min(first + _WINDOW, table.row_count))
            if by is None or order is None:
                row = np.repeat(np.arange(rows.row_count), len(step.columns[0]))
                entry = np.tile(np.arange(len(step.columns[0])), rows.row_count)
            else:
                keys, ordered = rows.columns[before.index(known[0])], by[order]
                begins = np.searchsorted(ordered, keys, "left")
                counts = np.searchsorted(ordered, keys, "right") - begins
                row = np.repeat(np.arange(rows.row_count), counts)
                within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
                entry = order[np.repeat(begins, counts) + within]
            yield self._passing(number, rows, row, entry)

    def _passing(
        self, number: int, rows: HostTable, row: NDArray[np.int64], entry: NDArray[np.int64]
    ) -> HostTable:
        """Rows joined with entries, without those that fail a test of this step."""
        step, before = self._steps[number], self._bound[number]
        columns = {each: rows.columns[at][row] for at, each in enumerate(before)}
        kept = np.ones(len(row), dtype=bool)
        for variable, column in zip(step.variables, step.columns, strict=True):
            kept &= columns.setdefault(variable, column[entry]) == column[entry]
        for left, right, equal in self._tests:
            if {left, right} <= columns.keys() and not {left, right} <= set(before):
                kept &= (columns[left] == columns[right]) == equal
        found = tuple(columns[each][kept] for each in self._bound[number + 1])
        return HostTable(found, int(kept.sum()))
