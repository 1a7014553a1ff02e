"""Counts by vectors: against a formula in all graphs of four nodes, and how they are chosen."""

import pytest
from bound_queries import NO_MASKS
from every_graph import all_graphs, embeddings, side_by_side
from graphs import make_graph

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import QueryTimeoutError
from gpugda.match.count import batches, program, vectors
from gpugda.match.count.vectors import chosen_vectors, find_vectors
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.match.share import Share
from gpugda.match.special import tasks
from gpugda.plan.bind import bind
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]
SHAPES = {
    "pentagon": "01 12 23 34 40",
    "hexagon": "01 12 23 34 45 50",
    "house": "01 12 23 30 04 14",
    "K2,3": "02 03 04 12 13 14",
    "bow tie": "01 02 12 03 04 34",
    "pentagon with a tail": "01 12 23 34 40 05",
    "triangle with tails": "01 12 20 23 34",
    "square": "01 12 23 30",
    "triangle with a tail": "01 12 20 23",
    "diamond": "01 12 23 30 02",
    "two relationships of a triangle": "01 01 12 20",
}
ARROWS = {"undirected": "--", "directed": "-->", "mixed": "-->--"}
SHARE_OF_GRAPHS = 307


def ends_of(shape):
    return [(int(one), int(other)) for one, other in SHAPES[shape].split()]


def links_of(shape, arrows):
    """Ends of each relationship, some of them turned, and True if it is directed."""
    found = []
    for place, (one, other) in enumerate(ends_of(shape)):
        directed = arrows == "directed" or (arrows == "mixed" and place % 2 == 0)
        found.append((other, one, directed) if place % 3 == 2 else (one, other, directed))
    return found


def text_of(links):
    parts = [f"(n{one}){'-->' if directed else '--'}(n{other})" for one, other, directed in links]
    return f"MATCH {', '.join(parts)} RETURN count(*)"


def planned(text, graph):
    return plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())


def counted(context, graph, text, count):
    device_graph = DeviceGraph(context, graph)
    strategy, report = ExtendStrategy(device_graph), StrategyReport()
    try:
        return count(planned(text, graph), graph, strategy, report, None), list(report.steps)
    finally:
        device_graph.close()


def by_vectors(plan, graph, strategy, report, deadline):
    found = find_vectors(plan.bound, graph)
    return None if found is None else found.count_share(strategy, report, deadline)


@pytest.mark.parametrize("kind", ["simple", "loops", "parallel"])
@pytest.mark.parametrize("arrows", ARROWS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.one_in(8)
def test_all_graphs_of_four_nodes(context, monkeypatch, shape, arrows, kind):
    monkeypatch.setattr(vectors, "_MAX_PATTERNS", 1 << 10)
    vectors._planned.cache_clear()
    # PoCL takes long for work groups of many items.
    step = 1 if context.is_cpu else SHARE_OF_GRAPHS
    graph, links = side_by_side(kind, step), links_of(shape, arrows)
    nodes = max(max(pair) for pair in ends_of(shape)) + 1
    count, _ = counted(context, graph, text_of(links), by_vectors)
    # Nothing is planned where a pattern needs parallel relationships and the graph has none.
    assert (count or 0) == embeddings(all_graphs(kind)[::step], nodes, links).sum()


def count_vectors(plan, graph, strategy, report, deadline):
    found = chosen_vectors(plan, graph, strategy.graph.context.profile.intersection)
    return None if found is None else found.count_share(strategy, report, deadline)


def wheel_of_pentagons(spokes=9):
    """A simple graph with many cycles: a ring with chords."""
    rows = [(each, "R", (each + step) % spokes, {}) for step in (1, 2, 4) for each in range(spokes)]
    return make_graph([("A", {"x": 1})] * spokes, rows)


@pytest.fixture
def any_rows(monkeypatch):
    monkeypatch.setattr(vectors, "_MIN_ROWS", {"lists": 0.0, "marks": 0.0})
    monkeypatch.setattr(vectors, "_MIN_GAIN", 0.0)


@pytest.mark.parametrize("shape", ["pentagon", "house", "K2,3"])
def test_the_strategy_counts_as_the_reference_does(context, any_rows, shape):
    graph, text = wheel_of_pentagons(), text_of(links_of(shape, "undirected"))
    found, steps = counted(context, graph, text, count_vectors)
    joined, _ = counted(
        context,
        graph,
        text,
        lambda plan, graph, strategy, *given: strategy.count(plan, NO_MASKS, *given),
    )
    assert found == joined > 0
    assert "is pinned, vectors of up to 2 steps from it" in steps[-1]


@pytest.mark.parametrize("shape", ["pentagon", "K2,3"])
@pytest.mark.parametrize("of", [2, 5, 40])
def test_the_counts_of_all_shares_add_up(context, any_rows, shape, of):
    graph, text = wheel_of_pentagons(), text_of(links_of(shape, "undirected"))

    def in_shares(plan, graph, strategy, report, deadline):
        chosen = find_vectors(plan.bound, graph)
        shares = [Share(number, of) for number in range(of)]
        return [chosen.count_share(strategy, report, deadline, each) for each in shares]

    parts, _ = counted(context, graph, text, in_shares)
    assert sum(parts) == counted(context, graph, text, count_vectors)[0] > 0
    assert max(parts) < sum(parts)


def test_shares_of_nodes():
    assert [Share(number, 3).size(7) for number in range(3)] == [3, 2, 2]
    assert [Share(number, 3).size(1) for number in range(3)] == [1, 0, 0]


def test_small_launches_and_programs(context, any_rows, monkeypatch):
    graph, text = wheel_of_pentagons(), text_of(links_of("hexagon", "undirected"))
    expected, _ = counted(context, graph, text, count_vectors)
    monkeypatch.setattr(vectors, "_WORK_PER_LAUNCH", 1)
    monkeypatch.setattr(batches, "_BATCH_WORDS", 1)
    monkeypatch.setattr(program, "MAX_TERMS", 3)
    vectors._encoded.cache_clear()
    assert counted(context, graph, text, count_vectors)[0] == expected > 0
    vectors._encoded.cache_clear()


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)--(b)--(c)--(a) RETURN count(*)",
        "MATCH (a)--(b)--(c)--(d)--(e) RETURN count(*)",
        "MATCH (a:A)--(b)--(c)--(d)--(e)--(a) RETURN count(*)",
        "MATCH (a {x: 1})--(b)--(c)--(d)--(e)--(a) RETURN count(*)",
        "MATCH (a)--(b)--(c)--(d)--(e)--(a) WHERE a <> c RETURN count(*)",
        "MATCH (a)--(b)--(c) MATCH (c)--(d)--(e)--(a) RETURN count(*)",
        "MATCH (a)-[r {y: 1}]-(b)--(c)--(d)--(e)--(a) RETURN count(*)",
        "MATCH (a)--(b)--(c)--(a), (d)--(e)--(f)--(d) RETURN count(*)",
    ],
)
def test_other_patterns_are_left_to_the_join(context, any_rows, text):
    assert counted(context, wheel_of_pentagons(), text, count_vectors)[0] is None


def test_few_rows_are_joined(context):
    text = text_of(links_of("pentagon", "undirected"))
    assert counted(context, wheel_of_pentagons(), text, count_vectors)[0] is None


def test_numbers_that_might_be_too_large_are_left_to_the_join(context, any_rows, monkeypatch):
    monkeypatch.setattr(program, "_MAX_VALUE", 2)
    vectors._encoded.cache_clear()
    text = text_of(links_of("pentagon", "undirected"))
    assert counted(context, wheel_of_pentagons(), text, count_vectors)[0] is None
    vectors._encoded.cache_clear()


def test_without_room_for_vectors_the_join_counts(context, any_rows, monkeypatch):
    monkeypatch.setattr(tasks, "_SHARE_FOR_SCRATCH", 0.0)
    text = text_of(links_of("pentagon", "undirected"))
    assert counted(context, wheel_of_pentagons(), text, count_vectors)[0] is None


def test_a_deadline_ends_a_count(context, any_rows):
    def late(plan, graph, strategy, report, _):
        return count_vectors(plan, graph, strategy, report, 0.0)

    with pytest.raises(QueryTimeoutError):
        counted(context, wheel_of_pentagons(), text_of(links_of("pentagon", "undirected")), late)


@pytest.mark.parametrize("arrows", ["undirected", "directed"])
def test_queries_are_answered_and_explained_so(any_rows, arrows):
    names = [str(each) for each in range(9)]
    pairs = [(each, (each + step) % 9) for step in (1, 2) for each in range(9)]
    source, target = zip(*pairs, strict=True)
    tables = {"id": list(range(9)), "name": names}, {"source": source, "target": target}
    text = text_of(links_of("pentagon", arrows))
    with gpugda.connect(gpugda.graph(tables[0], {**tables[1], "type": ["R"] * 18})) as opened:
        result = opened.run(text, engine="gpu")
        expected = opened.run(text, engine="reference").values()
        assert result.values() == expected
        assert "is pinned" in str(result.summary)
        assert "counted without rows: the one of" in str(opened.explain(text))
