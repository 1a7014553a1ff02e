"""Text for reports: query nodes, relationships and candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.query.query_graph import is_anonymous
from gpugda.query.render import name_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.data.identifiers import NameTable
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import StrategyReport
    from gpugda.plan.pattern.orient import OrientedQuery
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = [
    "describe_candidates",
    "made_text",
    "node_text",
    "one_order_text",
    "oriented_text",
    "relationship_text",
    "tests_text",
    "walked_text",
    "witnesses_text",
]


def describe_candidates(report: StrategyReport, bound: BoundQuery, candidates: Candidates) -> None:
    """Adds the number of remaining candidates per query node to the report."""
    report.candidates.update(
        {node.position: candidates.count(node.position) for node in bound.nodes}
    )


def made_text(what: str, rows: int, chunks: int) -> str:
    """A line that says what a step did and how many rows it produced."""
    line = f"{what}: {rows:,} rows"
    return line if chunks <= 1 else f"{line} in {chunks:,} chunks"


def tests_text(count: int) -> str:
    """The number of a step's tests as text; empty if it has none."""
    return f" with {count} test{'s' if count > 1 else ''}" if count else ""


def relationship_text(types: NameTable, bound: BoundQuery, each: BoundRelationship) -> str:
    """A query relationship in Cypher syntax."""
    kind = ""
    if each.types is not None:
        kind = ":" + "|".join([name_text(types.names[number]) for number in each.types])
    inside = f"[{_name(each.name)}{kind}]"
    arrow = f"-{inside}->" if each.directed else f"-{inside}-"
    return f"{node_text(bound, each.source)}{arrow}{node_text(bound, each.target)}"


def node_text(bound: BoundQuery, position: int) -> str:
    """A query node in Cypher syntax."""
    return f"({_name(bound.nodes[position].name)})"


def walked_text(
    types: NameTable, bound: BoundQuery, steps: Sequence[tuple[int, tuple[int, ...], int]]
) -> Iterator[str]:
    """A line per step of a walk on the host: what was reached, along what, and the rows."""
    for node, along, rows in steps:
        arrows = [relationship_text(types, bound, bound.relationships[each]) for each in along]
        what = f" along {', '.join(arrows)}" if along else ""
        line = f"walk on the host to {node_text(bound, node)}{what}"
        yield f"{line}: {rows:,} row{'' if rows == 1 else 's'}"


def oriented_text(bound: BoundQuery, query: OrientedQuery) -> str:
    """A sentence that names the sets of nodes that are matched in one order only."""
    sets = [", ".join(node_text(bound, position) for position in each) for each in query.sets]
    how = "found, as {} rows" if query.as_rows else "counted, {} times"
    return (
        f"of embeddings that differ by an exchange of {'; or of '.join(sets)} one is "
        f"{how.format(query.multiplicity)}: "
        "relationships are oriented from the node with fewer to the node with more"
    )


def one_order_text(bound: BoundQuery, sets: Sequence[tuple[int, ...]]) -> str:
    """A sentence that names the sets of nodes of which one order is visited."""
    each_set = "; or of ".join(
        ", ".join(node_text(bound, position) for position in each) for each in sets
    )
    return f"of embeddings that differ by an exchange of {each_set} one is visited"


def witnesses_text(bound: BoundQuery, node: int, sets: Sequence[tuple[int, ...]]) -> str:
    """A sentence that says how the distinct data nodes at one query node are found."""
    order = f"; {one_order_text(bound, sets)}" if sets else ""
    return (
        f"if the join is expected to make many rows, one match per {node_text(bound, node)} is "
        f"searched for, first among the nodes of most relationships{order}"
    )


def _name(name: str) -> str:
    return "" if is_anonymous(name) else name_text(name)
