"""The order in which a pattern's relationships are bound, and the rows of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.join.join_order import connected_components
from gpugda.plan.join.join_rates import FURTHER_LINK_DAMPING, Rates
from gpugda.plan.plan import Plan, PlanStep, StepKind
from gpugda.plan.readable import rate_text
from gpugda.query.query_graph import is_anonymous

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpugda.data.statistics.graph_statistics import GraphStatistics
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest


__all__ = ["PartialRows", "make_plan", "matching_order", "node_steps"]

_MAX_ROWS = 1e290
"""Far more than any machine holds. A larger product of estimates would become infinity, which
cannot be converted to bytes or seconds."""


class PartialRows:
    """The bound query nodes and relationships, and the estimated rows.

    Attributes:
        nodes: Positions of the bound query nodes, in the order of binding.
        rows: Estimated partial embeddings.
    """

    def __init__(self, bound: BoundQuery) -> None:
        self._bound = bound
        self._rates = Rates(bound)
        self.nodes: dict[int, None] = {}
        self.rows = 1.0
        self._relationships: set[int] = set()
        self._links: dict[int, int] = {}
        """Relationships that led to each query node that is an end of a bound relationship."""
        self._equalities = [test for test in bound.tests if test.equal]

    def extension_rate(self, each: BoundRelationship, node: int) -> float:
        """Rows out per row in if a relationship is followed from this bound node."""
        return self._rates.of(each.position, node, reached=node in self._links)

    def closing_rate(self, each: BoundRelationship) -> float:
        """Rows out per row in if both ends of a relationship are bound."""
        source, target = each.source, each.target
        if source == target:
            return each.cardinality / max(self._rates.counts[source], 1.0)
        if each.position in self._rates.implied:
            return 1.0
        order = list(self.nodes)
        earlier, node = sorted((source, target), key=order.index)
        share = self._rates.of(each.position, earlier, reached=True) / max(
            self._rates.counts[node], 1.0
        )
        return float(min(share, 1.0) ** FURTHER_LINK_DAMPING ** max(self._links.get(node, 0), 1))

    def bind_node(self, position: int) -> None:
        """Marks a query node as bound."""
        self.nodes[position] = None

    def bind_relationship(self, each: BoundRelationship) -> list[int]:
        """Marks a query relationship and its ends as bound; returns the newly bound ends."""
        self._relationships.add(each.position)
        ends = list(dict.fromkeys((each.source, each.target)))
        new = [end for end in ends if end not in self.nodes]
        self.nodes.update(dict.fromkeys(new))
        if len(ends) > 1:
            order = list(self.nodes)
            earlier, node = sorted(ends, key=order.index)
            self._links.setdefault(earlier, 0)
            self._links[node] = self._links.get(node, 0) + 1
        return new

    def grow(self, rate: float) -> float:
        """Rows after a step with this extension rate, including newly decidable equality tests."""
        self.rows = min(self.rows * rate * self._equality_share(), _MAX_ROWS)
        return self.rows

    def _equality_share(self) -> float:
        """Selectivity of the equality tests whose two sides are now bound."""
        share = 1.0
        waiting = []
        for test in self._equalities:
            bound = self.nodes if test.on_nodes else self._relationships
            if test.left in bound and test.right in bound:
                share /= max(1.0, *self._cardinalities(test))
            else:
                waiting.append(test)
        self._equalities = waiting
        return share

    def _cardinalities(self, test: RowTest) -> tuple[float, float]:
        of = self._bound.nodes if test.on_nodes else self._bound.relationships
        return of[test.left].cardinality, of[test.right].cardinality


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


def node_steps(bound: BoundQuery, order: Iterable[int]) -> tuple[PlanStep, ...]:
    """One step per query node of an order, along all relationships to nodes before it.

    The estimated rows of the same nodes and relationships are equal in every order.
    """
    at: dict[int, list[BoundRelationship]] = {}
    for each in bound.relationships:
        for end in {each.source, each.target}:
            at.setdefault(end, []).append(each)
    rows = PartialRows(bound)
    return tuple([_step(bound, rows, node, at.get(node, [])) for node in order])


def _step(
    bound: BoundQuery, rows: PartialRows, node: int, at_node: list[BoundRelationship]
) -> PlanStep:
    links = [each for each in at_node if each.other_end(node) in rows.nodes]
    loops = [each for each in at_node if each.source == each.target]
    along = tuple([each.position for each in (*links, *loops)])
    if links:
        rate, reason = _followed(rows, node, links)
    else:
        is_first = not rows.nodes
        rate = bound.nodes[node].cardinality
        rows.bind_node(node)
        beginning = "" if is_first else "nothing connected is left; "
        reason = f"{beginning}{rate_text(rate)} candidates"
    for each in loops:
        rate *= rows.closing_rate(each)
        rows.bind_relationship(each)
    kind = StepKind.EXTEND if links else StepKind.NODES
    return PlanStep(kind, node, -1, rows.grow(rate), reason, along)


def _followed(rows: PartialRows, node: int, links: list[BoundRelationship]) -> tuple[float, str]:
    """Rows out per row in and the reason, with one link as base list and the others as probes."""
    rates = [rows.extension_rate(each, each.other_end(node)) for each in links]
    fewest = min(range(len(links)), key=rates.__getitem__)
    rate = rates[fewest]
    reason = f"least cost among the connected: {rate_text(rate)} per row"
    rows.bind_relationship(links[fewest])
    for number in sorted(range(len(links)), key=rates.__getitem__):
        if number != fewest:
            rate *= rows.closing_rate(links[number])
            rows.bind_relationship(links[number])
    if len(links) > 1:
        reason += f", {rate_text(rate)} of them along all {len(links)}"
    return rate, reason
