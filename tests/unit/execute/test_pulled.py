"""LIMIT reaches the joins below it; operators yield rows incrementally."""

from __future__ import annotations

from typing import Any

import pytest

import gpugda
from gpugda.device.context import list_devices
from gpugda.match.extend.strategy import ExtendStrategy

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

NODES = 3_000


@pytest.fixture(scope="module")
def ring():
    """Each node has a relationship to the next three."""
    ids = list(range(NODES))
    ends = [(i, (i + k) % NODES) for i in ids for k in (1, 2, 3)]
    columns = {
        "source": [s for s, _ in ends],
        "target": [t for _, t in ends],
        "type": ["R"] * len(ends),
    }
    nodes = {"id": ids, "x": [float("nan") if i < 4 else i // 2 for i in ids]}
    with gpugda.connect(gpugda.graph(nodes, columns)) as opened:
        yield opened


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """For each join, the number of rows after which its caller stops."""
    found: list[int | None] = []
    embeddings = ExtendStrategy.embeddings

    def noted(self: Any, plan: Any, masks: Any, need: Any, *rest: Any) -> Any:
        found.append(need.enough)
        return embeddings(self, plan, masks, need, *rest)

    monkeypatch.setattr(ExtendStrategy, "embeddings", noted)
    return found


@pytest.mark.parametrize(
    ("query", "enough"),
    [
        ("MATCH (a)-->(b) RETURN a.id, b.id LIMIT 7", [7]),
        ("MATCH (a)-->(b) RETURN a.id SKIP 3 LIMIT 7", [10]),
        ("MATCH (a)-->(b) RETURN a.id", [None]),
        ("MATCH (a)-->(b) RETURN a.id ORDER BY a.id LIMIT 7", [None]),
        ("MATCH (a)-->(b) WITH a, b, a.id + b.id AS c WHERE c > 5 RETURN c LIMIT 7", [7]),
        ("MATCH (a) WITH a, a.id AS i MATCH (a)-->(b) RETURN i, b.id LIMIT 7", [7, 7]),
        ("MATCH (a)-->(b) WITH a, collect(b.id) AS c RETURN a.id, c LIMIT 7", [None]),
        ("MATCH (a) WITH a LIMIT 5 MATCH (a)-->(b) RETURN a.id, b.id", [5, None]),
        ("MATCH (a)-->(b) WITH a.id AS i, b ORDER BY i RETURN i, b.id LIMIT 7", [None]),
        ("MATCH (a)-->(b) RETURN a.id LIMIT 0", []),
    ],
)
def test_joins_know_how_many_rows_are_enough(
    ring: Any, asked: list[int | None], query: str, enough: list[int | None]
) -> None:
    found = ring.run(query, engine="gpu").values()
    assert sorted(asked, key=str) == sorted(enough, key=str)
    if query.endswith("LIMIT 7"):
        every = ring.run(query.removesuffix(" LIMIT 7"), engine="reference").values()
        assert len(found) == 7
        assert all(row in every for row in found)


def test_a_limit_bounds_the_rows_before_a_second_pattern(ring: Any) -> None:
    text = "MATCH (a) WITH a, a.id AS i MATCH (a)-->(b) RETURN i, b.id LIMIT 7"
    (match,) = [node for _, node in ring.profile(text).lines() if node.what.endswith("given a")]
    assert match.rows is not None
    assert 7 <= match.rows < 3 * NODES
    assert match.children[0].rows is not None
    assert match.children[0].rows < NODES


def test_empty_results_keep_the_column_types(ring: Any) -> None:
    for text in (
        "MATCH (a)-->(b) RETURN a.id, count(*) AS c LIMIT 0",
        "MATCH (a)-->(b) WHERE a.id < 0 RETURN a.id, a.x LIMIT 3",
        "MATCH (a)-->(b) RETURN DISTINCT a.id ORDER BY a.id LIMIT 0",
    ):
        assert ring.run(text, engine="gpu").values() == []
