"""Computes the columns that each step of the join reads, tests, keeps and adds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from gpugda_strategies.gsi.entries import Partition

from gpugda.plan.row_tests import is_single, variable_tests
from gpugda.plan.variables import Variable, node_variable, relationship_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.need import Rows
    from gpugda.plan.plan import BoundQuery, BoundRelationship
    from gpugda.plan.row_tests import VariableTest

__all__ = ["JoinKind", "Link", "NodeStep", "Seed", "compile_steps"]

_Test = tuple[int, int, bool, int | None, int | None]


class JoinKind(StrEnum):
    """The operation of a step on the rows."""

    NODES = "nodes"
    """Multiply with all candidates of a query node that is not linked to bound nodes."""
    JOIN = "join"
    """Add a query node along all relationships that link it."""
    CLOSE = "close"
    """Add a query relationship between bound nodes."""
    PRUNE = "prune"
    """Remove rows that fail a test."""
    SEED = "seed"
    """Stands for rows that are given."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What the rows that a join starts with bind.

    Args:
        nodes: Query nodes; the order then holds only the others.
        relationship: A query relationship between two of them, None if none is bound.
        watched: Query relationships whose nodes a step reads together with those of the seed: such
            a step keeps them all.
    """

    nodes: tuple[int, ...]
    relationship: BoundRelationship | None = None
    watched: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Link:
    """A query relationship as seen from a bound node.

    Args:
        relationship: Its position.
        column: Column of the bound node.
        partition: The partition whose lists it reads.
        other: Column of the other end, None if that is the node to be added.
    """

    relationship: int
    column: int
    partition: Partition
    other: int | None = None


@dataclass(frozen=True, slots=True)
class NodeStep:
    """One step, expressed in columns.

    Args:
        kind: The operation.
        position: Query node; for CLOSE, query relationship.
        links: For JOIN and CLOSE; the first one is enumerated.
        kept: Columns of the old table that the new table begins with.
        tests: In the form that `node_join_words` takes.
        added: Columns of the new table for the node and the relationship; None if no later step
            needs it.
        variables: The variables that the columns of the new table hold.
        watched: Columns of the seed's nodes, then of those to which the added node has a watched
            relationship; empty if nothing is watched.
    """

    kind: JoinKind
    position: int
    links: tuple[Link, ...]
    kept: tuple[int, ...]
    tests: tuple[_Test, ...]
    added: tuple[int | None, int | None]
    variables: tuple[Variable, ...]
    watched: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A step, expressed in variables; ``links``: query relationships with their bound end."""

    kind: JoinKind
    position: int
    links: tuple[tuple[BoundRelationship, int], ...] = ()
    added: tuple[Variable, ...] = ()
    tests: tuple[VariableTest, ...] = ()
    watched: tuple[Variable, ...] = ()

    def reads(self) -> set[Variable]:
        found = {node_variable(end) for _, end in self.links} | set(self.watched)
        if self.kind is JoinKind.CLOSE:
            found |= {node_variable(each.other_end(end)) for each, end in self.links}
        return found | {variable for test in self.tests for variable in test.variables()}


def compile_steps(
    bound: BoundQuery,
    graph: DataGraph,
    order: Iterable[tuple[int, bool]],
    wanted: Rows,
    frequency: Callable[[BoundRelationship], float],
    part: tuple[Sequence[BoundRelationship], Sequence[VariableTest]] | None = None,
    seed: Seed | None = None,
) -> tuple[NodeStep, ...]:
    """The steps that join query nodes in this order, along all relationships or those of a part.

    With a seed, its rows are the first step. A second relationship that links a node gets a step of
    its own if its identity matters or if parallel ones exist; otherwise the node's step only tests
    that it exists.
    """
    if part is None:
        part = bound.relationships, variable_tests(bound, graph)
    relationships, tests = part
    needed = {node_variable(each) for each in wanted.nodes}
    needed |= {relationship_variable(each) for each in wanted.relationships}
    tested = {variable for test in tests for variable in test.variables()}

    def matters(each: BoundRelationship) -> bool:
        variable = relationship_variable(each.position)
        return variable in needed or variable in tested or not is_single(each, graph)

    drafts = _with_tests(_drafts(relationships, order, frequency, matters, seed), tests)
    needed_after: list[set[Variable]] = []
    for draft in reversed(drafts):
        needed_after.append(set(needed))
        needed |= draft.reads()
    compiled: list[NodeStep] = []
    columns: tuple[Variable, ...] = ()
    for draft, needs in zip(drafts, reversed(needed_after), strict=True):
        compiled.append(_compile(draft, columns, needs, len(graph.types)))
        columns = compiled[-1].variables
    return tuple(compiled)


def _drafts(
    relationships: Sequence[BoundRelationship],
    order: Iterable[tuple[int, bool]],
    frequency: Callable[[BoundRelationship], float],
    matters: Callable[[BoundRelationship], bool],
    seed: Seed | None,
) -> list[_Draft]:
    drafts: list[_Draft] = [] if seed is None else _seeded(seed, relationships)
    reached: set[int] = set() if seed is None else set(seed.nodes)
    for node, begins in order:
        links = [
            (each, each.other_end(node))
            for each in relationships
            if node in (each.source, each.target) and each.other_end(node) in reached
        ]
        links.sort(key=lambda link: (frequency(link[0]), link[0].position))
        reached.add(node)
        variable = node_variable(node)
        if begins:
            drafts.append(_Draft(JoinKind.NODES, node, added=(variable,)))
        else:
            first = relationship_variable(links[0][0].position)
            watched = () if seed is None else _watched(seed, links)
            both = (variable, first)
            drafts.append(_Draft(JoinKind.JOIN, node, tuple(links), both, watched=watched))
        loops = [each for each in relationships if each.source == each.target == node]
        closing = [link for link in links[1:] if matters(link[0])]
        for each, end in [*closing, *((each, node) for each in loops)]:
            added = (relationship_variable(each.position),)
            drafts.append(_Draft(JoinKind.CLOSE, each.position, ((each, end),), added))
    return drafts


def _seeded(seed: Seed, relationships: Sequence[BoundRelationship]) -> list[_Draft]:
    """The seed, and the other relationships between its nodes."""
    own = seed.relationship
    added = [node_variable(node) for node in seed.nodes]
    added += [] if own is None else [relationship_variable(own.position)]
    drafts = [_Draft(JoinKind.SEED, seed.nodes[0], added=tuple(added))]
    for each in relationships:
        if each is not own and {each.source, each.target} <= set(seed.nodes):
            variable = relationship_variable(each.position)
            link = ((each, each.source),)
            drafts.append(_Draft(JoinKind.CLOSE, each.position, link, (variable,)))
    return drafts


def _watched(seed: Seed, links: Sequence[tuple[BoundRelationship, int]]) -> tuple[Variable, ...]:
    ends = dict.fromkeys(end for each, end in links if each.position in seed.watched)
    return tuple(node_variable(node) for node in (*seed.nodes, *ends)) if ends else ()


def _with_tests(drafts: Sequence[_Draft], tests: Sequence[VariableTest]) -> list[_Draft]:
    """Attaches each test to the step that binds its last variable; after products, as own steps."""
    bound_at = {each: number for number, draft in enumerate(drafts) for each in draft.added}
    due: dict[int, list[VariableTest]] = defaultdict(list)
    for test in tests:
        due[max(bound_at[variable] for variable in test.variables())].append(test)
    found: list[_Draft] = []
    for number, draft in enumerate(drafts):
        own = tuple(due[number])
        if draft.kind in (JoinKind.NODES, JoinKind.SEED):
            found.append(draft)
            if own:
                found.append(_Draft(JoinKind.PRUNE, draft.position, tests=own))
        else:
            found.append(replace(draft, tests=own))
    return found


def _compile(
    draft: _Draft, old: tuple[Variable, ...], needed: set[Variable], type_count: int
) -> NodeStep:
    column = {variable: number for number, variable in enumerate(old)}
    kept = tuple(number for number, variable in enumerate(old) if variable in needed)
    variables = [old[number] for number in kept]
    places: dict[bool, int] = {}
    for variable in draft.added:
        if variable in needed:
            places[variable.is_node] = len(variables)
            variables.append(variable)
    at = column | {each: len(old) + (not each.is_node) for each in draft.added}
    return NodeStep(
        draft.kind,
        draft.position,
        tuple(_link(each, end, column, draft.kind, type_count) for each, end in draft.links),
        kept,
        tuple(_columns(test, at) for test in draft.tests),
        (places.get(True), places.get(False)),
        tuple(variables),
        tuple(column[each] for each in draft.watched),
    )


def _link(
    each: BoundRelationship,
    end: int,
    column: dict[Variable, int],
    kind: JoinKind,
    type_count: int,
) -> Link:
    types = each.types
    if types is not None and len(types) == type_count:
        types = None
    outgoing = not each.directed or each.source == end
    incoming = not each.directed or each.source != end
    other = column[node_variable(each.other_end(end))] if kind is JoinKind.CLOSE else None
    place = column[node_variable(end)]
    return Link(each.position, place, Partition(types, outgoing, incoming), other)


def _columns(test: VariableTest, at: dict[Variable, int]) -> _Test:
    left, right = (None, None) if test.second is None else (at[each] for each in test.second)
    return at[test.left], at[test.right], test.equal, left, right
