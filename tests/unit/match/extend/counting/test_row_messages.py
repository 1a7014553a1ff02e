"""Query nodes that are counted per row, against trying every assignment."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bound_queries import (
    NO_MASKS,
    Node,
    Relationship,
    all_embeddings,
    make_plan,
    some_masks,
    some_tests,
)
from forced_plans import thresholds, windows_of
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from split_devices import open_split

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.plan.counting.degree_messages import find_degree_messages
from gpugda.plan.counting.row_messages import Countable, Independence, with_rows
from gpugda.plan.plan import LabelOp

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

COUNTED = "nodes counted per row: "


def all_counted(graph, plan, masks):
    """As many nodes as possible are counted per row."""
    bound = plan.bound
    found = find_degree_messages(bound, graph, masks, searching=True)
    countable = Countable(found, graph, masks).groups()
    independence = Independence(bound, sorted(found.plan.joined), found.clash)
    chosen = independence.choose(countable, lambda nodes: -sum(nodes), 0, 1)
    return with_rows(found.plan, chosen)


def count(context, graph, plan, masks=NO_MASKS, join=None):
    """The count, and the query nodes that were counted per row."""
    report = StrategyReport()
    strategy = ExtendStrategy(
        DeviceGraph(context, graph), thresholds=thresholds(context, join=join)
    )
    counted = strategy.count(plan, masks, report, count_plan=all_counted(graph, plan, masks))
    lines = [line for line in report.steps if line.startswith(COUNTED)]
    return counted, "".join(lines).removeprefix(COUNTED)


def along(*pairs, types=(0,), directed=True, clause=0):
    return [Relationship(source, target, types, directed, clause) for source, target in pairs]


def a_graph(seed, *, loops=True, nodes=5, relationships=14, types="R"):
    random = np.random.default_rng(seed)
    ends = random.integers(0, nodes, (2, relationships))
    if not loops:
        ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    kinds = random.integers(0, len(types), ends.shape[1])
    labels = ["A", "B", "A:B", ""]
    return make_graph(
        [(labels[node % 4], {}) for node in range(nodes)],
        [
            (a, types[kind], b, {})
            for a, b, kind in zip(*ends.tolist(), kinds.tolist(), strict=True)
        ],
    )


def node(label=None):
    return Node(()) if label is None else Node(((LabelOp.LABEL, label),))


DIAMOND = ((0, 1), (2, 0), (2, 1), (3, 0), (3, 1))
CASES = {
    "diamond": (along(*DIAMOND), "(n2), (n3)"),
    "diamond with a tail": (along(*DIAMOND, (0, 4)), ""),
    "three over an edge": (along(*DIAMOND, (4, 0), (4, 1)), "(n2), (n3), (n4)"),
    "over a path": (along((0, 1), (1, 2), (3, 0), (3, 1), (4, 1), (4, 2)), ""),
    "beside a path": (along((0, 1), (1, 2), (0, 3), (3, 2), (0, 4), (4, 2)), ""),
}


@pytest.mark.parametrize("loops", [True, False], ids=["loops", "no loops"])
@pytest.mark.parametrize("name", CASES)
def test_independent_nodes_are_eliminated(context, name, loops):
    relationships, weighted = CASES[name]
    size = 1 + max(max(each.source, each.target) for each in relationships)
    plan = make_plan([Node()] * size, relationships, ())
    found = set()
    for seed in range(4):
        graph = a_graph(seed, loops=loops, nodes=6, relationships=22)
        expected = all_embeddings(graph, plan).total()
        counted, multiplied = count(context, graph, plan)
        assert counted == expected
        found.add(multiplied)
    if weighted and not loops:
        assert weighted in found


def test_nodes_of_disjoint_labels_are_independent(context):
    labels = ["A", "B", "C", "D"]
    random = np.random.default_rng(3)
    rows = [(int(a), "R", int(b), {}) for a, b in random.integers(0, 16, (90, 2))]
    graph = make_graph([(labels[at % 4], {}) for at in range(16)], rows)
    nodes = [node(at % 4) for at in (0, 1, 2, 3)]
    plan = make_plan(nodes, along((0, 1), (2, 0), (2, 1), (0, 3), (3, 1), directed=False), ())
    expected = all_embeddings(graph, plan).total()
    assert count(context, graph, plan) == (expected, "(n2), (n3)")
    assert expected


@pytest.mark.parametrize("window", [1, 3])
def test_rows_in_many_windows_are_counted(context, window):
    plan = make_plan([Node()] * 4, along(*DIAMOND), ())
    for loops in (True, False):
        graph = a_graph(1, loops=loops)
        found = count(context, graph, plan, join=windows_of(window))
        assert found[0] == all_embeddings(graph, plan).total()


@pytest.mark.slow
@pytest.mark.parametrize("like_cpu", [True, False])
def test_many_paths_and_counts_beyond_64_bits(like_cpu):
    """More paths than a team of work items holds, and counts beyond 64 bits."""
    many = 70_001
    rows = [(0, "R", 1, {})]
    rows += [(at, "R", end, {}) for at in range(2, 2 + many) for end in (0, 1)]
    graph = make_graph([("", {})] * (2 + many), rows)
    nodes = 6
    pairs = [(at, end) for at in range(2, 2 + nodes) for end in (0, 1)]
    plan = make_plan([Node()] * (2 + nodes), along((0, 1), *pairs), ())
    context = open_split(like_cpu=like_cpu)
    counted, weighted = count(context, graph, plan)
    assert counted == math.perm(many, nodes)
    assert weighted.count("n") == nodes


# ------------------------------------------------------------------ random cases
@st.composite
def dense_queries(draw):
    """Multigraphs, and query graphs in which nodes have several relationships."""
    node_count = draw(st.integers(2, 6))
    place = st.integers(0, node_count - 1)
    names = draw(st.sampled_from(["R", "RS"]))
    labels = st.sampled_from(draw(st.sampled_from([[""], ["A", "B"], ["", "A", "B", "A:B"]])))
    kind = draw(st.sampled_from(["any", "no loops", "simple", "simple"]))
    most = 12 if kind == "simple" else 7
    least = draw(st.sampled_from([1, most]))
    rows = draw(
        st.lists(st.tuples(place, st.sampled_from(names), place), min_size=least, max_size=most)
    )
    if kind != "any":
        rows = [row for row in rows if row[0] != row[2]] or [(0, "R", node_count - 1)]
    if kind == "simple":
        rows = sorted({(min(a, b), name, max(a, b)) for a, name, b in rows})
    graph = make_graph(
        [(draw(labels), {}) for _ in range(node_count)], [(*row, {}) for row in rows]
    )
    # Every assignment is tried: with parallel relationships there are very many.
    size = draw(st.integers(3, 5 if kind == "simple" else 4))
    kinds = [None] + [(each,) for each in range(len(graph.types))]
    types = st.sampled_from(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2)))
    directed = draw(st.sampled_from([st.just(True), st.just(False), st.booleans()]))
    clause = draw(st.sampled_from([st.just(0), st.just(0), st.sampled_from([0, 0, 1])]))
    ends, alike = [(0, 1)], draw(st.booleans())
    turned = {0: draw(st.booleans()), 1: draw(st.booleans())}
    for each in range(2, size):
        # Most are attached to the first relationship's ends, as independent nodes are.
        anchors = draw(st.sampled_from([(0, 1), (0, 1), (0,), (1, each - 1)]))
        for anchor in (0, 1) if alike else anchors:
            is_turned = turned[anchor] if alike else draw(st.booleans())
            ends.append((each, anchor) if is_turned else (anchor, each))
    relationships = [
        Relationship(*pair, draw(types), draw(directed), draw(clause)) for pair in ends
    ]
    programs = [()]
    programs += [((LabelOp.LABEL, each),) for each in range(len(graph.labels))]
    if draw(st.booleans()):
        programs = [()]
    nodes = [Node(draw(st.sampled_from(programs))) for _ in range(size)]
    tests = draw(some_tests(size, len(relationships)))
    masks = draw(some_masks(graph, size, len(relationships)))
    return graph, make_plan(nodes, relationships, tests, degrees=draw(st.booleans())), masks


@given(case=dense_queries())
def test_random_queries_equal_the_reference(context, case):
    graph, plan, masks = case
    assert count(context, graph, plan, masks)[0] == all_embeddings(graph, plan, masks).total()
