from __future__ import annotations

import math

import pytest
from neo4j.spatial import WGS84Point
from neo4j.time import Date, Duration

from gpugda.result.entities import NodeValue, RelationshipValue
from gpugda.result.text import format_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (False, "FALSE"),
        (-1, "-1"),
        (1.0, "1.0"),
        (1e300, "1.0E300"),
        (2.5e-7, "2.5E-7"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
        ('a "b" \\\n', '"a \\"b\\" \\\\\\n"'),
        ([1, None, "x"], '[1, NULL, "x"]'),
        ({"a": 1, "b c": []}, "{a: 1, `b c`: []}"),
        (Date(2020, 1, 2), "2020-01-02"),
        (Duration(days=1), "P1D"),
        (WGS84Point((1.0, 2.0)), "point({srid: 4326, x: 1.0, y: 2.0})"),
        (NodeValue("n0", (), {}), "()"),
        (NodeValue("n0", ("A", "B `c`"), {"k": 1}), "(:A:`B ``c``` {k: 1})"),
        (NodeValue("n0", (), {"k": 1}), "({k: 1})"),
        (RelationshipValue("r0", "R", "n0", "n1", {}), "[:R]"),
        (RelationshipValue("r0", "R", "n0", "n1", {"k": True}), "[:R {k: TRUE}]"),
    ],
)
def test_values_are_formatted(value, text):
    assert format_value(value) == text
