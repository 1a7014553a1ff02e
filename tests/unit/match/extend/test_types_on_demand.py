"""Queries of large graphs, whose parallel relationships are counted for the types they name."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpugda
import gpugda.data.statistics.parallel as parallel
from gpugda.data.statistics import degree_sample
from gpugda.device.context import list_devices

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

PATTERNS = [
    "(a)-[:{0}]-(b)-[:{1}]-(c)",
    "(a)-[:{0}]-(b)-[:{0}]-(c), (a)-[:{1}]-(c)",
    "(a)-[:{0}]-(b)-[:{0}]-(a)",
    "(a)-[:{0}|{1}]-(b)-[:{1}|{0}]->(a)",
    "(a)-[:{0}]->(b)<-[:{0}]-(c), (a)-[:{1}]-(c)",
    "(a)-[:{0}]-(b)-[:{1}]-(c)-[:{0}]-(d)-[:{1}]-(a)",
]


@pytest.fixture(params=range(4))
def accelerator(request, monkeypatch):
    """A graph with loops, and relationships that are parallel within and across types."""
    monkeypatch.setattr(parallel, "_FEW_RUNS", -1)
    monkeypatch.setattr(degree_sample, "_SAMPLED_FROM", -1)
    random = np.random.default_rng(request.param)
    count = 5 + 3 * request.param
    starts, ends = random.integers(0, count, (2, 30)).tolist()
    types = [f"T{each}" for each in draw(random, 30)]
    # Two relationships also run back, and two come twice.
    relationships = {
        "source": starts + ends[:2] + starts[-2:],
        "target": ends + starts[:2] + ends[-2:],
        "type": types + types[:2] + types[-2:],
    }
    with gpugda.connect(gpugda.graph({"id": list(range(count))}, relationships)) as opened:
        yield opened


def draw(random, count):
    return np.minimum(random.geometric(0.3, count) - 1, 7).tolist()


def test_counts_are_those_of_the_reference_whichever_query_is_first(accelerator):
    random = np.random.default_rng(9)
    for pattern in random.permutation(PATTERNS).tolist():
        text = f"MATCH {pattern.format(*[f'T{each}' for each in draw(random, 2)])} RETURN count(*)"
        counts = [
            accelerator.run(text, engine=engine).single().value() for engine in ("gpu", "reference")
        ]
        assert counts[0] == counts[1], text


def test_first_queries_of_several_threads_count_alike(accelerator):
    texts = [
        f"MATCH {pattern.format(f'T{number % 3}', f'T{number % 5}')} RETURN count(*)"
        for number, pattern in enumerate(2 * PATTERNS)
    ]
    expected = [accelerator.run(text, engine="reference").single().value() for text in texts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: accelerator.run(text, engine="gpu").single(), texts))
    assert [each.value() for each in found] == expected
