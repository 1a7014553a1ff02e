"""Writes the table of docs/support.md from the current behaviour; `make docs` runs it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from generated_pages import fill, graph

import gpugda

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from fake_server import FakeServer

CONSTRUCTS = {
    "patterns of nodes and directed relationships": "MATCH (a:P)-[:R]->(b) RETURN a.n, b.n",
    "undirected relationships": "MATCH (a)-[:R]-(b) RETURN count(*)",
    "several types, label expressions": "MATCH (a:P|Q)-[:R|S]->(b:!Q) RETURN count(*)",
    "several patterns, several MATCH": "MATCH (a)-->(b), (b)-->(c) MATCH (c)-->(d) RETURN count(*)",
    "inline properties, parameters": "MATCH (a {n: $n}) RETURN a",
    "WHERE with comparisons and logic": "MATCH (a) WHERE a.n > 1 AND NOT a.n = 3 RETURN a",
    "STARTS WITH, ENDS WITH, CONTAINS": "MATCH (a) WHERE a.s STARTS WITH 'x' RETURN a",
    "IN a list": "MATCH (a) WHERE a.n IN [1, 2] RETURN a",
    "conditions between variables": "MATCH (a)-->(b) WHERE a.n < b.n RETURN count(*)",
    "count, DISTINCT, grouping": "MATCH (a)-->(b) RETURN a.n, count(DISTINCT b.n)",
    "ORDER BY, SKIP, LIMIT": "MATCH (a) RETURN a.n ORDER BY a.n SKIP 1 LIMIT 2",
    "id(), elementId(), labels(), type()": "MATCH (a)-[r]->() RETURN id(a), labels(a), type(r)",
    "sum, avg, min, max, collect": "MATCH (a) RETURN sum(a.n), max(a.n), collect(a.n)",
    "arithmetic": "MATCH (a) RETURN a.n * 2 + 1",
    "functions of values": "MATCH (a) RETURN toUpper(a.s), abs(a.n)",
    "CASE": "MATCH (a) RETURN CASE WHEN a.n > 1 THEN 'x' ELSE 'y' END",
    "=~": "MATCH (a) WHERE a.s =~ 'x.*' RETURN a",
    "lists, maps, subscripts": "MATCH (a) RETURN [a.n, 2][0], {n: a.n}",
    "list comprehensions": "MATCH (a) RETURN [x IN [1, 2] WHERE x > a.n | x * 2]",
    "WITH": "MATCH (a) WITH a.n AS n WHERE n > 1 RETURN n",
    "WITH, then MATCH": "MATCH (a) WITH a LIMIT 2 MATCH (a)-->(b) RETURN b.n",
    "UNWIND": "UNWIND [1, 2] AS n MATCH (a {n: n}) RETURN a",
    "OPTIONAL MATCH": "MATCH (a) OPTIONAL MATCH (a)-->(b) RETURN a.n, b.n",
    "UNION": "MATCH (a:P) RETURN a.n AS n UNION MATCH (b:Q) RETURN b.n AS n",
    "EXISTS, COUNT, COLLECT": "MATCH (a) WHERE EXISTS { (a)-->(:Q) } RETURN COUNT { (a)-->() }",
    "CALL of a subquery": "MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN count(b) AS k } RETURN k",
    "pattern comprehensions": "MATCH (a) RETURN [(a)-->(b) | b.n]",
    "paths as values": "MATCH p = (a)-->(b) RETURN length(p)",
    "relationships of variable length": "MATCH (a)-[:R*1..2]->(b) RETURN count(*)",
    "quantified path patterns": "MATCH (a) (()-[:R]->()){1,2} (b) RETURN count(*)",
    "repeated patterns of several steps": "MATCH (a) ((x)-[:R]->(y)-->(z))+ (b) RETURN y, count(*)",
    "dynamic labels and types": "MATCH (a:$('P'))-[:$any(['R', 'S'])]->(b) RETURN count(*)",
    "a bound list of relationships": "MATCH ()-[q]->() WITH [q] AS l MATCH (a)-[l*]->() RETURN a",
    "shortest paths": "MATCH p = shortestPath((a:P {n: 1})-[*]->(b:Q)) RETURN length(p)",
    "path selectors": "MATCH p = SHORTEST 2 GROUPS (a:P)-[:R]->+(b:Q) RETURN length(p)",
    "path selectors over several steps": (
        "MATCH p = ANY SHORTEST (a:P)-[:R]->*(b)-[:S]->{1,2}(c) RETURN length(p)"
    ),
    "NEXT, WHEN, LET (Cypher 25)": "CYPHER 25 MATCH (a) RETURN a NEXT LET n = a.n RETURN n",
    "REPEATABLE ELEMENTS (Cypher 25)": (
        "CYPHER 25 MATCH REPEATABLE ELEMENTS (a)-->{1,2}(b)--(c) RETURN count(*)"
    ),
    "CALL or SHOW that describes the graph or its server": (
        "CALL db.labels() YIELD label RETURN label"
    ),
    "CALL of another procedure": "CALL db.info() YIELD name RETURN name",
    "writes": "CREATE (a:P) RETURN a",
    "LOAD CSV": "LOAD CSV FROM 'file:///x.csv' AS row RETURN row",
}


class Support(NamedTuple):
    """Whether gpugda answers a construct, on an embedded graph and beside Neo4j."""

    construct: str
    query: str
    embedded: bool
    beside_neo4j: bool


def database() -> gpugda.Accelerator:
    """An accelerator on the tests' fake server, which answers no query itself."""
    nodes = {
        1: (("P",), {"n": 1, "s": "x"}),
        2: (("P",), {"n": 2, "s": "xy"}),
        3: (("Q",), {"n": 3, "s": "z"}),
    }
    relationships = {4: (1, 2, "R", {}), 5: (2, 3, "R", {}), 6: (1, 3, "S", {})}
    return gpugda.connect(FakeServer(nodes, relationships), cache=False)


def is_answered(accelerator: gpugda.Accelerator, query: str) -> bool:
    parameters = {"n": 1} if "$n" in query else {}
    try:
        accelerator.run(query, parameters, engine="gpu").values()
    except gpugda.GpugdaError:
        return False
    return True


def found() -> list[Support]:
    with graph() as embedded, database() as live:
        return [
            Support(construct, query, is_answered(embedded, query), is_answered(live, query))
            for construct, query in CONSTRUCTS.items()
        ]


def table(rows: list[Support]) -> Iterator[str]:
    yield "| construct | example | a graph of your own | a live Neo4j |"
    yield "| --- | --- | --- | --- |"
    for row in rows:
        query = row.query.replace("|", "\\|")
        embedded = "device" if row.embedded else "refused"
        beside = "device or Neo4j" if row.beside_neo4j else "Neo4j"
        yield f"| {row.construct} | `{query}` | {embedded} | {beside} |"


def main() -> None:
    fill("support.md", table(found()))


if __name__ == "__main__":
    main()
