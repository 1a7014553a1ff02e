"""Cycles of query nodes that are counted without rows, against trying every assignment."""

from __future__ import annotations

import numpy as np
import pytest
from bound_queries import NO_MASKS, Node, Relationship, all_embeddings, make_plan
from forced_plans import thresholds
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend.cache import KeptQuery
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.special import cycles, single_walks
from gpugda.plan.plan import LabelOp, RowTest

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

SQUARE = ((0, 1), (1, 2), (2, 3), (3, 0))


@pytest.fixture
def counts(monkeypatch):
    """The number of cycle counts."""
    found = []
    count = cycles.CycleCount.count
    monkeypatch.setattr(
        cycles.CycleCount, "count", lambda *each: found.append(each) or count(*each)
    )
    return found


def count(context, graph, plan, masks=NO_MASKS):
    return ExtendStrategy(DeviceGraph(context, graph)).count(plan, masks, StrategyReport())


def a_graph(seed, relationships, *, loops=True, types="R", nodes=7):
    random = np.random.default_rng(seed)
    ends = random.integers(0, nodes, (2, relationships))
    if not loops:
        ends = ends[:, ends[0] != ends[1]]
    kinds = random.integers(0, len(types), ends.shape[1])
    labels = ["A", "B", "A:B", ""]
    rows = zip(*ends.tolist(), kinds.tolist(), strict=True)
    return make_graph(
        [(labels[node % 4], {}) for node in range(nodes)],
        [(a, types[kind], b, {}) for a, b, kind in rows],
    )


def along(*pairs, types=(0,), directed=True):
    return [Relationship(source, target, types, directed) for source, target in pairs]


@pytest.mark.parametrize("loops", [True, False], ids=["loops", "no loops"])
@pytest.mark.parametrize(
    "links",
    [
        along(*SQUARE),
        along(*SQUARE, directed=False),
        along((0, 1), (2, 1), (2, 3), (0, 3)),
        along((0, 1), (0, 2), (1, 3), (3, 2), directed=False),
    ],
    ids=["directed", "undirected", "to and fro", "in another order"],
)
def test_a_square_is_counted_without_rows(context, counts, links, loops):
    plan = make_plan([Node()] * 4, links)
    for seed in range(4):
        graph = a_graph(seed, 18, loops=loops)
        assert count(context, graph, plan) == all_embeddings(graph, plan).total()
    assert len(counts) == (4 if context.is_cpu else 0)


@pytest.mark.parametrize("loops", [True, False], ids=["loops", "no loops"])
def test_an_undirected_triangle_is_counted_without_rows(context, counts, loops):
    links = along((0, 1), (2, 1), (2, 0), types=None, directed=False)
    plan = make_plan([Node()] * 3, links)
    for seed in range(6):
        graph = a_graph(seed, 24, loops=loops, types="RS", nodes=4 + seed)
        assert count(context, graph, plan) == all_embeddings(graph, plan).total()
    assert len(counts) == (6 if context.is_cpu else 0)


@pytest.mark.parametrize(
    ("nodes", "links", "tests"),
    [
        (4, along((0, 1), (1, 2), (2, 0), (2, 3)), []),
        (4, along((0, 1), (1, 0), (2, 3), (3, 2)), []),
        (4, along((0, 1), (1, 2), (2, 3), (3, 3)), []),
        (4, along(*SQUARE, (0, 2)), []),
        (5, along(*SQUARE), []),
        (3, along((0, 1), (1, 2), (2, 0)), []),
        (3, along((0, 1), (1, 2), (0, 0), directed=False), []),
        (3, [*along((0, 1), directed=False), *along((1, 2), (2, 0))], []),
        (4, along(*SQUARE), [RowTest(True, 0, 2, False)]),
        (4, along(*SQUARE), [RowTest(False, 0, 2, True)]),
    ],
)
def test_other_patterns_are_not_counted_as_squares(context, counts, nodes, links, tests):
    plan = make_plan([Node()] * nodes, links, tests)
    graph = a_graph(1, 14)
    assert count(context, graph, plan) == all_embeddings(graph, plan).total()
    assert not counts


@pytest.mark.slow
def test_squares_of_many_types_are_counted(context, counts):
    plan = make_plan([Node()] * 4, along(*SQUARE, types=None, directed=False))
    for types, expected in (("ABCDEFGH", 1), ("ABCDEFGHI", 1)):
        graph = a_graph(5, 40, types=types)
        assert count(context, graph, plan) == all_embeddings(graph, plan).total()
        assert len(counts) == (expected if context.is_cpu else 0)


@pytest.mark.parametrize("rare", range(4))
def test_a_cycle_is_counted_from_the_node_with_the_fewest_candidates(context, monkeypatch, rare):
    """Whatever node a join would start from."""
    starts, find_cycle = [], cycles.find_cycle
    elsewhere = [(rare + each) % 4 for each in (2, 3, 1, 0)]

    def found(*arguments, **first):
        starts.extend(arguments[4:5])
        return find_cycle(*arguments, **first)

    monkeypatch.setattr(cycles, "find_cycle", found)
    monkeypatch.setattr(KeptQuery, "order", lambda *_: elsewhere)
    ends = [(a, b) for a in range(12) for b in range(12) if a < 3 or b < 2 or (a + b) % 5 == 0]
    labels = ["A" if node == 11 else "B" for node in range(12)]
    graph = make_graph([(each, {}) for each in labels], [(a, "R", b, {}) for a, b in ends])
    label = graph.labels.get("A")
    nodes = [Node(((LabelOp.LABEL, label),)) if node == rare else Node() for node in range(4)]
    plan = make_plan(nodes, along(*SQUARE))
    assert count(context, graph, plan) == all_embeddings(graph, plan).total()
    assert starts == ([rare] if context.is_cpu else [])


def test_sums_that_may_overflow_are_left_to_the_join():
    bound, graph = make_plan([Node()] * 4, along(*SQUARE)).bound, a_graph(1, 20)
    rows = {node: node for node in range(4)}
    assert cycles.find_cycle(bound, graph, NO_MASKS, rows, first=0) is not None
    assert cycles.find_cycle(bound, graph, NO_MASKS, rows, first=0, most=1000) is None


def test_the_report_names_the_cycle_count(context):
    report = StrategyReport()
    plan, graph = make_plan([Node()] * 4, along(*SQUARE)), a_graph(1, 20)
    rows = ExtendStrategy(DeviceGraph(context, graph)).count(plan, NO_MASKS, report)
    assert (report.steps[-1] == f"cycle of 4 nodes counted: {rows} rows") == context.is_cpu


def test_a_square_is_counted_in_many_launches(context):
    plan = make_plan([Node()] * 4, along(*SQUARE, directed=False))
    graph = a_graph(2, 30, nodes=12)
    decides = thresholds(context, join={"item_work": 1})
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides)
    found = strategy.count(plan, NO_MASKS, StrategyReport())
    assert found == all_embeddings(graph, plan).total()


@st.composite
def squares_and_graphs(draw):
    graph = a_graph(
        draw(st.integers(0, 1000)),
        draw(st.integers(0, 14)),
        loops=draw(st.booleans()),
        types="RS",
        nodes=draw(st.integers(1, 5)),
    )
    label = st.sampled_from([(), ((LabelOp.LABEL, 0),), ((LabelOp.LABEL, 1),)])
    nodes = [Node(draw(label) if len(graph.labels) > 1 else ()) for _ in range(4)]
    types = st.sampled_from([None, (0,), (1,), (0, 1)][: 4 if len(graph.types) > 1 else 1])
    links = []
    for pair in SQUARE:
        source, target = pair if draw(st.booleans()) else pair[::-1]
        clause = draw(st.sampled_from((0, 0, 0, 1)))
        links.append(Relationship(source, target, draw(types), draw(st.booleans()), clause))
    node_masks, relationship_masks = {}, {}
    bits = st.integers(0, 2**graph.node_count - 1)
    for node in range(4):
        if draw(st.integers(0, 5)) == 0:
            node_masks[node] = np.array([draw(bits)], dtype=np.uint32)
    for link in range(4):
        if draw(st.integers(0, 5)) == 0:
            mask = draw(st.integers(0, 2**14 - 1))
            relationship_masks[link] = np.array([mask], dtype=np.uint32)
    return graph, make_plan(nodes, links), Masks(node_masks, relationship_masks)


@given(squares_and_graphs())
def test_random_squares_equal_the_reference(context, case):
    graph, plan, masks = case
    assert count(context, graph, plan, masks) == all_embeddings(graph, plan, masks).total()


# ------------------------------------------------------------------ squares of single relationships
def a_forum(seed, *, single=True):
    """Comments (C) that answer a post (P), and persons (A) who wrote them and know each other."""
    random = np.random.default_rng(seed)
    nodes = [("A", {})] * 5 + [("P", {})] * 6 + [("C", {})] * 40
    rows = [(one, "KNOWS", two, {}) for one in range(5) for two in range(one) if one + two != 3]
    rows += [(post, "CREATOR", int(random.integers(5)), {}) for post in range(5, 11)]
    for comment in range(11, 51):
        rows.append((comment, "CREATOR", int(random.integers(5)), {}))
        rows.append((comment, "REPLY", int(random.integers(5, 11)), {}))
    if not single:
        rows.append((50, "REPLY", int(random.integers(5, 11)), {}))
    return make_graph(nodes, rows)


def of_label(graph, name):
    return Node(((LabelOp.LABEL, graph.labels.get(name)),))


def forum_query(graph):
    """Comments on a post by acquaintances of its author; nodes: person, person, post, comment."""
    knows, creator, reply = ((graph.types.get(each),) for each in ("KNOWS", "CREATOR", "REPLY"))
    nodes = [of_label(graph, each) for each in ("A", "A", "P", "C")]
    links = [
        Relationship(0, 1, knows, False),
        Relationship(3, 0, creator, True),
        Relationship(3, 2, reply, True),
        Relationship(2, 1, creator, True),
    ]
    return make_plan(nodes, links)


@pytest.fixture
def single_counts(monkeypatch):
    """The number of counts by single neighbours; all of them pay off here."""
    found = []
    count = single_walks.SingleWalkCount.count
    monkeypatch.setattr(
        single_walks.SingleWalkCount, "count", lambda *each: found.append(each) or count(*each)
    )
    monkeypatch.setattr(single_walks, "_COST_OF_NODE", 0.0)
    return found


@pytest.mark.parametrize("pair_cost", [0.0, 1e9])
@pytest.mark.parametrize("single", [True, False])
def test_single_relationships_are_looked_up(context, single_counts, monkeypatch, single, pair_cost):
    monkeypatch.setattr(single_walks, "_COST_OF_PAIR", pair_cost)
    for seed in range(4):
        graph = a_forum(seed, single=single)
        plan = forum_query(graph)
        assert count(context, graph, plan) == all_embeddings(graph, plan).total() > 0
    assert len(single_counts) == (4 if context.is_cpu and single else 0)


def test_a_wrong_statistic_of_single_relationships_is_detected(context, single_counts, monkeypatch):
    monkeypatch.setattr(single_walks, "_is_single", lambda _, link, end: link.directed)
    graph = a_forum(1, single=False)
    plan = forum_query(graph)
    assert count(context, graph, plan) == all_embeddings(graph, plan).total()
    assert not single_counts


def test_few_squares_are_counted_by_their_paths(context, single_counts, monkeypatch):
    monkeypatch.setattr(single_walks, "_COST_OF_NODE", 1e9)
    graph = a_forum(2)
    plan = forum_query(graph)
    assert count(context, graph, plan) == all_embeddings(graph, plan).total()
    assert not single_counts
