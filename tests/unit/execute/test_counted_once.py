"""``count(DISTINCT v)`` where no row comes twice: values are counted without being compared."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import gpugda
from gpugda.device.context import list_devices
from gpugda.execute.batch import Batch
from gpugda.execute.operators import aggregate

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

ONCE = [
    "MATCH (a)-->(b)-->(c) RETURN a, count(DISTINCT c)",
    "MATCH (a)-->(b)-->(c) WITH a, c, count(DISTINCT b) AS ways RETURN id(a), id(c), ways",
    "MATCH (a)-->(b)-->(c) RETURN a, count(*), count(DISTINCT c), count(c)",
]
COMPARED = [
    "MATCH (a)-->(b)-->(c) RETURN a.p, count(DISTINCT c)",
    "MATCH (a)-->(b)-->(c) RETURN a, count(DISTINCT c.p)",
    "MATCH (a)-->(b)-->(c) RETURN a, count(DISTINCT b), count(DISTINCT c)",
    "MATCH (a)-->(b) OPTIONAL MATCH (b)-->(c) RETURN a, count(DISTINCT c)",
]


@pytest.fixture(scope="module")
def accelerator():
    ends = np.random.default_rng(3).integers(0, 9, (2, 60))
    values = [1, None, 2, 1, 2.0, None, "x", 3, 3]
    nodes = {"id": list(range(9)), "p": values}
    relationships = {"source": ends[0], "target": ends[1], "type": ["R"] * 60}
    with gpugda.connect(gpugda.graph(nodes, relationships)) as opened:
        yield opened


@pytest.fixture
def once(monkeypatch):
    """How many aggregates of each chunk of rows were counted so."""
    found = []
    push = aggregate.Aggregation.push

    def noted(self, environment, weights=None, **how):
        found.append(len(how["once"]))
        push(self, environment, weights, **how)

    monkeypatch.setattr(aggregate.Aggregation, "push", noted)
    return found


@pytest.mark.parametrize("query", ONCE + COMPARED)
def test_counts_are_those_of_the_reference(accelerator, once, query):
    rows = Counter(map(repr, accelerator.run(query, engine="gpu").values()))
    assert rows == Counter(map(repr, accelerator.run(query, engine="reference").values()))
    assert sum(once) == (query in ONCE)


def test_rows_in_several_batches_are_compared():
    rows, nothing = Batch(2, {}), Batch(0, {})
    for given, expected in (
        ([], []),
        ([nothing], [False]),
        ([rows], [True]),
        ([nothing, rows, nothing], [False, False, True]),
        ([rows, nothing, rows, rows], [False, False, False, False]),
    ):
        found = list(aggregate._whether_only(iter(given)))
        assert [is_only for _, is_only in found] == expected
        assert Counter(each.row_count for each, _ in found) == Counter(
            each.row_count for each in given
        )
