"""Branches of a query graph that send tables, against trying every assignment."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from bound_queries import NO_MASKS, Relationship, all_embeddings
from branched_queries import a_graph, branched_queries, cycle, path, plan_of
from counted_groups import expected_groups
from counted_groups import groups as groups_of
from forced_plans import PAIRED_TABLES, thresholds, windows_of
from graphs import make_graph
from hypothesis import given
from split_devices import open_split

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.plan.comparisons import ABOVE, BELOW, Comparison
from gpugda.plan.counting.costs import Costs
from gpugda.plan.counting.degree_messages import find_degree_messages
from gpugda.plan.counting.eliminate import Elimination
from gpugda.plan.counting.problem import CountProblem
from gpugda.plan.join.join_rates import ExpectedCandidates
from gpugda.plan.plan import RowTest
from gpugda.plan.row_tests import is_single
from gpugda.plan.variables import Variable
from gpugda.thresholds import CountThresholds

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

PART = "a part of the query, summed by "


ONLY_PAIRS = {"separators": (2,)}


def groups(context, *query, report=None, **changes):
    return groups_of(
        context, *query, report=report, thresholds=thresholds(context, PAIRED_TABLES, changes)
    )


def count(context, graph, plan, masks=NO_MASKS, limit=None, join=None, **changes):
    """The count, and the separators of the eliminated parts, even if that does not pay off."""
    report = StrategyReport()
    decides = thresholds(context, PAIRED_TABLES, changes, join=join)
    strategy = ExtendStrategy(DeviceGraph(context, graph), memory_limit=limit, thresholds=decides)
    counted = strategy.count(plan, masks, report)
    return counted, [each.removeprefix(PART) for each in report.steps if PART in each]


BOW = cycle(0, 1, 2, kind=0) + cycle(2, 3, 4, kind=1)
CHAIN = [*cycle(0, 1, kind=0), Relationship(1, 2, (1,)), *cycle(2, 3, kind=2)]
CASES = {
    "bow tie": (BOW, ["(n2)"]),
    "triangle and an undirected triangle": (
        cycle(0, 1, 2, kind=0) + cycle(2, 3, 4, kind=1, directed=False),
        ["(n2)"],
    ),
    "two types of three relationships each": (
        cycle(0, 1, 2, kind=0) + cycle(0, 3, 4, kind=0),
        [],  # both could take the same relationship
    ),
    "another clause": (
        cycle(0, 1, 2, kind=0) + cycle(0, 3, 4, kind=0, clause=1),
        ["(n0)"],
    ),
    "chain": (CHAIN, ["(n1)", "(n2)"]),
    "three at one node": (
        cycle(0, 1, kind=0) + cycle(0, 2, kind=1) + cycle(0, 3, kind=2),
        ["(n0)", "(n0)"],
    ),
    "leaves on a branch and on its root": (
        [
            *cycle(0, 1, kind=0),
            Relationship(0, 2, (0,), clause=1),
            *cycle(0, 3, kind=1),
            Relationship(3, 4, (2,)),
        ],
        None,
    ),
    "a loop at the root": ([*cycle(0, 1, kind=0), *cycle(1, 2, kind=1), *cycle(1, kind=2)], []),
}


@pytest.mark.parametrize("loops", [True, False], ids=["loops", "no loops"])
@pytest.mark.parametrize("name", CASES)
def test_branches_are_eliminated(context, name, loops):
    relationships, roots = CASES[name]
    plan, found, total = plan_of(relationships), [], 0
    for seed in range(3):
        graph = a_graph(seed, loops=loops)
        expected = all_embeddings(graph, plan).total()
        counted, by = count(context, graph, plan)
        assert counted == expected
        found += by
        total += expected
    assert total or "loop" in name
    if roots is not None:
        assert set(found) == set(roots)
        # One graph may have no candidates; an undirected triangle may also be summed by its node.
        parts = (1, 2) if "undirected" in name else (1,)
        assert len(found) in {seeds * each * len(roots) for seeds in (2, 3) for each in parts}


THETA = path(0, 2, 1, kind=0) + path(0, 3, 1, kind=1) + path(0, 4, 1, kind=2)
EDGE = [Relationship(0, 1, (0,))]
TWO_ROOTS = "(n0), (n1)"
# For each pair, the number of branches.
PAIRS = {
    "three paths between two nodes": (THETA, 2),
    "a longer one": (
        path(0, 2, 3, 1, kind=0) + path(0, 4, 1, kind=1) + path(0, 5, 1, kind=2, directed=False),
        2,
    ),
    "two paths that could take the same": (
        path(0, 2, 1, kind=0) + path(0, 3, 1, kind=0) + path(0, 4, 1, kind=1),
        1,
    ),
    "other clauses": (
        path(0, 2, 1, kind=0) + path(0, 3, 1, kind=0, clause=1) + path(0, 4, 1, kind=0, clause=2),
        2,
    ),
    "a common relationship": (EDGE + path(0, 2, 1, kind=1) + path(0, 3, 1, kind=2), 1),
    "one that both could take": (
        EDGE + path(0, 2, 1, kind=0) + path(0, 3, 1, kind=0, clause=1),
        1,
    ),
    "one that both could take the other way": (
        EDGE + path(1, 2, 0, kind=0, directed=False) + path(0, 3, 1, kind=2),
        1,
    ),
    "two common relationships": (
        [*EDGE, Relationship(0, 1, (1,), False), *path(0, 2, 1, kind=1), *path(0, 3, 1, kind=2)],
        1,
    ),
    "a common relationship the same once more": (
        [*EDGE, Relationship(0, 1, (0,), clause=1), *path(0, 2, 1, kind=1), *path(0, 3, 1, kind=2)],
        1,
    ),
    "leaves that know of both roots": (
        [
            *EDGE,
            *path(0, 2, 1, kind=1),
            *path(0, 3, 1, kind=2),
            Relationship(0, 4, (0,)),
            Relationship(1, 5, (2,), clause=1),
        ],
        1,
    ),
    "leaves on branches": ([*THETA, Relationship(2, 5, (0,)), Relationship(3, 6, (1,))], 2),
    "a loop at a root": ([*cycle(0, kind=2, clause=1), *THETA], 0),
    "a loop on a branch": ([*cycle(2, kind=2, clause=1), *THETA], 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("parallel", [True, False], ids=["parallel", "single"])
@pytest.mark.parametrize("loops", [True, False], ids=["loops", "no loops"])
def test_branches_of_two_roots_are_eliminated(context, name, loops, parallel):
    relationships, branches = PAIRS[name]
    plan, total = plan_of(relationships), 0
    common = [each for each in plan.bound.relationships if {each.source, each.target} == {0, 1}]
    for seed in range(3):
        size = 36 if parallel else 90
        graph = a_graph(seed, loops=loops, relationships=size, parallel=parallel)
        expected = all_embeddings(graph, plan).total()
        counted, by = count(context, graph, plan, **ONLY_PAIRS)
        assert counted == expected
        total += expected
        fits = branches if all(is_single(each, graph) for each in common) else 0
        assert by == [TWO_ROOTS] * fits or not expected
    assert total or "loop" in name


def steps(*nodes, kind):
    """A query relationship from each node to the next one, each with a type of its own."""
    return [
        Relationship(a, b, (each,)) for each, (a, b) in enumerate(itertools.pairwise(nodes), kind)
    ]


RING = steps(0, 2, 3, 4, 1, kind=0) + steps(0, 5, 1, kind=4)
"""Paths between two nodes; each relationship has its own type, so none could be another's."""


@pytest.mark.parametrize("loops", [True, False], ids=["loops", "no loops"])
def test_paths_between_two_roots_are_counted_step_by_step(context, loops):
    """The rest is disconnected then: it has one root, and the last relationship of the path."""
    plan, total, nested = plan_of(RING), 0, 0
    for seed in range(4):
        graph = a_graph(seed, loops=loops, relationships=70, types="RSTUVW")
        expected = all_embeddings(graph, plan).total()
        counted, by = count(context, graph, plan, **ONLY_PAIRS)
        assert counted == expected
        nested += len({*by}) > 1
        total += expected
        for nodes in [(0,), (4,), (1, 4)]:
            found = groups(context, graph, plan, nodes, **ONLY_PAIRS)
            assert found == expected_groups(graph, plan, nodes)
    assert total
    assert nested


NESTED = {
    "two roots in two": path(0, 2, 3, 4, 1, kind=0)
    + path(2, 5, 4, kind=1)
    + path(0, 6, 1, kind=2, directed=False),
    "one root in two": path(0, 2, 3, 1, kind=0) + cycle(2, 4, kind=1) + path(0, 5, 1, kind=2),
    "two roots in one": path(1, 2, 3, kind=0)
    + path(1, 4, 3, kind=1)
    + path(1, 5, 3, kind=2, directed=False)
    + cycle(0, 1, kind=1, clause=1),
}


@pytest.mark.parametrize("name", NESTED)
def test_branches_of_branches_are_eliminated(context, name):
    plan, total = plan_of(NESTED[name]), 0
    for seed in range(2, 5):
        graph = a_graph(seed, nodes=3, relationships=22)
        expected = all_embeddings(graph, plan).total()
        counted, by = count(context, graph, plan)
        assert counted == expected
        assert len(by) > 1 or not expected
        total += expected
    assert total


@pytest.mark.parametrize("nodes", [(0,), (1,), (2,), (0, 1), (1, 4), (2, 3), (2, 3, 4)])
def test_grouped_nodes_are_not_eliminated_between_two_roots(context, nodes):
    plan, report = plan_of(THETA), StrategyReport()
    for seed in range(3):
        graph = a_graph(seed)
        found = groups(context, graph, plan, nodes, report=report, **ONLY_PAIRS)
        assert found == expected_groups(graph, plan, nodes)
    branches = min(2, 3 - len({*nodes} - {0, 1}))
    assert report.steps.count(PART + TWO_ROOTS) == 3 * branches


PAIR_TESTS = {
    "of the roots": (RowTest(True, 0, 1, False), 2),
    "the roots are the same": (RowTest(True, 0, 1, True), 2),
    "of a root and a branch": (RowTest(True, 0, 3, False), 2),
    "across two branches": (RowTest(True, 2, 3, False), 1),
    "the same across two branches": (RowTest(True, 2, 3, True), 1),
    "relationships of a branch": (RowTest(False, 0, 1, True), 2),
    "relationships across": (RowTest(False, 0, 2, True), 1),
}


@pytest.mark.parametrize("name", PAIR_TESTS)
def test_row_tests_beside_two_roots_are_kept(context, name):
    test, branches = PAIR_TESTS[name]
    plan = plan_of(THETA, [test])
    for seed in range(3):
        graph = a_graph(seed)
        counted, by = count(context, graph, plan, **ONLY_PAIRS)
        assert counted == all_embeddings(graph, plan).total()
        assert by == [TWO_ROOTS] * branches


@pytest.mark.parametrize(("left", "right"), [(0, 1), (0, 3), (2, 3), (1, 4)])
@pytest.mark.parametrize("outcomes", [BELOW, ABOVE | BELOW])
def test_comparisons_beside_two_roots_are_kept(context, left, right, outcomes):
    plan, variables = plan_of(THETA), (Variable(True, left), Variable(True, right))
    masks = Masks({}, {}, (Comparison(*variables, outcomes, None, None, 0.5, ""),))
    for seed in range(2):
        graph = a_graph(seed)
        expected = total_that_passes(graph, plan, outcomes, left, right)
        counted, by = count(context, graph, plan, masks, **ONLY_PAIRS)
        assert counted == expected
        assert by == [TWO_ROOTS] * (1 if (left, right) == (2, 3) else 2)


@pytest.mark.parametrize("nodes", [(0,), (2,), (3,), (0, 4), (1, 2)])
def test_grouped_nodes_stay_in_the_core(context, nodes):
    plan = plan_of(BOW)
    for seed in range(3):
        graph = a_graph(seed)
        assert groups(context, graph, plan, nodes) == expected_groups(graph, plan, nodes)


TESTS = {
    "within a branch": ([RowTest(True, 3, 4, False)], True),
    "of its root": ([RowTest(True, 2, 4, False)], True),
    "across": ([RowTest(True, 1, 3, False)], False),
    "the same across": ([RowTest(True, 1, 3, True)], False),
}


@pytest.mark.parametrize("name", TESTS)
def test_row_tests_across_branches_prevent_elimination(context, name):
    tests, splits = TESTS[name]
    plan = plan_of(BOW, tests)
    for seed in range(3):
        graph = a_graph(seed)
        counted, by = count(context, graph, plan)
        assert counted == all_embeddings(graph, plan).total()
        assert ("(n2)" in by) == splits


@pytest.mark.parametrize(("left", "right", "splits"), [(3, 4, True), (2, 3, True), (0, 4, False)])
def test_comparisons_across_branches_prevent_elimination(context, left, right, splits):
    plan, variables = plan_of(BOW), (Variable(True, left), Variable(True, right))
    for outcomes in (BELOW, ABOVE, BELOW | ABOVE):
        masks = Masks({}, {}, (Comparison(*variables, outcomes, None, None, 0.5, ""),))
        for seed in range(2):
            graph = a_graph(seed)
            expected = total_that_passes(graph, plan, outcomes, left, right)
            counted, by = count(context, graph, plan, masks)
            assert counted == expected
            assert ("(n2)" in by) == splits


def total_that_passes(graph, plan, outcomes, left, right):
    """The number of embeddings in which two nodes are in one of these orders."""
    return sum(
        times
        for (nodes, _), times in all_embeddings(graph, plan).items()
        if passes(outcomes, nodes[left], nodes[right])
    )


def passes(outcomes, left, right):
    return bool(outcomes & (BELOW if left < right else ABOVE if left > right else 0))


@pytest.mark.parametrize("window", [1, 3])
def test_rows_in_many_windows_are_counted(context, window):
    tiny = windows_of(window) | {"first_group_rows": 2}
    for relationships in (BOW, CHAIN, THETA):
        plan, graph = plan_of(relationships), a_graph(1)
        assert count(context, graph, plan, join=tiny)[0] == all_embeddings(graph, plan).total()


def test_without_memory_for_messages_all_is_joined(context):
    plan, graph = plan_of(BOW), a_graph(1)
    found = count(context, graph, plan, join={"share_for_messages": 0})
    assert found == (all_embeddings(graph, plan).total(), [])


def test_without_memory_for_pairs_branches_of_one_root_are_split_off(context):
    """Pairs of 3,000 candidates each need 108 MB; single candidates need 36 kB."""
    ends = np.random.default_rng(2).integers(0, 4, (30, 2)).tolist()
    rows = [(a, "RST"[place % 3], b, {}) for place, (a, b) in enumerate(ends)]
    rows += [(each, kind, each, {}) for each in range(4, 3000) for kind in "RST"]
    graph = make_graph([("", {})] * 3000, rows)
    cycles = [*path(0, 2, 5, 1, kind=0), *path(0, 3, 1, kind=1), *cycle(1, 4, kind=2)]
    plan = plan_of(cycles)
    whole, by = count(context, graph, plan)
    assert "(n0), (n1)" in by
    assert count(context, graph, plan, limit=100 << 20) == (whole, ["(n1)"])
    small = make_graph([("", {})] * 4, rows[:30])
    # A node with one self-loop of each type does not have the two relationships that differ.
    assert whole == all_embeddings(small, plan).total() > 0


@pytest.mark.parametrize("changes", [{"pair_pairs": math.inf}, {"pair_gain": 0}])
def test_messages_are_not_made_if_joining_is_cheap(context, changes):
    plan, graph = plan_of(THETA), a_graph(1)
    assert TWO_ROOTS in count(context, graph, plan)[1]
    found = count(context, graph, plan, **changes)
    assert found == (all_embeddings(graph, plan).total(), [])


@pytest.mark.parametrize("relationships", [CHAIN, THETA], ids=["one root", "two roots"])
def test_a_repeated_query_gives_the_same_count(context, relationships):
    plan, graph = plan_of(relationships), a_graph(2)
    decides = thresholds(context, PAIRED_TABLES)
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides)
    expected = all_embeddings(graph, plan)
    for _ in range(3):
        assert strategy.count(plan, NO_MASKS, StrategyReport()) == expected.total() > 0


@pytest.mark.slow
@pytest.mark.parametrize("like_cpu", [True, False])
@pytest.mark.parametrize("per_star", [300, 70_000])
def test_messages_beyond_32_bits_are_exact(like_cpu, per_star):
    """Stars of three leaves at the far end of a branch; 70,000 of them exceed a word."""
    rows = [(0, "R", 1, {}), (1, "R", 0, {}), (1, "S", 2, {})]
    rows += [(2, "T", 3 + each, {}) for each in range(per_star)]
    graph = make_graph([("", {})] * (3 + per_star), rows)
    # (0) and (1) are in a cycle; stars are attached to (2).
    star = [Relationship(2, 3 + each, (2,)) for each in range(3)]
    plan = plan_of([*cycle(0, 1, kind=0), Relationship(1, 2, (1,)), *star])
    context = open_split(like_cpu=like_cpu)
    expected = math.perm(per_star, 3)
    report = StrategyReport()
    assert groups(context, graph, plan, (0,), report=report) == {(0,): expected}
    assert any(PART in each for each in report.steps)
    assert count(context, graph, plan)[0] == expected


@pytest.mark.parametrize("like_cpu", [True, False])
def test_messages_saturate_at_the_largest_count(like_cpu):
    """Counts above 2**63 saturate."""
    leaves = 40_000
    rows = [(0, "R", 1, {}), (1, "R", 0, {}), (1, "S", 2, {})]
    rows += [(2, "T", 3 + each, {}) for each in range(leaves)]
    graph = make_graph([("", {})] * (3 + leaves), rows)
    star = [Relationship(2, 3 + each, (2,)) for each in range(5)]
    plan = plan_of([*cycle(0, 1, kind=0), Relationship(1, 2, (1,)), *star])
    context = open_split(like_cpu=like_cpu)
    assert math.perm(leaves, 5) > 1 << 63
    report = StrategyReport()
    assert groups(context, graph, plan, (0,), report=report) == {(0,): 1 << 63}
    assert any(PART in each for each in report.steps)


@pytest.mark.slow
@pytest.mark.parametrize("like_cpu", [True, False])
@pytest.mark.parametrize("stars", [3, 5])
def test_messages_of_two_roots_saturate_at_the_largest_count(like_cpu, stars):
    """Stars of three leaves at the middle of a path, and of five, which exceed 2**63."""
    leaves = 70_000
    rows = [row for kind in "RST" for row in ((0, kind, 2, {}), (2, kind, 1, {}))]
    rows += [(2, "U", 3 + each, {}) for each in range(leaves)]
    graph = make_graph([("", {})] * (3 + leaves), rows)
    star = [Relationship(2, 5 + each, (3,)) for each in range(stars)]
    plan = plan_of([*THETA, *star])
    context = open_split(like_cpu=like_cpu)
    report, expected = StrategyReport(), math.perm(leaves, stars)
    assert (expected > 1 << 63) == (stars == 5)
    found = groups(context, graph, plan, (3,), report=report, **ONLY_PAIRS)
    assert found == {(2,): min(expected, 1 << 63)}
    assert report.steps.count(PART + TWO_ROOTS) == 2
    if stars == 3:
        assert count(context, graph, plan, **ONLY_PAIRS) == (expected, [TWO_ROOTS] * 2)


WHAT_PAYS = CountThresholds(
    table_pairs=100,
    pair_pairs=200,
    table_gain=0.5,
    table_cost=10,
    search_rows=0,
    search_pairs=0,
)


def split(relationships, cost, candidates=16, *, is_single=True, grouped=(), types="RST"):
    """Tables within tables, if joining a set of nodes costs ``cost``."""
    graph = a_graph(1, parallel=not is_single, types=types)
    bound = plan_of(relationships).bound
    counts = ExpectedCandidates([candidates] * len(bound.nodes))
    problem = CountProblem(bound, graph, NO_MASKS, counts, tuple(grouped))
    found = find_degree_messages(bound, graph, NO_MASKS, searching=True)
    costs = Costs(problem, WHAT_PAYS, lambda: None)
    costs.of_rows = cost
    return tree(Elimination(found, problem, (), costs, WHAT_PAYS).plan())


def tree(plan):
    return {each.separator: tree(each.plan) for each in plan.tables}


def test_only_branches_that_pay_are_eliminated():
    assert split(BOW, lambda nodes: 100 * 10 ** len(nodes)) == {(2,): {}}
    assert split(BOW, lambda nodes: len(nodes)) == {}  # cheap without tables
    assert split(BOW, lambda nodes: 1000 * len(nodes)) == {}  # 6,010 instead of 5,000


def test_only_messages_that_pay_are_made():
    """Two longer paths between two nodes; each part has five nodes, the whole has eight."""
    two = path(0, 2, 3, 4, 1, kind=0) + path(0, 5, 6, 7, 1, kind=1)

    def cost(nodes):
        return 10 ** len(nodes)

    assert split(two, cost) == {(0, 1): {}}
    assert split(two, lambda nodes: 20 * len(nodes)) == {}  # too cheap to consider pairs
    assert split(two, lambda nodes: 1000 * len(nodes)) == {}
    assert split(two, cost, 10**5) == {}  # more cells than there is room for
    assert split(two, cost, 6000)  # 36 million pairs instead of 10^8
    assert split(two, cost, 8000) == {}
    assert split(two, cost, 6000, grouped=(3, 6)) == {}
    joined = [*two, Relationship(0, 1, (2,))]
    assert split(joined, cost) == {(0, 1): {}}
    # Both parts would count each of the relationships between the roots.
    assert (0, 1) not in split(joined, cost, is_single=False)


def test_a_step_of_a_path_is_split_off_if_that_pays():
    ring = steps(0, 2, 3, 4, 5, 1, kind=0) + steps(0, 6, 7, 8, 9, 10, 1, kind=5)
    types = "ABCDEFGHIJK"
    found = split(ring, lambda nodes: 30 ** len(nodes), types=types)
    assert keys(found) & {(0, 5), (1, 2), (0, 10), (1, 6)}
    few = split(ring, lambda nodes: 1e5 + 2 ** len(nodes), types=types)
    assert few == {}


def test_branches_of_branches_are_found():
    """Both branches are attached to two nodes, or one of them to one node."""
    ring = path(0, 2, 3, 4, 5, 6, 1, kind=0) + path(0, 7, 8, 9, 10, 11, 1, kind=1)

    def cost(nodes):
        return 20 ** len(nodes)

    bridged = [*ring, *path(3, 12, 5, kind=2), *path(8, 13, 14, 10, kind=2, clause=1)]
    assert depth(split(bridged, cost, 4)) > 1
    assert (3,) in keys(split([*ring, *cycle(3, 12, 13, kind=2)], cost, 4))


def depth(found):
    return 1 + max(map(depth, found.values()), default=-1)


def keys(found):
    return {*found}.union(*map(keys, found.values()))


# ------------------------------------------------------------------ random cases
@given(case=branched_queries())
def test_random_queries_equal_the_reference(context, case):
    graph, plan, masks, grouped = case
    expected = all_embeddings(graph, plan, masks)
    assert count(context, graph, plan, masks)[0] == expected.total()
    assert groups(context, graph, plan, grouped, masks) == expected_groups(
        graph, plan, grouped, masks
    )
