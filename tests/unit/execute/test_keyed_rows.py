"""Nodes that rows identify by a property are looked up; known nodes do not multiply parts."""

from __future__ import annotations

from typing import Any

import pytest

import gpugda

COUNT = 300


@pytest.fixture(scope="module")
def accelerator():
    nodes = {"id": list(range(COUNT)), "k": list(range(COUNT)), "labels": ["P"] * COUNT}
    links = [(i, (i * 7 + 1) % COUNT) for i in range(COUNT)]
    relationships = {
        "source": [one for one, _ in links],
        "target": [two for _, two in links],
        "type": ["R"] * COUNT,
    }
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as opened:
        yield opened


def _max_rows(accelerator: Any, query: str) -> int:
    """Largest row count of any operator."""
    return max(node.rows or 0 for _, node in accelerator.profile(query).lines())


@pytest.mark.parametrize(
    "query",
    [
        "UNWIND [0, 7, 9] AS i MATCH (a:P {k: i}), (b:P {k: i + 1}) RETURN a, b",
        "UNWIND [0, 7] AS i MATCH (a)-->(b), (c) WHERE a.k = i AND i + 1 = c.k RETURN a, b, c",
        "MATCH (a)-->(b) WITH a, b MATCH (a)-->(x), (b)-->(y) RETURN x, y",
    ],
)
def test_patterns_joined_on_keys_make_few_rows(accelerator, query):
    assert _max_rows(accelerator, query) <= COUNT
    rows = [record.values() for record in accelerator.run(query, engine="gpu")]
    expected = [record.values() for record in accelerator.run(query, engine="reference")]
    assert sorted(map(str, rows)) == sorted(map(str, expected))
    assert rows


def test_an_error_in_a_key_is_raised(accelerator):
    query = "UNWIND [1, 'x'] AS i MATCH (a:P {k: i - 1}) RETURN a"
    with pytest.raises(gpugda.GpugdaError):
        accelerator.run(query, engine="gpu").values()


@pytest.mark.parametrize("lengths", ["*1..2", "*6..6"])
def test_paths_of_one_clause_share_no_relationship(accelerator, lengths):
    query = (
        f"MATCH (a {{k: 1}})-[x:R{lengths}]-(b)-[y{lengths}]-(c)"
        " RETURN [r IN x | id(r)], [r IN y | id(r)]"
    )
    rows = [record.values() for record in accelerator.run(query, engine="gpu")]
    expected = [record.values() for record in accelerator.run(query, engine="reference")]
    assert sorted(map(str, rows)) == sorted(map(str, expected))
    assert rows
    assert not any(set(one) & set(two) for one, two in rows)
