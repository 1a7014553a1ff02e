"""Expected rows and work of each operator: the one model behind `PhysicalPlan`.

`physical_plan` goes through the operators from the inputs up. Beside the rows it carries what the
columns hold: how many distinct values, and for nodes, where they come from.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any, Final

from gpugda.execute.aggregation.aggregate_calls import counts
from gpugda.execute.column_domains import Domain, Domains, Sized, draws
from gpugda.execute.node_weights import NodeWeights
from gpugda.execute.operators import simple
from gpugda.execute.operators.aggregate import Aggregate
from gpugda.execute.operators.apply import Apply
from gpugda.execute.operators.count_complement import CountComplement
from gpugda.execute.operators.degree_lookup import DegreeLookup
from gpugda.execute.operators.distinct import Distinct
from gpugda.execute.operators.expand import Expand
from gpugda.execute.operators.filter import Filter
from gpugda.execute.operators.lookup import Lookup
from gpugda.execute.operators.match import Match
from gpugda.execute.operators.project import Project
from gpugda.execute.operators.select_paths import SelectPaths
from gpugda.execute.operators.short_trails import ShortTrails
from gpugda.execute.operators.shortest_path import ShortestPath
from gpugda.execute.operators.slice import Slice
from gpugda.execute.operators.sort import Sort
from gpugda.execute.operators.unwind import Unwind
from gpugda.execute.paths.path_growth import Growth, path_growth
from gpugda.match.need import Count, Rows
from gpugda.plan.comparisons import compared_values
from gpugda.plan.cost import Work
from gpugda.plan.label_programs import type_ids
from gpugda.plan.logical import ExpandMode
from gpugda.plan.physical import Physical, PhysicalPlan
from gpugda.query import ast
from gpugda.query.shapes import QUERIES, variable_names
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.operator import Operator
    from gpugda.match.need import Need
    from gpugda.plan.cost import DeviceRates, ServerRates
    from gpugda.plan.logical import Expand as LogicalExpand
    from gpugda.plan.plan import BoundQuery, Plan

__all__ = ["parameter_sizes", "physical_plan", "sized"]

_LINEAR: Final = 3.0
"""Pairs per candidate relationship of a count that joins no rows."""
_FIRST_ROWS: Final = 1000.0
"""Rows of the first chunk of a join that may stop early."""
_SIDES: Final = 2.0
"""A shortest path is searched from both ends: from each, about the square root of the relationships
are followed that one alone would reach. The device searches once from each node if that is less."""


def physical_plan(
    operator: Operator,
    graph: DataGraph,
    strategy: str,
    device: DeviceRates,
    server: ServerRates,
    sizes: Mapping[str, int],
) -> PhysicalPlan:
    """The plan of a query.

    Args:
        operator: The last operator of the query.
        graph: The data graph.
        strategy: Name of the strategy that matches patterns.
        device: Rates of the device.
        server: Rates of the server.
        sizes: What `parameter_sizes` gives.
    """
    found = sized(operator, graph, strategy, sizes)
    shown = sum(found.domain(name).is_entity for name in operator.columns)
    elements = sum(map(_elements, _operators(operator)))
    return PhysicalPlan(found.physical, operator.columns, shown, elements, device, server)


def sized(
    operator: Operator, graph: DataGraph, strategy: str, sizes: Mapping[str, int] | None = None
) -> Sized:
    """The expected output of an operator and of all its inputs."""
    return _Sizing(graph, strategy, sizes or {}).of(operator)


def parameter_sizes(values: Mapping[str, Any]) -> dict[str, int]:
    """What plans depend on: whole numbers, for LIMIT, and lengths of lists, as powers of two.

    Rounded, since a query that looks up one id after another would be planned for each.
    """
    sizes: dict[str, int] = {}
    for name, given in values.items():
        if isinstance(given, int) and not isinstance(given, bool):
            sizes[name] = _power_of_two(given)
        elif isinstance(given, (list, tuple)):
            sizes[name] = _power_of_two(max(len(given), 1))
    return sizes


def _power_of_two(number: int) -> int:
    return 1 << min(max(number - 1, 0).bit_length(), 63) if number > 0 else 0


def _operators(operator: Operator) -> Iterable[Operator]:
    yield operator
    for child in operator.children:
        yield from _operators(child)


def _elements(operator: Operator) -> int:
    if isinstance(operator, Match):
        return len(operator.graph.nodes) * max(1, len(operator.graph.relationships))
    return 2 if isinstance(operator, Expand | ShortestPath | DegreeLookup) else 0


_ONE_ROW: Final = Sized(Physical("", "", 1.0, 1.0, Work()))
_ANYTHING: Final = Domain(math.inf)


class _Sizing:
    """Sizes operators on one graph.

    Args:
        graph: The data graph.
        strategy: Name of the strategy.
        sizes: Sizes of the parameters.
        argument: Rows of the operator around a subquery.
        enough: Rows after which the consumer stops; None if it reads all.
    """

    def __init__(
        self,
        graph: DataGraph,
        strategy: str,
        sizes: Mapping[str, int],
        argument: Sized | None = None,
        enough: float | None = None,
    ) -> None:
        self._graph = graph
        self._strategy = strategy
        self._sizes = sizes
        self._argument = argument
        self._enough = enough
        self._nodes = NodeWeights(graph)
        self._values = Domains(graph, sizes)

    def _needing(self, enough: float | None) -> _Sizing:
        other = copy(self)
        other._enough = enough
        return other

    def _within(self, argument: Sized) -> _Sizing:
        other = copy(self)
        other._argument, other._enough = argument, None
        return other

    # -------------------------------------------------------------- operators
    @singledispatchmethod
    def of(self, operator: Operator) -> Sized:
        """The expected output of an operator; an unknown one passes its first input on."""
        inputs = tuple(map(self.of, operator.children))
        rows = inputs[0].rows if inputs else 1.0
        found = inputs[0].found if inputs else 1.0
        work = Work(operators=1, values=rows, handled=found)
        domains = inputs[0].domains if inputs else {}
        return self._made(operator, rows, found, work, inputs, domains)

    def _made(
        self,
        operator: Operator,
        rows: float,
        found: float,
        work: Work,
        inputs: tuple[Sized, ...],
        domains: Mapping[str, Domain],
    ) -> Sized:
        children = tuple(each.physical for each in inputs)
        kind, what = type(operator).__name__, operator.describe()
        most = max(rows, 1.0)
        domains = {
            name: replace(each, distinct=most) if each.distinct > most else each
            for name, each in domains.items()
        }
        return Sized(Physical(kind, what, rows, found, work, children), domains)

    @of.register
    def _unit(self, operator: simple.Unit) -> Sized:
        return self._made(operator, 1.0, 1.0, Work(), (), {})

    @of.register
    def _given(self, operator: simple.Argument) -> Sized:
        outer = self._argument
        if outer is None:
            return self._made(operator, 1.0, 1.0, Work(), (), {})
        return self._made(operator, outer.rows, outer.found, Work(), (), outer.domains)

    @of.register
    def _empty(self, operator: simple.Empty) -> Sized:
        below = self.of(operator.children[0])
        return self._made(operator, 0.0, 0.0, Work(operators=1), (below,), {})

    @of.register
    def _union(self, operator: simple.Union) -> Sized:
        inputs = tuple(map(self.of, operator.children))
        rows, found = sum(each.rows for each in inputs), sum(each.found for each in inputs)
        domains = {
            name: Domain(sum(each.domain(name).distinct for each in inputs))
            for name in operator.columns
        }
        return self._made(operator, rows, found, Work(operators=1), inputs, domains)

    @of.register
    def _match(self, operator: Match) -> Sized:
        plan = operator.plan_on(self._graph, self._strategy)
        bound, partial = plan.bound, _partial_rows(plan)
        below = self.of(operator.children[0]) if operator.children else None
        given = _ONE_ROW if below is None else below
        each = self._nodes.correction(bound)
        if below is not None:
            each *= self._share_per_row(operator, bound, below)
        embeddings = each * (partial[-1] if partial else 0.0)
        pairs, steps = sum(partial[1:]) or sum(partial), max(len(partial) - 2, 0)
        expansions = given.found * each * sum(partial)
        need = operator.need(_without_compared(plan))
        rows, found = given.rows * embeddings, given.found * embeddings
        cut = self._share_needed(rows) if isinstance(need, Rows) else 1.0
        if not isinstance(need, Rows) and _is_tree(bound):
            pairs = min(pairs, _LINEAR * sum(link.cardinality for link in bound.relationships))
        if below is not None:
            distinct = math.prod(below.domain(name).distinct for name in operator.bound)
            pairs *= min(1.0, min(given.rows, distinct) * each)
        rows = self._rows_needed(operator, bound, need, given.rows, rows * cut)
        values = rows * max(1, len(operator.wanted) + len(operator.bound))
        work = Work(1, 0, steps, pairs * cut, values, 0, expansions * cut, found * cut)
        if below is not None:
            work = work.plus(Work(operators=2, values=given.rows * len(operator.bound)))
        domains = self._matched_domains(operator, bound, given.domains, rows)
        return self._made(operator, rows, found * cut, work, (below,) if below else (), domains)

    def _share_per_row(self, operator: Match, bound: BoundQuery, below: Sized) -> float:
        """Share of all embeddings that agree with an input row."""
        places, share = operator.places(bound), 1.0
        for is_node, position in {places[name] for name in operator.bound}:
            if is_node:
                share /= self._nodes.cardinality(bound, position)
            else:
                share /= max(bound.relationships[position].cardinality, 1.0)
        return share * self._skew(operator, bound, below)

    def _rows_needed(
        self, operator: Match, bound: BoundQuery, need: Need, given: float, rows: float
    ) -> float:
        """Rows that stand for the embeddings: one for each group, or for each input row."""
        if isinstance(need, Rows):
            return rows
        if isinstance(need, Count):
            return given
        places = operator.places(bound)
        known = {places[name][1] for name in operator.bound if places[name][0]}
        apart = [each for each in need.nodes if each not in known]
        kinds = given * math.prod(self._nodes.having(bound, each) for each in apart)
        return min(rows, kinds) if len(apart) == len(bound.nodes) else draws(rows, kinds)

    def _matched_domains(
        self, operator: Match, bound: BoundQuery, before: Mapping[str, Domain], rows: float
    ) -> dict[str, Domain]:
        places, domains = operator.places(bound), dict(before)
        for name in (*operator.wanted, *operator.bound):
            is_node, position = places[name]
            distinct = self._nodes.having(bound, position) if is_node else rows
            known = domains.get(name, _ANYTHING)
            domains[name] = Domain(
                min(distinct, known.distinct),
                is_entity=True,
                place=(bound, position) if is_node else None,
                ends=known.ends,
            )
        return domains

    def _skew(self, operator: Match, bound: BoundQuery, below: Sized) -> float:
        """How much higher the degrees of the given nodes are than those of all candidates."""
        factor = 1.0
        places = operator.places(bound)
        for name in operator.bound:
            is_node, position = places[name]
            weights = self._nodes.of(below.domains.get(name)) if is_node else None
            if weights is not None:
                own = self._nodes.members(bound, position)
                kept = weights * own
                factor *= self._nodes.degree_ratio(bound, position, kept, own)
                factor *= float(kept.sum()) / max(float(weights.sum()), 1e-9)
        return factor

    @of.register
    def _expand(self, operator: Expand) -> Sized:
        below, asked = self.of(operator.children[0]), operator.asked
        size = 1 if asked.step is None else len(asked.step.relationships)
        maximum = None if asked.maximum is None else asked.maximum * size
        growth = self._growth(
            below, asked.start, asked.direction, asked.types, asked.minimum * size, maximum
        )
        share = self._values.share_of(asked.predicates, of_nodes=False)
        levels = tuple(each * share**length for length, each in enumerate(growth.levels))
        growth = growth._replace(levels=levels)
        reaches = asked.mode is ExpandMode.REACH
        paths = growth.reached(asked.minimum) if reaches else growth.paths(asked.minimum * size)
        if asked.end_is_bound:
            paths /= max(growth.reachable, 1.0)
        if asked.given:
            paths = 1.0
        cut = self._share_needed(below.rows * paths)
        rows, found = below.rows * paths * cut, below.found * paths * cut
        entries = growth.reached(0) * self._mean_degree(asked) if reaches else growth.entries
        entries *= cut
        width = len(below.domains) + (0 if reaches else len(levels))
        work = Work(
            operators=2,
            values=below.rows * entries * 3 + rows * width,
            expansions=below.found * entries,
            handled=found,
        )
        domains = dict(below.domains)
        if not asked.end_is_bound:
            ends = growth.ends if share == 1.0 else None
            domains[asked.end] = Domain(max(growth.reachable, 1.0), is_entity=True, ends=ends)
        for name in operator.wanted:
            domains[name] = Domain(rows, length=growth.entries / max(growth.paths(0), 1.0))
        return self._made(operator, rows, found, work, (below,), domains)

    @of.register
    def _trails(self, operator: ShortTrails) -> Sized:
        first, *others = map(self.of, operator.children)
        inputs = (first, *map(_not_run, others))
        return self._made(operator, first.rows, first.found, Work(), inputs, first.domains)

    @of.register
    def _shortest(self, operator: ShortestPath) -> Sized:
        below, asked = self.of(operator.children[0]), operator.asked
        growth = self._growth(
            below, asked.start, asked.direction, asked.types, asked.minimum, asked.maximum
        )
        reached = growth.reached(min(asked.minimum, 1))
        chance = min(1.0, reached / max(self._graph.statistics.node_count, 1))
        weights = self._nodes.of(below.domains.get(asked.end))
        if weights is not None and growth.ends is not None and weights.any():
            able = float(weights[growth.ends > 0].sum() / weights.sum())
            chance = able * min(1.0, reached / max(growth.reachable, 1.0))
        paths = chance * max(1.0, asked.most) * (2.0 if operator.every else 1.0)
        each = reached * self._mean_degree(asked)
        both = min(each, _SIDES * math.sqrt(each))
        sources = min(below.domain(asked.start).distinct, below.domain(asked.end).distinct)
        rows, found = below.rows * paths, below.found * paths
        work = Work(
            searches=1,
            values=min(sources * each, below.rows * both)
            + below.rows * 4
            + rows * len(growth.levels),
            expansions=below.found * both,
            handled=found,
        )
        domains = {**below.domains, **{name: Domain(rows) for name in operator.wanted}}
        return self._made(operator, rows, found, work, (below,), domains)

    @of.register
    def _lookup(self, operator: Lookup) -> Sized:
        below = self.of(operator.children[0])
        count = self._graph.node_count
        values = self._graph.statistics.distinct_counts.get(operator.key) or 10
        each = count / max(values, 1)
        rows, found = below.rows * each, below.found * each
        node = Domain(min(float(count), rows), is_entity=True)
        work = Work(operators=2, values=count + rows * 4, handled=found)
        return self._made(
            operator, rows, found, work, (below,), {**below.domains, operator.node: node}
        )

    @of.register
    def _degrees(self, operator: DegreeLookup) -> Sized:
        below, graph = self.of(operator.children[0]), self._graph
        arrow = operator.graph.relationships[0]
        types = type_ids(arrow.types, graph.types)
        entries = graph.statistics.relationships_of(types)
        degree = entries * (1 if arrow.directed else 2) / max(graph.node_count, 1)
        start = next(iter(operator.bound))
        is_start = operator.graph.nodes[arrow.source].name == start
        kind = types, is_start if arrow.directed else None
        weights = self._nodes.of(below.domains.get(start))
        having = float(graph.nodes_having(kind, None)) / max(graph.node_count, 1)
        if weights is not None and weights.any() and len(operator.bound) == 1:
            degrees = graph.degrees_of(kind)
            total = float(weights.sum())
            degree = float((degrees * weights).sum()) / total
            having = float(weights[degrees > 0].sum()) / total
        if len(operator.bound) > 1:
            degree = having = degree / max(graph.node_count, 1)
        found = below.found * degree
        rows = found
        if operator.optional:
            found += below.found * (1.0 - having)
            rows = found
        if operator.weighted:
            rows = below.rows * (1.0 if operator.optional else min(having, 1.0))
        work = Work(operators=1, values=below.rows * 4, expansions=below.found * (1 + degree))
        return self._made(operator, rows, found, work, (below,), below.domains)

    @of.register
    def _complement(self, operator: CountComplement) -> Sized:
        whole, part, direct = map(self.of, operator.children)
        if operator.is_worth_it(self._graph):
            inputs = (whole, part, _not_run(direct))
        else:
            inputs = (_not_run(whole), _not_run(part), direct)
        return self._made(operator, 1.0, 1.0, Work(operators=1), inputs, {})

    @of.register
    def _filter(self, operator: Filter) -> Sized:
        below = self.of(operator.children[0])
        # A look-up has already compared what its filter compares.
        tested = operator.predicates[isinstance(operator.children[0], Lookup) :]
        share = math.prod(self._values.selectivity(each, below) for each in tested)
        domains = dict(below.domains)
        for each in tested:
            names = variable_names(each) & domains.keys()
            if len(names) == 1:
                (name,) = names
                kept = below.domain(name).distinct * self._values.selectivity(each, below)
                domains[name] = replace(domains[name], distinct=max(kept, 1.0), ends=None)
        work = Work(operators=1, values=below.rows * len(operator.predicates), handled=below.found)
        work = work.plus(self._inside(operator.predicates, below))
        return self._made(
            operator, below.rows * share, below.found * share, work, (below,), domains
        )

    @of.register
    def _project(self, operator: Project) -> Sized:
        below = self.of(operator.children[0])
        expressions = [item.expression for item in operator.items]
        kept = below.domains if operator.keeps or operator.hidden else {}
        domains = {**kept}
        for item in operator.items:
            domains[item.name] = self._values.of(item.expression, below)
        work = Work(values=below.rows * len(expressions))
        work = work.plus(self._inside(expressions, below))
        return self._made(operator, below.rows, below.found, work, (below,), domains)

    @of.register
    def _aggregate(self, operator: Aggregate) -> Sized:
        below = self._needing(None).of(operator.children[0])
        groups = draws(below.rows, self._values.combinations(operator.keys, below))
        if operator.always and not operator.keys:
            groups = 1.0 if self._argument is None else self._argument.rows
        elif self._argument is not None:
            groups = min(below.rows, groups * self._argument.rows)
        lists = sum(_collects(each) for each in operator.aggregates)
        width = len(operator.keys) + len(operator.aggregates)
        work = Work(
            operators=bool(operator.keys),
            values=below.rows * (1 + 4 * width),
            objects=below.rows * lists,
            handled=below.found,
        )
        domains: dict[str, Domain] = {}
        each_length = below.found / max(groups, 1.0)
        for place, key in enumerate(operator.keys):
            domains[f"\0key{place}"] = self._values.of(key, below)
        for place, call in enumerate(operator.aggregates):
            length = each_length if _collects(call) or counts(call) else None
            domains[f"\0aggregate{place}"] = Domain(groups, length=length)
        return self._made(operator, groups, groups, work, (below,), domains)

    @of.register
    def _distinct_rows(self, operator: Distinct) -> Sized:
        whole = operator.bounds is None or operator.bounds.limit is None
        below = (self._needing(None) if whole else self).of(operator.children[0])
        kinds = math.prod(below.domain(name).distinct for name in operator.columns)
        rows = draws(below.rows, kinds)
        if self._argument is not None:
            rows = min(below.rows, rows * max(1.0, self._argument.rows))
        work = Work(operators=1, values=below.rows * 4 * len(operator.columns), handled=below.found)
        return self._made(operator, rows, rows, work, (below,), below.domains)

    @of.register
    def _sort(self, operator: Sort) -> Sized:
        below = self._needing(None).of(operator.children[0])
        rows, length = below.rows, math.log2(max(below.rows, 2.0))
        stop = None if operator.bounds is None else self._values.bound(operator.bounds.limit)
        if stop is not None and operator.bounds is not None:
            rows = min(rows, stop + (self._values.bound(operator.bounds.skip) or 0.0))
        work = Work(
            operators=1,
            values=below.rows * (len(operator.columns) + len(operator.keys) * length / 4),
            handled=below.found * length / 4,
        )
        return self._made(operator, rows, min(below.found, rows), work, (below,), below.domains)

    @of.register
    def _slice(self, operator: Slice) -> Sized:
        skip = self._values.bound(operator.bounds.skip) or 0.0
        limit = self._values.bound(operator.bounds.limit)
        if operator.bounds.whole and limit is not None:
            skip, limit = 0.0, skip + limit
        stop = None if limit is None or self._argument is not None else skip + limit
        below = self._needing(stop).of(operator.children[0])
        rows = max(0.0, below.found - skip)
        if limit is not None:
            each = 1.0 if self._argument is None else max(1.0, self._argument.rows)
            rows = min(rows, limit * each)
        return self._made(operator, rows, rows, Work(), (below,), below.domains)

    @of.register
    def _unwind(self, operator: Unwind) -> Sized:
        below = self.of(operator.children[0])
        length = self._values.length(operator.elements, below)
        rows, found = below.rows * length, below.found * length
        work = Work(operators=1, values=rows * 2, objects=below.rows, handled=found)
        domains = {**below.domains, operator.name: Domain(rows)}
        return self._made(operator, rows, found, work, (below,), domains)

    @of.register
    def _apply(self, operator: Apply) -> Sized:
        outer = self.of(operator.children[0])
        sub = self._within(outer).of(operator.children[1])
        rows, found = sub.rows, max(sub.found, sub.rows)
        if operator.outer:
            missed = math.exp(-min(700.0, sub.rows / max(outer.rows, 1e-9)))
            rows, found = rows + outer.rows * missed, found + outer.found * missed
        domains = {
            **outer.domains,
            **{n: sub.domains[n] for n in sub.domains if n in operator.added},
        }
        work = Work(operators=1, values=rows * len(operator.columns), handled=outer.found)
        return self._made(operator, rows, found, work, (outer, sub), domains)

    @of.register
    def _selected(self, operator: SelectPaths) -> Sized:
        outer = self.of(operator.children[0])
        sub = self._within(outer).of(operator.children[1])
        most = operator.asked.most if isinstance(operator.asked.most, int) else 1
        rows = min(sub.rows, outer.rows * most)
        work = Work(operators=1, values=sub.rows * 8, handled=sub.found)
        return self._made(operator, rows, rows, work, (outer, sub), {**outer.domains})

    def _growth(
        self,
        below: Sized,
        start: str,
        direction: ast.Direction,
        types: ast.LabelExpression | None,
        minimum: int,
        maximum: int | None,
    ) -> Growth:
        graph = self._graph
        weights = self._nodes.of(below.domains.get(start))
        ids = type_ids(types, graph.types)
        return path_growth(graph, weights, direction, ids, minimum, maximum)

    def _mean_degree(self, asked: LogicalExpand) -> float:
        graph = self._graph
        types = type_ids(asked.types, graph.types)
        entries = graph.statistics.relationships_of(types)
        both = 2 if asked.direction is ast.Direction.BOTH else 1
        outgoing = None if both == 2 else asked.direction is ast.Direction.OUTGOING
        return both * entries / max(graph.nodes_having((types, outgoing), None), 1)

    def _inside(self, expressions: Iterable[ast.Expression], below: Sized) -> Work:
        """The work of patterns inside expressions."""
        nested = sum(isinstance(n, QUERIES) for each in expressions for n in walk(each))
        if not nested:
            return Work()
        graph = self._graph
        degree = graph.relationship_count / max(graph.node_count, 1)
        return Work(
            searches=nested,
            operators=2 * nested,
            pairs=nested * below.rows * degree,
            values=nested * below.rows * 4,
            expansions=nested * below.found * (1 + degree),
        )

    def _share_needed(self, rows: float) -> float:
        """Share of the rows that are computed before a consumer stops."""
        if self._enough is None or not rows:
            return 1.0
        return min(1.0, max(self._enough, _FIRST_ROWS) / rows)


def _not_run(alternative: Sized) -> Sized:
    """An input that is not expected to run: its operators cost nothing."""

    def idle(node: Physical) -> Physical:
        return replace(node, work=Work(), children=tuple(map(idle, node.children)))

    return replace(alternative, physical=idle(alternative.physical))


def _partial_rows(plan: Plan) -> list[float]:
    if plan.bound.no_rows is not None or plan.declined:
        return []
    return [step.cardinality for step in plan.steps]


def _without_compared(plan: Plan) -> BoundQuery:
    """The pattern without the conditions that the join tests."""
    bound = plan.bound
    if not plan.compares or not bound.residuals:
        return bound
    left = tuple(each for each in bound.residuals if compared_values(each) is None)
    return replace(bound, residuals=left)


def _is_tree(bound: BoundQuery) -> bool:
    links = {frozenset((each.source, each.target)) for each in bound.relationships}
    if len(links) < len(bound.relationships) or bound.residuals:
        return False
    return len(links) < len(bound.nodes) and all(len(each) == 2 for each in links)


def _collects(call: ast.Expression) -> bool:
    return isinstance(call, ast.FunctionCall) and call.name.lower() == "collect"
