"""Grouping by lists and maps with NaN: answered for stored ones, refused otherwise."""

from __future__ import annotations

from typing import Any

import pytest

import gpugda
from gpugda.errors import UnsupportedQueryError

NAN = float("nan")


@pytest.fixture(scope="module")
def accelerator() -> Any:
    nodes = {"id": [0, 1, 2], "x": [NAN, NAN, 1.0], "l": [[NAN], [2.0], [2.0]]}
    rows = {"source": [0, 0, 1], "target": [1, 2, 2], "type": ["K"] * 3}
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=rows)) as made:
        yield made


@pytest.mark.parametrize(
    "made", ["[n.x, n.x]", "[] + n.x", "n.l + []", "{a: n.x}", "[[n.x]]", "n{.x}", "[0.0 / 0.0]"]
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
        "MATCH (n) RETURN {made} AS v UNION MATCH (n) RETURN n.x AS v",
    ],
)
def test_distinct_computed_lists_with_nan_are_refused(
    accelerator: Any, query: str, made: str
) -> None:
    with pytest.raises(UnsupportedQueryError, match="with NaN"):
        accelerator.run(query.replace("{made}", made), engine="gpu").data()


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("MATCH (n) RETURN DISTINCT n.l AS v", 2),
        ("MATCH (n) RETURN n.l AS v, count(*) AS c", 2),
        ("MATCH (n) RETURN DISTINCT [n.id] AS v", 3),
        ("MATCH (n) WHERE n.x = 1 RETURN DISTINCT [n.x] AS v", 1),
        ("MATCH (n) RETURN [n.x] AS v", 3),
        ("MATCH (n) RETURN DISTINCT n.x AS v", 3),
        ("MATCH (n) RETURN n.id AS k, collect(n.x) AS v", 3),
    ],
)
def test_other_lists_with_nan_are_answered(accelerator: Any, query: str, rows: int) -> None:
    assert len(accelerator.run(query, engine="gpu").data()) == rows
