"""Each strategy refuses a small memory limit with what it asked for, also for hubs and loops."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import gpugda
from gpugda.device.context import list_devices
from gpugda.errors import MemoryLimitError

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

NODES, RELATIONSHIPS = 60, 400
SMALL = 1500
QUERIES = [
    "MATCH (a)-->(b)-->(c) RETURN count(*) AS n",
    "MATCH (a:A)-[r]-(b)<-[:R]-(c:B) RETURN a.id AS a, id(r) AS r, c.id AS c",
    "MATCH (a)-->(b)-->(c)-->(a), (c)-[:S]->(d) RETURN count(*) AS n",
    "MATCH (a:A) RETURN a.id AS a",
]
STRATEGIES = ["extend", "gpsm", "gsi", "sgsi", "pbe", "stwig"]


@cache
def hub_graph(relationships=RELATIONSHIPS):
    """Node 0 has a quarter of all relationships; there are loops and parallel ones."""
    random = np.random.default_rng(3)
    source, target = (random.integers(0, NODES, relationships) for _ in range(2))
    source[: relationships // 8] = 0
    target[relationships // 8 : relationships // 4] = 0
    target[-3:] = source[-3:]
    return gpugda.graph(
        {"id": np.arange(NODES), "labels": random.choice(["A", "B", "C"], NODES)},
        {"source": source, "target": target, "type": random.choice(["R", "S"], relationships)},
    )


def answer(graph, text, engine="gpu", **given):
    """The rows, or the error's text."""
    asked = {"strategy": given.pop("strategy")} if "strategy" in given else {}
    with gpugda.connect(graph, **given) as connected:
        try:
            return sorted(connected.run(text, engine=engine, **asked).values())
        except MemoryLimitError as error:
            return str(error)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("text", QUERIES)
def test_a_small_limit_is_refused_with_the_bytes_that_are_needed(strategy, text):
    graph = hub_graph()
    said = answer(graph, text, strategy=strategy, memory_limit=SMALL)
    expected = answer(graph, text, engine="reference")
    if not isinstance(said, str):
        assert said == expected
        return
    assert re.search(r"[\d,]+ bytes", said)
    assert answer(graph, text, strategy=strategy, memory_limit=1 << 20) == expected
