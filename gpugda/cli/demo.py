"""``gpugda demo``: a few telling queries on the sample graph."""

from __future__ import annotations

import shutil
import sys
import time
from typing import NamedTuple

from gpugda.cli.formats import table_text
from gpugda.cli.options import SourceOptions
from gpugda.cli.run import open_accelerator
from gpugda.result.summary import format_seconds

__all__ = ["QUERIES", "DemoQuery", "run_demo"]

SAMPLE = "sample:wordnet"


class DemoQuery(NamedTuple):
    """A question and its Cypher."""

    question: str
    text: str


QUERIES = (
    DemoQuery(
        "What kinds of things is a dog, two steps up?",
        'MATCH (w:Word {name: "dog"})-[:HAS_SENSE]->(s:Noun)-[:HYPERNYM]->(h)-[:HYPERNYM]->(g)\n'
        "RETURN s.name, h.name, g.name",
    ),
    DemoQuery(
        "Which animals' words also mean a food that is a part of something?",
        "MATCH (w:Word)-[:HAS_SENSE]->(animal:NounAnimal),\n"
        "      (w)-[:HAS_SENSE]->(food:NounFood)-[:HYPERNYM]->(kind)\n"
        "RETURN w.name, animal.name, food.name, kind.name ORDER BY w.name LIMIT 5",
    ),
    DemoQuery(
        "Which words name both a thing and a kind of it? (a triangle)",
        "MATCH (w:Word)-[:HAS_SENSE]->(thing:Synset)-[:HYPERNYM]->(kind:Synset)<-[:HAS_SENSE]-(w)\n"
        "RETURN count(*) AS triangles",
    ),
    DemoQuery(
        "How many opposites have neighbours that are opposites too? (a square)",
        "MATCH (a:Adjective)-[:ANTONYM]->(b)-[:SIMILAR_TO]->(c),\n"
        "      (a)-[:SIMILAR_TO]->(d)-[:ANTONYM]->(c)\n"
        "RETURN count(*) AS matches",
    ),
)


def run_demo(engine: str, device: str | None) -> None:
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
            result = accelerator.run(query.text, engine=engine)
            _print(table_text(result, limit=10, width=width).rstrip())
            _print(f"{result.summary.headline()}\n")
    _print(
        "Go on:\n"
        f"  gpugda run -a {SAMPLE} --summary 'MATCH (w:Word)-->(s) RETURN w, s LIMIT 3'\n"
        "  gpugda run --nodes Person=people.csv --relationships KNOWS=knows.csv 'MATCH …'\n"
        "  gpugda doctor\n"
        f'In Python: gpugda.connect("{SAMPLE}").run("MATCH …")'
    )


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
