"""A graph beyond the memory limit, as users see it: concurrent queries, and closing."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gpugda
from gpugda.device.context import list_devices

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

NODES, RELATIONSHIPS = 3000, 120_000
QUERIES = [
    "MATCH (a)-->(b)-->(c) RETURN count(*) AS n",
    "MATCH (a {id: 5})-->(b)-->(c)-->(d)-->(a) RETURN count(*) AS n",
    "MATCH (a)-[r]->(b)<--(c) WHERE a.id < 40 RETURN a.id AS x, count(*) AS n ORDER BY x",
]


def source():
    random = np.random.default_rng(1)
    ends = [random.integers(0, NODES, RELATIONSHIPS) for _ in range(2)]
    types = np.full(RELATIONSHIPS, "R", dtype=object)
    return gpugda.graph(
        {"id": np.arange(NODES)}, {"source": ends[0], "target": ends[1], "type": types}
    )


def test_concurrent_queries_in_segments_and_closing():
    with gpugda.connect(source()) as roomy:
        expected = [roomy.run(text, engine="gpu").values() for text in QUERIES]
    found: dict[int, object] = {}
    with gpugda.connect(source(), memory_limit="1MiB") as small:

        def ask(number):
            found[number] = small.run(QUERIES[number], engine="gpu").values()

        threads = [threading.Thread(target=ask, args=(each,)) for each in range(len(QUERIES))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        steps = small.run(QUERIES[2], engine="gpu").summary.steps
    assert [found[each] for each in range(len(QUERIES))] == expected
    assert any("bytes were sent to the device" in line for line in steps)
