"""What a new process imports before its first answer: that is most of the time until then."""

import json
import subprocess
import sys

import pytest

HEAVY = {
    "IPython",
    "antlr4",
    "asyncio",
    "fsspec",
    "jinja2",
    "mako",
    "matplotlib",
    "multiprocessing",
    "neo4j",
    "networkx",
    "pandas",
    "polars",
    "prompt_toolkit",
    "pyarrow.csv",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "pytz",
    "rich",
    "scipy",
    "ssl",
    "starlette",
    "typer",
}
OWN = 400
"""Modules of the package that a first answer may import; it imports 356."""

GRAPH = """
import json, sys, gpugda
people = {"id": [1, 2, 3], "labels": ["Person"] * 3, "name": ["Ann", "Bo", "Cy"]}
knows = {"source": [1, 2, 3], "target": [2, 3, 1], "type": ["KNOWS"] * 3}
source = gpugda.graph(nodes=people, relationships=knows)
"""
WORDNET = """
import json, sys, gpugda
source = "sample:wordnet"
"""
ANSWER = """
with gpugda.connect(source) as accelerator:
    answer = accelerator.run(sys.argv[1], engine="gpu").to_arrow().to_pylist()
print(json.dumps({"answer": answer, "modules": sorted(sys.modules)}))
"""


@pytest.fixture
def first_answer():
    def ask(source, query):
        done = subprocess.run(
            [sys.executable, "-c", source + ANSWER, query],
            check=True,
            capture_output=True,
            text=True,
        )
        said = json.loads(done.stdout)
        return said["answer"], set(said["modules"])

    return ask


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize(
    ("source", "query", "expected", "unused"),
    [
        (
            GRAPH,
            "MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c)-[:KNOWS]->(a) RETURN count(*) AS rings",
            [{"rings": 3}],
            HEAVY,
        ),
        (
            GRAPH,
            "MATCH (a:Person)-[:KNOWS]->(b) RETURN a.name AS a, b.name AS b ORDER BY a LIMIT 1",
            [{"a": "Ann", "b": "Bo"}],
            HEAVY,
        ),
        (
            WORDNET,
            "MATCH (w:Word {name: 'dog'})-[:HAS_SENSE]->(:NounAnimal)-[:HYPERNYM]->(h) "
            "RETURN count(h) AS n",
            [{"n": 2}],
            HEAVY | {"pyarrow.compute"},
        ),
    ],
    ids=["count", "texts", "snapshot"],
)
def test_a_first_answer_imports_no_more_than_it_needs(
    first_answer, source, query, expected, unused
):
    answer, modules = first_answer(source, query)
    assert answer == expected
    assert modules & unused == set()
    own = [name for name in modules if name.split(".")[0].startswith("gpugda")]
    assert len(own) <= OWN
