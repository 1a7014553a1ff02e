"""Writes the tables of docs/functions.md from the registry of functions; `make docs` runs it."""

from collections.abc import Iterator

from generated_pages import fill, graph

import gpugda
from gpugda.expressions.functions import Aggregate, listed
from gpugda.expressions.kinds import ANY, Kinds

# Functions with a syntax of their own, which no registry lists.
FORMS = {
    "all": "all(x IN [1, 2] WHERE x > 0)",
    "any": "any(x IN [1, 2] WHERE x > 1)",
    "none": "none(x IN [1, 2] WHERE x > 2)",
    "single": "single(x IN [1, 2] WHERE x > 1)",
    "reduce": "reduce(total = 0, x IN [1, 2] | total + x)",
    "exists": "exists((a)-->())",
    "COUNT": "COUNT { (a)-->() }",
    "EXISTS": "EXISTS { (a)-->() }",
    "COLLECT": "COLLECT { MATCH (a)-->(b) RETURN b.n }",
    "shortestPath": "[p = shortestPath((a)-[*]->(:Q)) | length(p)]",
}
# Calls of functions that need arguments of a certain form.
CALLS = {
    "apoc.convert.toMap": "apoc.convert.toMap({n: a.n})",
    "apoc.convert.toSet": "apoc.convert.toSet([a.n])",
    "apoc.map.fromLists": "apoc.map.fromLists(['n'], [a.n])",
    "apoc.map.fromPairs": "apoc.map.fromPairs([['n', a.n]])",
    "apoc.map.fromValues": "apoc.map.fromValues(['n', a.n])",
    "apoc.map.get": "apoc.map.get({n: a.n}, 'n')",
    "apoc.map.mget": "apoc.map.mget({n: a.n}, ['n'])",
    "apoc.map.removeKeys": "apoc.map.removeKeys({n: a.n}, ['n'])",
    "apoc.map.submap": "apoc.map.submap({n: a.n}, ['n'])",
    "apoc.map.values": "apoc.map.values({n: a.n}, ['n'])",
    "apoc.text.join": "apoc.text.join([a.s], ',')",
}
# Other functions that Neo4j 5.26 and 2026.08 list.
OTHERS = {
    "file": "file()",
    "linenumber": "linenumber()",
    "graph.byElementId": "graph.byElementId('1')",
    "graph.byName": "graph.byName('neo4j')",
    "vector.similarity.cosine": "vector.similarity.cosine([1.0], [1.0])",
    "vector.similarity.euclidean": "vector.similarity.euclidean([1.0], [1.0])",
}
VALUES = {
    "integer": "a.n",
    "float": "toFloat(a.n)",
    "string": "a.s",
    "boolean": "(a.n > 1)",
    "list": "[a.n]",
    "map": "{n: a.n}",
    "node": "a",
    "relationship": "r",
    "path": "p",
    "point": "point({x: a.n, y: 1})",
    "date": "date({year: 2020 + a.n})",
    "time": "time({hour: a.n})",
    "localtime": "localtime({hour: a.n})",
    "datetime": "datetime({year: 2020 + a.n})",
    "localdatetime": "localdatetime({year: 2020 + a.n})",
    "duration": "duration({days: a.n})",
}


def is_taken(accelerator: gpugda.Accelerator, call: str, version: int) -> bool:
    """True if the device answers a query with this call, or raises the error that Neo4j raises."""
    query = f"CYPHER {version} MATCH p = (a)-[r]->() RETURN {call} AS value"
    try:
        accelerator.run(query, engine="gpu").values()
    except gpugda.UnsupportedQueryError:
        return False
    except gpugda.QueryError:
        return True
    return True


def kind(allowed: Kinds) -> str:
    return "any" if allowed == ANY else " or ".join(sorted(allowed))


def example(function: object) -> str:
    wanted = function.signature.arguments[: max(function.signature.minimum, 0)]
    values = [VALUES[next(each for each in VALUES if each in allowed)] for allowed in wanted]
    return f"{function.name}({', '.join(values)})"


def signature(function: object) -> str:
    found = function.signature
    is_apoc = "apoc." in function.name  # its last argument stands for all optional ones
    given = found.arguments[: found.minimum] if is_apoc else found.arguments
    needed = len(given) if found.maximum is None else found.minimum
    arguments = [
        kind(allowed) if place < needed else f"[{kind(allowed)}]"
        for place, allowed in enumerate(given)
    ]
    dots = ["…"] if found.maximum is None else []
    return f"{', '.join([*arguments, *dots])} → {kind(found.result)}"


def where(taken: bool) -> str:
    return "device" if taken else "Neo4j"


def tables(accelerator: gpugda.Accelerator) -> Iterator[str]:
    known = list(listed())
    groups = (
        ("Functions", [f for f in known if not isinstance(f, Aggregate) and "apoc" not in f.name]),
        ("Aggregates", [f for f in known if isinstance(f, Aggregate)]),
        ("APOC", [f for f in known if "apoc." in f.name]),
    )
    for title, functions in groups:
        yield f"## {title}\n"
        yield "| function | arguments → result | Cypher | answered by |"
        yield "| --- | --- | --- | --- |"
        for each in functions:
            versions = sorted(getattr(each, "cypher_versions", (5, 25)))
            taken = is_taken(accelerator, CALLS.get(each.name) or example(each), versions[0])
            numbers = ", ".join(map(str, versions))
            yield f"| `{each.name}` | {signature(each)} | {numbers} | {where(taken)} |"
        yield ""
    yield "## Forms with a syntax of their own, and other functions\n"
    yield "| function | example | answered by |"
    yield "| --- | --- | --- |"
    for name, call in {**FORMS, **OTHERS}.items():
        shown = call.replace("|", "\\|")
        yield f"| `{name}` | `{shown}` | {where(is_taken(accelerator, call, 5))} |"


def main() -> None:
    with graph() as accelerator:
        fill("functions.md", tables(accelerator))


if __name__ == "__main__":
    main()
