"""The strategy ``pbe``: searches each partition, then across them from crossing relationships."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from gpugda_strategies.gsi.cursor import NodeCursor, lists_of, type_frequency
from gpugda_strategies.gsi.filter import filter_by_signatures
from gpugda_strategies.gsi.options import GsiOptions
from gpugda_strategies.gsi.steps import Seed, compile_steps
from gpugda_strategies.gsi.store import GraphStore
from gpugda_strategies.gsi.windows import NodeWindows
from gpugda_strategies.launch.gsi_join import GsiJoin
from gpugda_strategies.launch.pbe_search import PbeSearch
from gpugda_strategies.level_order import OrderSearch, components
from gpugda_strategies.pbe.cursor import PbeCursor
from gpugda_strategies.pbe.device_lists import ListLoader, Loaded
from gpugda_strategies.pbe.groups import equal_relationships, make_groups
from gpugda_strategies.pbe.kept import kept_of
from gpugda_strategies.pbe.options import PbeOptions
from gpugda_strategies.pbe.placing import place_parts, whole_bytes
from gpugda_strategies.pbe.report import WHOLE
from gpugda_strategies.pbe.searches import Search
from gpugda_strategies.pbe.seeds import Seeds
from gpugda_strategies.pbe.windows import PrimeWatch, SeededWindows

from gpugda.match.matcher import Matcher
from gpugda.match.need import Count, Rows
from gpugda.match.report import describe_candidates
from gpugda.plan.join.matching_order import node_steps
from gpugda.plan.masks import Masks
from gpugda.plan.row_tests import variable_tests
from gpugda.plan.variables import Variable, node_variable, relationship_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda_strategies.gsi.steps import NodeStep
    from gpugda_strategies.pbe.groups import Group
    from gpugda_strategies.pbe.placing import Placed

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.memory.buffers import DeviceArray, Workspace
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.matcher import Cursor
    from gpugda.match.need import Need
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship, PlanStep
    from gpugda.plan.row_tests import VariableTest

__all__ = ["PbeStrategy"]

_DEFAULT_OPTIONS = PbeOptions()
_MAX_RELATIONSHIPS = 64
"""The order of 64 is found in half a second; the time grows with the third power."""


@dataclass(frozen=True, slots=True, eq=False)
class _Query:
    """A query, prepared for its searches.

    Args:
        bound: The query.
        masks: The nodes and relationships that pass the predicates.
        wanted: Columns that the caller reads.
        candidates: Candidates of the query nodes.
        tests: Tests that rows must pass.
        part: Query nodes of the component that is searched within and across partitions.
        order: These nodes, in the order of the search within partitions.
        others: Nodes of the other components; True for the first of each.
        search: Orders nodes, for the searches across partitions.
    """

    bound: BoundQuery
    masks: Masks
    wanted: Rows
    candidates: Candidates
    tests: Sequence[VariableTest]
    part: frozenset[int]
    order: Sequence[int]
    others: Sequence[tuple[int, bool]]
    search: OrderSearch


class PbeStrategy(Matcher):
    """Searches partitions that fit in memory, and shares searches across them.

    Args:
        device_graph: The data graph on its device.
        memory_limit: As for every strategy.
        refinement: Has no effect: candidates are filtered by labels and predicates only.
        options: Techniques to use; the answer is the same with all.
    """

    name = "pbe"
    method = (
        "searches partitions of the graph one at a time, as many as the memory limit needs, then "
        "across them from the relationships that cross"
    )

    @classmethod
    def plan(cls, pattern: BoundQuery) -> tuple[PlanStep, ...]:
        """See `Matcher.plan`: the steps of the search within a partition."""
        search = OrderSearch(pattern, searches=True)
        order = [node for part in components(pattern) for node in search.best(part)]
        return node_steps(pattern, order)

    @classmethod
    def first_attempt_text(cls, pattern: BoundQuery, need: Need) -> str:
        """See `Matcher.first_attempt_text`: the number of searches across partitions."""
        if not isinstance(need, Count) or not pattern.relationships:
            return ""
        # Predicates count as distinct, because their bitmaps are not known yet.
        alone = Masks(_unlike(pattern.nodes), _unlike(pattern.relationships))
        found = equal_relationships(pattern, alone, components(pattern)[0], shares=True)
        return (
            f"within partitions, and across them in {len(found)} searches for "
            f"{sum(map(len, found))} query relationships, if the graph is divided"
        )

    @classmethod
    def can_match(cls, pattern: BoundQuery, need: Need) -> str | None:
        """See `Matcher.can_match`."""
        del need
        if len(pattern.relationships) <= _MAX_RELATIONSHIPS:
            return None
        return (
            f"the pattern has {len(pattern.relationships):,} relationships; strategy pbe takes "
            f"{_MAX_RELATIONSHIPS:,}, as it compares each with each"
        )

    def __init__(
        self,
        device_graph: DeviceGraph,
        *,
        memory_limit: int | None = None,
        refinement: Literal["off", "once", "fixpoint"] | str = "once",
        options: PbeOptions | None = None,
    ) -> None:
        super().__init__(device_graph, memory_limit=memory_limit, refinement=refinement)
        self._options = options or _DEFAULT_OPTIONS
        self._join_options = GsiOptions(signatures=False)
        self._joins = GsiJoin(self._context)
        self._searches = PbeSearch(self._context)
        self._store = GraphStore(device_graph, self._join_options)

    def _workspace(self) -> Workspace:
        return self._store.counted(super()._workspace())

    def start(
        self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count
    ) -> Cursor | None:
        """See `Matcher.start`."""
        options = self._join_options
        with run.stage("filter"):
            candidates = filter_by_signatures(run, pattern, masks, self._store, None, options)
        if candidates is None:
            return None
        describe_candidates(run.report, pattern, candidates)
        query = self._query(run, pattern, masks, need, candidates)
        frequency = type_frequency(pattern, self._graph)
        order = [(node, not at) for at, node in enumerate(query.order)]
        steps = compile_steps(
            pattern, self._graph.graph, [*order, *query.others], query.wanted, frequency
        )
        if self._fits(run, steps):
            run.report.steps.append(WHOLE)
            with run.stage("lists"):
                lists = lists_of(run, steps, masks, self._store)
            windows = NodeWindows(run, steps, candidates, lists, self._joins, options)
            return NodeCursor(pattern, steps, windows)
        return self._partitioned(run, query)

    def _query(
        self, run: Run, bound: BoundQuery, masks: Masks, need: Rows | Count, found: Candidates
    ) -> _Query:
        search = OrderSearch(bound, searches=self._options.orders)
        part, *rest = components(bound)
        others = [(node, not at) for each in rest for at, node in enumerate(search.best(each))]
        wanted = Rows(frozenset(), frozenset()) if isinstance(need, Count) else need
        tests = variable_tests(bound, run.graph.graph)
        order = search.best(part)
        return _Query(bound, masks, wanted, found, tests, part, order, others, search)

    def _fits(self, run: Run, steps: Sequence[NodeStep]) -> bool:
        """True if the lists of the whole graph fit on the device."""
        keys = {link.partition for step in steps for link in step.links}
        if not keys:
            return True
        if self._options.partitions is not None:
            return self._options.partitions <= 1
        room = (run.workspace.available + self._store.nbytes) * (1 - self._options.rows_share)
        return whole_bytes(run.graph.graph, keys, self._join_options.group_fill) <= room

    # ------------------------------------------------------------------ several partitions
    def _partitioned(self, run: Run, query: _Query) -> PbeCursor:
        run.workspace.make_room(self.limit)
        kept = kept_of(run.graph.graph, self._join_options.group_fill)
        masks = {
            position: run.workspace.upload(bits, "predicate bitmaps")
            for position, bits in query.masks.relationships.items()
        }
        intra = self._steps(query, Seed((query.order[0],)), query.order[1:])
        given = query.bound, run.graph.graph, query.masks, query.part, query.search
        with run.working():
            groups = make_groups(*given, self._options)
        across = [self._group_steps(query, each) for each in groups]
        inside = {each.position for each in query.bound.relationships if each.source in query.part}
        links = [link for step in intra for link in step.links if link.relationship in inside]
        keys = list(dict.fromkeys(link.partition for link in links))
        # Allocated before the remaining memory is divided: the partition of each node.
        size = run.graph.graph.node_count
        partition_of = run.workspace.allocate(size, np.uint16, "the partition of each node")
        with run.stage("partitions"):
            placed = place_parts(
                run, kept, [intra, *across], keys, self._options, self._join_options.group_fill
            )
        run.workspace.write(partition_of, placed.plan.of_node)
        found = list(zip(groups, across, strict=True))
        return self._cursor(run, query, placed, masks, partition_of, (intra, found))

    def _cursor(
        self,
        run: Run,
        query: _Query,
        placed: Placed,
        masks: dict[int, DeviceArray],
        partition_of: DeviceArray,
        steps: tuple[Sequence[NodeStep], Sequence[tuple[Group, Sequence[NodeStep]]]],
    ) -> PbeCursor:
        room, fill = placed.room, self._join_options.group_fill
        watch = PrimeWatch(run, partition_of, self._searches)
        loader = ListLoader(run, placed.rows_of, masks, self._searches, fill, room.load)

        def search(
            each: Sequence[NodeStep], watch: PrimeWatch | None, group: Group | None
        ) -> Search:
            joins, options, loaded = self._joins, self._join_options, Loaded()
            windows = SeededWindows(
                run, each, query.candidates, loader, loaded, joins, options, room.level, watch
            )
            return Search(windows, loaded, group)

        return PbeCursor(
            run,
            query.bound,
            placed,
            query.part,
            query.order[0],
            search(steps[0], None, None),
            [search(each, watch, group) for group, each in steps[1]],
            Seeds(run, placed.plan, query.candidates, masks, self._searches, room.level),
            loader,
            self._joins,
            self._searches,
            _columns(query.wanted),
        )

    def _steps(
        self,
        query: _Query,
        seed: Seed,
        order: Sequence[int],
        wanted: Rows | None = None,
        more: Sequence[VariableTest] = (),
    ) -> tuple[NodeStep, ...]:
        nodes = [*((node, False) for node in order), *query.others]
        return compile_steps(
            query.bound,
            self._graph.graph,
            nodes,
            query.wanted if wanted is None else wanted,
            type_frequency(query.bound, self._graph),
            (query.bound.relationships, [*query.tests, *more]),
            seed,
        )

    def _group_steps(self, query: _Query, group: Group) -> tuple[NodeStep, ...]:
        """The steps of a group, which keep the columns that its members need."""
        prime = group.prime
        watched = frozenset(
            each.position for each in query.bound.relationships if each.source in query.part
        )
        seed = Seed((prime.source, prime.target), prime, watched)
        if group.is_alone:
            return self._steps(query, seed, group.order, None, group.members[0].tests)
        needed = {
            member.source(each)
            for member in group.members
            for each in (*_columns(query.wanted), *_tested(member.tests))
        }
        nodes = frozenset(each.position for each in needed if each.is_node)
        relationships = frozenset(each.position for each in needed if not each.is_node)
        return self._steps(query, seed, group.order, Rows(nodes, relationships))


def _columns(wanted: Rows) -> list[Variable]:
    nodes = [node_variable(each) for each in sorted(wanted.nodes)]
    return [*nodes, *(relationship_variable(each) for each in sorted(wanted.relationships))]


def _tested(tests: Sequence[VariableTest]) -> list[Variable]:
    return [each for test in tests for each in test.variables()]


def _unlike(kind: Sequence[BoundNode] | Sequence[BoundRelationship]) -> dict[int, Any]:
    """Different bitmaps for all that have predicates."""
    return {
        each.position: np.array([each.position], dtype=np.uint32)
        for each in kind
        if each.predicates
    }
