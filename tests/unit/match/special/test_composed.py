"""Patterns made of squares and triangles in simple graphs, against the join of the same query."""

from __future__ import annotations

import random

import pytest
from bound_queries import NO_MASKS
from graphs import make_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from split_devices import open_split

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import QueryTimeoutError
from gpugda.execute.patterns import oriented_count
from gpugda.match import ranked_graph
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.match.special import composed, ring_squares, tasks, unrestricted
from gpugda.plan.bind import bind
from lab.pbe_patterns import PBE_PATTERNS
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]
PATTERNS = {title.split()[0]: pattern for title, pattern in PBE_PATTERNS.items()}
COMPOSED = {
    "q2": "squares weighed by other relationships of their nodes",
    "q3": "pairs of triangles over a relationship",
    "q5": "triangles weighed by others over their sides",
}
COUNTED = {
    "q1": "cycle of 4 nodes counted from the one of most relationships",
    "q4": "cliques of 4 nodes counted from their node of fewest relationships",
    "q6": "cliques of 5 nodes counted from their node of fewest relationships",
} | COMPOSED


@pytest.fixture(scope="module")
def accelerator():
    """A device that splits work as a GPU does."""
    opened = open_split(like_cpu=False)
    yield opened
    opened.close()


def random_pairs(nodes, count, seed=1):
    rng = random.Random(seed)
    pairs = [(one, other) for one in range(nodes) for other in range(one)]
    chosen = rng.sample(pairs, count)
    return [pair if rng.random() < 0.5 else pair[::-1] for pair in chosen]


def found(context, text, pairs, more=(), nodes=12, count=composed.count_composed):
    """The count without rows, that of the join, and the report's steps."""
    made = [(one, "R", other, {}) for one, other in pairs]
    graph = make_graph([("A", {"x": 1})] * nodes, made + list(more))
    device_graph = DeviceGraph(context, graph)
    plan = plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())
    strategy, report = ExtendStrategy(device_graph), StrategyReport()
    without_rows = count(plan, graph, strategy, report)
    expected = strategy.count(plan, NO_MASKS, StrategyReport())
    device_graph.close()
    return without_rows, expected, list(report.steps)


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(unrestricted, "_MIN_RELATIONSHIPS", 0)


def composed_count(plan, graph, strategy, report):
    return composed.count_composed(plan.bound, graph, strategy, report, None)


def at_once(plan, graph, strategy, report):
    return oriented_count.count_oriented(plan, graph, strategy, {}, report, None)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPOSED)
@given(count=st.integers(0, 66), seed=st.integers(0, 1 << 16), batches=st.booleans())
@settings(max_examples=12)
def test_counts_of_random_simple_graphs(accelerator, name, count, seed, batches):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ring_squares, "_MIN_PATHS", 3 if batches else 1 << 16)
        patched.setattr(composed, "_WORK_PER_LAUNCH", 40)
        text = f"MATCH {PATTERNS[name]} RETURN count(*)"
        pairs = random_pairs(12, count, seed)
        without_rows, expected, _ = found(accelerator, text, pairs, count=composed_count)
    assert without_rows in (expected, None) if not count else without_rows == expected


@pytest.mark.parametrize("name", COUNTED)
def test_a_large_graph_is_counted_without_rows_at_once(accelerator, monkeypatch, name):
    monkeypatch.setattr(ranked_graph, "_SHARE", 0.0)  # as if lists were too large to sort at once
    monkeypatch.setattr(ranked_graph, "_window", lambda run: 9)
    text = f"MATCH {PATTERNS[name]} RETURN count(*)"
    rows, expected, steps = found(accelerator, text, random_pairs(12, 45), count=at_once)
    assert rows == expected > 0
    assert steps == [f"{COUNTED[name]}: {rows:,} rows"]


@pytest.mark.parametrize("name", COUNTED)
def test_a_small_graph_is_counted_otherwise(accelerator, monkeypatch, name):
    monkeypatch.setattr(unrestricted, "_MIN_RELATIONSHIPS", 1 << 17)
    text = f"MATCH {PATTERNS[name]} RETURN count(*)"
    assert found(accelerator, text, random_pairs(12, 45), count=at_once)[0] is None


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("MATCH {} RETURN count(*)", [(0, "R", 0, {})]),
        ("MATCH {} RETURN count(*)", [(0, "R", 1, {}), (1, "R", 0, {}), (0, "R", 1, {})]),
        ("MATCH {} WHERE a <> c RETURN count(*)", ()),
        ("MATCH {}, (a:A) RETURN count(*)", ()),
        ("MATCH {} MATCH (a)--(f) RETURN count(*)", ()),
    ],
)
@pytest.mark.parametrize("name", COMPOSED)
def test_other_patterns_and_graphs_are_left_to_the_join(accelerator, name, text, more):
    asked = text.format(PATTERNS[name])
    rows, expected, _ = found(accelerator, asked, random_pairs(12, 45), more, count=composed_count)
    assert rows is None
    assert expected > 0


@pytest.mark.parametrize("name", ["q7", "q8", "q9"])
def test_patterns_of_other_shapes_are_left_to_the_join(accelerator, name):
    text = f"MATCH {PATTERNS[name]} RETURN count(*)"
    assert found(accelerator, text, random_pairs(12, 45), count=composed_count)[0] is None


@pytest.mark.parametrize("name", COMPOSED)
def test_sums_that_might_pass_64_bits_are_left_to_the_join(accelerator, monkeypatch, name):
    monkeypatch.setattr(composed, "_MAX_SUM", 1)
    text = f"MATCH {PATTERNS[name]} RETURN count(*)"
    assert found(accelerator, text, random_pairs(12, 45), count=composed_count)[0] is None


@pytest.mark.parametrize("name", COMPOSED)
def test_a_deadline_ends_a_count(accelerator, name):
    text = f"MATCH {PATTERNS[name]} RETURN count(*)"

    def late(plan, graph, strategy, report):
        return composed.count_composed(plan.bound, graph, strategy, report, 0.0)

    with pytest.raises(QueryTimeoutError):
        found(accelerator, text, random_pairs(12, 45), count=late)


def test_without_room_for_marks_the_join_counts(accelerator, monkeypatch):
    monkeypatch.setattr(tasks, "_SHARE_FOR_SCRATCH", 0.0)
    monkeypatch.setattr(ring_squares, "_SHARE_IF_LARGE", 0.0)
    text = f"MATCH {PATTERNS['q2']} RETURN count(*)"
    assert found(accelerator, text, random_pairs(12, 45), count=composed_count)[0] is None
