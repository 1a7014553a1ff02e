"""The join node by node against trying every assignment."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from bound_cases import cases
from bound_queries import (
    NO_MASKS,
    Node,
    Relationship,
    all_embeddings,
    check_case,
    checked,
    count,
    everything,
    found_by,
    make_plan,
    projected,
    rows_of,
    smallest_limit,
    some_masks,
    some_tests,
)
from forced_plans import DEGREES, ROWS, TABLES, thresholds, windows_of
from gpugda_strategies.gpsm.strategy import GpsmStrategy
from graphs import dense_graph, design_graph, make_graph
from hypothesis import event, given, note
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.memory.buffers import Workspace
from gpugda.device.program import Kernel
from gpugda.errors import MemoryLimitError
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.launch_size import LaunchSize
from gpugda.match.need import Rows
from gpugda.plan.bind import bind
from gpugda.plan.plan import LabelOp, RowTest
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

R, S = 0, 1
NOTHING = Rows(frozenset(), frozenset())


def strategy_for(context, graph, forms=(), join=None, candidates=None, **settings):
    decides = thresholds(context, *forms, join=join, candidates=candidates)
    return ExtendStrategy(DeviceGraph(context, graph), thresholds=decides, **settings)


def check(context, graph, plan, masks=NO_MASKS, **settings):
    return checked(strategy_for(context, graph, **settings), graph, plan, masks)


# ------------------------------------------------------------------ random cases
@given(case=cases(), refinement=st.sampled_from(["off", "once", "fixpoint"]))
def test_random_queries_equal_the_reference(context, case, refinement):
    check_case(strategy_for(context, case[0], refinement=refinement), case)


@st.composite
def alike(draw):
    """A multigraph, and queries on it, each of which differs from the first one in one property."""
    node_count = draw(st.integers(2, 5))
    nodes = [(draw(st.sampled_from(["", "A", "B", "A:B"])), {}) for _ in range(node_count)]
    node = st.integers(0, node_count - 1)
    one = st.tuples(node, st.sampled_from("RS"), node, st.just({}))
    graph = make_graph(nodes, draw(st.lists(one, min_size=3, max_size=9)))
    size, count = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    types = st.sampled_from([None, *[(each,) for each in range(len(graph.types))]])
    end, clause = st.integers(0, size - 1), st.sampled_from([0, 0, 1])
    link = st.builds(Relationship, end, end, types, st.booleans(), clause)
    labels = [((LabelOp.LABEL, each),) for each in range(len(graph.labels))]
    some = st.builds(Node, st.sampled_from([(), *labels]), st.sampled_from([1.0, 3.0]))
    positions = frozenset(range(size))
    drawn = {
        "nodes": st.lists(some, min_size=size, max_size=size),
        "relationships": st.lists(link, min_size=count, max_size=count),
        "tests": some_tests(size, count),
        "masks": some_masks(graph, size, count),
        "wanted": st.sampled_from([frozenset(), frozenset([0]), positions]),
    }
    first = {part: draw(way) for part, way in drawn.items()}
    changed = draw(st.lists(st.sampled_from(sorted(drawn)), min_size=1, max_size=5))
    queries = []
    for each in (first, *(first | {part: draw(drawn[part])} for part in changed)):
        plan = make_plan(each["nodes"], each["relationships"], each["tests"])
        queries.append((plan, each["masks"], Rows(each["wanted"], frozenset())))
    return graph, queries


def compiled(strategy):
    """The number of compilations of steps."""
    return sum(map(len, strategy._compiled._shapes.values()))


@given(case=alike(), by_parts=st.booleans())
def test_queries_of_one_shape_share_steps(context, case, by_parts):
    """One strategy answers them one after the other, and then once more."""
    graph, queries = case
    strategy = strategy_for(context, graph, [DEGREES, ROWS, TABLES] if by_parts else [])
    for plan, masks, wanted in queries * 2:
        expected = all_embeddings(graph, plan, masks)
        assert found_by(strategy, plan, masks, wanted) == projected(expected, wanted)
        assert count(strategy, plan, masks) == expected.total()
    event(f"{len(queries)} queries, steps compiled {compiled(strategy)} times")


def test_other_names_and_values_compile_no_steps(context):
    graph = dense_graph(5)
    strategy = strategy_for(context, graph)
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    sizes = []
    for bits in (0b11, 0b1100, 0b11):
        masks = Masks({0: np.array([bits], dtype=np.uint32)}, {})
        nodes = tuple(replace(each, name=f"{each.name}_{bits}") for each in plan.bound.nodes)
        again = replace(plan, bound=replace(plan.bound, nodes=nodes))
        assert found_by(strategy, again, masks) == all_embeddings(graph, again, masks)
        sizes.append(compiled(strategy))
    assert sizes[0] == sizes[-1] > 0


def test_masks_of_other_variables_compile_other_steps(context):
    graph, bits = dense_graph(4), np.array([0b110], dtype=np.uint32)
    strategy = strategy_for(context, graph)
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    for masks in (NO_MASKS, Masks({}, {0: bits}), Masks({}, {1: bits}), Masks({1: bits}, {})):
        expected = all_embeddings(graph, plan, masks)
        assert found_by(strategy, plan, masks) == expected
        assert count(strategy, plan, masks) == expected.total()


OTHER_JOINS = {
    # limits, and constants to patch
    "a launch per step": ({"max_at_once": 0}, {}),
    "the first steps at once": ({"entries_at_once": 20}, {}),
    "few rows at once": ({"max_at_once": 6}, {}),
    "measured": ({"few_rows": 0}, {}),
    "tiny windows": (windows_of(3) | {"largest_last_window": 2}, {}),
    "pairs always measured": ({"few_rows": 0, "measures_pairs": True}, {}),
    "tiny launches": (
        {"few_rows": 0, "item_work": 1},
        {
            "pairs.LaunchSize": lambda *_: LaunchSize(3, 3, 1.0),
        },
    ),
    "relationships closed one by one": ({}, {"drafts._MAX_ROWS_OF_PAIR": 1}),
    "relationships closed launch by launch": (
        {"max_at_once": 0},
        {"drafts._MAX_ROWS_OF_PAIR": 1},
    ),
    "one link a step": ({}, {"compile.MAX_LINKS": 1}),
    "two links a step": ({}, {"compile.MAX_LINKS": 2, "drafts._MAX_ROWS_OF_PAIR": 2}),
    "no rows, only pairs": (
        {"max_at_once": 0},
        {"step_tables.MAX_EXCLUDED": -1},
    ),
}


# Each case with all settings: drawing a case takes longer than running it.
@pytest.mark.slow
@given(case=cases())
def test_random_queries_with_other_join_limits_equal_the_reference(context, case):
    graph, plan, masks, wanted = case
    expected = all_embeddings(graph, plan, masks)
    for name, (limits, changes) in OTHER_JOINS.items():
        note(name)
        with pytest.MonkeyPatch.context() as patch:
            for place, value in changes.items():
                patch.setattr(f"gpugda.match.extend.{place}", value)
            strategy = strategy_for(context, graph, join=limits)
            assert found_by(strategy, plan, masks, wanted) == projected(expected, wanted)
            assert count(strategy, plan, masks) == expected.total()


FILTERS = {
    "by many items": ({"small_words": 0, "small_explored_words": 0}, {}),
    "given up": ({"abandon_entries": 3}, {}),
    "listed when asked for": ({"listed": 1}, {}),
    "with bitmaps of degrees": ({}, {"_MIN_LOOKS": 0, "_SHARE_OF_NODES": 0.0}),
}


@given(case=cases(), refinement=st.sampled_from(["off", "once", "fixpoint"]))
def test_random_queries_with_other_filters_equal_the_reference(context, case, refinement):
    graph, plan, masks, wanted = case
    expected = all_embeddings(graph, plan, masks)
    for name, explores in product(FILTERS, [False, True]):
        note(f"{name}, {explores=}")
        limits, changes = FILTERS[name]
        with pytest.MonkeyPatch.context() as patch:
            for place, value in changes.items():
                patch.setattr(f"gpugda.device.graph.node_bitmaps.{place}", value)
            candidates = limits | {"explores": explores}
            strategy = strategy_for(context, graph, candidates=candidates, refinement=refinement)
            assert found_by(strategy, plan, masks, wanted) == projected(expected, wanted)
            assert count(strategy, plan, masks) == expected.total()


@st.composite
def cyclic_cases(draw):
    """Query graphs with many cycles over one or two types, with or without parallels."""
    node_count = draw(st.integers(2, 7))
    node = st.integers(0, node_count - 1)
    one = st.tuples(node, st.sampled_from(draw(st.sampled_from(["R", "RS"]))), node)
    rows = draw(st.lists(one, min_size=4, max_size=16, unique=draw(st.booleans())))
    if draw(st.booleans()):
        rows = [row for row in rows if row[0] != row[2]]
    graph = make_graph([("", {})] * node_count, [(*row, {}) for row in rows])
    size = draw(st.integers(2, 4))
    position = st.integers(0, size - 1)
    types = st.just((0,)) | st.none()
    directed = draw(st.sampled_from([st.just(True), st.booleans()]))
    relationship = st.builds(Relationship, position, position, types, directed, st.just(0))
    relationships = draw(st.lists(relationship, min_size=2, max_size=4))
    relationships = [each for each in relationships if each.source != each.target]
    if not graph.types:
        relationships = []
    nodes = [Node(cardinality=draw(st.sampled_from([1.0, 2.0, 3.0]))) for _ in range(size)]
    return graph, make_plan(nodes, relationships)


@given(case=cyclic_cases())
def test_random_cycles_equal_the_reference(context, case):
    graph, plan = case
    expected = all_embeddings(graph, plan)
    for shortest in (1, 3):
        note(f"bitmaps of {'all' if shortest == 1 else 'some'}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gpugda.device.launch.derived_lists._SHORTEST", shortest)
            strategy = strategy_for(context, graph)
            assert found_by(strategy, plan) == expected
            assert count(strategy, plan) == expected.total()
            some = Rows(frozenset((0, 1)), frozenset())
            assert found_by(strategy, plan, wanted=some) == projected(expected, some)


@st.composite
def crowded_cases(draw):
    """Cycles over a few nodes with so many relationships that rows share lists and marks fill."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    nodes, relationships = draw(st.integers(3, 40)), draw(st.integers(60, 400))
    heads, tails = random.integers(0, nodes, (2, relationships)) // draw(st.integers(1, 4))
    if draw(st.booleans()):
        tails = np.where(heads == tails, (tails + 1) % nodes, tails)
    names = draw(st.sampled_from(["R", "RS", "RST"]))
    shape = [(*ends, draw(st.booleans())) for ends in draw(st.sampled_from(SHAPES))]
    while ways(shape, heads, tails) > MAX_WAYS:
        heads, tails = heads[::2], tails[::2]
    kinds = random.integers(0, len(names), len(heads))
    graph = make_graph(
        [("", {})] * nodes,
        [(int(a), names[kind], int(b), {}) for a, kind, b in zip(heads, kinds, tails, strict=True)],
    )
    types = st.none() | st.sets(st.integers(0, len(graph.types) - 1), min_size=1)
    relationships = [
        Relationship(a, b, None if (some := draw(types)) is None else tuple(sorted(some)), directed)
        for a, b, directed in shape
    ]
    return graph, make_plan([Node()] * (1 + max(max(a, b) for a, b, _ in shape)), relationships)


SHAPES = [
    [(0, 1), (0, 1)],
    [(0, 1), (1, 2), (2, 0)],
    [(0, 1), (1, 2), (0, 2), (0, 2)],
    [(0, 1), (1, 0), (1, 2)],
]
MAX_WAYS = 2_000_000  # gpsm counts them one by one


def ways(shape, heads, tails):
    """Number of mappings of the shape to relationships, of any type and possibly equal."""
    between = np.zeros((41, 41))
    np.add.at(between, (heads, tails), 1)
    matrices = [between if directed else between + between.T for _, _, directed in shape]
    ends = ",".join("abc"[source] + "abc"[target] for source, target, _ in shape)
    return np.einsum(ends, *matrices, optimize=True).sum()


@pytest.mark.slow
@given(case=crowded_cases())
def test_counts_on_dense_graphs_equal_gpsms(context, case):
    graph, plan = case
    device_graph = DeviceGraph(context, graph)
    expected = count(GpsmStrategy(device_graph), plan)
    assert count(ExtendStrategy(device_graph), plan) == expected
    if expected < 20_000:
        rows = found_by(ExtendStrategy(device_graph), plan)
        assert rows.total() == expected
        assert rows == found_by(GpsmStrategy(device_graph), plan)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("parallel", [1, 15, 16, 17, 300])
@pytest.mark.parametrize("directed", [True, False])
def test_more_parallel_relationships_than_a_mark_holds_are_counted(context, parallel, directed):
    """Between three nodes: each relationship of one pair with each of the others."""
    ends = [(0, 1), (1, 2), (0, 2)]
    graph = make_graph([("", {})] * 3, [(a, "R", b, {}) for a, b in ends] * parallel)
    triangle = [Relationship(a, b, (0,), directed) for a, b in ends]
    plan = make_plan([Node()] * 3, triangle)
    ways = 1 if directed else 6
    assert count(strategy_for(context, graph), plan) == ways * parallel**3
    if parallel > 20:
        return
    cliques = [*triangle, *(Relationship(a, 3, (0,), directed) for a in (0, 1))]
    # The fourth node equals a third one and takes other relationships, or would be a self-loop.
    assert count(strategy_for(context, graph), make_plan([Node()] * 4, cliques)) == (
        ways * parallel**3 * (parallel - 1) ** 2
    )


@given(case=cases())
def test_random_queries_in_little_memory_equal_the_reference(context, case):
    graph, plan, masks, wanted = case
    expected = projected(all_embeddings(graph, plan, masks), wanted)
    roomy = strategy_for(context, graph)
    assert found_by(roomy, plan, masks, wanted) == expected
    tight = tight_strategy(context, graph, plan, masks, wanted)
    assert found_by(tight, plan, masks, wanted) == expected


def tight_strategy(context, graph, plan, masks, wanted=None):
    """A strategy with little more memory than it needs.

    A try that fails removes entries from its device graph for good; the next one has its own.
    """

    def run(limit):
        found_by(with_limit(limit), plan, masks, wanted)

    def with_limit(limit):
        return ExtendStrategy(DeviceGraph(context, graph), memory_limit=limit)

    return with_limit(smallest_limit(run) + 64)


# ------------------------------------------------------------------ windows, memory, time
@pytest.mark.parametrize("window", [1, 2, 3, 7, 100])
def test_small_windows_give_all_rows(context, window):
    sizes = ("first_window", "largest_window", "largest_last_window")
    join = dict.fromkeys(sizes, window)
    graph = dense_graph(5)
    plan = make_plan(
        [Node()] * 4,
        [Relationship(0, 1), Relationship(1, 2), Relationship(2, 0)],
        [RowTest(True, 0, 3, False)],
    )
    strategy = strategy_for(context, graph, join=join)
    report = StrategyReport()
    chunks = list(strategy.embeddings(plan, NO_MASKS, everything(plan), report))
    expected = all_embeddings(graph, plan)
    assert sum(chunk.row_count for chunk in chunks) == expected.total()
    assert max(chunk.row_count for chunk in chunks) <= window
    assert found_by(strategy, plan) == expected
    assert count(strategy, plan) == expected.total()
    assert len([line for line in report.steps if " rows" in line]) == 5


def test_a_memory_limit_is_respected_and_changes_no_rows(context):
    graph = dense_graph(12)
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    strategy = strategy_for(context, graph)
    expected = found_by(strategy, plan)
    assert expected.total() == 12 * 12 * 12 - 12
    tight = tight_strategy(context, graph, plan, NO_MASKS)
    report = StrategyReport()
    assert sum(1 for _ in tight.embeddings(plan, NO_MASKS, everything(plan), report)) > 1
    assert found_by(tight, plan) == expected
    with pytest.raises(MemoryLimitError, match="memory limit"):
        found_by(ExtendStrategy(strategy._graph, memory_limit=3000), plan)


def test_chunks_are_made_on_demand(context):
    join = {"first_window": 4, "largest_last_window": 4}
    strategy = strategy_for(context, dense_graph(6), join=join)
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    report = StrategyReport()
    chunks = strategy.embeddings(plan, NO_MASKS, everything(plan), report)
    first, second = next(chunks).row_count, next(chunks).row_count
    assert 0 < first <= 4
    assert 0 < second <= 4
    chunks.close()
    assert f": {first + second} rows in 2 chunks" in report.steps[-1]
    assert found_by(strategy, plan).total() == 6**3 - 6


def test_the_first_rows_arrive_before_all_are_made(context):
    graph = dense_graph(40)
    strategy = strategy_for(context, graph)
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    report = StrategyReport()
    few = replace(everything(plan), enough=10)
    chunks = list(strategy.embeddings(plan, NO_MASKS, few, report))
    assert chunks[0].row_count <= 1024
    # Later ones are larger, and nothing is lost or found twice.
    assert max(chunk.row_count for chunk in chunks) > 4096
    assert sum(chunk.row_count for chunk in chunks) == 40**3 - 40
    rows = Counter(row for chunk in chunks for row in rows_of(chunk, everything(plan)))
    assert rows == found_by(strategy, plan)


def test_counts_beyond_32_bits_are_exact(context):
    plan = make_plan([Node()] * 5)
    graph = make_graph([("", {})] * 100)
    assert count(strategy_for(context, graph), plan) == 100**5
    hubs = make_graph([("", {})] * 3, [(0, "R", 1, {})] * 70 + [(1, "R", 2, {})] * 70)
    relationships = [Relationship(0, 1, (0,), clause=at) for at in range(6)]
    assert count(strategy_for(context, hubs), make_plan([Node()] * 2, relationships[:3])) == (
        2 * 70**3
    )


def test_the_report_lists_the_steps(context):
    strategy = strategy_for(context, design_graph())
    bound = bind(query_of("MATCH (n0)-[r0:R]->(n1)-[r1:R]->(n2) RETURN n0"), design_graph())
    plan = replace(make_plan([Node()] * 3), bound=bound)
    report = StrategyReport()
    rows = sum(each.row_count for each in strategy.embeddings(plan, NO_MASKS, NOTHING, report))
    assert set(report.timings) == {"filter", "join", "fetch"}
    assert report.candidates.keys() == {0, 1, 2}
    line, expected = report.steps[-1].split(", expected ")
    assert line == f"extend by (n2) along (n1)-[r1:R]->(n2) with 1 test: {rows} rows"
    assert rows / 4 < float(expected) < rows * 4


def test_the_report_names_steps_joined_pair_by_pair(context):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    again = [Relationship(0, 1), Relationship(1, 2), Relationship(1, 2, clause=1)]
    lines = {}
    for equal in (True, False):
        plan = make_plan([Node()] * 3, again, [RowTest(False, 1, 2, equal)])
        report = StrategyReport()
        strategy = strategy_for(context, design_graph(), join={"few_rows": 0})
        tables = strategy.embeddings(plan, NO_MASKS, NOTHING, report)
        expected = all_embeddings(design_graph(), plan, NO_MASKS)
        assert sum(each.row_count for each in tables) == expected.total()
        lines[equal] = [", pair by pair: " in line for line in report.steps]
    assert any(lines[True])
    assert not any(lines[False])


# ------------------------------------------------------------------ threads, interruptions, freeing
def test_threads_share_a_strategy(context):
    join = {"first_window": 20, "largest_last_window": 20}
    strategy = strategy_for(context, dense_graph(6), join=join)
    plans_by_rows = {
        210: make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)]),
        36: make_plan([Node()] * 2, [Relationship(0, 1)]),
        216: make_plan([Node()] * 3),
    }

    def work(number):
        rows, plan = list(plans_by_rows.items())[number % 3]
        return found_by(strategy, plan).total() == rows == count(strategy, plan)

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(work, range(60)))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_an_interruption_frees_all_memory(context, monkeypatch, share):
    strategy = strategy_for(context, dense_graph(6))
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    found_by(strategy, plan)  # uploads the graph
    workspaces, launches = [], []
    make, really_launch = ExtendStrategy._workspace, Kernel._launch

    def workspace(self):
        workspaces.append(make(self))
        return workspaces[-1]

    def interrupted(self, *arguments):
        launches.append(self.name)
        if len(launches) == last:
            raise KeyboardInterrupt
        really_launch(self, *arguments)

    for run in (lambda: found_by(strategy, plan), lambda: count(strategy, plan)):
        strategy._kept.drop()  # otherwise there are fewer launches
        _, names = launches_of(monkeypatch, run)
        launches.clear()
        last = 1 + round(share * (len(names) - 1))
        strategy._kept.drop()
        with monkeypatch.context() as patch:
            patch.setattr(ExtendStrategy, "_workspace", workspace)
            patch.setattr(Kernel, "_launch", interrupted)
            with pytest.raises(KeyboardInterrupt):
                run()
    assert [each.budget.used for each in workspaces] == [strategy._graph.nbytes] * 2
    assert found_by(strategy, plan).total() == 210
    strategy._graph.close()
    assert strategy._graph.nbytes == 0


def test_a_mask_keeps_one_of_two_parallel_relationships(context):
    """The parallel relationship that it removes comes last, and must not replace the other."""
    graph = make_graph([("", {})], [(0, "R", 0, {}), (0, "S", 0, {})])
    links = [Relationship(0, 1, (R,), directed=False), Relationship(0, 1, directed=False)]
    for bits, rows in ((1, 0), (2, 1), (3, 1)):
        masks = Masks({}, {1: np.array([bits], dtype=np.uint32)})
        assert check(context, graph, make_plan([Node()] * 2, links), masks) == rows


def test_window_ends_are_downloaded_once_for_few_rows(context, monkeypatch):
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    reads, really_download = [], Workspace.download

    def download(self, *arguments):
        reads[-1] += 1
        return really_download(self, *arguments)

    monkeypatch.setattr(Workspace, "download", download)
    for at_once in (0, 1 << 13):
        monkeypatch.setattr("gpugda.match.extend.pairs._MAX_DOWNLOADED_SUMS", at_once)
        strategy = strategy_for(context, dense_graph(6), (ROWS,), join=windows_of(30))
        reads.append(0)
        assert found_by(strategy, plan).total() == 210
    by_place, at_once = reads
    assert at_once < by_place / 2 if context.is_cpu else at_once == by_place


# ------------------------------------------------------------------ what is kept between runs
def launches_of(monkeypatch, run):
    names, really_launch = [], Kernel._launch

    def launch(self, *arguments):
        names.append(self.name)
        really_launch(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Kernel, "_launch", launch)
        found = run()
    return found, names


@pytest.mark.parametrize(("place", "tried"), [(10, [True, False]), (100, [True, True])])
def test_an_outgrown_small_join_is_not_tried_again(context, monkeypatch, place, tried):
    """If the first steps outgrew the small join, it is not tried again."""
    strategy = strategy_for(context, dense_graph(6), join={"max_at_once": place})
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    for expected in tried:
        found, names = launches_of(monkeypatch, lambda: found_by(strategy, plan))
        assert found.total() == 210
        assert bool({"join_rows", "join_few"}.intersection(names)) == expected


def test_candidates_are_cached_for_the_same_query_and_masks(context, monkeypatch):
    strategy = strategy_for(context, dense_graph(6))
    plan = make_plan([Node()] * 2, [Relationship(0, 1)])
    for bits in (0b11, 0b11, 0b111, 0b11):
        masks = Masks({0: np.array([bits], dtype=np.uint32)}, {})
        is_new = not any(each.is_of(masks) for each in strategy._kept.all())
        rows, names = launches_of(monkeypatch, lambda masks=masks: count(strategy, plan, masks))
        assert rows == bits.bit_count() * 6
        assert bool({"check_candidates", "filter_all"}.intersection(names)) == is_new
    assert len(strategy._kept.all()) == 2
    other = make_plan([Node()] * 2, [Relationship(0, 1)])
    assert count(strategy, other) == 36
    assert found_by(strategy, plan, NO_MASKS) == all_embeddings(strategy._graph.graph, plan)
    assert count(strategy, plan, NO_MASKS) == 36


def test_steps_are_right_for_other_masks_of_equal_size(context):
    """Masks decide where the filter starts, although they keep the same nodes, in one order."""
    random = np.random.default_rng(2)
    ends = random.integers(0, 8, (30, 2)).tolist()
    graph = make_graph([("", {})] * 32, [(a, "R", b, {}) for a, b in ends])
    plan = make_plan(
        [Node(cardinality=32.0)] * 3,
        [Relationship(0, 1), Relationship(1, 2), Relationship(2, 0)],
    )
    alone = ~np.uint32(0xFF)  # have no relationships
    some, others = np.array([0b111110], dtype=np.uint32), np.array([0b11110001], dtype=np.uint32)
    strategy = strategy_for(context, graph)
    for nodes in ({0: some | alone, 1: others}, {0: some, 1: others | alone}):
        masks = Masks(nodes, {})
        expected = all_embeddings(graph, plan, masks)
        assert found_by(strategy, plan, masks) == expected
        assert count(strategy, plan, masks) == expected.total()


def test_a_query_without_candidates_launches_nothing_again(context, monkeypatch):
    strategy = strategy_for(context, dense_graph(6))
    plan = make_plan([Node()] * 2, [Relationship(0, 1)])
    nobody = Masks({0: np.zeros(1, dtype=np.uint32)}, {})
    assert count(strategy, plan, nobody) == 0
    assert launches_of(monkeypatch, lambda: count(strategy, plan, nobody)) == (0, [])


def test_few_queries_are_cached_and_their_bytes_counted(context):
    strategy = strategy_for(context, dense_graph(6), join={"max_queries": 3})
    kept = make_plan([Node()], [])
    for size in (1, 2, 3, 4):
        plan = make_plan([Node()] * size, [Relationship(0, at) for at in range(1, size)])
        count(strategy, plan)
        count(strategy, kept)
    assert len(strategy._kept.all()) == 3
    assert strategy._kept.find(kept.bound, NO_MASKS) is not None
    with strategy._workspace() as workspace:
        assert workspace.budget.used - workspace.outside >= strategy._graph.nbytes
        assert workspace.outside == strategy._kept.nbytes > 0
        workspace.free_cached()
        assert workspace.outside == strategy._kept.nbytes == 0


def test_cached_bytes_equal_all_arrays_after_a_run(context):
    strategy = strategy_for(context, dense_graph(6))
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    find = make_plan([Node()] * 2, [Relationship(0, 1)])
    for _ in range(2):
        count(strategy, plan)
        count(strategy, find)
        kept = strategy._kept.all()
        held = [sum(array.nbytes for array in query.arrays()) for query in kept]
        assert [query.nbytes for query in kept] == held
        assert strategy._kept.nbytes == sum(held) > 0


def test_cached_queries_are_freed_if_memory_is_short(context):
    strategy = strategy_for(context, dense_graph(6))
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    assert count(strategy, plan) == 210
    graph_bytes = strategy._graph.nbytes
    strategy.limit = graph_bytes + strategy._kept.nbytes - 1
    with strategy._workspace() as workspace:
        assert strategy._kept.nbytes == 0
        assert workspace.budget.used == graph_bytes
    strategy.limit = 1 << 24
    assert count(strategy, plan) == 210
    with strategy._workspace() as workspace:
        workspace.allocate((strategy.limit - graph_bytes) // 4 - 64, np.uint32)
        assert strategy._kept.nbytes == 0
