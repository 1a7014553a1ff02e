"""Columns that may be errors are computed after ORDER BY, SKIP and LIMIT, if no key reads them."""

import pytest

import gpugda


@pytest.fixture(scope="module")
def graph():
    with gpugda.connect(gpugda.graph({"N": {"id": [1, 2], "i": [1, 2]}})) as made:
        yield made


def steps(graph, query):
    """The lines of the last tree that `explain` shows, without indentation."""
    shown = str(graph.explain(query, rules=True)).partition("as built:")[2]
    return [line.strip() for line in shown.splitlines()]


def test_a_late_column_is_computed_above_the_bounds(graph):
    lines = steps(graph, "MATCH (n:N) RETURN n.i / 2 AS h, n.i ORDER BY n.i LIMIT 1")
    last = lines[lines.index("after project_late:") + 1 :]
    assert [line.split()[0] for line in last[:4]] == ["Project", "Slice", "Sort", "Project"]
    assert "n.i / 2 AS h" in last[0]
    assert "/" not in last[3]


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n:N) RETURN n.i AS h, n.i > 1 AS k ORDER BY n.i LIMIT 1",
        "MATCH (n:N) RETURN n.i / 2 AS h ORDER BY h LIMIT 1",
        "MATCH (n:N) RETURN n.i / 2 AS h ORDER BY n.i / 2 LIMIT 1",
        "MATCH (n:N) RETURN n.i / 2 AS h, count(*) AS c ORDER BY c LIMIT 1",
        "MATCH (n:N) RETURN DISTINCT n.i / 2 AS h, n.i ORDER BY n.i LIMIT 1",
        "MATCH (n:N) RETURN n.i / 2 AS h LIMIT 1",
    ],
)
def test_other_columns_stay(graph, query):
    assert "after project_late:" not in steps(graph, query)
