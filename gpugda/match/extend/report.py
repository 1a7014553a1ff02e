"""What the strategy ``extend`` did, in lines for people."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from gpugda.match.candidates.candidates import ExpectedCandidates
from gpugda.match.extend.counting.parts import Term
from gpugda.match.extend.counting.weighed import expected_rows
from gpugda.match.extend.drafts import ExtendKind
from gpugda.match.extend.groups import GroupSums
from gpugda.match.extend.order import MostGrowth
from gpugda.match.report import node_text, relationship_text, tests_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.identifiers import NameTable
    from gpugda.match.candidates.candidates import CandidateCounts
    from gpugda.match.comparisons import Comparison
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.extend.compile import ExtendStep
    from gpugda.match.extend.counting.leaves import LeafProduct
    from gpugda.match.extend.counting.parts import Part
    from gpugda.match.extend.groups import RowWeights
    from gpugda.match.extend.join_plan import Joined
    from gpugda.plan.plan import BoundQuery

__all__ = ["describe_groups", "describe_joined", "describe_part"]

_WITH_ROWS = (ExtendKind.NODES, ExtendKind.EXTEND)


def describe_joined(
    report: StrategyReport,
    graph: DataGraph,
    bound: BoundQuery,
    joined: Joined,
    comparisons: Sequence[Comparison],
) -> None:
    """One line per step: what was done, how many rows came of it, and how many were expected.

    What branches did comes first; what was multiplied last. ``report.candidates`` must be filled.
    """
    for each in joined.branches:
        describe_joined(report, graph, bound, each.joined, comparisons)
        roots = ", ".join(node_text(bound, root) for root in each.roots)
        report.steps.append(f"a branch, counted by {roots}")
    steps, windows = joined.steps, joined.windows
    if windows.made_none:
        report.steps.append(f"cycle of {len(steps)} nodes counted: {windows.rows[-1]:,} rows")
        return
    done = list(zip(steps, windows.rows, windows.windows, windows.by_pairs, strict=True))
    candidates = ExpectedCandidates([report.candidates[node] for node in range(len(bound.nodes))])
    # Who keeps what may never be looked at keeps neither the graph nor what lies on the device.
    types, found = graph.types, weakref.ref(graph)

    def lines() -> Iterator[str]:
        order = [each.position for each in steps if each.kind in _WITH_ROWS]
        expected = iter(_expected(found(), bound, order, candidates, comparisons))
        for step, rows, chunks, by_pairs in done:
            way = ", pair by pair" if by_pairs and step.kind is ExtendKind.EXTEND else ""
            line = f"{_what(step, types, bound)}{way}: {rows:,} row{'' if rows == 1 else 's'}"
            line += f" in {chunks:,} chunks" if chunks > 1 else ""
            yield line + (next(expected, "") if step.kind in _WITH_ROWS else "")

    report.steps.add_later(lines)
    if joined.multiplier is not None:
        _describe_product(report, bound, joined.multiplier.product)


def _expected(
    graph: DataGraph | None,
    bound: BoundQuery,
    order: Sequence[int],
    candidates: CandidateCounts,
    comparisons: Sequence[Comparison],
) -> Iterator[str]:
    """As many rows as each step was expected to make, while its graph is there."""
    if graph is not None:
        growth = MostGrowth(bound, candidates, graph)
        for rows in expected_rows(bound, order, candidates.count, growth, comparisons):
            yield f", expected {rows:,.0f}" if 10 <= rows < 1e12 else f", expected {rows:.2g}"


def _describe_product(report: StrategyReport, bound: BoundQuery, product: LeafProduct) -> None:
    weighed = {node for group in product.weighed for node in group}
    roots = {root for each in product.branches for root in each.roots}
    for what, nodes in (
        ("leaves", product.leaves),
        ("counted nodes", weighed),
        ("branches of", roots),
    ):
        if nodes:
            texts = ", ".join(node_text(bound, each) for each in sorted(nodes))
            report.steps.append(f"{what} multiplied: {texts}")


def describe_groups(
    report: StrategyReport, bound: BoundQuery, grouped: GroupSums | RowWeights
) -> None:
    """One line: what rows were grouped by, and where."""
    nodes = ", ".join(node_text(bound, each) for each in grouped.nodes)
    what = "counted" if grouped.counted else "made distinct"
    where = " on the device" if isinstance(grouped, GroupSums) else ", weighed by their leaves"
    report.steps.append(f"rows {what} by {nodes}{where}")


def describe_part(report: StrategyReport, graph: DataGraph, bound: BoundQuery, part: Part) -> None:
    """One line, before those of its own query: what is counted."""
    if not isinstance(part, Term):
        report.steps.append("a part that nothing connects with the others, multiplied with these")
        return
    texts = [
        ", ".join(relationship_text(graph.types, bound, bound.relationships[each]) for each in pair)
        for pair in part.pairs
    ]
    if part.is_loose:
        report.steps.append(f"counted where these may be the same: {'; '.join(texts)}")
        return
    what = "less" if part.sign < 0 else "plus, for loops are subtracted twice,"
    report.steps.append(f"{what} where these are the same: {'; '.join(texts)}")


def _what(step: ExtendStep, types: NameTable, bound: BoundQuery) -> str:
    tests = tests_text(len(step.tests))
    tests += f" ({', '.join(step.compared)})" if step.compared else ""
    if not step.links:
        is_prune = step.kind is ExtendKind.PRUNE
        return f"prune{tests}" if is_prune else f"{step.kind} {node_text(bound, step.position)}"
    along = ", ".join(
        [relationship_text(types, bound, bound.relationships[each]) for each in step.links]
    )
    if step.kind is ExtendKind.CLOSE:
        return f"close {along}{tests}"
    if step.kind is ExtendKind.WEIGH:
        return f"count {node_text(bound, step.position)} along {along}{tests}"
    return f"extend by {node_text(bound, step.position)} along {along}{tests}"
