"""Rows that stand for several: their numbers do not wrap, and optional ones are looked up."""

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
from gpugda.execute.weights import product_of, sum_of
from gpugda.types import MOST_WEIGHT

WEIGHT = st.one_of(
    st.integers(0, 9), st.integers(0, MOST_WEIGHT), st.sampled_from([1 << 31, 1 << 32, MOST_WEIGHT])
)
PAIRS = st.lists(st.tuples(WEIGHT, WEIGHT), max_size=8)

needs_device = pytest.mark.skipif(not list_devices(), reason="no OpenCL device")


@given(PAIRS)
def test_products_end_at_the_largest_weight(pairs: Any) -> None:
    one, other = (np.array([pair[side] for pair in pairs], np.uint64) for side in (0, 1))
    expected = [min(a * b, MOST_WEIGHT) for a, b in pairs]
    assert product_of(one, other).tolist() == expected


@given(st.lists(WEIGHT, max_size=20))
def test_sums_are_exact(weights: Any) -> None:
    assert sum_of(np.array(weights, np.uint64)) == sum(weights)


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
def test_a_number_beyond_all_is_refused_though_more_rows_are_multiplied(star: Any) -> None:
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
