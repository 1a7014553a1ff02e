"""Counts of paths of a few lengths, computed by joins, against all trails one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from every_trail import trails_from

import gpugda
from gpugda.execute.operators import short_trails
from gpugda.execute.operators.expand import Expand
from gpugda.execute.operators.simple import Union

EDGES = [(0, 1), (0, 1), (1, 2), (2, 0), (2, 2), (3, 1), (1, 3), (2, 3), (0, 0)]
ARROWS = {"->": "-[:R*{}]->", "<-": "<-[:R*{}]-", "-": "-[*{}]-"}


@pytest.fixture(scope="module")
def accelerator() -> Any:
    nodes = {"id": list("0123"), "k": [0, 1, 2, 3], "labels": [["L"], ["L"], [], []]}
    columns = {
        "source": [str(a) for a, _ in EDGES],
        "target": [str(b) for _, b in EDGES],
        "type": ["R"] * len(EDGES),
    }
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=columns)) as made:
        yield made


def limits(patch: pytest.MonkeyPatch, expected: int, walked: int) -> None:
    """Sets the limits of expected and of found trails up to which trails are walked."""
    patch.setattr(short_trails, "MAX_TRAILS", expected)
    patch.setattr(short_trails, "MAX_WALKED", walked)


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> None:
    limits(monkeypatch, -1, -1)


@pytest.mark.parametrize("way", [(1 << 20, 1 << 20), (1 << 20, 4), (-1, -1)])
@pytest.mark.parametrize("bounds", [(1, 3), (2, 2), (2, 4), (1, 1)])
@pytest.mark.parametrize("direction", ARROWS)
def test_counts_of_unrolled_lengths_equal_the_references(
    accelerator: Any,
    direction: str,
    bounds: tuple[int, int],
    way: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits(monkeypatch, *way)
    arrow = ARROWS[direction].format(f"{bounds[0]}..{bounds[1]}")
    wanted = Counter(
        (start, end)
        for start in range(4)
        for end, walked in trails_from(EDGES, start, direction, bounds[1])
        if len(walked) >= bounds[0]
    )

    def rows(query: str) -> list[tuple[Any, ...]]:
        text = f"{query} // {way}"
        return sorted(tuple(each.values()) for each in accelerator.run(text, engine="gpu"))

    assert rows(f"MATCH (a){arrow}(b) RETURN count(*)") == [(sum(wanted.values()),)]
    by_pair = rows(f"MATCH (a){arrow}(b) RETURN a.k, b.k, count(*)")
    assert by_pair == sorted((*pair, count) for pair, count in wanted.items())
    closed = rows(f"MATCH (a){arrow}(a) RETURN a.k, count(*)")
    assert closed == sorted((a, count) for (a, b), count in wanted.items() if a == b)
    both = rows(f"MATCH (a:L){arrow}(b:L) RETURN count(*)")
    assert both == [(sum(count for pair, count in wanted.items() if max(pair) < 2),)]
    before = rows(f"MATCH (x)-[:R]->(a:L) MATCH (a){arrow}(b) RETURN count(*)")
    degrees = Counter(target for _, target in EDGES)
    assert before == [(sum(c * degrees[a] for (a, _), c in wanted.items() if a < 2),)]


@pytest.mark.usefixtures("joined")
@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-[r]->(b)-[q]->(c) MATCH (a)-[r]->(b)-[*1..2]->(d) RETURN count(*)",
        "MATCH (a)-[r]->(b) MATCH (a)-[r]->(b)-[s]->(c)-[*1..3]->(d) RETURN count(*)",
    ],
)
def test_paths_keep_apart_from_relationships_of_their_own_clause(
    accelerator: Any, query: str
) -> None:
    expected = accelerator.run(query, engine="reference").values()
    assert accelerator.run(query, engine="gpu").values() == expected


@pytest.mark.usefixtures("joined")
def test_the_plan_shows_patterns_of_each_length(accelerator: Any) -> None:
    shown = str(accelerator.explain("MATCH (a)-[:R*1..3]->(b) RETURN count(*)"))
    assert "expand" not in shown


def test_an_unnamed_node_shared_by_two_patterns_is_joined(accelerator: Any) -> None:
    query = "MATCH (:L)-[:R*1..2]->(:L)-[:S]->(b:L) WITH b, count(*) AS c RETURN c"
    assert "_" in str(accelerator.explain(query))
    assert list(accelerator.run(query, engine="gpu")) == []


@pytest.mark.usefixtures("joined")
def test_rows_of_unrolled_lengths_keep_their_weights(accelerator: Any) -> None:
    """A row with a weight is not repeated before it is counted."""
    seen: list[tuple[int, int]] = []
    batches = Union._batches

    def watched(union: Any, context: Any) -> Any:
        for batch in batches(union, context):
            weights = batch.weights
            seen.append((batch.row_count, 0 if weights is None else int(weights.sum())))
            yield batch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Union, "_batches", watched)
        found = accelerator.run("MATCH (a)-[:R*1..3]->(b) RETURN count(*)", engine="gpu").values()
    paths = sum(len(walked) > 0 for a in range(4) for _, walked in trails_from(EDGES, a, "->", 3))
    assert found == [[paths]]
    assert sum(max(each) for each in seen) == paths
    assert sum(rows for rows, _ in seen) < paths


def watched(patch: pytest.MonkeyPatch) -> dict[str, int]:
    """Number of times that trails were walked, and joined."""
    calls = {"walked": 0, "joined": 0}

    def counting(kind: Any, name: str) -> None:
        batches = kind._batches

        def noted(operator: Any, context: Any) -> Any:
            calls[name] += 1
            yield from batches(operator, context)

        patch.setattr(kind, "_batches", noted)

    counting(Expand, "walked")
    counting(Union, "joined")
    return calls


def test_few_trails_are_walked(accelerator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = watched(monkeypatch)
    query = "MATCH (a {k: 0})-[:R*2..4]->(b) RETURN count(DISTINCT b), count(*)"
    found = accelerator.run(query, engine="gpu").values()
    assert calls == {"walked": 1, "joined": 0}
    assert found == accelerator.run(query, engine="reference").values()
    assert "expand" in str(accelerator.explain(query))


def test_trails_are_joined_once_they_prove_many(
    accelerator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From then on, too: later runs do not walk first."""
    limits(monkeypatch, 1 << 20, 3)
    calls = watched(monkeypatch)
    query = "MATCH (a {k: 2})-[:R*2..4]->(b) RETURN count(DISTINCT b), count(*)"
    for times in (1, 2):
        found = accelerator.run(query, engine="gpu").values()
        assert found == accelerator.run(query, engine="reference").values()
        assert calls == {"walked": 1, "joined": times}
