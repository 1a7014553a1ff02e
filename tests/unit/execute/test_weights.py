"""Weighted rows: weights do not overflow, and optional matches are looked up."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpugda
from gpugda.device.context import list_devices
from gpugda.errors import UnsupportedQueryError
from gpugda.execute.batch import product_of, sum_of
from gpugda.match.extend import strategy
from gpugda.match.extend.attempts import weighted_groups
from gpugda.types import MAX_WEIGHT

WEIGHT = st.one_of(
    st.integers(0, 9), st.integers(0, MAX_WEIGHT), st.sampled_from([1 << 31, 1 << 32, MAX_WEIGHT])
)
PAIRS = st.lists(st.tuples(WEIGHT, WEIGHT), max_size=8)

needs_device = pytest.mark.skipif(not list_devices(), reason="no OpenCL device")


@given(PAIRS)
def test_products_saturate_at_the_largest_weight(pairs: Any) -> None:
    one, other = (np.array([pair[side] for pair in pairs], np.uint64) for side in (0, 1))
    expected = [min(a * b, MAX_WEIGHT) for a, b in pairs]
    assert product_of(one, other).tolist() == expected


@given(st.lists(WEIGHT, max_size=20), st.sampled_from([1, 5]))
def test_sums_are_exact(weights: Any, times: int) -> None:
    """For few and for many rows."""
    assert sum_of(np.array(weights * times, np.uint64)) == sum(weights) * times


@pytest.fixture(scope="module")
def star() -> Any:
    """A node with 16 relationships to others, and one with none."""
    count = 1 << 4
    nodes = {"id": list(range(count + 2)), "labels": ["M", *["L"] * count, "M"]}
    relationships = {
        "source": list(range(1, count + 1)),
        "target": [0] * count,
        "type": ["LIKES"] * count,
    }
    with gpugda.connect(gpugda.graph(nodes, relationships)) as opened:
        yield opened


@needs_device
@pytest.mark.device
def test_a_count_beyond_64_bits_is_refused(star: Any) -> None:
    query = "MATCH (m:M)" + " OPTIONAL MATCH (m)<-[:LIKES]-()" * 18
    with pytest.raises(UnsupportedQueryError):  # 2**72 and 1
        star.run(f"{query} RETURN count(*)", engine="gpu").values()
    query = "MATCH (m:M)" + " OPTIONAL MATCH (m)<-[:LIKES]-()" * 15
    assert star.run(f"{query} RETURN count(*)", engine="gpu").values() == [[2**60 + 1]]


OPTIONAL = [
    "MATCH (m:M) OPTIONAL MATCH (m)<-[:LIKES]-(:L) RETURN count(*)",
    "MATCH (m) OPTIONAL MATCH (m)<-[:LIKES]-(:L) OPTIONAL MATCH (m)--() RETURN count(*)",
    "MATCH (m) OPTIONAL MATCH (m)<-[:LIKES]-(:L) RETURN labels(m), count(*)",
    "MATCH (m:M) OPTIONAL MATCH (m)<--() WITH m RETURN id(m) % 2 AS k, id(m) < 9 AS few",
]
OTHERS = [
    "MATCH (m) OPTIONAL MATCH (m:M)<-[:LIKES]-(:L) RETURN count(*)",
    "MATCH (m:M) OPTIONAL MATCH (m)<-[:LIKES]-(l) RETURN count(l), count(*)",
    "MATCH (m:M) OPTIONAL MATCH (m)-[:X]->(n) OPTIONAL MATCH (n)-->() RETURN count(*)",
]


@needs_device
@pytest.mark.device
@pytest.mark.parametrize("query", OPTIONAL + OTHERS)
def test_optional_relationships_are_those_of_the_reference(star: Any, query: str) -> None:
    found = star.run(query, engine="gpu")
    rows = Counter(map(repr, found.values()))
    assert rows == Counter(map(repr, star.run(query, engine="reference").values()))
    operators = [node.what for _, node in star.profile(query).lines()]
    assert any(name.startswith("optional MATCH (m)") for name in operators) == (query in OPTIONAL)


@pytest.fixture
def weighted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records counts that made no rows of groups."""
    found: list[int] = []

    def count(*given: Any) -> int | None:
        number = weighted_groups(*given)
        found.append(-1 if number is None else number)
        return number

    monkeypatch.setattr(strategy, "weighted_groups", count)
    return found


@pytest.fixture(scope="module")
def graph() -> Any:
    """Any kind of graph, with loops and parallel relationships."""
    random = np.random.default_rng(5)
    nodes = {"id": list(range(30)), "labels": random.choice(["L", "M"], 30).tolist()}
    relationships = {
        "source": random.integers(0, 30, 90).tolist(),
        "target": random.integers(0, 30, 90).tolist(),
        "type": random.choice(["R", "S"], 90).tolist(),
    }
    with gpugda.connect(gpugda.graph(nodes, relationships)) as opened:
        yield opened


@needs_device
@pytest.mark.device
@pytest.mark.parametrize(
    "pattern",
    [
        "MATCH (m)-->() OPTIONAL MATCH (m)<-[:R]-(:L)",
        "MATCH (m)-->()-->(:M) OPTIONAL MATCH (m)-[:R]->(:L) OPTIONAL MATCH (m)<-[:S|R]-()",
        "MATCH (m:L)-[:R]->() OPTIONAL MATCH (m)<-[:S]-() MATCH (m)-[:R]->()",
    ],
)
def test_counts_of_groups_are_multiplied(graph: Any, weighted: list[int], pattern: str) -> None:
    text = f"{pattern} RETURN count(*)"
    expected = graph.run(text, engine="reference").values()
    for _ in range(3):
        assert graph.run(text, engine="gpu").values() == expected
    assert weighted == [expected[0][0]] * 3


@needs_device
@pytest.mark.device
@pytest.mark.parametrize(
    "pattern",
    [
        "MATCH (m)-->(n) OPTIONAL MATCH (m)<-[:R]-() OPTIONAL MATCH (n)-->()",
        "MATCH (m)-->() OPTIONAL MATCH (m)--()",
        "MATCH (m)-->() OPTIONAL MATCH (m)<-[:R]-() WHERE m:L",
        "MATCH (m:L {id: 3})-->() OPTIONAL MATCH (m)<-[:R]-() WITH m MATCH (m)-->()",
    ],
)
def test_other_counts_need_rows(graph: Any, weighted: list[int], pattern: str) -> None:
    text = f"{pattern} RETURN count(*)"
    expected = graph.run(text, engine="reference").values()
    assert graph.run(text, engine="gpu").values() == expected
    assert not weighted


@needs_device
@pytest.mark.device
def test_products_of_groups_do_not_wrap(star: Any, weighted: list[int]) -> None:
    pattern = "MATCH (m)<-[:LIKES]-()"
    for _ in range(2):
        text = pattern + " OPTIONAL MATCH (m)<-[:LIKES]-()" * 14 + " RETURN count(*)"
        assert star.run(text, engine="gpu").values() == [[2**60]]
        with pytest.raises(UnsupportedQueryError):  # 2**72
            star.run(
                text.replace("RETURN", "OPTIONAL MATCH (m)<--() " * 3 + "RETURN"), engine="gpu"
            ).values()
    assert weighted[0] == 2**60
