"""A Neo4j user's first hour: connecting, choice of engine, the accelerated driver, and scripts.

The server is named by NEO4J_URI, NEO4J_USERNAME and NEO4J_PASSWORD; its database is written to.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import neo4j
from steps import Group, command, records, refuses, same, tells

import gpugda

group = Group("neo4j")
URI = os.environ["NEO4J_URI"]
AUTH = (
    (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ["NEO4J_PASSWORD"])
    if os.environ.get("NEO4J_PASSWORD")
    else None
)
TRIANGLES = "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c)-[:KNOWS]->(a) RETURN count(*) AS n"
SQUARES = (
    "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c)<-[:KNOWS]-(d)<-[:KNOWS]-(a) "
    "RETURN a.name, count(*) AS n ORDER BY n DESC, a.name LIMIT 5"
)
CLAUSES = (
    "MATCH (a:Person) WITH a ORDER BY a.name LIMIT 3 OPTIONAL MATCH (a)-[:SAW]->(f:Film) "
    "RETURN a.name, collect(f.title) AS films ORDER BY a.name"
)
MADE = (
    "UNWIND range(0, 299) AS i CREATE (:Person {i: i, name: 'p' + i})",
    "UNWIND range(0, 9) AS i CREATE (:Film {title: 'f' + i})",
    "MATCH (a:Person), (b:Person) WHERE b.i IN [(a.i + 1) % 300, (a.i + 2) % 300, "
    "(a.i * 7 + 3) % 300, (a.i * 11 + 5) % 300] AND a <> b CREATE (a)-[:KNOWS {w: b.i}]->(b)",
    "MATCH (a:Person), (f:Film {title: 'f' + a.i % 10}) WHERE a.i % 3 = 0 CREATE (a)-[:SAW]->(f)",
)
# The driver writes the server's notifications to standard error.
logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)
_kept: dict[str, Any] = {}


def driver() -> neo4j.Driver:
    if "driver" not in _kept:
        _kept["driver"] = neo4j.GraphDatabase.driver(URI, auth=AUTH)
    return _kept["driver"]


def accelerator() -> gpugda.Accelerator:
    if "accelerator" not in _kept:
        _kept["accelerator"] = gpugda.connect(URI, auth=AUTH)
    return _kept["accelerator"]


def neo4js(query: str, **parameters: Any) -> list[list[Any]]:
    return records(driver().execute_query(query, parameters).records)


@group.step("a graph, made by the driver alone")
def made() -> object:
    for statement in MADE:
        driver().execute_query(statement)
    return same(neo4js("MATCH (n) RETURN count(n)"), [[310]])


@group.step("nothing compiled yet: Neo4j answers without waiting, and the reason says so")
def nothing_compiled() -> object:
    with tempfile.TemporaryDirectory() as folder:
        Path("first.py").write_text(
            "import os, gpugda\n"
            f"with gpugda.connect(os.environ['NEO4J_URI']) as a:\n"
            "    for _ in range(3):\n"
            f"        result = a.run({TRIANGLES!r})\n"
            "        print(result.single()['n'], result.summary.engine)\n"
            f"    print(str(a.explain({TRIANGLES!r})).splitlines()[0])\n"
        )
        folders = dict.fromkeys(("XDG_CACHE_HOME", "GPUGDA_CACHE_DIR", "POCL_CACHE_DIR"), folder)
        out = command("python", "first.py", **folders).out
    ((count,),) = neo4js(TRIANGLES)
    *answers, plan = out.splitlines()
    same(answers, [f"{count} native"] * 3)
    return tells(plan, "engine native", "kernels are being compiled")


@group.step("connect(): auto, native, gpu and reference give the same rows")
def engines() -> object:
    accelerator().warm()
    for query in (TRIANGLES, SQUARES, "MATCH (a:Person {name: $n})-[k]->(b) RETURN b.name, k.w"):
        wanted = neo4js(query, n="p7")
        used = {"n": "p7"} if "$n" in query else {}
        for engine in ("auto", "native", "gpu", "reference"):
            result = accelerator().run(query, engine=engine, **used)
            same(records(result), wanted)
            wanted_engines = {"gpu", "native"} if engine == "auto" else {engine}
            same({result.summary.engine} <= wanted_engines, True)
    return result.summary.headline()


@group.step("auto says who answered, and why")
def reason() -> object:
    summary = accelerator().run(TRIANGLES).consume()
    return f"{summary.engine}: {tells(summary.reason, ' ')}"


@group.step("explain and estimate, without running")
def explain() -> object:
    accelerator().estimate(TRIANGLES)
    tells(accelerator().explain("CREATE (x:New) RETURN x"), "engine native", "CREATE")
    return tells(accelerator().explain(TRIANGLES), "engine ")


@group.step("a query of several clauses")
def clauses() -> object:
    wanted = [["p0", ["f0"]], ["p1", []], ["p10", []]]
    same(neo4js(CLAUSES), wanted)
    return same(records(accelerator().run(CLAUSES)), wanted)


@group.step("a write goes to Neo4j, and is seen at once")
def write() -> object:
    before = accelerator().run("MATCH (n:Person) RETURN count(n)", engine="gpu").single().value()
    summary = accelerator().run("CREATE (:Person {name: 'new', i: 999})").consume()
    same((summary.engine, summary.counters.nodes_created), ("native", 1))
    after = accelerator().run("MATCH (n:Person) RETURN count(n)").single().value()
    driver().execute_query("MATCH (n:Person {i: 999}) DELETE n")
    last = accelerator().run("MATCH (n:Person) RETURN count(n)").single().value()
    return same([before, after, last], [300, 301, 300])


@group.step("a procedure passes through; engine='gpu' refuses it with its place")
def procedure() -> object:
    query = "CALL db.labels() YIELD label RETURN label"
    same(records(accelerator().run(query)), [["Film"], ["Person"]])
    call = lambda: accelerator().run(query, engine="gpu")  # noqa: E731 - a call put off
    return refuses(gpugda.UnsupportedQueryError, ("CALL of a procedure", "line 1"), call)


@group.step("misspelt names are warnings, in Neo4j's codes too")
def names() -> object:
    summary = accelerator().run("MATCH (p:Persn) RETURN p.nmae, p.name", engine="gpu").consume()
    codes = [each["code"] for each in summary.notifications]
    tells(codes, "UnknownLabelWarning", "UnknownPropertyKeyWarning")
    return tells(summary.warnings, ":Person?", "name?")


@group.step("a misspelt keyword")
def keyword() -> object:
    call = lambda: accelerator().run("MATCH (p:Person) RETRUN p").values()  # noqa: E731
    return refuses(gpugda.Error, ("RETRUN",), call)


@group.step("a time limit")
def time_limit() -> object:
    query = "MATCH " + "--".join(f"(n{i})" for i in range(14)) + " RETURN count(DISTINCT n0)"
    call = lambda: accelerator().run(query, timeout=1).values()  # noqa: E731
    return refuses(gpugda.QueryTimeoutError, ("time",), call)


@group.step("a wrong password is said, and not shown")
def password() -> object:
    if AUTH is None:
        return "the server has none"
    call = lambda: gpugda.connect(URI, auth=("neo4j", "not-the-one"))  # noqa: E731
    said = refuses(gpugda.GpugdaError, ("NEO4J_PASSWORD",), call)
    same("not-the-one" in said, False)
    return said


@group.step("an unknown database")
def database() -> object:
    call = lambda: gpugda.connect(URI, auth=AUTH, database="moveis")  # noqa: E731
    return refuses(gpugda.GpugdaError, ("moveis",), call)


@group.step("a part of the database, saved: outside of it a query is refused")
def restricted() -> object:
    inside = "MATCH (a:Person)-[:KNOWS]->(b:Person)-[:KNOWS]->(a) RETURN count(*)"
    with gpugda.connect(URI, auth=AUTH, labels=["Person"], types=["KNOWS"]) as part:
        same(records(part.run("MATCH (f:Film) RETURN count(f)")), [[10]])
        part.save("part")
    with gpugda.connect("part") as saved:
        same(records(saved.run(inside)), neo4js(inside))
        call = lambda: saved.run("MATCH (f:Film) RETURN count(f)").values()  # noqa: E731
        said = refuses(gpugda.GpugdaError, ("Person",), call)
    tells(command("gpugda", "snapshot", "info", "part").out, "Person", "KNOWS")
    return said


@group.step("labels= with a name that is not there: a warning")
def unknown_label() -> object:
    code = (
        "import os, gpugda, logging; logging.basicConfig()\n"
        "gpugda.connect(os.environ['NEO4J_URI'], labels=['Persn'], load='now').close()"
    )
    return tells(command("python", "-c", code).err, "Persn", "Person")


# ------------------------------------------------------------------ the accelerated driver
@group.step("accelerate(driver): the same rows, and the tally")
def accelerate() -> object:
    own = neo4j.GraphDatabase.driver(URI, auth=AUTH)
    with gpugda.accelerate(own, load="now", planner="density") as fast:
        same(isinstance(fast, neo4j.Driver), True)
        found, summary, keys = fast.execute_query(TRIANGLES, routing_="r")
        same((records(found), keys), (neo4js(TRIANGLES), ["n"]))
        with fast.session() as session:
            same(records(session.run(SQUARES)), neo4js(SQUARES))
            (count,) = session.execute_read(lambda tx: tx.run(TRIANGLES).single())
            session.run("MERGE (:Film {title: 'f0'})").consume()
        same([[count]], neo4js(TRIANGLES))
        same(summary.query_type, "r")
        return tells(fast.gpugda.tally, "accelerated")


@group.step("one except for both families of errors")
def one_except() -> object:
    with gpugda.accelerate(neo4j.GraphDatabase.driver(URI, auth=AUTH)) as fast:
        call = lambda: fast.execute_query("MATCH (n RETURN n")  # noqa: E731 - a call put off
        return refuses(gpugda.Error, ("RETURN",), call)


SCRIPT = f"""
import os, sys, neo4j
auth = (os.environ["NEO4J_USERNAME"], os.environ["NEO4J_PASSWORD"]) if os.environ.get(
    "NEO4J_PASSWORD") else None
with neo4j.GraphDatabase.driver(os.environ["NEO4J_URI"], auth=auth) as driver:
    for query in ({TRIANGLES!r}, {SQUARES!r}):
        records, summary, keys = driver.execute_query(query)
        print(keys, [record.values() for record in records])
sys.exit(7)
"""


@group.step("python -m gpugda.accelerate script.py: output and exit code are the script's")
def script() -> object:
    Path("script.py").write_text(SCRIPT)
    plain = command("python", "script.py", code=7)
    words = ("-m", "gpugda.accelerate", "-v", "--load", "now", "script.py")
    fast = command("python", *words, code=7)
    same(fast.out, plain.out)
    return tells(fast.err, "gpugda: driver:", "accelerated").splitlines()[-1]


@group.step("gpugda.install() at the top of a program")
def install() -> object:
    Path("installed.py").write_text(f"import gpugda\ngpugda.install(load='now')\n{SCRIPT}")
    return same(
        command("python", "installed.py", code=7).out, command("python", "script.py", code=7).out
    ).splitlines()[0]


# ------------------------------------------------------------------ the command line
@group.step("gpugda run and shell on NEO4J_URI")
def commands() -> object:
    ((count,),) = neo4js(TRIANGLES)
    same(command("gpugda", "run", "--format", "jsonl", TRIANGLES).out.strip(), f'{{"n": {count}}}')
    typed = f":engine native\n{TRIANGLES};\n:engine gpu\n{TRIANGLES};\n"
    out = command("gpugda", "shell", "--format", "csv", stdin=typed).out
    return same(out.split(), ["n", str(count)] * 2)


if __name__ == "__main__":
    try:
        sys.exit(bool(group.run()))
    finally:
        for each in _kept.values():
            each.close()
