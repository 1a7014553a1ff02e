"""The matching order: the order in which query relationships and isolated nodes are bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.join_order import connected_components
from gpugda.plan.partial_rows import PartialRows
from gpugda.plan.plan import Plan, PlanStep, StepKind
from gpugda.plan.readable import rate_text
from gpugda.query.query_graph import is_anonymous

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.data.statistics.graph_statistics import (
        GraphStatistics,
    )
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest

__all__ = ["make_plan", "matching_order"]

_Choice = tuple[bool, float, int, StepKind, int]
"""(extends, rows out per row in, position, kind, bound end); the minimum is chosen."""


def make_plan(
    bound: BoundQuery,
    statistics: GraphStatistics,
    strategy: str,
    strategy_reason: str = "",
    *,
    compares: bool = False,
    declined: str = "",
    find_steps: Callable[[BoundQuery], tuple[PlanStep, ...]] | None = None,
    describe_first: Callable[[BoundQuery], str] | None = None,
) -> Plan:
    """Builds the plan of a bound query.

    Args:
        bound: The bound query with its cardinalities.
        statistics: Statistics of its data graph, for rules that depend on the whole graph.
        strategy: Name of the strategy that will run it.
        strategy_reason: What the strategy does.
        compares: True if the strategy compares values of two variables during the join.
        declined: Why the strategy cannot answer; empty if it can.
        find_steps: Computes the steps with estimates; by default, relationship by relationship.
        describe_first: Describes what the strategy tries first for a pure count; None if nothing.
    """
    return Plan(
        bound=bound,
        find_steps=_FoundOnce(find_steps or matching_order),
        strategy=strategy,
        warnings=tuple(_warnings(bound)),
        strategy_reason=strategy_reason,
        compares=compares,
        declined=declined,
        describe_first=describe_first,
    )


class _FoundOnce:
    """Finds the steps of a bound query once for all copies of its plan, see `for_later_state`."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[BoundQuery], tuple[PlanStep, ...]]) -> None:
        self._find = find
        self._found: tuple[BoundQuery, tuple[PlanStep, ...]] | None = None

    def __call__(self, bound: BoundQuery) -> tuple[PlanStep, ...]:
        found = self._found
        if found is None or found[0] is not bound:
            found = self._found = bound, self._find(bound)
        return found[1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FoundOnce) and self._find == other._find

    def __hash__(self) -> int:
        return hash(self._find)


def matching_order(bound: BoundQuery) -> tuple[PlanStep, ...]:
    """Steps that bind the whole pattern: connected steps first, among them the fewest rows.

    A relationship with two bound ends is closed at once, as that can only remove rows (except for
    parallel relationships). Components follow one another; isolated nodes come last.
    """
    return _Order(bound).steps()


class _Order:
    def __init__(self, bound: BoundQuery) -> None:
        self._bound = bound
        self._partial = PartialRows(bound)
        self._left = dict(enumerate(bound.relationships))
        self._at: dict[int, list[BoundRelationship]] = {}
        for each in bound.relationships:
            for end in {each.source, each.target}:
                self._at.setdefault(end, []).append(each)
        self._connected: dict[int, _Choice] = {}
        ends = self._at.keys()
        self._lone = [node for node in bound.nodes if node.position not in ends]

    def steps(self) -> tuple[PlanStep, ...]:
        steps = []
        while self._left or self._lone:
            choice = min(self._connected.values() or self._starts())
            _, rate, position, kind, end = choice
            if kind is StepKind.CLOSE:
                rate = self._partial.closing_rate(self._left[position])  # later closings change it
            reason = _reason(choice, is_first=not self._partial.nodes)
            self._bind(kind, position)
            steps.append(PlanStep(kind, position, end, self._partial.grow(rate), reason))
        return tuple(steps)

    def _reach(self, node: int) -> None:
        """Updates the choices of the relationships at a query node that was just bound."""
        bound = self._partial.nodes
        for each in self._at.get(node, ()):
            if each.position not in self._left:
                continue
            if each.source in bound and each.target in bound:
                rate = self._partial.closing_rate(each)
                self._connected[each.position] = False, rate, each.position, StepKind.CLOSE, -1
            else:
                rate = self._partial.extension_rate(each, node)
                self._connected[each.position] = True, rate, each.position, StepKind.COMBINE, node

    def _starts(self) -> Iterator[_Choice]:
        for each in self._left.values():
            yield True, each.cardinality, each.position, StepKind.RELATIONSHIPS, -1
        if not self._left:  # isolated nodes only multiply the rows
            for node in self._lone:
                yield True, node.cardinality, node.position, StepKind.NODES, -1

    def _bind(self, kind: StepKind, position: int) -> None:
        if kind is StepKind.NODES:
            self._lone = [node for node in self._lone if node.position != position]
            self._partial.bind_node(position)
            return
        relationship = self._left.pop(position)
        self._connected.pop(position, None)
        for end in self._partial.bind_relationship(relationship):
            self._reach(end)


def _reason(choice: _Choice, *, is_first: bool) -> str:
    _, rate, _, kind, _ = choice
    if kind is StepKind.CLOSE:
        return "both ends are bound: it only tests rows and names the relationship"
    if kind is StepKind.COMBINE:
        return f"fewest rows among the connected: {rate_text(rate)} per row"
    beginning = "" if is_first else "nothing connected is left; "
    if kind is StepKind.RELATIONSHIPS:
        return f"{beginning}fewest candidate relationships, {rate_text(rate)}"
    return f"{beginning}a node without relationships, {rate_text(rate)} candidates"


# ------------------------------------------------------------------ warnings
def _warnings(bound: BoundQuery) -> Iterator[str]:
    parts = _components(bound)
    if len(parts) > 1:
        named = " and ".join(_part_text(bound, part) for part in parts)
        yield (
            "This query builds a cartesian product between disconnected patterns: each match of one"
            f" is combined with each match of the others. They are {named}; a relationship or a"
            " condition that connects them may be missing."
        )


def _components(bound: BoundQuery) -> list[list[int]]:
    """Connected components of the query nodes, by relationships and equality tests."""
    pairs = [(each.source, each.target) for each in bound.relationships]
    pairs += [
        (_node_of(bound, test, test.left), _node_of(bound, test, test.right))
        for test in bound.tests
        if test.equal
    ]
    return connected_components(len(bound.nodes), pairs)


def _node_of(bound: BoundQuery, test: RowTest, side: int) -> int:
    return side if test.on_nodes else bound.relationships[side].source


def _part_text(bound: BoundQuery, part: list[int]) -> str:
    names = [_name(bound.nodes[node].name) for node in part[:4]]
    more = ", …" if len(part) > 4 else ""
    return "".join(("[", ", ".join(names), more, "]"))


def _name(name: str) -> str:
    return "()" if is_anonymous(name) else f"({name})"
