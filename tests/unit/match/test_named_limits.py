"""Each strategy refuses a small memory limit with one that suffices, also for hubs and loops."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from gpugda_strategies.gsi import entries

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


def answer(graph, text, **given):
    """The rows, or the limit that the error names."""
    asked = {} if "engine" in given else {"engine": "gpu", "strategy": given.pop("strategy")}
    engine = {key: given.pop(key) for key in tuple(given) if key == "engine"}
    with gpugda.connect(graph, **given) as connected:
        try:
            return sorted(connected.run(text, **asked, **engine).values())
        except MemoryLimitError as error:
            found = re.search(r"([\d,]+)(?: bytes (?:is|are) enough|; raise|$| bytes$)", str(error))
            return -1 if found is None else int(found[1].replace(",", ""))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("text", QUERIES)
def test_a_named_limit_suffices(strategy, text):
    graph = hub_graph()
    found = answer(graph, text, strategy=strategy, memory_limit=SMALL)
    expected = answer(graph, text, engine="reference")
    if isinstance(found, int):
        assert found > SMALL
        found = answer(graph, text, strategy=strategy, memory_limit=found)
    assert found == expected


def test_no_limit_is_named_for_lists_that_are_too_long(monkeypatch):
    monkeypatch.setattr(entries, "_MAX_ENTRIES", 10)
    with gpugda.connect(hub_graph(), memory_limit="64MiB") as connected:
        with pytest.raises(MemoryLimitError) as raised:
            connected.run(QUERIES[0], engine="gpu", strategy="gsi")
        assert "enough" not in str(raised.value)
