"""Describes for people what the strategy ``extend`` did."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING

from gpugda.match.extend.drafts import ExtendKind
from gpugda.match.extend.groups import GroupSums
from gpugda.match.extend.prepared_join import TableSums
from gpugda.match.report import node_text, relationship_text, tests_text
from gpugda.plan.counting.count_plan import Attempt, Search, Term
from gpugda.plan.join.join_cost import JoinCost
from gpugda.plan.join.join_rates import ExpectedCandidates, Rates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.identifiers import NameTable
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.extend.cache import ReducedGraph
    from gpugda.match.extend.groups import RowWeights
    from gpugda.match.extend.prepared_join import PreparedJoin
    from gpugda.match.extend.step import ExtendStep
    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.counting.count_plan import Eliminate, FirstPlan, Part
    from gpugda.plan.plan import BoundQuery

__all__ = [
    "describe_attempt",
    "describe_count_part",
    "describe_groups",
    "describe_joined",
    "describe_segments",
    "first_text",
]

_WITH_ROWS = (ExtendKind.NODES, ExtendKind.EXTEND)


def describe_joined(
    report: StrategyReport,
    graph: DataGraph,
    bound: BoundQuery,
    joined: PreparedJoin,
    comparisons: Sequence[Comparison],
) -> None:
    """Adds one line per step: the operation, the number of rows, and the estimate.

    The joins of table messages come first, the eliminated nodes last. ``report.candidates`` must be
    filled.
    """
    for each in joined.tables_first:
        if isinstance(each, TableSums):
            describe_joined(report, graph, bound, each.joined, comparisons)
        else:
            report.steps.append(each.what)
        nodes = ", ".join(node_text(bound, node) for node in each.separator)
        report.steps.append(f"a part of the query, summed by {nodes}")
    steps, windows = joined.steps, joined.windows
    if windows.counted_without_rows:
        report.steps.append(f"cycle of {len(steps)} nodes counted: {windows.rows[-1]:,} rows")
        return
    done = list(zip(steps, windows.rows, windows.windows, windows.by_pairs, strict=True))
    counts = [report.candidates[node] for node in range(len(bound.nodes))]
    candidates = ExpectedCandidates(counts, report.explored)
    rates = partial(Rates, bound, candidates, report.corrections)
    # The lines may never be read: the report must not keep the graph or device memory alive.
    types, found = graph.types, weakref.ref(graph)

    def lines() -> Iterator[str]:
        order = [each.position for each in steps if each.kind in _WITH_ROWS]
        expected = iter(_expected(found(), bound, order, rates, comparisons))
        for step, rows, chunks, by_pairs in done:
            form = ", pair by pair" if by_pairs and step.kind is ExtendKind.EXTEND else ""
            line = f"{_what(step, types, bound)}{form}: {rows:,} row{'' if rows == 1 else 's'}"
            line += f" in {chunks:,} chunks" if chunks > 1 else ""
            yield line + (next(expected, "") if step.kind in _WITH_ROWS else "")

    report.steps.add_later(lines)
    if joined.messages is not None:
        _describe_messages(report, bound, joined.messages.plan)


def describe_segments(report: StrategyReport, joined: PreparedJoin) -> None:
    """Adds a line: the number of segments of the data graph, and the bytes sent."""
    if joined.reduced is not None:
        _describe_reduced(report, joined.reduced)
    windows = [each.windows for each in (joined, *_tables_of(joined))]
    seen = [each.views for each in windows if each.views is not None]
    if not seen:
        return
    sent = max(each.uploads.sent for each in seen)  # the tables of a run share one queue
    report.sent_bytes = max(report.sent_bytes, sent)
    segments = max(each.segments.count for each in seen)
    if not seen[0].nbytes:
        report.steps.append("relationships stay on the host: only their numbers per node are read")
        return
    report.steps.append(
        f"relationships in {segments:,} segments of up to {seen[0].segments.longest:,}, "
        f"of which {report.sent_bytes:,} bytes were sent to the device, "
        f"{report.sent_bytes / max(1, seen[0].nbytes):.2g} times the bytes that the joins read"
    )
    written = sum(each.spilled_bytes for each in windows)
    if written:
        report.spilled_bytes += written
        report.steps.append(f"rows waiting for segments: {written:,} bytes were spilled to disk")


def _describe_reduced(report: StrategyReport, reduced: ReducedGraph) -> None:
    entries = f"{reduced.kept:,} of {reduced.looked_at:,} entries are"
    if reduced.uploads is None:
        how = "kept from an earlier run"
    else:
        report.sent_bytes = max(report.sent_bytes, reduced.uploads.sent)
        how = f"kept, for which {report.sent_bytes:,} bytes were sent to the device"
    report.steps.append(f"relationships between candidates: {entries} {how}")


def _tables_of(joined: PreparedJoin) -> Iterator[PreparedJoin]:
    for each in joined.tables_first:
        if isinstance(each, TableSums):
            yield each.joined
            yield from _tables_of(each.joined)


def _expected(
    graph: DataGraph | None,
    bound: BoundQuery,
    order: Sequence[int],
    rates: Callable[[], Rates],
    comparisons: Sequence[Comparison],
) -> Iterator[str]:
    """The estimated rows of each step, as text, as long as its graph exists."""
    for rows in JoinCost(bound, order, rates()).rows(comparisons):
        yield f", expected {rows:,.0f}" if 10 <= rows < 1e12 else f", expected {rows:.2g}"


def _describe_messages(report: StrategyReport, bound: BoundQuery, plan: Eliminate) -> None:
    counted = {node for group in plan.rows for node in group}
    separators = {node for each in plan.tables for node in each.separator}
    for what, nodes in (
        ("leaves counted by degrees", plan.leaves),
        ("nodes counted per row", counted),
        ("tables looked up by", separators),
    ):
        if nodes:
            texts = ", ".join(node_text(bound, each) for each in sorted(nodes))
            report.steps.append(f"{what}: {texts}")


def first_text(plan: FirstPlan) -> str:
    """The first plan and its fallback, as the start of a sentence."""
    if isinstance(plan, Attempt):
        when = "if that needs no waiting"
        if plan.seconds is not None:
            when = f"for at most {1000 * plan.seconds:.3g} ms"
        return f"join everything, {when}; else {first_text(plan.otherwise)}"
    return "find a count plan" if isinstance(plan, Search) else "follow the count plan"


def describe_attempt(report: StrategyReport, attempt: Attempt, *, is_done: bool) -> None:
    """Adds one line if the attempt had a time budget."""
    if attempt.seconds is not None:
        what = "was done within" if is_done else "was given up after"
        report.steps.append(f"joining everything {what} {1000 * attempt.seconds:.3g} ms")


def describe_groups(
    report: StrategyReport, bound: BoundQuery, grouped: GroupSums | RowWeights
) -> None:
    """Adds one line: the grouping keys, and where the rows were grouped."""
    nodes = ", ".join(node_text(bound, each) for each in grouped.nodes)
    what = "counted" if grouped.counted else "made distinct"
    where = " on the device" if isinstance(grouped, GroupSums) else ", with weights"
    report.steps.append(f"rows {what} by {nodes}{where}")


def describe_count_part(
    report: StrategyReport, graph: DataGraph, bound: BoundQuery, part: Part
) -> None:
    """Adds one line, before the lines of the part's own pattern: what the part counts."""
    if not isinstance(part, Term):
        report.steps.append("a disconnected part of the query, multiplied with the others")
        return
    texts = [
        ", ".join(relationship_text(graph.types, bound, bound.relationships[each]) for each in pair)
        for pair in part.pairs
    ]
    texts += [", ".join(node_text(bound, each) for each in pair) for pair in part.unequal_nodes]
    if part.is_loose:
        report.steps.append(f"counted although these may be equal: {'; '.join(texts)}")
        return
    what = "minus" if part.sign < 0 else "plus, because self-loops are subtracted twice,"
    report.steps.append(f"{what} the embeddings where these are equal: {'; '.join(texts)}")


def _what(step: ExtendStep, types: NameTable, bound: BoundQuery) -> str:
    tests = tests_text(len(step.tests))
    tests += f" ({', '.join(step.compared)})" if step.compared else ""
    if not step.links:
        is_prune = step.kind is ExtendKind.PRUNE
        return f"prune{tests}" if is_prune else f"{step.kind} {node_text(bound, step.position)}"
    along = ", ".join(
        [relationship_text(types, bound, bound.relationships[each]) for each in step.links]
    )
    along += " in merged lists" if step.merged else ""
    if step.kind is ExtendKind.CLOSE:
        return f"close {along}{tests}"
    if step.kind is ExtendKind.COUNT:
        return f"count {node_text(bound, step.position)} along {along}{tests}"
    return f"extend by {node_text(bound, step.position)} along {along}{tests}"
