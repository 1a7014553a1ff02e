"""The matching order: in which order query relationships (and lone query nodes) are bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.cardinality import closing_rate, extension_rate
from gpugda.plan.plan import Plan, PlanStep, StepKind
from gpugda.query.query_parts import is_anonymous

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.data.statistics import GraphStatistics
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest

__all__ = ["make_plan", "matching_order"]

_MOST_ROWS = 1e290
"""Expected of any step: below infinity, which bytes and seconds cannot be made of."""

_Choice = tuple[bool, float, int, StepKind, int]
"""Whether it extends, rows out per row in, position, kind, bound end. The least wins."""


def make_plan(
    bound: BoundQuery,
    statistics: GraphStatistics,
    strategy: str,
    strategy_reason: str = "",
    *,
    compares: bool = False,
    declined: str = "",
) -> Plan:
    """The plan of a bound query.

    Args:
        bound: What is to be found, with its cardinalities.
        statistics: Of the data graph that it is bound to; for rules that look at the graph as a
            whole.
        strategy: Name of the strategy that will run it.
        strategy_reason: What it does.
        compares: Whether it compares values of two variables while it joins.
        declined: Why it cannot answer; empty where it can.
    """
    return Plan(
        bound=bound,
        find_steps=matching_order,
        strategy=strategy,
        warnings=tuple(_warnings(bound)),
        strategy_reason=strategy_reason,
        compares=compares,
        declined=declined,
    )


def matching_order(bound: BoundQuery) -> tuple[PlanStep, ...]:
    """Steps that bind everything: connected as long as possible, the fewest rows first.

    A relationship whose both ends are bound is closed at once, as this can only remove rows (but
    for parallel relationships). Components follow one another.
    """
    return _Order(bound).steps()


class _Order:
    def __init__(self, bound: BoundQuery) -> None:
        self._bound = bound
        self._nodes: set[int] = set()
        self._left = dict(enumerate(bound.relationships))
        self._at: dict[int, list[BoundRelationship]] = {}
        for each in bound.relationships:
            for end in {each.source, each.target}:
                self._at.setdefault(end, []).append(each)
        self._connected: dict[int, _Choice] = {}
        ends = self._at.keys()
        self._lone = [node for node in bound.nodes if node.position not in ends]
        self._equalities = [test for test in bound.tests if test.equal]
        self._done: set[int] = set()
        self._joined: dict[int, set[int]] = {}
        self._rows = 1.0

    def steps(self) -> tuple[PlanStep, ...]:
        steps = []
        while self._left or self._lone:
            choice = min(self._connected.values() or self._starts())
            _, rate, position, kind, end = choice
            reason = _reason(choice, is_first=not self._nodes)
            self._bind(kind, position)
            self._rows = min(self._rows * rate * self._equality_share(), _MOST_ROWS)
            steps.append(PlanStep(kind, position, end, self._rows, reason))
        return tuple(steps)

    # -------------------------------------------------------------- what can come next
    def _reach(self, node: int) -> None:
        """Binds a query node: what its relationships can do now."""
        self._nodes.add(node)
        nodes = self._bound.nodes
        for each in self._at.get(node, ()):
            if each.position not in self._left:
                continue
            if each.source in self._nodes and each.target in self._nodes:
                rate = self._closing_rate(each)
                self._connected[each.position] = False, rate, each.position, StepKind.CLOSE, -1
            else:
                rate = extension_rate(each, nodes[node]) * each.reached[node == each.target]
                self._connected[each.position] = True, rate, each.position, StepKind.COMBINE, node

    def _closing_rate(self, each: BoundRelationship) -> float:
        source, target = each.source, each.target
        rate = closing_rate(each, self._bound.nodes[source], self._bound.nodes[target])
        if target in self._joined.get(source, ()):
            return rate
        meet = self._joined.get(source, set()) & self._joined.get(target, set())
        return max(rate, each.closing[0 if meet else 1])

    def _starts(self) -> Iterator[_Choice]:
        for each in self._left.values():
            yield True, each.cardinality, each.position, StepKind.RELATIONSHIPS, -1
        for node in self._lone:
            yield True, node.cardinality, node.position, StepKind.NODES, -1

    # -------------------------------------------------------------- after a step
    def _bind(self, kind: StepKind, position: int) -> None:
        if kind is StepKind.NODES:
            self._lone = [node for node in self._lone if node.position != position]
            self._nodes.add(position)
            return
        relationship = self._left.pop(position)
        self._connected.pop(position, None)
        self._done.add(position)
        self._joined.setdefault(relationship.source, set()).add(relationship.target)
        self._joined.setdefault(relationship.target, set()).add(relationship.source)
        for end in (relationship.source, relationship.target):
            if end not in self._nodes:
                self._reach(end)

    def _equality_share(self) -> float:
        """What tests for equality leave whose both sides are bound now."""
        share = 1.0
        waiting = []
        for test in self._equalities:
            bound = self._nodes if test.on_nodes else self._done
            if test.left in bound and test.right in bound:
                share /= max(1.0, *self._cardinalities(test))
            else:
                waiting.append(test)
        self._equalities = waiting
        return share

    def _cardinalities(self, test: RowTest) -> tuple[float, float]:
        of = self._bound.nodes if test.on_nodes else self._bound.relationships
        return of[test.left].cardinality, of[test.right].cardinality


def _reason(choice: _Choice, *, is_first: bool) -> str:
    _, rate, _, kind, _ = choice
    if kind is StepKind.CLOSE:
        return "both ends are bound: it only tests rows and names the relationship"
    if kind is StepKind.COMBINE:
        return f"fewest rows among the connected: {_number(rate)} per row"
    beginning = "" if is_first else "nothing connected is left; "
    if kind is StepKind.RELATIONSHIPS:
        return f"{beginning}fewest candidate relationships, {_number(rate)}"
    return f"{beginning}a node without relationships, {_number(rate)} candidates"


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
    """Query nodes that hang together by relationships, or by tests for equality."""
    parent = list(range(len(bound.nodes)))

    def root(node: int) -> int:
        while parent[node] != node:
            node = parent[node]
        return node

    for each in bound.relationships:
        parent[root(each.source)] = root(each.target)
    for test in [each for each in bound.tests if each.equal]:  # most say what must differ
        left, right = (_node_of(bound, test, side) for side in (test.left, test.right))
        parent[root(left)] = root(right)
    parts: dict[int, list[int]] = {}
    for node in range(len(bound.nodes)):
        parts.setdefault(root(node), []).append(node)
    return list(parts.values())


def _node_of(bound: BoundQuery, test: RowTest, side: int) -> int:
    return side if test.on_nodes else bound.relationships[side].source


def _part_text(bound: BoundQuery, part: list[int]) -> str:
    names = [_name(bound.nodes[node].name) for node in part[:4]]
    more = ", …" if len(part) > 4 else ""
    return "".join(("[", ", ".join(names), more, "]"))


def _name(name: str) -> str:
    return "()" if is_anonymous(name) else f"({name})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
