"""Grouping by NaN: answered where each row certainly has its own, left to Neo4j otherwise."""

from __future__ import annotations

from typing import Any

import pytest

import gpugda
from gpugda.errors import UnsupportedQueryError

NAN = float("nan")


@pytest.fixture(scope="module")
def accelerator() -> Any:
    nodes = {
        "id": ["a", "b", "c", "d"],
        "x": [NAN, NAN, 1.5, None],
        "m": [NAN, NAN, "x", None],
        "l": [[NAN, 1.0], [NAN, 1.0], [1.5], None],
        "o": [[1.0], [2.0], [2.0], None],
    }
    rows = {
        "source": list("aaab"),
        "target": list("cdcc"),
        "type": ["K"] * 4,
        "w": [NAN, NAN, 1, 2],
    }
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=rows)) as made:
        yield made


@pytest.mark.parametrize("key", ["x", "m"])
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("MATCH (n) RETURN DISTINCT n.KEY AS v", 4),
        ("MATCH (n) WHERE n.id <> 'a' RETURN DISTINCT n.KEY AS v ORDER BY n.KEY", 3),
        ("MATCH (n) RETURN n.KEY AS v, count(*) AS c", 4),
        ("MATCH (n) RETURN n.KEY AS v, collect(n.id) AS c", 4),
        ("MATCH (n) RETURN DISTINCT n.KEY AS v, 1 AS one", 4),
        ("MATCH (n) WITH n AS c RETURN c.KEY AS v, count(*) AS c", 4),
        ("MATCH (n)-->() WITH DISTINCT n RETURN n.KEY AS v, count(*) AS c", 2),
        ("MATCH (n) WHERE n.KEY = 1.5 OR n.KEY = 'x' RETURN DISTINCT [n.KEY] AS v", 1),
        ("MATCH (n) RETURN n.id AS k, collect(n.KEY) AS v", 4),
        ("MATCH (n) RETURN [n.KEY] AS v", 4),
    ],
)
def test_nans_of_nodes_in_one_row_are_answered(
    accelerator: Any, query: str, key: str, rows: int
) -> None:
    assert len(accelerator.run(query.replace("KEY", key), engine="gpu").data()) == rows


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("MATCH (n) RETURN count(DISTINCT n.x)", 3),
        ("MATCH (n) RETURN size(collect(DISTINCT n.m))", 3),
        ("MATCH ()-[r]->() RETURN count(DISTINCT r.w)", 4),
        ("MATCH (n)-->() RETURN count(n.x)", 4),
        ("MATCH (n)-->() RETURN count([n.x])", 4),
    ],
)
def test_distinct_nans_are_counted(accelerator: Any, query: str, count: int) -> None:
    assert accelerator.run(query, engine="gpu").values() == [[count]]


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n)-->(m) RETURN DISTINCT n.x",
        "MATCH (n)-->(m) RETURN n.m, count(*)",
        "MATCH (n)-->(m) RETURN n.x, sum(m.x)",
        "MATCH (n) MATCH (m) RETURN n.x, count(*)",
        "MATCH (n)-->(m) RETURN count(DISTINCT n.x), sum(DISTINCT m.x)",
        "MATCH (n)-[r]-() RETURN DISTINCT r.w",
        "MATCH (n) WITH n, n.x AS v MATCH (n)-->(m) RETURN v, count(*)",
        "MATCH (n) WITH n.x AS v RETURN DISTINCT v",
        "MATCH (n) RETURN n.x AS v UNION MATCH (n) RETURN n.x AS v",
        "MATCH (n) RETURN DISTINCT n.x + 1",
        "MATCH (n) RETURN DISTINCT coalesce(n.m, 1)",
        "MATCH (n) WITH max(n.x) AS v, n.id AS i RETURN v, count(*)",
        "MATCH (n) RETURN DISTINCT 0.0 / 0.0",
        "UNWIND [0.0 / 0.0, 1.0] AS v RETURN DISTINCT v",
        "MATCH (n) RETURN n.x, count(DISTINCT n.id)",
        "MATCH (n) CALL { WITH n RETURN n.x AS v } RETURN v, count(*)",
    ],
)
def test_nans_that_rows_may_share_are_refused(accelerator: Any, query: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="NaN") as refused:
        accelerator.run(query, engine="gpu").data()
    assert refused.value.construct == "grouping by NaN"


@pytest.mark.parametrize(
    "made",
    ["[n.x, n.x]", "[] + n.x", "n.l", "n.l + []", "{a: n.x}", "[[n.x]]", "n{.x}", "[0.0 / 0.0]"],
)
@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n) RETURN DISTINCT {made} AS v",
        "MATCH (n) RETURN {made} AS v, count(*) AS c",
        "MATCH (n)-->() RETURN {made} AS v, sum(n.x) AS c",
        "MATCH (n) RETURN count(DISTINCT {made}) AS v",
        "MATCH (n) RETURN collect(DISTINCT {made}) AS v, max(n.x) AS m",
        "MATCH (n) WITH n, {made} AS v MATCH (n)-->() RETURN DISTINCT v",
        "MATCH (n) WITH {made} AS v, count(*) AS c RETURN DISTINCT v",
        "MATCH (n) WITH collect(n.x) AS v RETURN DISTINCT v",
        "MATCH (n) WITH [k IN collect(n.x) | k + 1] AS v RETURN DISTINCT v",
    ],
)
def test_nans_inside_lists_and_maps_are_refused(accelerator: Any, query: str, made: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="NaN"):
        accelerator.run(query.replace("{made}", made), engine="gpu").data()


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("MATCH (n) RETURN DISTINCT n.o AS v", 3),
        ("MATCH (n) RETURN DISTINCT [n.id] AS v", 4),
        ("MATCH (n) WHERE n.x = 1.5 RETURN DISTINCT [n.x] AS v", 1),
        ("MATCH (n) WHERE n.x = 1.5 WITH collect(n.x) AS v RETURN DISTINCT v", 1),
    ],
)
def test_other_lists_are_answered(accelerator: Any, query: str, rows: int) -> None:
    assert len(accelerator.run(query, engine="gpu").data()) == rows
