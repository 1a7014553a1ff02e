"""Groups computed in the oriented graph, against the reference on the original graph."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from oriented_runs import SYMMETRIC, extending, loopless_source

import gpugda
from gpugda.device.context import list_devices
from gpugda.execute.patterns import oriented_form
from gpugda.execute.patterns.needs import need_of
from gpugda.execute.patterns.oriented_count import groups_oriented
from gpugda.execute.patterns.oriented_form import add_unoriented_seconds
from gpugda.match.embeddings import StrategyReport
from gpugda.match.need import Groups
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from gpugda.query.parser import parse
from gpugda.reference.run import run_reference
from strategies import multigraphs
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]
SHAPES = [
    *SYMMETRIC,
    [(0, 1), (1, 2), (2, 0), (3, 4), (4, 0), (0, 3)],
    [(0, 1), (1, 2), (2, 3), (3, 0)],
]


@st.composite
def grouped(draw):
    """Undirected patterns with their grouping nodes; True if groups are counted."""
    ends = draw(st.sampled_from(SHAPES))
    labels = [draw(st.sampled_from(["", "", "", ":A", "{y: 1}"])) for _ in range(2)]
    kind = draw(st.sampled_from(["", "", "[:R]", "[:R|S]"]))
    names = "abcde"[: 1 + max(max(each) for each in ends)]
    marks = [labels[number > 1] for number in range(len(names))]
    parts = [f"({names[a]}{marks[a]})-{kind}-({names[b]}{marks[b]})" for a, b in ends]
    by = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    read = ", ".join(f"id({each})" for each in by)
    pattern = ", ".join(parts)
    if draw(st.booleans()):
        return f"MATCH {pattern} RETURN {read}, count(*)"
    return f"MATCH {pattern} RETURN DISTINCT {read}"


def oriented_groups(strategy, graph, text):
    """The groups with their counts; None if they are not computed in the oriented graph."""
    bound = bind(query_of(text), graph)
    need = need_of(bound.query, bound)
    if not isinstance(need, Groups):
        return None  # the pattern matches nothing
    plan = plan_pattern(bound, graph.statistics, "extend", need)
    add_unoriented_seconds(plan, graph, 60.0, need)
    report = StrategyReport()
    found = groups_oriented(plan, graph, strategy, need, {}, report, None)
    if found is None:
        return None
    names = {node.name: node.position for node in bound.nodes}
    columns = [found.nodes[names[each]].tolist() for each in re.findall(r"id\((\w)\)", text)]
    weights = [1] * found.row_count if found.weights is None else found.weights.tolist()
    counts = Counter()
    for *nodes, weight in zip(*columns, weights, strict=True):
        counts[tuple(nodes)] += weight
    return counts


def expected_groups(graph, text):
    rows = run_reference(parse(text), graph, {}).rows
    if "DISTINCT" in text:
        return Counter(tuple(row) for row in rows)
    return Counter({tuple(row[:-1]): row[-1] for row in rows})


@given(specs=multigraphs(), text=grouped())
def test_groups_are_those_of_the_reference(context, specs, text):
    graph = make_graph(*specs)
    with extending(context, graph) as strategy:
        found = oriented_groups(strategy, graph, text)
        assert found is None or found == expected_groups(graph, text)


@pytest.mark.slow
def test_groups_of_a_multigraph_are_joined_once_per_order(monkeypatch):
    monkeypatch.setattr(oriented_form, "_SECONDS_PER_RELATIONSHIP", 0.0)
    triangle, path = "MATCH (a)--(b)--(c)--(a)", "MATCH (a)--(b)--(c)--(a), (c)--(d)"
    asked = {
        f"{triangle} RETURN id(a) AS x, count(*) AS n": True,
        f"{triangle} RETURN DISTINCT id(b) AS x": True,
        f"{path} RETURN id(d) AS x, count(*) AS n": True,
        f"{path} RETURN id(c) AS x, id(d) AS y, count(*) AS n": True,
        f"{path} RETURN id(a) AS x, count(*) AS n": False,
        f"{triangle} RETURN id(a) AS x, id(b) AS y, count(*) AS n": False,
        f"{triangle} RETURN id(a) AS x, id(b) AS y, id(c) AS z, count(*) AS n": True,
        f"{triangle} RETURN DISTINCT id(b) AS x, id(a) AS y, id(c) AS z": True,
        f"{path} RETURN id(c) AS x, id(a) AS y, id(b) AS z, count(*) AS n": True,
    }
    with gpugda.connect(loopless_source(30, 200)) as accelerator:
        for query, is_oriented in asked.items():
            keys = [each for each in "xyz" if f"AS {each}" in query]
            text = f"{query} ORDER BY {', '.join(keys)}"
            expected = accelerator.run(text, engine="reference").values()
            for _ in range(3):
                result = accelerator.run(text, engine="gpu")
                assert result.values() == expected
                said = any(" one is " in step for step in result.summary.steps)
                assert said is is_oriented, query
