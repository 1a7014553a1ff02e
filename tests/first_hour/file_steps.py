"""An analyst's first hour: the sample, tables, files, snapshots, plans, and refusals."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from steps import Group, LeftOutError, command, records, refuses, same, tells

import gpugda

group = Group("analyst")
TWO = "MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.name, k.since, b.name"
RINGS = "MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c)-[:KNOWS]->(a) RETURN count(*) AS rings"
HYPERNYMS = "MATCH (a)-[:HYPERNYM]->(b) RETURN count(*)"
PEOPLE = {"id": [1, 2, 3], "labels": ["Person"] * 3, "name": ["Ann", "Bo", "Cy"]}
KNOWS = {"source": [1, 2, 3], "target": [2, 3, 1], "type": ["KNOWS"] * 3, "since": [1, 2, None]}
_kept: dict[str, Any] = {}


def wordnet() -> gpugda.Accelerator:
    if "wordnet" not in _kept:
        _kept["wordnet"] = gpugda.connect("sample:wordnet")
    return _kept["wordnet"]


def people() -> gpugda.Accelerator:
    if "people" not in _kept:
        _kept["people"] = gpugda.connect(gpugda.graph(nodes=PEOPLE, relationships=KNOWS))
    return _kept["people"]


def _both(accelerator: gpugda.Accelerator, query: str, **parameters: Any) -> list[list[Any]]:
    """The device's rows; raises if they differ from the reference's."""
    found = records(accelerator.run(query, engine="gpu", **parameters))
    same(found, records(accelerator.run(query, engine="reference", **parameters)))
    return found


# ------------------------------------------------------------------ the README
@group.step("README: dog is a canine")
def readme() -> object:
    result = wordnet().run(
        "MATCH (w:Word {name: $name})-[:HAS_SENSE]->(s:NounAnimal)-[:HYPERNYM]->(h) "
        "RETURN s.name, h.name ORDER BY h.name",
        name="dog",
    )
    same(result.values(), [["dog", "canine"], ["dog", "domestic animal"]])
    same((result.summary.engine, result.summary.strategy), ("gpu", "extend"))
    return result.summary.headline()


@group.step("README: a graph of one's own has a ring of three")
def own() -> object:
    return same(people().run(RINGS).data(), [{"rings": 3}])


@group.step("README: a procedure is refused with its place")
def procedure() -> object:
    query = "CALL db.indexes()\nYIELD name RETURN name"
    words = ("CALL of a procedure", "line 1, column 1", "^^^")
    return refuses(gpugda.UnsupportedQueryError, words, lambda: wordnet().run(query))


@group.step("what the graph holds: accelerator.schema and CALL db.labels()")
def schema() -> object:
    shown = str(people().schema)
    labels = people().run("CALL db.labels() YIELD label RETURN count(*) AS n").single()["n"]
    return [tells(shown, "nodes", "relationships", "[:"), labels]


# ------------------------------------------------------------------ sources
@group.step("data frames of pandas, and to_df()")
def pandas() -> object:
    import pandas as pd

    graph = gpugda.graph(nodes=pd.DataFrame(PEOPLE), relationships=pd.DataFrame(KNOWS))
    with gpugda.connect(graph) as accelerator:
        frame = accelerator.run(TWO + " ORDER BY a.name").to_df()
    same(list(frame.columns), ["a.name", "k.since", "b.name"])
    return same(frame["b.name"].tolist(), ["Bo", "Cy", "Ann"])


@group.step("CSV files, columns by name")
def csv() -> object:
    Path("people.csv").write_text("key,name,zip\n1,Ann,01234\n2,Bob,\n")
    Path("knows.csv").write_text("from,to,since\n1,2,1999\n")
    columns = {"id": "key", "source": "from", "target": "to"}
    graph = gpugda.graph({"Person": "people.csv"}, {"KNOWS": "knows.csv"}, **columns)
    with gpugda.connect(graph) as accelerator:
        found = _both(accelerator, "MATCH (a)-[k:KNOWS]->(b) RETURN a.zip, k.since, b.name, b.zip")
    return same(found, [["01234", 1999, "Bob", None]])


@group.step("Parquet files, and out again with to_parquet()")
def parquet() -> object:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(PEOPLE), "people.parquet")
    pq.write_table(pa.table(KNOWS), "knows.parquet")
    with gpugda.connect(gpugda.graph("people.parquet", "knows.parquet")) as accelerator:
        found = _both(accelerator, TWO)
        accelerator.to_parquet("out")
        accelerator.run(TWO).to_parquet("rows.parquet")
    same(pq.read_table("rows.parquet").num_rows, 3)
    with gpugda.connect("out") as again:
        return same(records(again.run(TWO)), found)


@group.step("a list of edges")
def edges() -> object:
    Path("edges.txt").write_text("# who whom\n1 2\n2 3\n3 1\n3 4\n")
    with gpugda.connect(gpugda.read_edges("edges.txt", type="KNOWS")) as accelerator:
        return same(_both(accelerator, RINGS), [[3]])


@group.step("a NetworkX graph, and to_networkx()")
def networkx() -> object:
    import networkx as nx

    with gpugda.connect(nx.karate_club_graph()) as accelerator:
        found = _both(accelerator, "MATCH (a)--(b)--(c)--(a) RETURN count(*)")
        out = accelerator.to_networkx()
    same((out.number_of_nodes(), out.number_of_edges()), (34, 78))
    return same(found, [[6 * 45]])


@group.step("files of neo4j-admin import")
def read_import() -> object:
    Path("p.csv").write_text("id:ID,name,born:int,:LABEL\nann,Ann,1961,Actor;Singer\nbob,Bob,,\n")
    Path("k.csv").write_text(":START_ID,:END_ID,since:date\nann,bob,2001-02-03\n")
    source = gpugda.read_import(nodes={"Person": "p.csv"}, relationships={"KNOWS": "k.csv"})
    with gpugda.connect(source) as accelerator:
        query = "MATCH (a:Singer)-[k:KNOWS]->(b) RETURN a.born, b.name, k.since"
        ((born, name, since),) = _both(accelerator, query)
    return same((born, name, str(since)), (1961, "Bob", "2001-02-03"))


@group.step("GraphML")
def graphml() -> object:
    Path("graph.graphml").write_text(
        '<graphml><key id="age" for="node" attr.name="age" attr.type="int"/><graph>'
        '<node id="a" labels=":Person"><data key="age">33</data></node><node id="b"/>'
        '<edge source="a" target="b" label="KNOWS"/></graph></graphml>'
    )
    with gpugda.connect("graph.graphml") as accelerator:
        return same(_both(accelerator, "MATCH (a)-[:KNOWS]->() RETURN a.age"), [[33]])


# ------------------------------------------------------------------ snapshots
@group.step("save a snapshot and open it")
def snapshot() -> object:
    people().save("people")
    with gpugda.connect("people") as again:
        return same(_both(again, TWO), records(people().run(TWO)))


@group.step("a damaged snapshot is refused")
def damaged() -> object:
    (path, *_) = sorted(Path("people").rglob("*.arrow"))
    path.write_bytes(path.read_bytes()[:-9])
    return refuses(gpugda.SourceError, (str(path.name),), lambda: gpugda.connect("people"))


# ------------------------------------------------------------------ plans before execution
@group.step("explain, estimate, profile")
def asking() -> object:
    query = "MATCH (w:Word {name: 'dog'})-[:HAS_SENSE]->(s) RETURN s.name"
    tells(wordnet().explain(query), "engine gpu", "extend", "candidates")
    tells(wordnet().profile(query), "8 rows")
    large = "MATCH (a)--(b)--(c)--(d)--(e)--(f) RETURN *"
    if wordnet().estimate(large).rows < 1e7:
        raise AssertionError(f"a large query: {wordnet().estimate(large)}")
    return wordnet().estimate(query)


@group.step("a time limit")
def time_limit() -> object:
    query = "MATCH (a)--(b)--(c)--(d)--(e)--(f) RETURN count(DISTINCT a)"
    call = lambda: wordnet().run(query, timeout=0.1)  # noqa: E731 - a call put off
    return refuses(gpugda.QueryTimeoutError, ("time limit",), call)


@group.step("a memory limit that is too small says what it asked for")
def memory_limit() -> object:
    def small() -> object:
        with gpugda.connect("sample:wordnet", memory_limit="64KiB") as accelerator:
            return accelerator.run(HYPERNYMS).values()

    return refuses(gpugda.MemoryLimitError, ("bytes are needed", "memory limit of 65,536"), small)


# ------------------------------------------------------------------ several clauses
@group.step("WITH, OPTIONAL MATCH, collect, ORDER BY")
def clauses() -> object:
    found = people().run(
        "MATCH (a:Person) WITH a ORDER BY a.name DESC LIMIT 2 "
        "OPTIONAL MATCH (a)-[k:KNOWS]->(b {name: 'Cy'}) "
        "RETURN a.name AS name, collect(b.name) AS friends, count(k) AS n ORDER BY name"
    )
    wanted = [
        {"name": "Bo", "friends": ["Cy"], "n": 1},
        {"name": "Cy", "friends": [], "n": 0},
    ]
    return same(found.data(), wanted)


@group.step("UNWIND, variable length, EXISTS, UNION")
def more_clauses() -> object:
    ways = people().run("MATCH (a {name: 'Ann'})-[:KNOWS*1..2]->(b) RETURN b.name").value()
    same(sorted(ways), ["Bo", "Cy"])
    query = "UNWIND $n AS n MATCH (a {name: n}) WHERE EXISTS { (a)-->() } RETURN a.name AS x"
    same(people().run(query, n=["Bo", "No"]).value(), ["Bo"])
    union = "MATCH (a {name: 'Ann'}) RETURN a.name AS x UNION MATCH (b:Person) RETURN b.name AS x"
    return same(sorted(people().run(union).value()), ["Ann", "Bo", "Cy"])


@group.step("a write is refused with its place")
def write() -> object:
    query = "MATCH (a:Person)\nCREATE (b:Person) RETURN a"
    words = ("CREATE", "line 2, column 1", "^^^")
    return refuses(gpugda.UnsupportedQueryError, words, lambda: people().run(query))


# ------------------------------------------------------------------ misspellings
@group.step("a label, a type, a property key: warnings with the right names")
def names() -> object:
    query = "MATCH (w:Wrod)-[:HAS_SENES]->(s) RETURN w.nmae"
    return tells(wordnet().run(query).summary.warnings, ":Word?", "HAS_SENSE?", "name?")


@group.step("a keyword of Cypher, with a caret")
def keyword() -> object:
    query = "MATCH (a:Person) RETRUN a"
    words = ("did you mean RETURN?", "line 1, column 18", "^^^^^^")
    return refuses(gpugda.CypherSyntaxError, words, lambda: people().run(query))


@group.step("an argument of run()")
def argument() -> object:
    words = ("'timeuot'", "did you mean 'timeout'?")
    return refuses(gpugda.ConfigurationError, words, lambda: people().run(TWO, timeuot=3))


@group.step("an argument that is connect()'s")
def of_connect() -> object:
    words = ("memory_limit is an argument of gpugda.connect()",)
    call = lambda: people().run(TWO, memory_limit="1GiB")  # noqa: E731 - a call put off
    return refuses(gpugda.ConfigurationError, words, call)


@group.step("an engine")
def engine() -> object:
    words = ("'gpuu'", "'gpu'", "'native'")
    return refuses(gpugda.ConfigurationError, words, lambda: people().run(TWO, engine="gpuu"))


@group.step("label= for labels=")
def label() -> object:
    call = lambda: gpugda.connect("sample:wordnet", label=["Word"])  # noqa: E731
    return refuses((TypeError, gpugda.ConfigurationError), ("'label'",), call)


@group.step("addresses: a scheme, a sample, a file, a parameter")
def addresses() -> object:
    refuses(gpugda.ConfigurationError, ("bolt://",), lambda: gpugda.connect("blot://localhost"))
    refuses(gpugda.ConfigurationError, ("sample:wordnet",), lambda: gpugda.connect("sample:word"))
    refuses(gpugda.SourceError, ("no.graphml",), lambda: gpugda.connect("no.graphml"))
    query = "MATCH (a {name: $name}) RETURN a"
    words = ("$name", "^")
    return refuses(gpugda.ParameterMissingError, words, lambda: people().run(query))


@group.step("a relationship to a node that is not there")
def dangling() -> object:
    table = {"source": [1], "target": [9], "type": ["KNOWS"]}
    graph = gpugda.graph(nodes=PEOPLE, relationships=table)
    return refuses(gpugda.SourceError, ("id 9", "row 1"), lambda: gpugda.connect(graph))


# ------------------------------------------------------------------ folders
ONE = (
    "import gpugda; print(gpugda.connect('sample:wordnet').run("
    "'MATCH (w:Word {name: \"dog\"})-->(s) RETURN count(*)').single().value())"
)


@group.step("a cache that cannot be written")
def read_only_cache() -> object:
    if os.getuid() == 0:
        raise LeftOutError("root may write everywhere")
    folder = Path("locked").absolute()
    folder.mkdir(exist_ok=True)
    folder.chmod(0o555)
    said = command("python", "-c", ONE, XDG_CACHE_HOME=str(folder), GPUGDA_CACHE_DIR=str(folder))
    same(said.out.strip(), "8")
    return tells(said.err, "cannot be written", "gpugda-").splitlines()[0]


@group.step("HOME=/nonexistent")
def no_home() -> object:
    environment = {"HOME": "/nonexistent", "XDG_CACHE_HOME": "", "GPUGDA_CACHE_DIR": ""}
    return same(command("python", "-c", ONE, **environment).out.strip(), "8")


if __name__ == "__main__":
    sys.exit(bool(group.run()))
