"""Searches within and across partitions against trying every assignment."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from bound_cases import cases
from bound_queries import (
    NO_MASKS,
    Node,
    Relationship,
    check_case,
    checked,
    count,
    everything,
    found_by,
    make_plan,
    smallest_limit,
)
from gpugda_strategies.pbe.groups import equal_relationships
from gpugda_strategies.pbe.kept import kept_of
from gpugda_strategies.pbe.metis import can_run_metis
from gpugda_strategies.pbe.options import PbeOptions, pbe_variants
from gpugda_strategies.pbe.strategy import PbeStrategy
from gpugda_strategies.pbe.symmetry import _MAX_ALL_TRIES
from graphs import dense_graph, make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import StrategyReport
from gpugda.match.need import Count
from gpugda.plan.masks import Masks
from gpugda.plan.plan import LabelOp, RowTest

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

RING = [Relationship(0, 1), Relationship(1, 2), Relationship(2, 3), Relationship(3, 0)]
VARIANTS = sorted(pbe_variants())


def strategy_for(context, graph, options=None, **settings):
    return PbeStrategy(DeviceGraph(context, graph), options=options, **settings)


def check(context, graph, plan, partitions=3, masks=NO_MASKS, **settings):
    options = PbeOptions(partitions=partitions, **settings)
    return checked(strategy_for(context, graph, options), graph, plan, masks)


def put_anywhere(patched, partition_of):
    """Uses the given partitions instead of those of a partitioner."""
    patched.setattr("gpugda_strategies.pbe.partitions.can_run_metis", lambda: False)
    patched.setattr(
        "gpugda_strategies.pbe.partitions._in_order",
        lambda graph, count: np.array(partition_of[: graph.node_count], dtype=np.uint16) % count,
    )


PLACES = st.lists(st.integers(0, 4), min_size=6, max_size=6)


@given(case=cases(), places=PLACES, partitions=st.integers(1, 5), name=st.sampled_from(VARIANTS))
def test_random_queries_in_random_partitions_equal_the_reference(
    context, case, places, partitions, name
):
    with pytest.MonkeyPatch.context() as patched:
        put_anywhere(patched, places)
        check_case(strategy_for(context, case[0], pbe_variants(partitions)[name]), case)


@given(case=cases(), places=PLACES, partitions=st.integers(2, 5))
def test_random_queries_in_small_windows_equal_the_reference(context, case, places, partitions):
    with pytest.MonkeyPatch.context() as patched:
        put_anywhere(patched, places)
        patched.setattr("gpugda_strategies.pbe.seeds._MAX_GIVEN", 2)
        patched.setattr("gpugda_strategies.device_windows._FIRST_WINDOW", 2)
        patched.setattr("gpugda_strategies.device_windows._FIRST_COUNT_WINDOW", 2)
        patched.setattr("gpugda_strategies.device_windows._LARGEST_LAST_WINDOW", 2)
        check_case(strategy_for(context, case[0], PbeOptions(partitions=partitions)), case)


@st.composite
def symmetric_cases(draw):
    """Patterns with many automorphisms on dense multigraphs, which shared execution is made for."""
    size = draw(st.integers(3, 5))
    node = st.integers(0, size - 1)
    pairs = draw(st.lists(st.tuples(node, st.sampled_from("RS"), node, st.just({})), max_size=9))
    graph = make_graph([("", {})] * size, pairs)
    directed = draw(st.booleans())
    pattern = draw(
        st.sampled_from(
            [
                [(0, 1), (1, 2)],
                [(0, 1), (1, 2), (2, 0)],
                [(0, 1), (0, 1), (1, 0)],
                [(0, 1), (0, 2), (0, 3)],
                [(0, 1), (1, 2), (2, 3), (3, 0)],
                [(0, 1), (1, 2), (2, 0), (1, 3), (3, 2)],
            ]
        )
    )
    clause = draw(st.sampled_from([0, 0, 1]))
    relationships = [
        Relationship(a, b, None, directed, clause and at % 2) for at, (a, b) in enumerate(pattern)
    ]
    nodes = 1 + max(max(each) for each in pattern)
    return graph, make_plan([Node()] * nodes, relationships)


@given(case=symmetric_cases(), places=PLACES, partitions=st.integers(2, 4))
def test_symmetric_patterns_are_searched_together(context, case, places, partitions):
    graph, plan = case
    with pytest.MonkeyPatch.context() as patched:
        put_anywhere(patched, places)
        check(context, graph, plan, partitions)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_pairs_of_parallel_relationships_are_counted(context, k, monkeypatch):
    put_anywhere(monkeypatch, [0, 1])
    graph = make_graph([("", {}), ("", {})], [(0, "R", 1, {})] * k)
    plan = make_plan([Node(), Node()], [Relationship(0, 1, (0,)), Relationship(0, 1, (0,))])
    assert check(context, graph, plan, 2) == k * (k - 1)


def test_embeddings_within_across_two_and_across_three_partitions(context, monkeypatch):
    put_anywhere(monkeypatch, [0, 0, 0, 1, 1, 2])
    graph = make_graph(
        [("", {})] * 6,
        [(0, "R", 1, {}), (1, "R", 2, {}), (2, "R", 3, {}), (3, "R", 5, {}), (5, "R", 4, {})],
    )
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    strategy = strategy_for(context, graph, PbeOptions(partitions=3))
    report = StrategyReport()
    assert strategy.count(plan, NO_MASKS, report) == 4
    assert any(line.startswith("search within partitions: 1 embeddings") for line in report.steps)
    across = next(line for line in report.steps if line.startswith("search across partitions"))
    assert across.startswith("search across partitions: 3 embeddings in ")
    assert across.endswith("2 prime relationships in 2 groups")
    assert check(context, graph, plan) == 4


def test_a_cycle_on_a_dense_graph_is_counted(context):
    graph = dense_graph(5)
    for partitions in (1, 2, 3, 4):
        assert check(context, graph, make_plan([Node()] * 4, RING), partitions) > 100
        tests = [RowTest(True, 0, 2, False), RowTest(True, 1, 3, False)]
        plan = make_plan([Node()] * 4, RING, tests)
        assert check(context, graph, plan, partitions) > 100


def test_symmetric_relationships_form_one_group(context):
    graph, report = dense_graph(4), StrategyReport()
    plan = make_plan([Node()] * 4, RING)
    strategy_for(context, graph, PbeOptions(partitions=2)).count(plan, NO_MASKS, report)
    assert any("4 prime relationships in 1 groups" in line for line in report.steps)
    alone = StrategyReport()
    options = PbeOptions(partitions=2, shares=False)
    strategy_for(context, graph, options).count(plan, NO_MASKS, alone)
    assert any("4 prime relationships in 4 groups" in line for line in alone.steps)


def test_a_predicate_breaks_the_symmetry_of_relationships(context):
    graph, report = dense_graph(4), StrategyReport()
    plan = make_plan([Node()] * 4, RING)
    masks = Masks({0: np.array([0b0111], dtype=np.uint32)}, {})
    options = PbeOptions(partitions=2)
    strategy_for(context, graph, options).count(plan, masks, report)
    assert any("4 prime relationships in 4 groups" in line for line in report.steps)
    check(context, graph, plan, 2, masks)


def hub_graph(spokes):
    """A graph with a quarter of all relationships at one node."""
    rng = np.random.default_rng(7)
    others = rng.integers(1, spokes, (3 * spokes, 2)).tolist()
    pairs = [(0, at) for at in range(1, spokes + 1)] + others
    return make_graph([("", {})] * (spokes + 1), [(a, "R", b, {}) for a, b in pairs])


TRIANGLE = [Relationship(0, 1), Relationship(1, 2), Relationship(0, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("undirected", [False, True])
def test_a_hub_with_a_quarter_of_all_relationships_is_counted(context, budgets, undirected):
    graph = hub_graph(500)
    relationships = [Relationship(e.source, e.target, None, not undirected) for e in TRIANGLE]
    plan = make_plan([Node()] * 3, relationships)
    expected = count(strategy_for(context, graph), plan)
    assert expected > 100
    limit = 40_000
    report = StrategyReport()
    tight = strategy_for(context, graph, memory_limit=limit)
    assert tight.count(plan, NO_MASKS, report) == expected
    assert budgets[-1].peak <= limit
    if can_run_metis():
        assert re.match(r"\d+ partitions by METIS", report.steps[0])
    if not undirected:
        assert found_by(tight, plan).total() == expected


@pytest.mark.parametrize("name", ["triangles", "paths that meet"])
def test_rows_are_found_within_the_smallest_limit(context, budgets, name):
    graph = hub_graph(1000)
    meeting = [Relationship(0, 1), Relationship(2, 1)]
    plan = make_plan([Node()] * 3, TRIANGLE if name == "triangles" else meeting)
    expected = count(strategy_for(context, graph), plan)
    device_graph = DeviceGraph(context, graph)

    def run(limit):
        assert count(PbeStrategy(device_graph, memory_limit=limit), plan) == expected
        assert budgets[-1].peak <= limit

    assert smallest_limit(run, step=1 << 14) < 10 << 20
    with pytest.raises(MemoryLimitError, match=r"[\d,]+ bytes.* left"):
        count(PbeStrategy(device_graph, memory_limit=3_000), plan)


LIMITED = {
    "a node": make_plan([Node()]),
    "a relationship": make_plan([Node()] * 2, [Relationship(0, 1)]),
    "two components": make_plan([Node()] * 3, [Relationship(0, 1)]),
    "triangles": make_plan([Node()] * 3, TRIANGLE),
}


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("name", LIMITED)
def test_each_limit_gives_all_rows_or_is_refused_with_what_was_asked_for(context, name, rows):
    graph, plan = hub_graph(40), LIMITED[name]
    device_graph = DeviceGraph(context, graph)

    def answer(limit):
        strategy = PbeStrategy(device_graph, memory_limit=limit)
        return found_by(strategy, plan).total() if rows else count(strategy, plan)

    expected, limit, found, said = answer(None), 200, None, []
    while found is None:
        try:
            found = answer(limit)
        except MemoryLimitError as error:
            said.append(str(error))
            limit = int(limit * 1.6)
    assert found == expected
    assert len(said) > 2
    assert all(re.search(r"[\d,]+ bytes.* left", each) for each in said), said


def test_a_deadline_stops_the_search(context):
    graph, plan = dense_graph(20), make_plan([Node()] * 4, RING)
    strategy = strategy_for(context, graph, PbeOptions(partitions=3))
    late = time.monotonic() - 1
    with pytest.raises(QueryTimeoutError):
        strategy.count(plan, NO_MASKS, StrategyReport(), deadline=late)
    chunks = strategy.embeddings(plan, NO_MASKS, everything(plan), StrategyReport())
    next(chunks)
    chunks.close()  # as a caller that needs no more
    assert count(strategy, plan) == count(strategy_for(context, graph), plan)


@pytest.mark.skipif(not can_run_metis(), reason="pymetis is not installed")
def test_partitions_are_kept_as_long_as_the_graph(context, monkeypatch):
    made = []
    monkeypatch.setattr(
        "gpugda_strategies.pbe.partitions.run_metis",
        lambda graph, count, deadline: made.append(count) or np.zeros(graph.node_count, np.uint16),
    )
    graph, plan = dense_graph(12), make_plan([Node()] * 4, RING)
    for _ in range(2):
        count(strategy_for(context, graph, PbeOptions(partitions=3)), plan)
    assert made == [3]
    kept = kept_of(graph, 5)
    assert kept.nbytes > 0
    kept.trim(0.0)
    count(strategy_for(context, graph, PbeOptions(partitions=3)), plan)
    assert made == [3, 3]


def test_another_component_may_match_the_prime_relationship(context, monkeypatch):
    put_anywhere(monkeypatch, [0, 0, 1])
    graph = make_graph([("", {})] * 3, [(1, "R", 1, {}), (1, "R", 2, {}), (1, "R", 2, {})])
    ways = [Relationship(0, 0), Relationship(1, 2), Relationship(0, 3)]
    plan = make_plan([Node()] * 4, ways)
    assert check(context, graph, plan, 2) == 2


def test_components_with_predicates_on_relationships_are_counted(context):
    graph = make_graph(
        [("", {})] * 4,
        [(0, "R", 1, {}), (1, "R", 2, {}), (0, "R", 2, {}), (0, "S", 2, {}), (3, "S", 3, {})],
    )
    plan = make_plan(
        [Node()] * 5,
        [Relationship(0, 1), Relationship(1, 2), Relationship(3, 3, None, False)],
        [RowTest(True, 2, 4, False)],
    )
    assert check(context, graph, plan) > 2
    masks = Masks({}, {0: np.array([0b0011], dtype=np.uint32)})
    check(context, graph, plan, masks=masks)


def test_explain_shows_the_number_of_searches():
    square = make_plan([Node()] * 4, RING).bound
    said = PbeStrategy.first_attempt_text(square, Count())
    assert "in 1 searches for 4 query relationships" in said
    labelled = make_plan([Node(((LabelOp.LABEL, 0),)), *[Node()] * 3], RING).bound
    assert "in 4 searches for 4 query" in PbeStrategy.first_attempt_text(labelled, Count())
    assert not PbeStrategy.first_attempt_text(square, everything(make_plan([Node()] * 4, RING)))


def test_a_parallel_relationship_is_never_the_prime_one(context, monkeypatch):
    put_anywhere(monkeypatch, [0, 1, 1])
    graph = make_graph([("", {})] * 3, [(0, "R", 1, {}), (0, "S", 1, {}), (1, "R", 2, {})] * 2)
    ways = [Relationship(0, 1), Relationship(0, 1, (1,)), Relationship(2, 3, (1,)), *RING[1:2]]
    plan = make_plan([Node()] * 4, ways)
    for partitions in (2, 3):
        assert check(context, graph, plan, partitions) >= 0


def path(length):
    nodes = [Node() for _ in range(length + 1)]
    return nodes, [Relationship(at, at + 1) for at in range(length)]


def test_patterns_of_more_than_64_relationships_are_refused_with_a_sentence():
    fits, too_long = (make_plan(*path(length)).bound for length in (64, 65))
    assert PbeStrategy.can_match(fits, Count()) is None
    assert PbeStrategy.can_match(too_long, Count()) == (
        "the pattern has 65 relationships; strategy pbe takes 64, as it compares each with each"
    )


def test_searches_across_partitions_are_prepared_only_if_there_are_partitions(context, monkeypatch):
    graph = dense_graph(6)
    plan = make_plan(*path(2))
    monkeypatch.setattr("gpugda_strategies.pbe.strategy.make_groups", None)
    assert count(strategy_for(context, graph), plan) > 0
    with pytest.raises(TypeError):
        count(strategy_for(context, graph, PbeOptions(partitions=2)), plan)


def test_a_long_symmetric_pattern_is_prepared_within_its_tries(monkeypatch):
    tried = list[int]()
    monkeypatch.setattr("gpugda_strategies.pbe.symmetry.check_time", lambda: tried.append(1))
    groups = equal_relationships(
        make_plan(*path(40)).bound, NO_MASKS, frozenset(range(41)), shares=True
    )
    assert sum(len(each) for each in groups) == 40
    assert len(tried) <= _MAX_ALL_TRIES
