"""Bound queries built without a text, and all their embeddings by exhaustive search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gpugda.data.data_graph import DataGraph
from gpugda.errors import MemoryLimitError
from gpugda.match.embeddings import Embeddings, Masks, StrategyReport
from gpugda.match.need import Rows
from gpugda.plan.join.matching_order import matching_order
from gpugda.plan.plan import (
    BoundNode,
    BoundQuery,
    BoundRelationship,
    DegreeNeed,
    LabelOp,
    Plan,
    RowTest,
)

NO_MASKS = Masks({}, {})


@dataclass(frozen=True)
class Node:
    """labels: a label program."""

    labels: tuple[tuple[LabelOp, int], ...] = ()
    cardinality: float = 1.0


@dataclass(frozen=True)
class Relationship:
    source: int
    target: int
    types: tuple[int, ...] | None = None
    directed: bool = True
    clause: int = 0


def make_plan(
    nodes: Sequence[Node],
    relationships: Sequence[Relationship] = (),
    tests: Sequence[RowTest] = (),
    degrees: bool = True,
) -> Plan:
    bound_nodes = tuple(
        BoundNode(
            position,
            f"n{position}",
            node.labels,
            (),
            degree_needs(position, relationships) if degrees else (),
            node.cardinality,
        )
        for position, node in enumerate(nodes)
    )
    bound_relationships = tuple(
        BoundRelationship(
            position,
            f"r{position}",
            each.source,
            each.target,
            each.directed,
            each.types,
            (),
            each.clause,
            1.0,
        )
        for position, each in enumerate(relationships)
    )
    distinct = tuple(
        RowTest(False, a, b, False)
        for a, b in combinations(range(len(relationships)), 2)
        if relationships[a].clause == relationships[b].clause
    )
    query: Any = None
    bound = BoundQuery(query, bound_nodes, bound_relationships, (*distinct, *tests), (), ())
    return Plan(bound, matching_order, "gpsm")


def with_no_rows(plan: Plan) -> Plan:
    return replace(plan, bound=replace(plan.bound, no_rows="an unknown label"))


def with_cardinality(plan: Plan, cardinality: float) -> Plan:
    """The plan with this cardinality estimate for each query relationship."""
    expected = tuple(replace(each, cardinality=cardinality) for each in plan.bound.relationships)
    return replace(plan, bound=replace(plan.bound, relationships=expected))


def degree_needs(position: int, relationships: Sequence[Relationship]) -> tuple[DegreeNeed, ...]:
    needs: Counter[Any] = Counter()
    for each in relationships:
        if each.source == position != each.target:
            needs[True, not each.directed, each.types, each.clause] += 1
        elif each.target == position != each.source:
            needs[not each.directed, True, each.types, each.clause] += 1
    return tuple(
        DegreeNeed(outgoing, incoming, types, count)
        for (outgoing, incoming, types, _), count in needs.items()
    )


# ------------------------------------------------------------------ masks and tests
@st.composite
def some_masks(draw: st.DrawFn, graph: DataGraph, nodes: int, relationships: int) -> Masks:
    """Masks for at most one query node and one query relationship; often none."""
    masks = Masks({}, {})
    for chosen, bits, positions in (
        (masks.nodes, graph.node_count, nodes),
        (masks.relationships, graph.relationship_count, relationships),
    ):
        if draw(st.integers(0, 3)) == 0:
            left = np.array([draw(st.integers(1, 2**bits - 1))], dtype=np.uint32)
            chosen[draw(st.integers(0, positions - 1))] = left
    return masks


@st.composite
def some_tests(draw: st.DrawFn, nodes: int, relationships: int) -> list[RowTest]:
    """Sometimes a test of two query nodes, and sometimes one of two query relationships."""
    tests = []
    for on_nodes, count in ((True, nodes), (False, relationships)):
        if count and draw(st.integers(0, 3)) == 0:
            position = st.integers(0, count - 1)
            tests.append(RowTest(on_nodes, draw(position), draw(position), draw(st.booleans())))
    return tests


# ------------------------------------------------------------------ exhaustive search
def all_embeddings(graph: DataGraph, plan: Plan, masks: Masks = NO_MASKS) -> Counter[Any]:
    """Number of embeddings by (node indexes, relationship indexes), each in order of position."""
    found: Counter[Any] = Counter()
    if plan.bound.no_rows is None:
        for nodes, relationships in _assignments(graph, plan.bound, masks):
            found[nodes, relationships] += 1
    return found


def _assignments(graph: DataGraph, bound: BoundQuery, masks: Masks) -> Iterator[Any]:
    choices = [
        [
            node
            for node in range(graph.node_count)
            if _holds(graph, each.labels, node) and _allowed(masks.nodes, each.position, node)
        ]
        for each in bound.nodes
    ]
    # Conditions that concern one relationship are evaluated once, not per combination.
    ways = [list(_ways(graph, each, masks, choices)) for each in bound.relationships]
    for nodes, chosen in _assign_relationships(bound, ways, {}, ()):
        for more in _assign_nodes(choices, nodes):
            in_order = tuple(more[at] for at in range(len(bound.nodes)))
            if all(_passes(test, in_order, chosen) for test in bound.tests):
                yield in_order, chosen


def _assign_relationships(
    bound: BoundQuery,
    ways: list[list[tuple[int, int, int]]],
    nodes: dict[int, int],
    chosen: tuple[int, ...],
) -> Iterator[Any]:
    if len(chosen) == len(bound.relationships):
        yield nodes, chosen
        return
    each = bound.relationships[len(chosen)]
    for index, source, target in ways[len(chosen)]:
        if nodes.get(each.source, source) == source and nodes.get(each.target, target) == target:
            more = nodes | {each.source: source, each.target: target}
            yield from _assign_relationships(bound, ways, more, (*chosen, index))


def _ways(
    graph: DataGraph, each: BoundRelationship, masks: Masks, choices: list[list[int]]
) -> Iterator[tuple[int, int, int]]:
    """Data relationships that match a query relationship, as (index, source, target)."""
    starts, ends = graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist()
    types = graph.relationship_types().tolist()
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if not _allowed(masks.relationships, each.position, index):
            continue
        if each.types is not None and types[index] not in each.types:
            continue
        both = [(start, end)] if each.directed or start == end else [(start, end), (end, start)]
        for source, target in both:
            if source != target and each.source == each.target:
                continue
            if source in choices[each.source] and target in choices[each.target]:
                yield index, source, target


def _assign_nodes(choices: list[list[int]], nodes: dict[int, int]) -> Iterator[dict[int, int]]:
    free = [at for at in range(len(choices)) if at not in nodes]
    if not free:
        yield nodes
        return
    for node in choices[free[0]]:
        yield from _assign_nodes(choices, nodes | {free[0]: node})


def _passes(test: RowTest, nodes: tuple[int, ...], relationships: tuple[int, ...]) -> bool:
    values = nodes if test.on_nodes else relationships
    return (values[test.left] == values[test.right]) == test.equal


def _allowed(masks: Any, position: int, index: int) -> bool:
    return position not in masks or bool(masks[position][index // 32] >> np.uint32(index % 32) & 1)


def _holds(graph: DataGraph, program: tuple[tuple[LabelOp, int], ...], node: int) -> bool:
    first, last = graph.label_offsets[node], graph.label_offsets[node + 1]
    labels = set(graph.label_ids[first:last].tolist())
    stack: list[bool] = []
    for operation, label in program:
        if operation is LabelOp.LABEL:
            stack.append(label in labels)
        elif operation is LabelOp.ANY:
            stack.append(bool(labels))
        elif operation is LabelOp.NONE:
            stack.append(False)
        elif operation is LabelOp.NOT:
            stack.append(not stack.pop())
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(left and right if operation is LabelOp.AND else left or right)
    return stack[0] if stack else True


# ------------------------------------------------------------------ results of a strategy
def everything(plan: Plan) -> Rows:
    bound = plan.bound
    return Rows(frozenset(range(len(bound.nodes))), frozenset(range(len(bound.relationships))))


def found_by(
    strategy: Any, plan: Plan, masks: Masks = NO_MASKS, wanted: Rows | None = None
) -> Counter[Any]:
    """Rows of a strategy, in the form of `all_embeddings`."""
    wanted = everything(plan) if wanted is None else wanted
    rows: Counter[Any] = Counter()
    for chunk in strategy.embeddings(plan, masks, wanted, StrategyReport()):
        rows.update(rows_of(chunk, wanted))
    return rows


def count(strategy: Any, plan: Plan, masks: Masks = NO_MASKS) -> int:
    """The strategy's count of embeddings."""
    return int(strategy.count(plan, masks, StrategyReport()))


def checked(strategy: Any, graph: DataGraph, plan: Plan, masks: Masks = NO_MASKS) -> int:
    """Asserts that rows and count equal those of the exhaustive search; returns the count."""
    expected = all_embeddings(graph, plan, masks)
    assert found_by(strategy, plan, masks) == expected
    assert count(strategy, plan, masks) == expected.total()
    return expected.total()


def check_case(strategy: Any, case: tuple[DataGraph, Plan, Masks, Rows]) -> None:
    """As `checked`, for one of `bound_cases.cases` with its wanted columns."""
    graph, plan, masks, wanted = case
    expected = all_embeddings(graph, plan, masks)
    assert found_by(strategy, plan, masks, wanted) == projected(expected, wanted)
    assert count(strategy, plan, masks) == expected.total()


def rows_of(chunk: Embeddings, wanted: Rows) -> list[Any]:
    assert set(chunk.nodes) == set(wanted.nodes) or chunk.row_count == 0
    assert set(chunk.relationships) == set(wanted.relationships) or chunk.row_count == 0
    columns = [chunk.nodes[at].tolist() for at in sorted(wanted.nodes)]
    nodes = list(zip(*columns, strict=True)) if columns else [()] * chunk.row_count
    columns = [chunk.relationships[at].tolist() for at in sorted(wanted.relationships)]
    relationships = list(zip(*columns, strict=True)) if columns else [()] * chunk.row_count
    assert len(nodes) == len(relationships) == chunk.row_count
    return list(zip(nodes, relationships, strict=True))


def projected(rows: Counter[Any], wanted: Rows) -> Counter[Any]:
    """Full rows, projected to the wanted columns."""
    less: Counter[Any] = Counter()
    for (nodes, relationships), count in rows.items():
        key = (
            tuple(nodes[at] for at in sorted(wanted.nodes)),
            tuple(relationships[at] for at in sorted(wanted.relationships)),
        )
        less[key] += count
    return less


# ------------------------------------------------------------------ memory
def smallest_limit(run, step=64):
    """A limit with which ``run(limit)`` works; one about ``step`` bytes lower fails."""
    low, high = 0, 4096
    while not _works(run, high):
        low, high = high, 2 * high
    while high - low > step:
        middle = (low + high) // 2
        low, high = (low, middle) if _works(run, middle) else (middle, high)
    return high


def _works(run, limit):
    try:
        run(limit)
    except MemoryLimitError:
        return False
    return True
