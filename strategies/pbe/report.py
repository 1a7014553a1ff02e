"""Describes for people what the searches did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda_strategies.gsi.report import step_lines

from gpugda.match.report import relationship_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda_strategies.pbe.device_lists import Loaded
    from gpugda_strategies.pbe.partitions import PartitionPlan
    from gpugda_strategies.pbe.searches import Search

    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["WHOLE", "describe_searches"]

WHOLE = "1 partition, which is the graph: no relationship crosses"


def describe_searches(
    run: Run, bound: BoundQuery, plan: PartitionPlan, inside: Search, across: Sequence[Search]
) -> None:
    """Adds a line for the partitions, then lines for each search with its steps."""
    graph, lines = run.graph.graph, run.report.steps
    share = len(plan.crossing) / max(graph.relationship_count, 1)
    lines.append(
        f"{plan.count:,} partitions by {plan.by} in {plan.seconds:.3g} s: {len(plan.crossing):,} "
        f"of {graph.relationship_count:,} relationships cross ({share:.1%})"
    )
    lines.append(f"search within partitions: {_found(inside)}, {_loaded(inside.loaded)}")
    for line in step_lines(graph, bound, inside.windows.steps, inside.windows):
        lines.append(line)
    members = sum(len(each.members) for each in across)
    lines.append(
        f"search across partitions: {sum(each.found for each in across):,} embeddings in "
        f"{sum(each.seconds for each in across):.3g} s; {members} prime relationships in "
        f"{len(across)} groups"
    )
    for search in across:
        lines.append(f"{_group(run, bound, search)}: {_found(search)}, {_loaded(search.loaded)}")
        for line in step_lines(graph, bound, search.windows.steps, search.windows):
            lines.append(line)


def _group(run: Run, bound: BoundQuery, search: Search) -> str:
    types = run.graph.graph.types
    texts = [relationship_text(types, bound, each.relationship) for each in search.members]
    return f"group of {', '.join(texts)}"


def _found(search: Search) -> str:
    return f"{search.found:,} embeddings in {search.seconds:.3g} s"


def _loaded(loaded: Loaded) -> str:
    return (
        f"{loaded.entries:,} entries of lists brought to the device in {loaded.times:,} times, "
        f"{loaded.seconds:.3g} s"
    )
