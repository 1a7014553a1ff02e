"""DISTINCT over rows that cannot repeat: rows and values are not compared."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import gpugda
from gpugda.device.context import list_devices
from gpugda.execute.batch import Batch, flag_only_batch
from gpugda.execute.operators import aggregate, distinct, expand

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

ONCE = [
    "MATCH (a)-->(b)-->(c) RETURN a, count(DISTINCT c)",
    "MATCH (a)-->(b)-->(c) WITH a, c, count(DISTINCT b) AS ways RETURN id(a), id(c), ways",
    "MATCH (a)-->(b)-->(c) RETURN a, count(*), count(DISTINCT c), count(c)",
]
OF_KEYS = [
    "MATCH (a)-->(b)-->(c) RETURN a.k, count(DISTINCT c)",
    "MATCH (a)-->(b)-->(c) RETURN a.k, count(*), count(DISTINCT c)",
    "MATCH (a)-->(b)-->(c) WHERE a.k > 2 RETURN a.k, count(DISTINCT c)",
    "MATCH (a) OPTIONAL MATCH (a)-->(b {k: 3})-->(c) RETURN a.k, count(DISTINCT c), count(c)",
    "MATCH (a)-[*1..2]-(b) MATCH (b)-->(c) WHERE a <> b RETURN a.k, count(DISTINCT b)",
]
COMPARED = [
    "MATCH (a)-->(b)-->(c) RETURN a.p, count(DISTINCT c)",
    "MATCH (a)-->(b)-->(c) RETURN a, count(DISTINCT c.p)",
    "MATCH (a)-->(b)-->(c) RETURN a.k % 4, count(DISTINCT c)",
    "MATCH (a) OPTIONAL MATCH (a)-->(b {k: 3})-->(c) RETURN a.k % 4, count(DISTINCT c)",
    "MATCH (a)-->(b)-->(c) RETURN a, count(DISTINCT b), count(DISTINCT c)",
    "MATCH (a)-->(b) OPTIONAL MATCH (b)-->(c) RETURN a, count(DISTINCT c)",
]


@pytest.fixture(scope="module")
def accelerator():
    ends = np.random.default_rng(3).integers(0, 9, (2, 60))
    values = [1, None, 2, 1, 2.0, None, "x", 3, 3]
    nodes = {"id": list(range(9)), "k": list(range(9)), "p": values}
    relationships = {"source": ends[0], "target": ends[1], "type": ["R"] * 60}
    with gpugda.connect(gpugda.graph(nodes, relationships)) as opened:
        yield opened


@pytest.fixture
def once(monkeypatch):
    """Number of aggregates per chunk of rows that were counted without comparison."""
    found = []
    push = aggregate.GroupedCounts.push

    def noted(self, environment, weights=None, **how):
        push(self, environment, weights, **how)
        found.append(len(self._once) if environment.row_count else 0)

    monkeypatch.setattr(aggregate.GroupedCounts, "push", noted)
    return found


@pytest.mark.parametrize("query", ONCE + OF_KEYS + COMPARED)
def test_counts_are_those_of_the_reference(accelerator, once, query):
    rows = Counter(map(repr, accelerator.run(query, engine="gpu").values()))
    assert rows == Counter(map(repr, accelerator.run(query, engine="reference").values()))
    assert sum(once) == (query in ONCE + OF_KEYS)


def test_rows_in_several_batches_are_compared():
    rows, nothing = Batch(2, {}), Batch(0, {})
    apart = Batch(2, {}, distinct=True)
    many = Batch(1 << 20, {}, distinct=True)
    for given, expected in (
        ([apart, nothing, apart], [False, True]),
        ([apart, many, apart], [False, False, False]),
        ([apart, rows], [False, False]),
        ([], []),
        ([nothing], [False]),
        ([rows], [True]),
        ([nothing, rows, nothing], [False, False, True]),
        ([rows, nothing, rows, rows], [False, False, False, False]),
    ):
        found = list(flag_only_batch(iter(given)))
        assert [is_only for _, is_only in found] == expected
        assert sum(each.row_count for each, _ in found) == sum(each.row_count for each in given)


def test_distinct_rows_in_several_batches_are_not_compared(accelerator, monkeypatch):
    """Distinctness holds across batches: counts of several batches are added."""
    query = "MATCH (a)-[*1..2]->(c) RETURN a, count(DISTINCT c), count(DISTINCT c) + 1"
    expected = Counter(map(repr, accelerator.run(query, engine="reference").values()))
    found = expand.Expand._batches

    def in_pieces(self, context):
        for batch in found(self, context):
            for row in range(batch.row_count):
                yield batch.kept(np.array([row]))

    monkeypatch.setattr(expand.Expand, "_batches", in_pieces)
    assert Counter(map(repr, accelerator.run(query, engine="gpu").values())) == expected


TOLD_APART = [
    "MATCH (a)-[*1..2]->(b) WITH DISTINCT a, b RETURN id(a), id(b)",
    "MATCH (a)-[*0..3]-(b) WHERE a.p IS NOT NULL WITH DISTINCT a AS x, b AS y RETURN id(x), id(y)",
    "MATCH (a)-[r]->(b)-[s]->(c) WITH DISTINCT a, r, b, s, c RETURN id(a), id(c)",
    "MATCH (a) WITH DISTINCT a MATCH (a)-[*1..2]->(b) WITH DISTINCT b, a RETURN id(a), id(b)",
]
MAY_BE_THE_SAME = [
    "MATCH (a)-[*1..2]->(b) RETURN DISTINCT a.p IS NULL, b.p IS NULL",
    "MATCH (a)-[*1..2]->(b) WITH DISTINCT b RETURN id(b)",
    "MATCH (a)-[r*1..2]->(b) WITH DISTINCT a, b, size(r) AS n RETURN id(a), id(b), n",
    "MATCH (a) UNWIND [1, 1] AS x WITH DISTINCT a, x RETURN id(a), x",
    "MATCH (a) CALL (a) { RETURN a AS b UNION ALL RETURN a AS b } WITH DISTINCT a, b RETURN id(a)",
    "CALL { MATCH (a) RETURN a UNION ALL MATCH (a) RETURN a } WITH DISTINCT a RETURN id(a)",
    "MATCH (a) OPTIONAL MATCH (a)-[]->(b) WITH DISTINCT a, b RETURN id(a), id(b)",
    "MATCH (a) WITH a, id(a) % 2 AS m WITH DISTINCT m RETURN m",
]


@pytest.mark.parametrize("query", TOLD_APART + MAY_BE_THE_SAME)
def test_rows_known_to_be_distinct_are_not_compared(accelerator, monkeypatch, query):
    compared = []
    group_rows = distinct.group_rows

    def noted(columns, row_count):
        compared.append(row_count)
        return group_rows(columns, row_count)

    monkeypatch.setattr(distinct, "group_rows", noted)
    rows = Counter(map(repr, accelerator.run(query, engine="gpu").values()))
    assert rows == Counter(map(repr, accelerator.run(query, engine="reference").values()))
    assert (sum(compared) > 0) == (query in MAY_BE_THE_SAME)
