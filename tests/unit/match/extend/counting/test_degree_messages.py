"""Degree messages against trying every assignment, and that leaves are in fact multiplied."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bound_queries import (
    NO_MASKS,
    Node,
    Relationship,
    all_embeddings,
    found_by,
    make_plan,
    some_masks,
)
from forced_plans import DEGREES, thresholds, windows_of
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError, UnsupportedQueryError
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend.join_builder import JoinBuilder
from gpugda.match.extend.messages import DegreeCounts
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.plan.plan import LabelOp, RowTest

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

R, S, T = 0, 1, 2
MULTIPLIED = "leaves counted by degrees: "


def strategy_for(context, graph, join=None, limit=None, **changes):
    """A strategy that eliminates leaves whether or not it pays off."""
    device_graph = graph if isinstance(graph, DeviceGraph) else DeviceGraph(context, graph)
    decides = thresholds(context, DEGREES, changes, join=join)
    return ExtendStrategy(device_graph, memory_limit=limit, thresholds=decides)


def count(context, graph, plan, masks=NO_MASKS, join=None, **changes):
    """The count, and the eliminated leaves."""
    report = StrategyReport()
    counted = strategy_for(context, graph, join, **changes).count(plan, masks, report)
    lines = [line for line in report.steps if line.startswith(MULTIPLIED)]
    assert len(lines) <= 1
    return counted, "".join(lines).removeprefix(MULTIPLIED)


def plan_of(relationships, nodes=None, tests=()):
    size = 1 + max(max(each.source, each.target) for each in relationships)
    return make_plan(nodes or [Node()] * size, relationships, tests)


def out(*pairs, types=(R,), **more):
    return [Relationship(source, target, types, **more) for source, target in pairs]


def a_graph(seed=1, *, loops=True, nodes=9, relationships=24, types="RRS"):
    random = np.random.default_rng(seed)
    # Some nodes have most of the relationships: otherwise no node could carry a star.
    starts = (random.random(relationships) ** 2 * nodes).astype(int)
    ends = random.integers(0, nodes, relationships)
    if not loops:
        ends = np.where(starts == ends, (ends + 1) % nodes, ends)
    kinds = random.integers(0, len(types), relationships)
    labels = ["", "A", "B", "A:B"]
    return make_graph(
        [(labels[node % 4], {}) for node in range(nodes)],
        [
            (start, types[kind], end, {})
            for start, kind, end in zip(*map(np.ndarray.tolist, (starts, kinds, ends)), strict=True)
        ],
    )


A = Node(((LabelOp.LABEL, 0),))
TAKEN = {
    "star of 3": (out((0, 1), (0, 2), (0, 3)), "(n1), (n2), (n3)"),
    "star of 5": (out(*[(0, leaf) for leaf in range(1, 6)]), "(n1), (n2), (n3), (n4), (n5)"),
    "star inwards": (out((1, 0), (2, 0), (3, 0)), "(n1), (n2), (n3)"),
    "star in both directions": (out((1, 0), (0, 2), (3, 0)), "(n1), (n2), (n3)"),
    "undirected star": (out((0, 1), (2, 0), (0, 3), directed=False), "(n1), (n2), (n3)"),
    "untyped star": (out((0, 1), (0, 2), (0, 3), types=None), "(n1), (n2), (n3)"),
    "two types": (out((0, 1), (0, 2)) + out((0, 3), types=(S,)), "(n1), (n2), (n3)"),
    "path of 2": (out((0, 1), (1, 2)), "(n0), (n2)"),
    "path of 3": (out((0, 1), (1, 2), (2, 3)), "(n0), (n3)"),
    "path of 4": (out((0, 1), (1, 2), (2, 3), (3, 4)), "(n0), (n4)"),
    "undirected path of 3": (out((0, 1), (1, 2), (2, 3), directed=False), "(n0), (n3)"),
    "undirected leaves, directed core": (
        out((1, 2)) + out((0, 1), (2, 3), directed=False),
        "(n0), (n3)",
    ),
    "tree": (out((0, 1), (0, 2), (0, 3), (1, 4), (1, 5)), "(n2), (n3), (n4), (n5)"),
    "tree inwards": (out((1, 0), (2, 0), (3, 0), (4, 1), (5, 1)), "(n2), (n3), (n4), (n5)"),
    "triangle with tails": (
        out((0, 1), (1, 2), (0, 2), (0, 3), (2, 4)),
        "(n3), (n4)",
    ),
    "two clauses": (out((0, 1), (0, 2)) + out((0, 3), clause=1), "(n1), (n2), (n3)"),
    "two components": (out((0, 1), (2, 3)), "(n1), (n3)"),
    "one type within two": (out((0, 1), (0, 2)) + out((0, 3), types=(R, S)), "(n1), (n2), (n3)"),
}


@pytest.mark.parametrize("loops", [True, False], ids=["loops", "no loops"])
@pytest.mark.parametrize("name", TAKEN)
def test_leaves_are_multiplied(context, name, loops):
    relationships, leaves = TAKEN[name]
    plan = plan_of(relationships)
    found = set()
    for seed in range(4):
        graph = a_graph(seed, loops=loops, nodes=4, relationships=14)
        expected = all_embeddings(graph, plan).total()
        counted, multiplied = count(context, graph, plan)
        assert counted == expected
        found.add(multiplied if expected else "")
    assert found - {""} == {leaves}


LABELLED = {
    "some": (out((0, 1), (0, 2), (0, 3)), [Node(), A, A, Node()]),
    # An R relationship to a node with the label could be taken by both kinds of leaves.
    "two kinds": (out((0, 1), (0, 2)) + out((0, 3), types=(S,)), [Node(), A, A, A]),
    "beside the core": (out((0, 1), (0, 2), (1, 3), (1, 4)), [Node(), Node(), A, A, Node()]),
}


def check_counts(context, relationships, nodes):
    """Counts of a pattern in a few graphs equal enumeration, and leaves were multiplied."""
    plan, found = plan_of(relationships, nodes), 0
    for seed in range(4):
        graph = a_graph(seed, nodes=6, relationships=15)
        expected = all_embeddings(graph, plan).total()
        counted, multiplied = count(context, graph, plan)
        assert counted == expected
        assert not expected or multiplied
        found += expected
    assert found


@pytest.mark.parametrize("name", LABELLED)
def test_leaves_with_labels_are_counted(context, name):
    check_counts(context, *LABELLED[name])


@pytest.fixture
def packed(monkeypatch):
    """Degrees take as little memory as possible."""
    monkeypatch.setattr(JoinBuilder, "_must_pack", lambda *_, **__: True)


PACKED = {
    "path of 3": (out((0, 1), (1, 2), (2, 3)), None),
    "undirected star": (out((0, 1), (2, 0), (0, 3), directed=False), None),
    "tree inwards": (out((1, 0), (2, 0), (3, 0), (4, 1), (5, 1)), None),
    "triangle with tails": (out((0, 1), (1, 2), (0, 2), (0, 3), (2, 4)), None),
    **LABELLED,
    "anchors with labels": (out((0, 1), (1, 2), (2, 3)), [Node(), A, Node(), A]),
}


@pytest.mark.parametrize("name", PACKED)
def test_packed_degrees_give_the_same_counts(context, packed, name):
    check_counts(context, *PACKED[name])


def test_packed_degrees_are_used_where_others_do_not_fit(context, monkeypatch):
    """One node in 64 is an anchor: a byte for each and a rank per 32 nodes take less memory."""
    packs, begun = [], DegreeCounts.__init__

    def noting(made, *given, **options):
        packs.append((options["packs"], made))
        begun(made, *given, **options)

    monkeypatch.setattr(DegreeCounts, "__init__", noting)
    nodes, limit, room = 1 << 15, 1 << 24, 100_000
    graph = make_graph(
        [("A" if node % 64 == 0 else "", {}) for node in range(nodes)],
        [(node, "R", node * factor % nodes, {}) for node in range(nodes) for factor in (7, 9)],
    )
    plan = plan_of(out((0, 1), (0, 2), (3, 0)), [A, Node(), Node(), Node()])
    expected, leaves = count(context, graph, plan)
    assert leaves
    strategy = strategy_for(context, graph, {"share_for_messages": room / limit}, limit)
    assert strategy.count(plan, NO_MASKS, StrategyReport()) == expected > 0
    (plain, before), (packed, after) = packs
    assert (plain, packed) == (False, True)
    assert after.places.nbytes < room // 8
    assert before.places.nbytes == 2 * 4 * nodes


def test_masked_leaves_are_counted(context):
    graph = a_graph(nodes=6, relationships=13)
    plan = plan_of(out((0, 1), (0, 2), (0, 3), types=None))
    some = np.array([0b110111], dtype=np.uint32)
    few = np.array([0b1011011011011], dtype=np.uint32)
    for masks in (
        Masks({1: some, 2: some, 3: some}, {}),
        Masks({0: some, 3: some}, {}),
        Masks({}, {1: few}),
        Masks({2: some}, {1: few, 2: few}),
    ):
        assert count(context, graph, plan, masks)[0] == all_embeddings(graph, plan, masks).total()


JOINED = {
    # Leaves of one type always differ if no two relationships connect the same nodes.
    "a test on a leaf": plan_of(
        out((0, 1)) + out((0, 2), types=(S,)), tests=[RowTest(True, 1, 2, False)]
    ),
    "a relationship bound again": plan_of(
        out((0, 1)) + out((0, 2), clause=1), tests=[RowTest(False, 0, 1, True)]
    ),
    "types that overlap": plan_of(out((0, 1), types=(R, S)) + out((0, 2), types=(S, T))),
    "a directed leaf, an undirected core": plan_of(
        out((0, 1), (2, 3)) + out((1, 2), directed=False)
    ),
    "three groups": plan_of(out((0, 1)) + out((0, 2), types=(R, S)) + out((0, 3), types=None)),
    "one leaf": plan_of(out((0, 1))),
    "no leaf": plan_of(out((0, 1), (1, 0))),
}


@pytest.mark.parametrize("name", JOINED)
def test_leaves_that_no_formula_counts_are_joined(context, name):
    for seed in range(3):
        graph = a_graph(seed, nodes=5, relationships=11, types="RST")
        plan = JOINED[name]
        counted, leaves = count(context, graph, plan)
        assert counted == all_embeddings(graph, plan).total()
        if name != "three groups":
            assert leaves == ""
        else:
            assert leaves.count("n") < 3


def test_cycles_with_few_leaves_are_joined(context):
    few = {"cyclic_growth": 32}
    graph = a_graph(loops=False, nodes=4, relationships=14)
    triangle = plan_of(TAKEN["triangle with tails"][0])
    assert count(context, graph, triangle, **few) == (all_embeddings(graph, triangle).total(), "")
    path = plan_of(out((0, 1), (1, 2), (2, 3)))
    found = count(context, graph, path, **few)
    assert found == (all_embeddings(graph, path).total(), "(n0), (n3)")


NO_ROOM = {"share_for_messages": 0}


def test_without_memory_for_degrees_leaves_are_joined(context):
    graph, plan = a_graph(), plan_of(out((0, 1), (0, 2), (0, 3)))
    found = count(context, graph, plan, join=NO_ROOM)
    assert found == (all_embeddings(graph, plan).total(), "")


@pytest.mark.slow
def test_leaves_are_counted_in_little_memory(context):
    """If joining the leaves is possible, multiplying them (or joining them again) is, too."""
    graph = a_graph(nodes=300, relationships=2000)
    device_graph = DeviceGraph(context, graph)
    plan = plan_of(out((0, 1), (1, 2), (2, 3), types=None))
    expected, _ = count(context, graph, plan)

    def counted(limit, join=None):
        strategy = strategy_for(context, device_graph, join, limit)
        return strategy.count(plan, NO_MASKS, StrategyReport())

    def smallest(join=None):
        low, high = 0, 1 << 22
        while high - low > 64:
            middle = (low + high) // 2
            try:
                assert counted(max(middle, 1), join) == expected
                high = middle
            except MemoryLimitError:
                low = middle
        return high

    multiplied = smallest()
    joined = smallest(NO_ROOM)
    assert multiplied <= joined
    for more in (0, 500, 5_000, 50_000):
        assert counted(joined + more) == expected


@pytest.mark.parametrize("window", [1, 3])
def test_leaves_of_a_core_in_many_windows_are_counted(context, window):
    tiny = windows_of(window)
    for name in ("path of 3", "tree", "two components"):
        plan = plan_of(TAKEN[name][0])
        graph = a_graph(nodes=4, relationships=14)
        assert count(context, graph, plan, join=tiny)[0] == all_embeddings(graph, plan).total()


def test_a_repeated_query_gives_the_same_count(context):
    graph, plan = a_graph(), plan_of(out((0, 1), (0, 2), (0, 3)))
    strategy = strategy_for(context, graph)
    expected = all_embeddings(graph, plan)
    for _ in range(2):
        assert strategy.count(plan, NO_MASKS, StrategyReport()) == expected.total()
        assert found_by(strategy, plan) == expected


def test_a_core_without_rows_gives_zero(context):
    graph = make_graph([("", {})] * 3, [(0, "R", 1, {}), (1, "R", 2, {})])
    assert count(context, graph, plan_of(out((0, 1), (0, 2)))) == (0, "")
    plan = plan_of(out((0, 1), (1, 2), (2, 3)))
    assert count(context, graph, plan)[0] == 0


# ------------------------------------------------------------------ random cases
@st.composite
def trees_and_more(draw):
    """Multigraphs, and query graphs with many leaves and a few other relationships."""
    node_count = draw(st.integers(1, 5))
    node = st.integers(0, node_count - 1)
    names = draw(st.sampled_from(["R", "RS", "RST"]))
    labels = st.sampled_from(["", "A", "B", "A:B"]) if draw(st.booleans()) else st.just("")
    rows = draw(st.lists(st.tuples(node, st.sampled_from(names), node), min_size=1, max_size=9))
    if draw(st.booleans()):
        rows = [row for row in rows if row[0] != row[2]] or [(0, "R", node_count - 1)]
    graph = make_graph(
        [(draw(labels), {}) for _ in range(node_count)], [(*row, {}) for row in rows]
    )
    size = draw(st.integers(3, 5))
    kinds = [None] + [(kind,) for kind in range(len(graph.types))]
    if len(graph.types) > 1:
        kinds += [(0, 1), tuple(range(1, len(graph.types)))]
    types = st.sampled_from(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)))
    directed = draw(st.sampled_from([st.just(True), st.just(False), st.booleans()]))
    clause = draw(st.sampled_from([st.just(0), st.sampled_from([0, 0, 1])]))
    relationships = []
    for each in range(1, size):
        other = draw(st.integers(0, min(each - 1, 1)))
        ends = (other, each) if draw(st.booleans()) else (each, other)
        relationships.append(Relationship(*ends, draw(types), draw(directed), draw(clause)))
    if draw(st.integers(0, 3)) == 0:
        position = st.integers(0, 1)
        more = Relationship(
            draw(position), draw(position), draw(types), draw(directed), draw(clause)
        )
        relationships.append(more)
    programs = st.just(())
    if graph.labels:
        programs = st.sampled_from([(), (), ((LabelOp.LABEL, 0),)])
    nodes = [Node(draw(programs)) for _ in range(size)]
    tests = []
    if draw(st.integers(0, 5)) == 0:
        position = st.integers(0, len(relationships) - 1)
        tests.append(RowTest(False, draw(position), draw(position), draw(st.booleans())))
    masks = draw(some_masks(graph, size, len(relationships)))
    plan = make_plan(nodes, relationships, tests, degrees=draw(st.booleans()))
    return graph, plan, masks


@given(case=trees_and_more())
def test_random_leaves_equal_the_reference(context, case):
    graph, plan, masks = case
    assert count(context, graph, plan, masks)[0] == all_embeddings(graph, plan, masks).total()


# ------------------------------------------------------------------ large numbers
@pytest.mark.parametrize("leaves", [4, 6, 9, 16])
def test_counts_beyond_64_bits_are_exact(context, leaves):
    degree = 70_000
    graph = make_graph([("", {})] * 3, [(0, "R", 1 + at % 2, {}) for at in range(degree)])
    plan = plan_of(out(*[(0, leaf) for leaf in range(1, leaves + 1)]))
    counted, multiplied = count(context, graph, plan)
    assert counted == math.perm(degree, leaves)
    assert multiplied.count("n") == leaves


def test_more_equal_leaves_than_a_group_holds_are_counted(context):
    graph = make_graph([("", {})] * 2, [(0, "R", 1, {})] * 20)
    plan = plan_of(out(*[(0, leaf) for leaf in range(1, 19)]))
    assert count(context, graph, plan)[0] == math.perm(20, 18)


def test_leaves_at_two_centres_of_large_degree_are_counted(context):
    degree = 50_000
    rows = [(0, "R", 1, {})]
    rows += [(at % 2, "R", 2 + at % 3, {}) for at in range(2 * degree)]
    graph = make_graph([("", {})] * 5, rows)
    pairs = [(0, 1), *((0, leaf) for leaf in (2, 3, 4)), *((1, leaf) for leaf in (5, 6, 7))]
    expected = math.perm(degree, 3) ** 2
    counted, multiplied = count(context, graph, plan_of(out(*pairs)))
    assert multiplied.count("n") == 6
    assert counted == expected


# ------------------------------------------------------------------ query texts
TEXTS = [
    "MATCH (a)-[:R]->(b), (a)-[:R]->(c), (a)-[:S]->(d) RETURN count(*)",
    "MATCH (a)-[:R]->(b), (a)-[:R]->(c) MATCH (a)-[:R]->(d) RETURN count(*)",
    "MATCH (a)--(b)--(c)--(d) RETURN count(*)",
    "MATCH (a)-[:R]->(b)-[:R|S]->(c)<-[:R]-(d), (b)-->(e) RETURN count(*)",
    "MATCH (a)-->(b), (a)-->(c), (a)-->(d) WHERE b.p > 1 AND c.p < 3 RETURN count(*)",
    "MATCH (a)-[r:R]->(b), (a)-[s:R]->(c), (a)-[:R]->(d) WHERE r.q > 0 RETURN count(*), count(d)",
    "MATCH (a)-->(b), (a)-->(c), (a)-->(d) WHERE b <> c RETURN count(*)",
    "MATCH (a:A)-->(b:B), (a)-->(c:B), (a)<--(d) RETURN count(*)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_queries_with_leaves_equal_the_reference(text):
    random = np.random.default_rng(8)
    ends = random.integers(0, 6, (2, 20))
    kinds = np.array(["R", "R", "S"], dtype=object)
    with gpugda.connect(
        gpugda.graph(
            {
                "id": np.arange(6),
                "p": random.integers(0, 4, 6),
                "labels": np.array([["A"], ["B"], ["A", "B"], ["B"], ["A"], []], dtype=object),
            },
            {
                "source": ends[0],
                "target": ends[1],
                "type": kinds[random.integers(0, 3, 20)],
                "q": random.integers(0, 3, 20),
            },
        )
    ) as accelerator:
        expected = accelerator.run(text, engine="reference").values()
        assert accelerator.run(text, engine="gpu", strategy="extend").values() == expected
        assert expected[0][0] > 0


def test_a_count_beyond_cyphers_integers_is_an_error():
    relationships = {
        "source": np.zeros(70_000, dtype=int),
        "target": np.ones(70_000, dtype=int),
        "type": np.full(70_000, "R", dtype=object),
    }
    with gpugda.connect(gpugda.graph({"id": np.arange(2)}, relationships)) as accelerator:
        text = "MATCH (a)-->(b), (a)-->(c), (a)-->(d) RETURN count(*)"
        assert accelerator.run(text, engine="gpu").values() == [[math.perm(70_000, 3)]]
        text = "MATCH (a)-->(b), (a)-->(c), (a)-->(d), (a)-->(e) RETURN count(*)"
        with pytest.raises(UnsupportedQueryError, match=str(math.perm(70_000, 4))):
            accelerator.run(text, engine="gpu").values()
