"""NaN equals itself while it is the property of one node, also after WITH."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gpugda
from gpugda.data.columns import Column, ColumnKind, column_from_values, concatenate, to_values
from gpugda.errors import UnsupportedQueryError
from gpugda.execute.nan_identity import row_identity
from strategies import rows_key

NAN = math.nan
NODES = {
    "id": ["a", "b", "c", "d"],
    "f": [NAN, NAN, 1.5, None],
    "m": [NAN, NAN, "x", None],
    "l": [[NAN, 1.0], [NAN, 1.0], [1.5], None],
}
RELATIONSHIPS = {"source": list("aaab"), "target": list("cdcc"), "type": ["R"] * 4}


@pytest.fixture(scope="module")
def accelerator():
    source = gpugda.graph(nodes=NODES, relationships=RELATIONSHIPS)
    with gpugda.connect(source) as opened:
        yield opened


@pytest.mark.parametrize("key", ["f", "m"])
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("MATCH (a) WITH a.KEY AS k, a MATCH (a)-->(b) RETURN k, count(*)", 2),
        ("MATCH (a) WITH a, a.KEY AS k MATCH (a)-->(b) RETURN DISTINCT k", 2),
        ("MATCH (a) WITH a.KEY AS k, a MATCH (a)-->(b) WITH DISTINCT k, b.id AS b RETURN k, b", 3),
        ("MATCH (a) WITH a AS c LIMIT 9 WITH c, c.KEY AS k MATCH (c)-->() RETURN DISTINCT k", 2),
        ("MATCH (a) WITH DISTINCT a ORDER BY a.id RETURN count(DISTINCT a.KEY)", 1),
        ("MATCH (a)-->(b) WITH DISTINCT a WITH a.KEY AS k, a MATCH (a)-->() RETURN DISTINCT k", 2),
    ],
)
def test_keys_with_nan_group_as_in_the_reference(accelerator, text, key, count):
    text = text.replace("KEY", key)
    found, expected = (
        [record.values() for record in accelerator.run(text, engine=engine)]
        for engine in ("gpu", "reference")
    )
    assert len(found) == count
    assert rows_key(found) == rows_key(expected)


def test_a_computed_nan_differs_in_each_row(accelerator):
    text = "MATCH (a)-->(b) WITH a.f AS k, b WITH k + 1 AS l, b RETURN l, count(*)"
    assert len(list(accelerator.run(text, engine="gpu"))) == 4


# Answers of Neo4j 5.26; the reference has one object for several NaNs.
@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("MATCH (n) WITH n, n.l[0] AS v MATCH (n)-->(m) RETURN v AS nan, count(*)", [1, 3]),
        ("MATCH (n) WITH n, log(-1.0) AS v MATCH (n)-->(m) RETURN v, count(*)", [1, 3]),
        ("MATCH (n) RETURN log(-1.0) AS v, count(*)", [1, 1, 1, 1]),
        ("MATCH (n) WITH n.f AS v RETURN v, 1 UNION MATCH (n) RETURN n.f AS v, 1", [1, 1, 1, 1]),
        ("UNWIND [0.0 / 0.0, 1.0, 0.0 / 0.0] AS v MATCH (n) RETURN v, count(*)", [4, 4]),
        ("MATCH (a)-->(b) WITH b, sum(a.f) AS s MATCH (a)-->(b) RETURN s, count(*)", [1, 3]),
    ],
)
def test_keys_with_nan_group_as_in_neo4j(accelerator, text, counts):
    rows = [record.values() for record in accelerator.run(text, engine="gpu")]
    assert sorted(count for value, count in rows if value != value) == counts


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n) WITH n, n.f AS v MATCH (n)-->(m) RETURN DISTINCT coalesce(v, 1)",
        "MATCH (n) WITH n, [n.f] AS v MATCH (n)-->(m) RETURN DISTINCT v[0]",
        "MATCH (n) WITH n, max(n.f) AS v MATCH (n)-->(m) RETURN DISTINCT v",
        "MATCH (n) WITH n, 0.0 / 0.0 AS v MATCH (n)-->(m) RETURN count(DISTINCT v)",
        "MATCH (n) WITH n, coalesce(n.f, 0.0 / 0.0) AS v MATCH (n)-->(m) RETURN v, count(*)",
        "MATCH (n) WITH n, n.f AS v UNWIND [v, v + 1] AS w RETURN w, count(*)",
        "MATCH (n) WITH n, n.f AS v MATCH (n)-->(m) RETURN v + 1, count(m)",
        "MATCH (a)-->(b) CALL { WITH a MATCH (a)-->(c) RETURN a.f + 1 AS v } RETURN v, count(*)",
        "MATCH (n) RETURN 0.0 / 0.0 AS v UNION MATCH (n) RETURN 0.0 / 0.0 AS v",
        # Neo4j's number of rows follows the relationships; before `MATCH (m)`, the nodes.
        "MATCH (n)-->(m) RETURN DISTINCT n.f",
        "MATCH (n)-->(m) RETURN n.m, count(*)",
        "MATCH (n) MATCH (m) RETURN n.f, count(*)",
        "MATCH (a)-->(b) WITH a.f AS k, b RETURN k, count(*)",
        "MATCH (a)-->(b) WITH DISTINCT b.id AS b, a.f AS k RETURN k, count(*)",
        "MATCH (a)-->(b) WITH a.f AS k, b WITH k AS l, b RETURN count(DISTINCT l)",
        "MATCH (a)-->(b) RETURN count(DISTINCT a.f), sum(DISTINCT b.f)",
        "MATCH (a)-->(b) WITH a.f AS k, a, count(*) AS c MATCH (a)-->(d) RETURN k, count(*)",
        "MATCH (n)-[r]-() WITH n, r.f AS k, n.f AS l RETURN DISTINCT l",
    ],
)
def test_queries_with_an_unclear_nan_identity_are_refused(accelerator, text):
    with pytest.raises(UnsupportedQueryError, match="NaN"):
        list(accelerator.run(text, engine="gpu"))


@pytest.mark.parametrize("key", ["f", "m"])
def test_a_nan_keeps_its_identity_through_a_union(accelerator, key):
    text = f"""MATCH (n) WITH n, coalesce(n.{key}, 0) AS v
        CALL {{ WITH v RETURN v AS w UNION WITH v RETURN v AS w }} RETURN w, count(*)"""
    rows = [record.values() for record in accelerator.run(text, engine="gpu")]
    assert sorted(count for value, count in rows if value != value) == [1, 1]


def test_concatenation_keeps_the_identity_of_nans():
    bits = np.array([0x7FF8 << 48 | 7, 0x7FF8 << 48 | 8, 0x7FF8 << 48 | 7])
    floats = Column(ColumnKind.FLOAT, bits.view(np.float64))
    mixed = concatenate([column_from_values(["x"]), floats, floats], [1, 3, 3])
    assert to_values(row_identity(floats)) == [7, 8, 7]
    assert to_values(row_identity(mixed)) == [0, 7, 8, 7, 7, 8, 7]
