"""Columns that nothing reads: computed if they may be errors, else not."""

import pytest

import gpugda

ROWS = "UNWIND [1, 'a'] AS x MATCH (n:N)-[r:R]->(m) OPTIONAL MATCH p = (m)-->(o) "


@pytest.fixture(scope="module")
def graph():
    frames = {"N": {"id": [1, 2], "i": [1, 2]}}
    source = gpugda.graph(nodes=frames, relationships={"R": {"source": [1], "target": [2]}})
    with gpugda.connect(source) as made:
        yield made


@pytest.mark.parametrize(
    "column",
    [
        "n.i",
        "n.i > 1 OR r.w < $p",
        "NOT n.i = x",
        "n.i IS NULL AND n:N",
        "n.s STARTS WITH x",
        "[n.i, {a: m.i}, null]",
        "coalesce(n.i, x)",
        "labels(n)",
        "type(r)",
        "x IS :: INTEGER",
        "r",
    ],
)
def test_sound_columns_are_dropped(graph, column):
    assert "AS dropped" not in str(graph.explain(f"{ROWS} WITH n, {column} AS dropped RETURN n"))


@pytest.mark.parametrize(
    "column",
    ["n.i + 1", "x.k", "n.i.k", "n.l[0]", "-n.i", "NOT n.b", "n.b AND x = 1", "toUpper(n.i)"],
)
def test_columns_that_may_be_errors_are_kept(graph, column):
    assert "AS dropped" in str(graph.explain(f"{ROWS} WITH n, {column} AS dropped RETURN n"))


def test_columns_of_rows_that_may_not_be_reached_are_dropped(graph):
    query = f"{ROWS} WITH n, n.i / 0 AS dropped MATCH (n)-->(k) RETURN k LIMIT 1"
    assert "AS dropped" not in str(graph.explain(query))


def test_columns_of_rows_that_a_condition_never_reaches_are_not_computed(graph):
    lines = str(
        graph.explain(f"{ROWS} WITH n, n.i / 0 AS dropped WHERE 1 = 2 RETURN n")
    ).splitlines()
    (column,) = (number for number, line in enumerate(lines) if "AS dropped" in line)
    assert "limit 0" in lines[column + 1]
