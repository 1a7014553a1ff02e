"""A graph beyond the memory limit, as users see it: concurrent queries, and closing."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

import gpugda
from gpugda.device.context import list_devices
from gpugda.errors import MemoryLimitError

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
    # The entries that the first run kept are still there unless another query needed their room.
    assert any("sent to the device" in line or "from an earlier run" in line for line in steps)


PARTS = ["MATCH (c)", "MATCH (a)-->(b)-->(c)<--(a)"]
TWO = f"{PARTS[0]} WHERE EXISTS {{ {PARTS[1]} }} RETURN count(*) AS n"


@pytest.mark.parametrize("strategy", ["extend", "sgsi"])  # the others name no limit
def test_errors_name_the_pattern_whose_limit_they_name(strategy):
    """A limit that suffices for one pattern of a query may be too small for another."""
    random = np.random.default_rng(2)
    ends = [random.integers(0, 60, 200) for _ in range(2)]
    graph = gpugda.graph(
        {"id": np.arange(60)},
        {"source": ends[0], "target": ends[1], "type": np.full(200, "R", dtype=object)},
    )
    with gpugda.connect(graph) as roomy:
        expected = roomy.run(TWO, engine="reference").values()
    limit, named = 1000, []
    for _ in range(4):
        with gpugda.connect(graph, memory_limit=limit) as small:
            try:
                found = small.run(TWO, engine="gpu", strategy=strategy).values()
                break
            except MemoryLimitError as error:
                text = str(error)
        pattern = re.search(r" \(for (.*) alone\)$", text)
        named.append(pattern[1])
        figures = [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]+", text)]
        assert max(figures) > limit
        limit = max(figures)
    assert found == expected
    assert set(named) <= {*PARTS}
    assert len(set(named)) == len(named)
    with gpugda.connect(graph, memory_limit=1000) as small:
        with pytest.raises(MemoryLimitError) as raised:
            small.run(f"{PARTS[1]} RETURN count(*) AS n", engine="gpu", strategy=strategy)
        assert "alone" not in str(raised.value)
