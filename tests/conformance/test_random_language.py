"""Random whole queries: the device's rows equal the reference's, and general laws hold."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpugda_strategies.pbe.options import PbeOptions
from gpugda_strategies.sgsi.options import SgsiOptions
from language_runs import answer, compare, key_of
from made_queries import Maker, made_graph

import gpugda
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.extend.segments.waiting import WaitingRows
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.registry import DEFAULT_STRATEGY, STRATEGIES
from gpugda.thresholds import SegmentLimits

_PER_SEED = 100


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
)
def test_the_device_gives_the_rows_of_the_reference(seed: int) -> None:
    findings = compare(seed, _PER_SEED)
    assert not findings.differences, "\n".join(findings.differences)
    assert len(findings.only_one_fails) <= _PER_SEED // 50, findings.only_one_fails
    assert findings.answered + findings.refused.total() + findings.late == _PER_SEED
    assert findings.answered > _PER_SEED // 2, findings.refused
    assert findings.rows > _PER_SEED // 4


# ------------------------------------------------------------------ graphs beyond the memory
class InSegments(ExtendStrategy):
    """Streams every graph in segments, and spills all rows that wait for them."""

    segments = SegmentLimits(reduces=False, max_entries=2, rows_bytes=1, disk_cost=0)

    def __init__(self, device_graph: DeviceGraph, **options: Any) -> None:
        decides = replace(device_graph.context.profile.thresholds, segments=self.segments)
        super().__init__(device_graph, **{"thresholds": decides} | options)


class Reduced(InSegments):
    """Keeps only entries between candidates."""

    segments = SegmentLimits(reduces_leaves=True, max_entries=2)


SMALL = {
    "gpugda.execute.patterns.witnesses._MIN_ROWS": 0.0,
    "gpugda.execute.patterns.witnesses._ROUNDS": (1, 2),
    "gpugda_strategies.sgsi.strategy._DEFAULT_OPTIONS": SgsiOptions(
        segment_entries=2, rows=2, places=3
    ),
    "gpugda_strategies.pbe.strategy._DEFAULT_OPTIONS": PbeOptions(partitions=2),
}


@pytest.mark.device
@pytest.mark.parametrize(
    "seed", [41, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (42, 43))]
)
def test_patterns_walked_on_the_host_give_the_rows_of_the_reference(seed: int, walks: None) -> None:
    findings = compare(seed, 100)
    assert not findings.differences, "\n".join(findings.differences)
    assert findings.answered > 50


@pytest.mark.device
@pytest.mark.parametrize("form", [InSegments, Reduced])
@pytest.mark.parametrize(
    "seed", [25, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (21, 30, 37, 38))]
)
def test_graphs_in_parts_give_the_rows_of_the_reference(
    seed: int, form: type[ExtendStrategy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, value in SMALL.items():
        monkeypatch.setattr(place, value)
    monkeypatch.setitem(STRATEGIES, DEFAULT_STRATEGY, form)
    monkeypatch.setattr("gpugda.match.extend.segments.waiting.spill_place", lambda: tmp_path)
    spilled, spill = [], WaitingRows.spill

    def noted(waiting: WaitingRows, tables: Any, nbytes: int) -> Any:
        spilled.append(nbytes)
        return spill(waiting, tables, nbytes)

    monkeypatch.setattr(WaitingRows, "spill", noted)
    findings = compare(seed, 25, engines=tuple(f"gpu {name}" for name in STRATEGIES))
    assert not findings.differences, "\n".join(findings.differences)
    assert findings.answered > 25
    assert bool(spilled) is (form is InSegments)
    assert [each for each in tmp_path.iterdir() if each.is_dir()] == []


ENGINES = ("reference", "gpu")


def _connected(rng: random.Random) -> Any:
    nodes, relationships = made_graph(rng).tables()
    return gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships or None))


def _rows(accelerator: Any, text: str, engine: str) -> Counter[Any] | None:
    """The rows as a multiset; None if the query fails or is refused."""
    query = Maker(random.Random(0)).query()
    kind, found = answer(lambda: accelerator.run(text, query.parameters, engine=engine), query)
    return found[1] if kind == "rows" else None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(4))
def test_condition_negation_and_null_partition_the_rows(seed: int, engine: str) -> None:
    rng, compared = random.Random(seed), 0
    with _connected(rng) as accelerator:
        for _ in range(15):
            maker = Maker(rng, {"a": "node", "b": "node", "r": "relationship"})
            condition = maker.condition()
            before = "MATCH (a)-[r]-(b) WITH a, r, b"
            after = "RETURN a.k AS a, r.k AS r, b.k AS b"
            parts = [
                _rows(accelerator, f"{before} WHERE {asked} {after}", engine)
                for asked in (
                    condition,
                    f"NOT ({condition})",
                    f"(({condition}) = true) IS NULL",
                )
            ]
            everything = _rows(accelerator, f"{before} {after}", engine)
            if None in parts or everything is None:
                continue
            compared += 1
            assert sum((part or Counter() for part in parts), Counter()) == everything, condition
    assert compared > 5


EQUIVALENT = [
    (
        "MATCH (a)-[r:R]->(b)<-[s]-(c) RETURN a.k, r.k, b.k, s.k, c.k",
        "MATCH (c)-[s]->(b)<-[r:R]-(a) RETURN a.k, r.k, b.k, s.k, c.k",
        "MATCH (a)-[r:R]->(b) WITH a, r, b MATCH (b)<-[s]-(c) WHERE s <> r"
        " RETURN a.k, r.k, b.k, s.k, c.k",
    ),
    (
        "MATCH (a)-[r*1..2]-(b:A) RETURN a.k, b.k, size(r)",
        "MATCH (b:A)-[r*1..2]-(a) RETURN a.k, b.k, size(r)",
        "MATCH (b:A) WITH b MATCH (a)-[r*1..2]-(b) RETURN a.k, b.k, size(r)",
    ),
    (
        "MATCH (a) WHERE EXISTS { (a)-[:R]->(:A) } RETURN a.k",
        "MATCH (a) WHERE (a)-[:R]->(:A) RETURN a.k",
        "MATCH (a) WHERE COUNT { (a)-[:R]->(:A) } > 0 RETURN a.k",
        "MATCH (a)-[:R]->(:A) RETURN DISTINCT a.k",
        "MATCH (a) OPTIONAL MATCH (a)-[:R]->(b:A) WITH a, count(b) AS c WHERE c > 0 RETURN a.k",
    ),
    (
        "MATCH (a) OPTIONAL MATCH (a)-->(b:A) RETURN a.k, count(b) AS c",
        "MATCH (a) CALL (a) { MATCH (a)-->(b:A) RETURN count(b) AS c } RETURN a.k, c",
        "MATCH (a) RETURN a.k, COUNT { (a)-->(:A) } AS c",
        "MATCH (a) RETURN a.k, size([(a)-->(b:A) | b]) AS c",
        "MATCH (a) RETURN a.k, size(COLLECT { MATCH (a)-->(b:A) RETURN b.k }) AS c",
    ),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("texts", EQUIVALENT, ids=[texts[0] for texts in EQUIVALENT])
def test_equivalent_queries_give_equal_rows(texts: tuple[str, ...], engine: str) -> None:
    for seed in range(6):
        with _connected(random.Random(seed)) as accelerator:
            found = [_rows(accelerator, text, engine) for text in texts]
        assert all(rows == found[0] for rows in found), seed


def test_keys_distinguish_values() -> None:
    def key(value: Any) -> Any:
        return key_of(value, merges=False, bags=False)

    assert key(1) != key(1.0) != key(True)
    assert key(0.0) != key(-0.0)
    assert key_of([1, 2], merges=True, bags=True) == key_of([2.0, 1], merges=True, bags=True)
    assert key([1, 2]) != key([2, 1])
