"""Aggregates of weighted rows: the rows are not repeated."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import gpugda
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.device.context import list_devices
from gpugda.errors import MemoryLimitError
from gpugda.execute.aggregation import grouped_rows, means
from gpugda.execute.aggregation.aggregates import aggregate
from gpugda.execute.aggregation.grouped_rows import Rows
from gpugda.execute.aggregation.grouping import Groups
from gpugda.execute.operators import aggregate as operator
from gpugda.execute.operators import short_trails
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.operands import value_at

COLUMNS = {
    "integers": [3, -7, 0, 11, 5, 3, -1, 2],
    "halves": [0.5, 1.5, -0.0, 4.0, -2.25, 0.5, 8.0, 0.0],
    "floats": [0.1, 0.7, -1e9, 1e-3, 3.3, 0.1, math.inf, 0.0],
    "large": [2**62, 1, 2**61, -(2**62), 5, 2**62, 3, 0],
    "texts": ["b", "a", "c", "a", "", "b", "x", "y"],
    "mixed": [1, 2.5, 1, "x", None, 3, "x", None],
    "nulls": [None, 1, 2, None, 3, None, None, 9],
}
WEIGHTS = np.array([1, 4, 2, 3, 1, 700, 5, 2], dtype=np.uint64)
OF = np.array([0, 0, 1, 1, 0, 2, 1, 3])
CASES = [
    (name, kind)
    for name in ("min", "max", "sum", "avg", "stdev", "collect")
    for kind in COLUMNS
    if kind not in ("texts", "mixed") or name in ("min", "max", "collect")
]


def bits(value):
    return value.hex() if isinstance(value, float) else value


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize(("name", "kind"), CASES)
@pytest.mark.parametrize("window", [3, 1 << 20])
def test_weighted_aggregates_equal_those_of_all_rows(monkeypatch, groups, name, kind, window):
    monkeypatch.setattr(grouped_rows, "_WINDOW", window)
    every = np.repeat(np.arange(8), WEIGHTS.astype(np.int64))
    found = []
    for rows, weights in ((np.arange(8), WEIGHTS), (every, None)):
        group_of = OF[rows] if groups > 1 else np.zeros(len(rows), dtype=np.int64)
        first = np.unique(group_of, return_index=True)[1]
        column = column_of([COLUMNS[kind][row] for row in rows.tolist()])
        made = aggregate(
            name, column, (), Groups(first, group_of), len(rows), distinct=False, weights=weights
        )
        found.append([bits(value_at(made, group)) for group in range(groups)])
    assert found[0] == found[1]


def test_weighted_aggregates_of_many_rows_use_the_device(monkeypatch):
    monkeypatch.setattr(means, "_DEVICE_ROWS", 1)
    test_weighted_aggregates_equal_those_of_all_rows(monkeypatch, 4, "avg", "floats", 3)


def test_weighted_sums_of_binary_fractions_make_no_rows(monkeypatch):
    monkeypatch.delattr(Rows, "windows")
    weights = np.array([10**9, 3 * 10**8], dtype=np.uint64)
    one = Groups(np.zeros(1, np.int64), np.zeros(2, np.int64))
    made = aggregate("sum", column_of([0.25, 2.5]), (), one, 2, distinct=False, weights=weights)
    assert value_at(made, 0) == Fraction(1, 4) * 10**9 + Fraction(5, 2) * 3 * 10**8


def test_a_rounded_product_does_not_replace_a_sum():
    """10 times 0.1 rounds to 1, ten additions do not."""
    one = Groups(np.zeros(1, np.int64), np.zeros(1, np.int64))
    ten = np.array([10], dtype=np.uint64)
    made = aggregate("sum", column_of([0.1]), (), one, 1, distinct=False, weights=ten)
    assert value_at(made, 0) == 0.9999999999999999


def test_too_many_rows_are_refused(monkeypatch):
    values = Column(ColumnKind.FLOAT, np.array([0.1, 0.2]))
    rows = Rows(1, np.zeros(2, np.int64), values, weights=np.array([2**63, 2], np.uint64))
    with pytest.raises(MemoryLimitError, match="9,223,372,036,854,775,810 rows are too many"):
        next(rows.windows())
    with pytest.raises(MemoryLimitError, match="rows takes"):
        rows.expanded()


QUERIES = [
    "MATCH (a)-[:R*1..3]->(b) RETURN sum(b.k), avg(b.k), min(b.k), max(b.f), count(*)",
    "MATCH (a)-[:R*1..3]->(b) RETURN a.k, sum(b.k) AS s, sum(b.h), count(b.p), count(DISTINCT b)",
    "MATCH (a {k: 2})-[*1..4]->(b) RETURN b.k % 3 AS g, sum(a.k + b.k), collect(DISTINCT b.k % 2)",
    "MATCH (a)-[*2..3]-(b) WHERE b.k > 3 RETURN sum(b.h) AS s, max(a.p), avg(a.k * 2)",
    "MATCH (a)-->(b)-->(c) RETURN c.k, sum(c.h), count(*), sum(DISTINCT c.h)",
    "MATCH (a) OPTIONAL MATCH (a)-->()-->(c) RETURN a.k, sum(a.h), count(*)",
    "MATCH (a)-->()-->(c) WITH sum(a.k) AS s MATCH ()-->(d) RETURN s, sum(d.h)",
    "MATCH (c) WITH c, c.n AS n MATCH ()-->()-->(c) RETURN n, sum(c.k)",
    "MATCH ()-->()-->(c) RETURN c.n * 2 AS n, sum(c.k)",
    "MATCH (a)-->()-->(c) RETURN sum(DISTINCT a.n * 1), sum(a.k)",
    "MATCH (a)-->(c) RETURN sum(c.k), count(a)",
    "MATCH (a)-->()-->(c) WHERE a.k > 99 RETURN sum(a.k), avg(a.h), min(a.k), count(*)",
]
ROWS_ALONE = [
    "MATCH (a)-->()-->(c) RETURN collect(c.k), sum(c.k)",
    "MATCH (a)-[r:R]->()-->(c) RETURN sum(r.w), count(*)",
    "MATCH (a)-->(b)-->(c) RETURN c.k, sum(a.h)",
]


@pytest.fixture(scope="module")
def accelerator():
    ends = np.random.default_rng(3).integers(0, 9, (2, 40))
    nodes = {
        "id": list(range(9)),
        "k": list(range(9)),
        "h": [each / 4 for each in range(9)],
        "f": [each * 0.1 for each in range(9)],
        "p": [1, None, 2, 1, 2.0, None, "x", 3, 3],
        "n": [-0.0, 1.0, 2.0, 0.25, 1.0, 0.5, None, 2.0, 0.0],
    }
    relationships = {
        "source": ends[0],
        "target": ends[1],
        "type": ["R"] * 30 + ["S"] * 10,
        "w": list(range(40)),
    }
    with gpugda.connect(gpugda.graph(nodes, relationships)) as opened:
        yield opened


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@pytest.mark.parametrize("most", [0, 1 << 15])
@pytest.mark.parametrize("query", QUERIES + ROWS_ALONE)
def test_rows_are_those_of_the_reference(accelerator, monkeypatch, query, most):
    monkeypatch.setattr(short_trails, "MAX_TRAILS", most)
    weighted, table = [], operator.Aggregate._table

    def noted(self, batch, *rest):
        weighted.append(batch.weights is not None)
        return table(self, batch, *rest)

    monkeypatch.setattr(operator.Aggregate, "_table", noted)
    found = [shown(row) for row in accelerator.run(query, engine="gpu").values()]
    expected = [shown(row) for row in accelerator.run(query, engine="reference").values()]
    assert Counter(found) == Counter(expected)
    is_walked = "*" in query and most
    assert query in ROWS_ALONE or is_walked or "> 99" in query or any(weighted)
    assert query not in ROWS_ALONE or not any(weighted)


def shown(row):
    """Lists are compared without order; floats may be sums and means in any order."""
    made = [sorted(map(repr, each)) if isinstance(each, list) else each for each in row]
    return repr([float(f"{each:.12g}") if isinstance(each, float) else each for each in made])
