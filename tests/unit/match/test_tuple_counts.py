"""Grouped counts and DISTINCT over nodes, against trying every assignment and the reference."""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from bound_queries import NO_MASKS, Node, all_embeddings, with_cardinality
from forced_plans import thresholds, variant, windows_of
from gpugda_strategies.gpsm.strategy import GpsmStrategy
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from soon import ends_in
from unit.match.extend.counting.test_degree_messages import A, a_graph, out, plan_of, trees_and_more

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError, QueryTimeoutError, UnsupportedQueryError
from gpugda.execute.patterns.needs import need_of
from gpugda.match.embeddings import Embeddings, StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Groups
from gpugda.match.registry import STRATEGIES
from gpugda.match.tuple_counts import TupleCounts
from gpugda.plan.bind import bind
from gpugda.plan.counting import eliminate
from gpugda.plan.counting.costs import Costs
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

DENSE, SPARSE = 1 << 18, -1
"""Maximum number of tuples summed on the device; a negative limit forbids it."""

MANY = 16.0
"""Expected number of relationships from which a leaf with few candidates is joined."""


def expected_groups(graph, plan, nodes, masks=NO_MASKS):
    found = Counter()
    for (row, _), number in all_embeddings(graph, plan, masks).items():
        found[tuple(row[each] for each in nodes)] += number
    return found


def groups(strategy, plan, wanted, masks=NO_MASKS, report=None):
    """Embeddings per tuple; not counted if only the tuples are needed."""
    found = Counter()
    for chunk in strategy.groups(plan, masks, wanted, report or StrategyReport()):
        assert set(chunk.nodes) == set(wanted.nodes)
        columns = [chunk.nodes[each].tolist() for each in wanted.nodes]
        assert all(len(each) == chunk.row_count for each in columns)
        weights = [1] * chunk.row_count if chunk.weights is None else chunk.weights.tolist()
        assert all(weights)
        for *row, weight in zip(*columns, weights, strict=True):
            found[tuple(row)] += weight
    return found if wanted.counted else Counter(dict.fromkeys(found, 1))


def distinct(found):
    return Counter(dict.fromkeys(found, 1))


@pytest.fixture(params=[DENSE, SPARSE], ids=["summed", "weighted"])
def max_tuple_groups(request):
    """Groups summed on the device, or rows that are downloaded with their products."""
    return request.param


def limits_of(max_tuple_groups):
    return {"share_for_sums": SPARSE} if max_tuple_groups == SPARSE else {}


def strategy_for(context, graph, max_tuple_groups, memory_limit=None, **limits):
    device_graph = graph if isinstance(graph, DeviceGraph) else DeviceGraph(context, graph)
    decides = thresholds(context, join=limits_of(max_tuple_groups) | limits)
    return ExtendStrategy(device_graph, memory_limit=memory_limit, thresholds=decides)


@st.composite
def grouped(draw):
    graph, plan, masks = draw(trees_and_more())
    size = len(plan.bound.nodes)
    plan = with_cardinality(plan, draw(st.sampled_from([1.0, MANY])))
    nodes = tuple(sorted(draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=3))))
    wanted = Groups(nodes, draw(st.booleans()), draw(st.booleans()))
    return graph, plan, masks, wanted, draw(st.sampled_from([DENSE, SPARSE]))


@given(case=grouped())
def test_random_groups_equal_the_reference(context, case):
    graph, plan, masks, wanted, most = case
    expected = expected_groups(graph, plan, wanted.nodes, masks)
    expected = expected if wanted.counted else distinct(expected)
    device_graph = DeviceGraph(context, graph)
    strategy = strategy_for(context, device_graph, most)
    for _ in range(2):  # the second time from what was kept
        assert groups(strategy, plan, wanted, masks) == expected
    assert groups(GpsmStrategy(device_graph), plan, wanted, masks) == expected


CASES = {
    # relationships, nodes, grouping keys, leaves that are multiplied
    "star": (out((0, 1), (0, 2), (0, 3)), None, (0,), "(n1), (n2), (n3)"),
    "star by a leaf": (out((0, 1), (0, 2), (0, 3)), None, (2,), "(n1), (n3)"),
    "path of 2 by its start": (out((0, 1), (1, 2)), None, (0,), "(n2)"),
    "path of 2 by both ends": (out((0, 1), (1, 2)), None, (0, 2), ""),
    "path of 3": (out((0, 1), (1, 2), (2, 3)), None, (0,), "(n3)"),
    "path of 3 by its middle": (out((0, 1), (1, 2), (2, 3)), None, (1,), "(n0), (n3)"),
    "undirected path of 3": (
        out((0, 1), (1, 2), (2, 3), directed=False),
        None,
        (1, 2),
        "(n0), (n3)",
    ),
    "triangle": (out((0, 1), (1, 2), (0, 2)), None, (0,), ""),
    "triangle with a tail": (out((0, 1), (1, 2), (0, 2), (2, 3)), None, (0, 1), "(n3)"),
    "one relationship": (out((0, 1)), None, (1,), "(n0)"),
    "labels": (out((0, 1), (0, 2), (0, 3)), [Node(), A, A, Node()], (0,), "(n1), (n2), (n3)"),
}


@pytest.mark.parametrize("counted", [True, False], ids=["counted", "distinct"])
@pytest.mark.parametrize("name", CASES)
def test_groups_with_leaves_are_counted(context, max_tuple_groups, name, counted):
    relationships, query_nodes, nodes, leaves = CASES[name]
    plan, seen = with_cardinality(plan_of(relationships, query_nodes), MANY), set()
    for seed in range(3):
        graph = a_graph(seed, nodes=5, relationships=16)
        expected = expected_groups(graph, plan, nodes)
        report = StrategyReport()
        found = groups(
            strategy_for(context, graph, max_tuple_groups),
            plan,
            Groups(nodes, counted, streamed=False),
            report=report,
        )
        assert found == (expected if counted else distinct(expected))
        lines = [line for line in report.steps if line.startswith("leaves counted by degrees: ")]
        if expected:
            seen.add("".join(lines).removeprefix("leaves counted by degrees: "))
            said = [line for line in report.steps if line.startswith("rows ")]
            assert len(said) == (1 if leaves or max_tuple_groups == DENSE else 0)
    assert seen == {leaves}


def test_without_memory_for_degrees_leaves_are_joined(context, max_tuple_groups):
    graph, plan = a_graph(), plan_of(out((0, 1), (1, 2), (2, 3)))
    strategy = strategy_for(context, graph, max_tuple_groups, share_for_messages=0)
    found = groups(strategy, plan, Groups((0,), True, False))
    assert found == expected_groups(graph, plan, (0,))


# ------------------------------------------------------------------ limits
@pytest.mark.parametrize("window", [1, 3])
def test_groups_of_a_core_in_many_windows_are_counted(context, max_tuple_groups, window):
    tiny = windows_of(window) | {"fetched_rows": 2}
    graph = a_graph(nodes=4, relationships=14)
    for pairs in (((0, 1), (1, 2), (2, 3)), ((0, 1), (1, 2), (0, 2)), ((0, 1), (2, 3))):
        plan = plan_of(out(*pairs))
        strategy = strategy_for(context, graph, max_tuple_groups, **tiny)
        for nodes in ((0,), (0, 2)):
            expected = expected_groups(graph, plan, nodes)
            assert groups(strategy, plan, Groups(nodes, True, False)) == expected
            found = groups(strategy, plan, Groups(nodes, False, True))
            assert found == distinct(expected)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [(1,), (0, 3)])
def test_groups_are_counted_in_little_memory(context, nodes):
    """If rows can be made, they can be grouped."""
    graph = a_graph(nodes=300, relationships=2000)
    device_graph = DeviceGraph(context, graph)
    plan = plan_of(out((0, 1), (1, 2), (2, 3)))
    wanted = Groups(nodes, True, False)
    expected = groups(ExtendStrategy(device_graph), plan, wanted)
    columns = Groups(nodes, True, False)

    def smallest(found):
        low, high = 0, 1 << 22
        while high - low > 1 << 10:
            middle = (low + high) // 2
            try:
                assert found(ExtendStrategy(device_graph, memory_limit=max(middle, 1))) == expected
                high = middle
            except MemoryLimitError:
                low = middle
        return high

    def joined(strategy):
        found = Counter()
        for chunk in super(ExtendStrategy, strategy).groups(
            plan, NO_MASKS, columns, StrategyReport()
        ):
            rows = zip(*(chunk.nodes[each].tolist() for each in nodes), strict=True)
            found.update(rows)
        return found

    limit = smallest(joined)
    assert smallest(lambda strategy: groups(strategy, plan, wanted)) <= limit + 1024
    for more in (1024, 5_000, 50_000):
        strategy = ExtendStrategy(device_graph, memory_limit=limit + more)
        assert groups(strategy, plan, wanted) == expected


@pytest.mark.slow
def test_a_deadline_stops_grouping(context, max_tuple_groups):
    graph = a_graph(nodes=60, relationships=2000)
    plan = plan_of(out((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)))
    strategy = strategy_for(context, graph, max_tuple_groups)
    started = time.monotonic()
    with ends_in(), pytest.raises(QueryTimeoutError):
        list(
            strategy.groups(
                plan, NO_MASKS, Groups((0,), True, False), StrategyReport(), started + 0.3
            )
        )


# ------------------------------------------------------------------ tuples on the host
@st.composite
def chunks_of_tuples(draw):
    largest = draw(st.sampled_from([0, 1, 3, 70_000, (1 << 32) - 1]))
    width = draw(st.integers(1, 4))
    weighted = draw(st.booleans())
    row = st.tuples(*[st.integers(0, largest)] * width)
    some = draw(st.lists(row, min_size=1, max_size=4))
    weight = st.sampled_from([1, 2, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63])
    rows = st.lists(st.tuples(st.sampled_from(some), weight), max_size=12)
    return largest + 1, width, weighted, draw(st.lists(rows, max_size=4))


@given(case=chunks_of_tuples(), counted=st.booleans(), merging=st.sampled_from([0, 5, 1 << 20]))
def test_tuples_are_counted(case, counted, merging):
    node_count, width, weighted, chunks = case
    nodes, checked, expected = tuple(range(width)), [], {}
    tuples = TupleCounts(
        nodes,
        counted=counted,
        check=lambda: checked.append(True),
        merge_rows=merging,
        node_count=node_count,
    )
    for rows in chunks:
        columns = np.array([row for row, _ in rows], dtype=np.uint32).reshape(-1, width).T
        weights = np.array([weight for _, weight in rows], dtype=np.uint64) if weighted else None
        tuples.add(Embeddings(len(rows), dict(enumerate(columns)), {}, weights))
        for row, weight in rows:
            expected[row] = expected.get(row, 0) + (weight if weighted else 1)
    found = tuples.found()
    assert len(checked) >= sum(map(bool, chunks))
    columns = [found.nodes[each].tolist() for each in range(width)]
    rows = list(zip(*columns, strict=True))
    assert len(rows) == len(set(rows)) == found.row_count
    assert (found.weights is not None) == counted
    assert set(rows) == set(expected)
    if counted:
        saturated = {row: min(weight, 1 << 63) for row, weight in expected.items()}
        assert dict(zip(rows, found.weights.tolist(), strict=True)) == saturated


# ------------------------------------------------------------------ query texts
GROUPED = [
    "MATCH (a)-->(b)-->(c) RETURN a, count(*)",
    "MATCH (a)-->(b)-->(c) RETURN a, c, count(*), count(b), count(DISTINCT c)",
    "MATCH (a)-->(b)-->(c)-->(d) RETURN b.p, labels(b), count(*), count(c.p)",
    "MATCH (a)-->(b)-->(c)-->(d) RETURN a, count(*) AS n ORDER BY n DESC, id(a) LIMIT 3",
    "MATCH (a)-->(b), (a)-->(c), (a)-->(d) RETURN a.p AS p, count(*) AS n ORDER BY n, p SKIP 1",
    "MATCH (a)-[r:R]->(b), (a)-[:R]->(c), (a)-[:S]->(d) WHERE r.q > 0 RETURN c, count(r)",
    "MATCH (a)--(b)--(c)--(d) RETURN count(DISTINCT b), count(DISTINCT c.p)",
    "MATCH (a)-->(b), (a)-->(c) MATCH (a)-->(d) WHERE b.p <> 2 RETURN count(DISTINCT a), count(*)",
    "MATCH (a:A)-->(b)-->(c) WHERE a.p = 1 RETURN DISTINCT c ORDER BY c.p, id(c)",
    "MATCH (a)-->(b)-->(c), (a)-->(c) RETURN DISTINCT a, b.p",
    "MATCH (a)-->(b)-->(c) WHERE a <> c RETURN DISTINCT labels(b), id(a)",
    "MATCH (a)-->(b), (c:A) RETURN a, count(*)",
    "MATCH (a:A:B) RETURN a.p, count(*)",
    "MATCH (a)-->(b) RETURN DISTINCT a, count(*) AS n ORDER BY n, id(a)",
]
OTHERS = [
    "MATCH (a)-->(b)-->(c) RETURN a.p < b.p, count(*)",
    "MATCH (a)-->(b)-->(c) WHERE a.p < c.p RETURN a, count(*)",
    "MATCH (a)-[r]->(b)-->(c) RETURN DISTINCT a, r",
    "MATCH (a)-[r]->(b)-->(c) RETURN a, count(DISTINCT r)",
]


def some_graph(seed=8, relationships=24):
    random = np.random.default_rng(seed)
    ends = random.integers(0, 7, (2, relationships))
    kinds = np.array(["R", "R", "S"], dtype=object)
    labels = [["A"], ["B"], ["A", "B"], ["B"], ["A"], [], []]
    values = [1.0, 2, 2.5, 2.0, None, 1, -0.5]
    return gpugda.graph(
        {"id": np.arange(7), "p": values, "labels": labels},
        {
            "source": ends[0],
            "target": ends[1],
            "type": kinds[random.integers(0, 3, relationships)],
            "q": random.integers(0, 3, relationships),
        },
    )


def rows_of(result):
    return Counter(repr(row) for row in result.values())


@contextlib.contextmanager
def counting_by(max_tuple_groups):
    """Makes the strategies of later connections use these thresholds."""
    extend = variant(join=limits_of(max_tuple_groups))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STRATEGIES, extend.name, extend)
        yield


@pytest.fixture(scope="module")
def connected():
    """Accelerators of `some_graph`, by seed and how tuples are counted; cached.

    Opening one takes long.
    """
    with contextlib.ExitStack() as stack:
        found = {}
        for how in (DENSE, SPARSE):
            with counting_by(how):
                for seed in range(3):
                    opened = stack.enter_context(gpugda.connect(some_graph(seed)))
                    opened.run("MATCH (n) RETURN count(*)", engine="gpu", strategy="extend")
                    found[seed, how] = opened
        yield found


@pytest.mark.parametrize("text", GROUPED + OTHERS)
def test_grouped_queries_equal_the_reference(connected, text, max_tuple_groups):
    for seed in range(3):
        accelerator = connected[seed, max_tuple_groups]
        expected = accelerator.run(text, engine="reference")
        found = accelerator.run(text, engine="gpu", strategy="extend")
        if "ORDER BY" in text:
            assert repr(found.values()) == repr(expected.values())
        else:
            assert rows_of(found) == rows_of(expected)
        gpsm = accelerator.run(text, engine="gpu", strategy="gpsm")
        assert rows_of(gpsm) == rows_of(accelerator.run(text, engine="reference"))


def test_distinct_with_a_limit_stops_early():
    text = "MATCH (a)-->(b)-->(c) RETURN DISTINCT a.p LIMIT 2"
    with gpugda.connect(some_graph()) as accelerator:
        every = accelerator.run(text.removesuffix(" LIMIT 2"), engine="reference").values()
        found = accelerator.run(text, engine="gpu").values()
    assert len(found) == 2
    assert {repr(each) for each in found} <= {repr(each) for each in every}


def bound_text(text):
    graph = make_graph([("A:B", {"p": 1})], [(0, "R", 0, {"q": 1}), (0, "S", 0, {})])
    return bind(query_of(text), graph)


@pytest.mark.parametrize("text", GROUPED)
def test_queries_grouped_by_nodes_need_groups(text):
    bound = bound_text(text)
    need = need_of(bound.query, bound)
    assert isinstance(need, Groups)
    assert need.counted == ("count(*)" in text or "count(r)" in text)


@pytest.mark.parametrize("text", [*OTHERS, "MATCH (a) RETURN count(*)", "MATCH (a) RETURN a.p"])
def test_other_queries_need_no_groups(text):
    bound = bound_text(text)
    assert not isinstance(need_of(bound.query, bound), Groups)


@pytest.mark.parametrize(("middles", "expected"), [(20, set()), (40, {0, 2})])
def test_leaves_that_few_candidates_have_are_joined(middles, expected):
    """Such leaves reduce the number of rows."""
    bound = with_cardinality(plan_of(out((0, 1), (1, 2))), 30.0).bound
    counts = SimpleNamespace(count=[10, middles, 10].__getitem__)
    problem = SimpleNamespace(bound=bound, candidates=counts)
    costs = SimpleNamespace(
        per_candidate=partial(Costs.per_candidate, SimpleNamespace(_problem=problem))
    )
    assert eliminate._rare(problem, costs) == expected


def test_leaves_of_groups_are_counted_by_degrees():
    labels = [["A"] if node == 3 else [] for node in range(90)]
    ring = {"source": np.arange(90), "target": (np.arange(90) + 1) % 90, "type": ["R"] * 90}
    with gpugda.connect(gpugda.graph({"id": np.arange(90), "labels": labels}, ring)) as accelerator:
        text = "MATCH ({})-->(b)-->(c) RETURN id(c), count(*)"
        few = accelerator.run(text.format("a:A"), engine="gpu")
        assert few.values() == [[5, 1]]
        all_of_them = accelerator.run(text.format("a"), engine="gpu")
        assert len(all_of_them.values()) == 90
        assert "leaves counted by degrees: (a)" in all_of_them.summary.steps
        assert "rows counted by (c) on the device" in all_of_them.summary.steps


@pytest.mark.parametrize("text", ["RETURN a, count(*)", "RETURN a, b, count(*)"])
def test_a_group_beyond_cyphers_integers_is_an_error(text, max_tuple_groups):
    relationships = {
        "source": np.zeros(70_000, dtype=int),
        "target": np.ones(70_000, dtype=int),
        "type": np.full(70_000, "R", dtype=object),
    }
    source = gpugda.graph({"id": np.arange(2)}, relationships)
    with counting_by(max_tuple_groups), gpugda.connect(source) as accelerator:
        match = "MATCH (a)-->(b), (a)-->(c), (a)-->(d)"
        found = accelerator.run(f"{match} {text}", engine="gpu").values()
        assert [row[-1] for row in found] == [math.perm(70_000, 3)]
        with pytest.raises(UnsupportedQueryError, match="exceeds 64 bits"):
            accelerator.run(f"{match}, (a)-->(e) {text}", engine="gpu").values()
        found = accelerator.run(f"{match}, (a)-->(e) RETURN DISTINCT a.id", engine="gpu")
        assert found.values() == [[0]]


@pytest.mark.slow
def test_groups_whose_merged_count_is_too_large_are_an_error(max_tuple_groups):
    """Two nodes of one group: each count is below 2**63, their sum is above."""
    degree = 2_500_000
    relationships = {
        "source": np.arange(2 * degree) % 2,
        "target": np.full(2 * degree, 2),
        "type": np.full(2 * degree, "R", dtype=object),
    }
    nodes = {"id": np.arange(3), "p": [1, 1, 1]}
    source = gpugda.graph(nodes, relationships)
    with counting_by(max_tuple_groups), gpugda.connect(source) as accelerator:
        match = "MATCH (a)-->(b), (a)-->(c), (a)-->(d)"
        assert 2**62 < math.perm(degree, 3) < 2**64
        text = f"{match} RETURN a.p, count(*)"
        with pytest.raises(UnsupportedQueryError, match="exceeds 64 bits"):
            accelerator.run(text, engine="gpu").values()
