"""Every connected pattern of up to four relationships on every graph of four nodes, by formula.

All directed graphs of four nodes, up to isomorphism, with self-loops and both directions, are
components of one data graph; so are those without self-loops, and those with parallel
relationships. A formula over all assignments of nodes gives the number of embeddings, and the nodes
at which there are some. `make test`
takes a sample of the patterns, `make test-all` a twelfth on each of the kinds of graphs; thorough
tests take each on all.
"""

from __future__ import annotations

from functools import cache, reduce
from itertools import permutations, product

import numpy as np
import pytest
from bound_queries import NO_MASKS
from every_graph import NODES, all_graphs, side_by_side

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.execute.patterns import witnesses
from gpugda.execute.patterns.matching import select
from gpugda.execute.patterns.oriented_count import count_oriented
from gpugda.execute.patterns.oriented_form import add_unoriented_seconds
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend import merged_graph
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count, Groups
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from strategies import is_thorough
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]
MAX_STEPS = 4
SAMPLE = 6
"""The sample has one in this many patterns of two relationships, and as many random ones of 4."""


# ------------------------------------------------------------------ patterns
@cache
def all_patterns(most):
    """Steps (one, other, is directed) of each connected pattern once, smaller patterns first."""
    found, last = {}, [()]
    for _ in range(most):
        grown = {canonical(each) for steps in last for each in with_one_more(steps)}
        last = sorted(grown)
        found.update(dict.fromkeys(last))
    return list(found)


def with_one_more(steps):
    nodes = 1 + max((max(each[:2]) for each in steps), default=0)
    for one in range(nodes):
        for other in range(nodes + 1):
            yield (*steps, (one, other, True))
            yield (*steps, (other, one, True))
            yield (*steps, (one, other, False))


def canonical(steps):
    nodes = sorted({node for each in steps for node in each[:2]})
    return min(
        tuple(sorted(renamed(each, dict(zip(nodes, order, strict=True))) for each in steps))
        for order in permutations(range(len(nodes)))
    )


def renamed(step, names):
    one, other, directed = names[step[0]], names[step[1]], step[2]
    return (one, other, True) if directed else (min(one, other), max(one, other), False)


def text_of(steps):
    parts = [f"(v{one})-{'->' if to else '-'}(v{other})" for one, other, to in steps]
    return f"MATCH {', '.join(parts)} RETURN count(*)"


def expected(steps, kind):
    """Number of ways to take distinct relationships, summed over all assignments of nodes."""
    return sum(int(ways.sum()) for _, ways in all_ways(steps, kind))


def expected_nodes(steps, kind, node):
    """The data nodes at one query node of all embeddings, ascending."""
    found = [NODES * np.flatnonzero(ways) + at[node] for at, ways in all_ways(steps, kind)]
    return np.unique(np.concatenate(found)).tolist()


def nodes_in(steps):
    return 1 + max(max(each[:2]) for each in steps)


def all_ways(steps, kind):
    """Each assignment of nodes, and per graph the ways to take distinct relationships."""
    for at in product(range(NODES), repeat=nodes_in(steps)):
        taken: dict[tuple[int, int], list[int]] = {}
        for one, other, directed in steps:
            low, high = min(at[one], at[other]), max(at[one], at[other])
            way = 2 if not directed or low == high else int(at[one] == high)
            taken.setdefault((low, high), [0, 0, 0])[way] += 1
        ways = [ways_between(kind, *ends, *wanted) for ends, wanted in taken.items()]
        yield at, reduce(np.multiply, ways)


@cache
def ways_between(kind, low, high, up, down, either):
    """Per graph, the ways to take the relationships between two nodes, some in either direction."""
    graphs = all_graphs(kind)
    rising, falling = graphs[:, low, high], graphs[:, high, low] * (low != high)
    left = rising - up + falling - down
    return factors(rising, up) * factors(falling, down) * factors(left, either)


def factors(most, count):
    """The falling factorial; 0 if there are too few."""
    found = np.ones_like(most)
    for taken in range(count):
        found = found * np.maximum(most - taken, 0)
    return found


def test_enumerated_graphs_and_patterns_are_complete():
    # OEIS A000595 and A000273: relations, and directed graphs without loops, on four nodes.
    assert len(all_graphs("loops")) == 3044
    assert len(all_graphs("simple")) == 218
    one = [((0, 0, False),), ((0, 0, True),), ((0, 1, False),), ((0, 1, True),)]
    assert all_patterns(1) == one
    # Two steps: both at one node, or along one line, or as a path, with and without directions.
    assert len(all_patterns(2)) == 4 + 19


# ------------------------------------------------------------------ counting
class Counting:
    """One strategy per kind of graphs, so that lists are merged, and graphs oriented, once."""

    def __init__(self, context):
        self._context, self._made = context, {}

    def strategy(self, kind):
        if kind not in self._made:
            device_graph = DeviceGraph(self._context, side_by_side(kind))
            self._made[kind] = ExtendStrategy(device_graph)
        return self._made[kind]

    def check(self, kind, steps):
        graph, wanted = side_by_side(kind), expected(steps, kind)
        strategy = self.strategy(kind)
        plan = plan_pattern(
            bind(query_of(text_of(steps)), graph), graph.statistics, "extend", Count()
        )
        for _ in range(2):  # before and after lists are merged
            found = strategy.count(plan, NO_MASKS, StrategyReport())
            assert found == wanted, (kind, text_of(steps), found, wanted)
        add_unoriented_seconds(plan, graph, 60.0)
        found = count_oriented(plan, graph, strategy, {}, StrategyReport(), None)
        assert found in (None, wanted), (kind, text_of(steps), found, wanted)
        return found is not None

    def check_witnesses(self, kind, steps, node):
        """Each node with a match is found once. Returns whether one order of others was visited."""
        graph, strategy = side_by_side(kind), self.strategy(kind)
        need = Groups((node,), counted=False, streamed=False)
        plan = plan_pattern(bind(query_of(text_of(steps)), graph), graph.statistics, "extend", need)
        selected, report = (
            select(plan, graph, strategy, {}, StrategyReport(), None),
            StrategyReport(),
        )
        chunks = list(witnesses.witnesses(selected, strategy, need, report, None))
        found = np.concatenate([each.nodes[node] for each in chunks])
        if not all(each.distinct for each in chunks):
            found = np.unique(found)
        wanted = expected_nodes(steps, kind, node)
        assert sorted(found.tolist()) == wanted, (kind, text_of(steps), node)
        assert witnesses.is_found(selected, strategy, report, None) is bool(wanted)
        return any("one is visited" in step for step in report.steps)

    def close(self):
        for strategy in self._made.values():
            strategy.drop_second_graph()
            strategy.graph.close()


@pytest.fixture(scope="module")
def counting(context):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merged_graph, "_SECONDS", 0.0)
        patch.setattr(merged_graph, "_SECONDS_PER_ENTRY", 0.0)
        made = Counting(context)
        yield made
        made.close()


KINDS = ["simple", "loops", "parallel"]


def grown_at_random(random):
    """A connected pattern of four relationships."""
    steps = ()
    for _ in range(MAX_STEPS):
        choices = list(with_one_more(steps))
        steps = choices[random.integers(len(choices))]
    return steps


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_patterns_equals_the_reference(counting, kind):
    random = np.random.default_rng(KINDS.index(kind))
    sample = all_patterns(2)[KINDS.index(kind) :: SAMPLE]
    sample += [grown_at_random(random) for _ in range(SAMPLE)]
    oriented = [counting.check(kind, each) for each in (*sample, TRIANGLE, SQUARE)]
    # Relationships that self-loops can match are not oriented.
    assert any(oriented) == (kind != "loops")


TRIANGLE = ((0, 1, False), (0, 2, False), (1, 2, False))
SQUARE = ((0, 1, False), (0, 2, False), (1, 3, False), (2, 3, False))
DIAMOND = (*SQUARE, (0, 3, False))


@pytest.fixture
def always_searching(monkeypatch):
    """Witnesses are searched for in all patterns, and first among few nodes."""
    monkeypatch.setattr(witnesses, "has_large_core", lambda _: True)
    monkeypatch.setattr(witnesses, "_MIN_ROWS", 0.0)
    monkeypatch.setattr(witnesses, "_ROUNDS", (5, 50))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_witnesses_equals_the_reference(counting, always_searching, kind):
    random = np.random.default_rng(KINDS.index(kind))
    sample = [grown_at_random(random) for _ in range(SAMPLE)]
    in_order = []
    for steps in (*sample, TRIANGLE, SQUARE, DIAMOND):
        node = int(random.integers(nodes_in(steps)))
        in_order.append(counting.check_witnesses(kind, steps, node))
    assert any(in_order)
    assert not all(in_order)


def patterns_for(kind):
    """One pattern in twelve, others for each kind; all if thorough."""
    every = all_patterns(MAX_STEPS)
    return every if is_thorough() else every[KINDS.index(kind) :: 4 * len(KINDS)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_witnesses_equal_the_reference(counting, always_searching, kind):
    for steps in patterns_for(kind):
        for node in range(nodes_in(steps)):
            counting.check_witnesses(kind, steps, node)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_small_patterns_equal_the_reference(counting, kind):
    for each in patterns_for(kind):
        counting.check(kind, each)
