"""``gpugda demo``: a few example queries on the sample graph."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from gpugda.cli.formats import table_text
from gpugda.cli.options import SourceOptions
from gpugda.cli.run import open_accelerator
from gpugda.result.summary import format_seconds

if TYPE_CHECKING:
    from gpugda.accelerator import Accelerator
    from gpugda.result.result import Result
    from gpugda.result.summary import Summary
    from gpugda.types import Engine

__all__ = ["QUERIES", "DemoQuery", "run_demo"]

SAMPLE = "sample:wordnet"


class DemoQuery(NamedTuple):
    """A question and its Cypher."""

    question: str
    text: str


QUERIES = (
    DemoQuery(
        "What is a dog, two steps up?",
        'MATCH (w:Word {name: "dog"})-[:HAS_SENSE]->(s:Noun)-[:HYPERNYM]->(h)-[:HYPERNYM]->(g)\n'
        "RETURN s.name, h.name, g.name",
    ),
    DemoQuery(
        "Which words mean an animal, a person and a food?",
        "MATCH (w:Word)-[:HAS_SENSE]->(animal:NounAnimal), (w)-[:HAS_SENSE]->(food:NounFood),\n"
        "      (w)-[:HAS_SENSE]->(person:NounPerson)\n"
        "RETURN DISTINCT w.name ORDER BY w.name LIMIT 8",
    ),
    DemoQuery(
        "Which noun, verb and adjective are derived from each other? (triangles)",
        "MATCH (n:Noun)-[:DERIVATION]->(v:Verb)-[:DERIVATION]->(a:Adjective)-[:DERIVATION]->(n)\n"
        "RETURN DISTINCT n.name, v.name, a.name ORDER BY n.name, v.name, a.name LIMIT 5",
    ),
    DemoQuery(
        "In how many ways do two words share two meanings? (squares)",
        "MATCH (a:Word)-[:HAS_SENSE]->(s:Synset)<-[:HAS_SENSE]-(b:Word),\n"
        "      (a)-[:HAS_SENSE]->(t:Synset)<-[:HAS_SENSE]-(b)\n"
        "RETURN count(*) AS squares",
    ),
)


def run_demo(engine: Engine, device: str | None) -> None:
    """Opens the sample, runs the queries and prints rows, engine and times."""
    width = min(shutil.get_terminal_size().columns, 100)
    started = time.perf_counter()
    with open_accelerator(SourceOptions(SAMPLE), device) as accelerator:
        seconds = time.perf_counter() - started
        status = accelerator.status()
        _print(
            f"WordNet 3.0 as a graph: {status['nodes']:,} nodes, "
            f"{status['relationships']:,} relationships, opened in {format_seconds(seconds)}\n"
        )
        for number, query in enumerate(QUERIES, start=1):
            _print(f"{number}. {query.question}\n\n{query.text}\n")
            first, result = _timed(accelerator, query.text, engine)
            again, _ = _timed(accelerator, query.text, engine)
            _print(table_text(result, limit=10, width=width).rstrip())
            _print(f"{_times(result.summary, first, again)}\n")
    _print(
        "Go on:\n"
        f"  gpugda run -a {SAMPLE} --summary 'MATCH (w:Word)-->(s) RETURN w, s LIMIT 3'\n"
        "  gpugda run --nodes Person=people.csv --relationships KNOWS=knows.csv 'MATCH …'\n"
        "  gpugda doctor\n"
        f'In Python: gpugda.connect("{SAMPLE}").run("MATCH …")'
    )


def _timed(accelerator: Accelerator, text: str, engine: Engine) -> tuple[float, Result]:
    started = time.perf_counter()
    result = accelerator.run(text, engine=engine)
    return time.perf_counter() - started, result


def _times(summary: Summary, first: float, again: float) -> str:
    """Both times, and what most of the first one went into: opening the device, compiling, …."""
    stages = {name: each for name, each in summary.timings.items() if name != "total"}
    longest = max(stages, key=stages.__getitem__, default="")
    part = f", of which {format_seconds(stages[longest])} {longest}" if longest else ""
    where = f" on {summary.device}" if summary.device else ""
    return (
        f"engine {summary.engine}{where}: first {format_seconds(first)}{part}; "
        f"then {format_seconds(again)}"
    )


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
