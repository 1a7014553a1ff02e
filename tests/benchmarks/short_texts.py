"""Compares what a new short text costs in two checkouts, from the text to its operators.

    python tests/benchmarks/short_texts.py BEFORE [AFTER]

Both run in turn, each in its own environment (``.venv``); AFTER is this checkout by default. Prints
processor milliseconds per text, the least of all rounds: of parsing and checking, of building and
lowering, and together.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

TEXTS = (
    "MATCH (a:A)-[r:R]->(b:B) WHERE a.x = {n} RETURN count(*)",
    "MATCH (a:A)-[:R]->(b:B)-[:S]->(c) WHERE a.x > {n} RETURN a.x, b.y, c",
    "MATCH (a {{x: {n}}})-[r]->(b) RETURN b ORDER BY b.x LIMIT 10",
    "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) WHERE a.x < {n} RETURN count(*)",
    "MATCH (n:A) WHERE n.x = {n} RETURN n",
    "MATCH (n:A) RETURN n.x AS x, count(*) AS c{n} ORDER BY c{n} DESC LIMIT 5",
    "MATCH (a:A)--(b) RETURN DISTINCT b.x AS v{n}",
    "MATCH (a:A)-[:R]->(b), (b)-[:S]->(c:B) WHERE a.x <> {n} RETURN a, b, c SKIP 1 LIMIT 3",
    "MATCH (a:A) MATCH (a)-[r:R]->(b) WHERE b.y STARTS WITH 'a{n}' RETURN type(r), b.y",
    "MATCH (p:A)-[:R]-(q:A)-[:R]-(r:A)-[:R]-(p) WHERE q.x = {n} RETURN p, count(DISTINCT q)",
)
OF_EACH = 20
ROUNDS = 40


def measure() -> None:
    """In a checkout: a line with two figures for each line of standard input."""
    from gpugda.execute.pipeline import make_pipeline
    from gpugda.query.prepare import prepare

    for number, _ in enumerate(sys.stdin, 1):
        first = number * OF_EACH
        texts = [text.format(n=n) for n in range(first, first + OF_EACH) for text in TEXTS]
        start = time.process_time()
        queries = [prepare(text) for text in texts]
        checked = time.process_time()
        for query in queries:
            make_pipeline(query)
        built = time.process_time()
        per_text = 1000 / len(texts)
        print(json.dumps([(checked - start) * per_text, (built - checked) * per_text]), flush=True)


def main(checkouts: list[Path]) -> None:
    """Both checkouts in turn."""
    runs = [
        subprocess.Popen(
            [each / ".venv/bin/python", __file__, "--measure"],
            cwd=each,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for each in checkouts
    ]
    found: list[list[list[float]]] = [[] for _ in runs]
    for _ in range(ROUNDS):
        for run, figures in zip(runs, found, strict=True):
            run.stdin.write("\n")  # type: ignore[union-attr]
            run.stdin.flush()  # type: ignore[union-attr]
            figures.append(json.loads(run.stdout.readline()))  # type: ignore[union-attr]
    for checkout, run, figures in zip(checkouts, runs, found, strict=True):
        run.communicate()
        checked, built = min(figures, key=sum)
        print(f"{checkout}: {checked:.3f} + {built:.3f} = {checked + built:.3f} ms")


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        measure()
    else:
        own = Path(__file__).resolve().parents[2]
        main([*map(Path, sys.argv[1:]), *([own] if len(sys.argv) == 2 else [])])
