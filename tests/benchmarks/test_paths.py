"""Paths of variable length and shortest paths on wiki-Vote, for gpugda, Ladybug and Neo4j.

    [NEO4J=bolt://localhost:7687] [DEVICE=NAME] pytest tests/benchmarks/test_paths.py -m slow -s

NEO4J is the address of a server without authentication whose database is empty; it is written to.
Each query runs on all engines in turn and must return the same rows; their checksum is printed, so
that runs on several machines can be compared. gpugda first answers everything uncounted, to compile
kernels. REPEATS is the number of runs (3); an engine that takes LIMIT seconds or more runs a query
only once (10). The graph's file is found as in `peer_graphs`; unavailable engines, and those named by
WITHOUT, are left out.
"""

from __future__ import annotations

import os
import time
import zlib
from dataclasses import dataclass, field

import pytest
from benchmarks.path_engines import Ask, engines, tables

REPEATS = int(os.environ.get("REPEATS", "3"))
LIMIT = float(os.environ.get("LIMIT", "10"))


@dataclass
class Query:
    """A query in Cypher and in Ladybug's language."""

    name: str
    cypher: str
    ladybug: str | None


QUERIES = (
    Query(
        "all shortest paths of 10,000 pairs, counted",
        "MATCH (a:N {f: true}), (b:N {t: true}) WHERE a <> b"
        " MATCH p = allShortestPaths((a)-[:R*..20]->(b)) RETURN count(*)",
        "MATCH p = (a:N {f: true})-[:R* ALL SHORTEST 1..20]->(b:N {t: true}) WHERE a.id <> b.id"
        " RETURN count(*)",
    ),
    Query(
        "all shortest paths of 10,000 pairs, lengths",
        "MATCH (a:N {f: true}), (b:N {t: true}) WHERE a <> b"
        " MATCH p = allShortestPaths((a)-[:R*..20]->(b)) RETURN length(p), count(*)",
        "MATCH p = (a:N {f: true})-[:R* ALL SHORTEST 1..20]->(b:N {t: true}) WHERE a.id <> b.id"
        " RETURN length(p), count(*)",
    ),
    Query(
        "*1..3 from 1,000 nodes, counted",
        "MATCH (a:N {s: true})-[:R*1..3]->(b) RETURN count(*)",
        "MATCH (a:N {s: true})-[:R* TRAIL 1..3]->(b:N) RETURN count(*)",
    ),
    Query(
        "*1..3 from 1,000 nodes, by start",
        "MATCH (a:N {s: true})-[:R*1..3]->(b) RETURN a.id, count(*)",
        "MATCH (a:N {s: true})-[:R* TRAIL 1..3]->(b:N) RETURN a.id, count(*)",
    ),
    Query(
        "reached by *1..3 from 1,000 nodes",
        "MATCH (a:N {s: true})-[:R*1..3]->(b) RETURN a.id, count(DISTINCT b)",
        "MATCH (a:N {s: true})-[:R* TRAIL 1..3]->(b:N) RETURN a.id, count(DISTINCT b.id)",
    ),
    Query(
        "reached by *1..4 from 100 nodes",
        "MATCH (a:N {f: true})-[:R*1..4]->(b) RETURN a.id, count(DISTINCT b)",
        None,  # it takes minutes
    ),
    Query(
        "pairs of 10,000 joined by *1..4",
        "MATCH (a:N {f: true})-[:R*1..4]->(b:N {t: true}) RETURN DISTINCT a.id, b.id",
        None,
    ),
)


@dataclass
class Runs:
    """The runs of one query on one engine."""

    sums: set[tuple[int, int]] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)

    def add(self, ask: Ask, text: str) -> None:
        begun = time.perf_counter()
        rows = ask(text)
        self.seconds.append(time.perf_counter() - begun)
        self.sums.add((len(rows), zlib.crc32(repr(sorted(rows)).encode())))

    @property
    def wanted(self) -> bool:
        return not self.seconds or min(self.seconds) < LIMIT


def _measured(asks: dict[str, Ask], query: Query) -> dict[str, Runs]:
    texts = {name: query.ladybug if name == "Ladybug" else query.cypher for name in asks}
    found = {name: Runs() for name, text in texts.items() if text is not None}
    for _ in range(REPEATS):
        for name, runs in found.items():
            if runs.wanted:
                runs.add(asks[name], texts[name] or "")
    return found


@pytest.mark.slow
def test_paths_equal_those_of_other_engines() -> None:
    """The rows must be equal; times are printed, not judged."""
    made = tables()
    if made is None:
        pytest.skip("the file of wiki-Vote is not there")
    with engines(*made) as asks:
        for query in QUERIES:
            asks["gpugda"](query.cypher)
        for query in QUERIES:
            found = _measured(asks, query)
            own = min(found["gpugda"].seconds)
            for name, runs in found.items():
                best = min(runs.seconds)
                ((count, checksum),) = runs.sums
                print(
                    f"{query.name:<46}{name:<8}{best * 1e3:10.1f} ms {best / own:8.1f}x"
                    f"  {count:,} rows, checksum {checksum:08x}",
                    flush=True,
                )
            assert len({frozenset(runs.sums) for runs in found.values()}) == 1, query.name
