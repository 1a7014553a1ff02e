"""NaN is the same as long as the node is whose property it is, also behind WITH."""

from __future__ import annotations

import math

import numpy as np
import pytest
from strategies import rows_key

import gpugda
from gpugda.data.columns import Column, ColumnKind, column_from_values, concatenate, to_values
from gpugda.execute.nan_identity import row_identity

NAN = math.nan
NODES = {"id": ["a", "b", "c", "d"], "f": [NAN, NAN, 1.5, None], "m": [NAN, NAN, "x", None]}
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
        ("MATCH (a)-->(b) WITH a.KEY AS k, b RETURN k, count(*)", 2),
        ("MATCH (a)-->(b) WITH b, a.KEY AS k RETURN DISTINCT k", 2),
        ("MATCH (a)-->(b) WITH DISTINCT b.id AS b, a.KEY AS k RETURN k, count(*)", 2),
        ("MATCH (a)-->(b) WITH a.KEY AS k, b WITH k AS l, b RETURN count(DISTINCT l)", 1),
        ("MATCH (a)-->(b) RETURN count(DISTINCT a.KEY), sum(DISTINCT b.f)", 1),
        ("MATCH (a)-->(b) WITH a.KEY AS k, a, count(*) AS c MATCH (a)-->(d) RETURN k, count(*)", 2),
    ],
)
def test_as_the_reference(accelerator, text, key, count):
    text = text.replace("KEY", key)
    found, expected = (
        [record.values() for record in accelerator.run(text, engine=engine)]
        for engine in ("gpu", "reference")
    )
    assert len(found) == count
    assert rows_key(found) == rows_key(expected)


def test_what_is_computed_is_another_one_in_each_row(accelerator):
    text = "MATCH (a)-->(b) WITH a.f AS k, b WITH k + 1 AS l, b RETURN l, count(*)"
    assert len(list(accelerator.run(text, engine="gpu"))) == 4


def test_the_digits_stay_where_columns_are_joined():
    bits = np.array([0x7FF8 << 48 | 7, 0x7FF8 << 48, 0x7FF8 << 48 | 7])
    floats = Column(ColumnKind.FLOAT, bits.view(np.float64))
    mixed = concatenate([column_from_values(["x"]), floats, floats], [1, 3, 3])
    assert to_values(row_identity(floats, 0)) == [-7, 2, -7]
    assert to_values(row_identity(mixed, 0)) == [0, -7, 3, -7, -7, 6, -7]
