"""Rows computed from the oriented graph, against the reference on the original graph."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from oriented_runs import SYMMETRIC, extending, loopless_source

import gpugda
from gpugda.device.context import list_devices
from gpugda.execute.patterns import oriented_form
from gpugda.execute.patterns.needs import need_of
from gpugda.execute.patterns.oriented_form import add_unoriented_seconds
from gpugda.execute.patterns.oriented_rows import rows_oriented
from gpugda.match.embeddings import StrategyReport
from gpugda.match.need import Rows
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
    [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5)],
    [(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 0)],
]


@st.composite
def patterns(draw):
    """Undirected patterns, mostly with symmetries, and the nodes that are read."""
    ends = draw(st.sampled_from(SHAPES))
    label = draw(st.sampled_from(["", "", ":A", "{y: 1}"]))
    kind = draw(st.sampled_from(["", "", "[:R]", "[:R|S]"]))
    names = "abcdef"[: 1 + max(max(each) for each in ends)]
    parts = [f"({names[a]}{label})-{kind}-({names[b]}{label})" for a, b in ends]
    read = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    columns = ", ".join(f"id({each})" for each in read)
    return f"MATCH {', '.join(parts)} RETURN {columns}"


def oriented_rows(strategy, graph, text):
    """The rows; None if not computed so. Asserts distinct rows if distinctness is claimed."""
    bound = bind(query_of(text), graph)
    need = need_of(bound.query, bound)
    if not isinstance(need, Rows):
        return None  # the pattern matches nothing
    plan = plan_pattern(bound, graph.statistics, "extend", need)
    add_unoriented_seconds(plan, graph, 60.0, need)
    names = {node.name: node.position for node in bound.nodes}
    positions = [names[each] for each in re.findall(r"id\((\w)\)", text)]
    found, is_distinct = Counter(), True
    chunks = rows_oriented(plan, graph, strategy, need, {}, StrategyReport(), None)
    while True:
        try:
            chunk = next(chunks)
        except StopIteration as ended:
            assert not (found and is_distinct) or max(found.values()) == 1
            return found if ended.value else None
        columns = [chunk.nodes[each].tolist() for each in positions]
        found.update(zip(*columns, strict=True))
        is_distinct = is_distinct and chunk.distinct


@given(specs=multigraphs(), text=patterns())
def test_rows_are_those_of_the_reference(context, specs, text):
    graph = make_graph(*specs)
    with extending(context, graph) as strategy:
        found = oriented_rows(strategy, graph, text)
        assert found is None or found == Counter(run_reference(parse(text), graph, {}).rows)


@pytest.mark.slow
def test_rows_of_every_graph_of_three_nodes(context):
    """With up to four relationships, parallel ones, loops of another type, both directions."""
    text = "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN id(a), id(b), id(c)"
    triangles = 0
    for ends in combinations_with_replacement(permutations(range(3), 2), 4):
        graph = make_graph([("", {})] * 3, [(a, "R", b, {}) for a, b in ends] + [(0, "S", 0, {})])
        with extending(context, graph) as strategy:
            found = oriented_rows(strategy, graph, text)
            assert found == Counter(run_reference(parse(text), graph, {}).rows)
            triangles += bool(found)
    assert triangles == 36


@pytest.mark.parametrize(
    ("text", "is_made_so"),
    [
        ("MATCH (a)--(b)--(c)--(a) RETURN id(a), id(b), id(c)", True),
        ("MATCH (a)--(b)--(c)--(a) RETURN id(b)", True),
        ("MATCH (a)--(b)--(c)--(a), (c)--(d) RETURN id(a), id(d)", True),
        (
            "MATCH (a)--(b)--(c)--(a), (a)--(d)--(b), (d)--(c) RETURN id(a), id(b), id(c), id(d)",
            True,
        ),
        ("MATCH (a)--(b)--(c)--(a), (a)--(d), (b)--(e) RETURN id(a), id(d)", False),
        ("MATCH (a)-->(b)-->(c)-->(a) RETURN id(a), id(b), id(c)", False),
        ("MATCH (a)-[r]-(b)--(c)--(a) RETURN id(a), id(r)", False),
        ("MATCH (a)--(b)--(c)--(a) WHERE id(a) < id(b) RETURN id(a), id(b), id(c)", False),
        ("MATCH (a)--(b)--(c)--(a) RETURN id(a), id(b), id(c) LIMIT 1000000", False),
    ],
)
def test_rows_are_made_of_one_order_of_their_nodes(monkeypatch, text, is_made_so):
    monkeypatch.setattr(oriented_form, "_SECONDS_PER_RELATIONSHIP", 0.0)
    with gpugda.connect(loopless_source(20, 70)) as accelerator:
        expected = Counter(map(tuple, accelerator.run(text, engine="reference").values()))
        assert expected
        for _ in range(3):
            result = accelerator.run(text, engine="gpu")
            assert Counter(map(tuple, result.values())) == expected
            assert any("one is found" in step for step in result.summary.steps) is is_made_so


def test_a_pattern_without_rows_gives_none(monkeypatch):
    monkeypatch.setattr(oriented_form, "_SECONDS_PER_RELATIONSHIP", 0.0)
    columns = {"source": [0, 1], "target": [1, 2], "type": ["R"] * 2}
    text = "MATCH (a)--(b)--(c)--(a) RETURN id(a), id(b), id(c)"
    with gpugda.connect(gpugda.graph({"id": np.arange(3)}, columns)) as accelerator:
        for _ in range(3):
            assert accelerator.run(text, engine="gpu").values() == []
