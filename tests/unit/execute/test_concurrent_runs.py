"""One text in several threads, each with its own parameters: every run gives its own answer."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugda

NODES, RELATIONSHIPS = 200, 900
RUNS = 5
PARAMETERS = (
    {"p": 3, "q": 1, "list": [1, 2, 3]},
    {"p": 7, "q": 3, "list": [4, 5]},
    {"p": 1, "q": 0, "list": [0, 9, 9, 1]},
    {"p": 9, "q": 4, "list": []},
)
ENDS = "MATCH (a:A {x: $p}), (b:B {x: $q}) WHERE a <> b "
TEXTS = (
    "MATCH (a:A)-[:R]->(b)-[:S]->(c) WHERE a.x < $p AND c.x > $q RETURN count(*)",
    "MATCH (a)-[r:R]->(b)-[s]->(c)-[t]->(a) WHERE r.w < $p AND t.w <> $q RETURN count(*)",
    "MATCH (a:A)-[r]->(b) WHERE b.x = $p RETURN DISTINCT a.name ORDER BY a.name LIMIT $p",
    "MATCH (a:A) RETURN sum(COUNT { (a)-[r]->(b) WHERE r.w < $q AND b.x < $p })",
    "MATCH (a {x: $p})-[rs:R* {w: $q}]->(b) RETURN count(*)",
    "MATCH (a {x: $p})-[rs:R*1..3]->(b) WHERE all(r IN rs WHERE r.w <= $q) RETURN count(*)",
    "MATCH (a:A {x: $p}) ((u)-[r]->(v) WHERE r.w < $q)+ (b:B) RETURN count(DISTINCT b)",
    f"{ENDS} MATCH p = shortestPath((a)-[rs*]->(b)) WHERE all(r IN rs WHERE r.w <> $q) "
    "RETURN sum(length(p))",
    f"{ENDS} MATCH p = allShortestPaths((a)-[rs*..4]-(b)) WHERE all(r IN rs WHERE r.w <> $q) "
    "RETURN count(p)",
    "MATCH ANY SHORTEST (a:A {x: $p})((u)-[r]->(v) WHERE v.x <> $q)+(b:B {x: $p}) RETURN count(*)",
    "UNWIND $list AS k MATCH (a {x: k})-[:R]->(b) RETURN k, count(*) ORDER BY k",
    "MATCH (a:A) CALL (a) { MATCH (a)-[r]->(b) WHERE r.w >= $q RETURN b ORDER BY b.x, b.name "
    "LIMIT 1 } RETURN sum(b.x)",
)


@pytest.fixture(scope="module")
def accelerator() -> Iterator[Any]:
    rng = np.random.default_rng(5)
    nodes = {
        "id": list(range(NODES)),
        "labels": [[["A"], ["B"], ["A", "B"], []][each % 4] for each in range(NODES)],
        "x": rng.integers(10, size=NODES),
        "name": [f"n{each % 17}" for each in range(NODES)],
    }
    relationships = {
        "source": rng.integers(NODES, size=RELATIONSHIPS),
        "target": rng.integers(NODES, size=RELATIONSHIPS),
        "type": [str(each) for each in rng.choice(["R", "S"], RELATIONSHIPS)],
        "w": rng.integers(5, size=RELATIONSHIPS),
    }
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as made:
        yield made


@pytest.fixture
def threads_switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("threads_switch_often")
@pytest.mark.parametrize("text", TEXTS)
def test_threads_with_different_parameters_get_their_own_answers(accelerator, text):
    expected = [accelerator.run(text, each, engine="gpu").values() for each in PARAMETERS]
    assert any(each != expected[0] for each in expected)
    wrong: list[Any] = []

    def ask(number: int) -> None:
        for _ in range(RUNS):
            found = accelerator.run(text, PARAMETERS[number], engine="gpu").values()
            if found != expected[number]:
                wrong.append((PARAMETERS[number], expected[number], found))

    threads = [threading.Thread(target=ask, args=(each,)) for each in range(len(PARAMETERS))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
