"""Fills in columns and rows of cases from a real Neo4j: ``tools/record_cases.py FILE… --uri URI``.

A case in ``tests/conformance/cases`` without columns, rows and error gets the database's answer;
all other cases stay unchanged. ``--check`` writes nothing and compares every case. The database is
WIPED.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import neo4j

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from case_files import Case, CaseGraph, read_cases
from named_values import named

from strategies import rows_key

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = {
    "SyntaxError": "CypherSyntaxError",
    "SemanticError": "CypherSyntaxError",
    "TypeError": "CypherTypeError",
    "ArgumentError": "CypherArgumentError",
    "ArithmeticError": "CypherArithmeticError",
    "ExecutionFailed": "CypherExecutionError",
    "ParameterMissing": "ParameterMissingError",
}


def fill(session: neo4j.Session, graph: CaseGraph) -> None:
    """Writes a graph; names become the property ``id`` of nodes, ``case_name`` of relationships."""
    session.run("MATCH (n) DETACH DELETE n").consume()
    for name, (labels, properties) in graph.nodes.items():
        marks = "".join(f":`{label}`" for label in labels)
        given = {**properties, "id": name}
        session.run(f"CREATE (n{marks}) SET n = $p", p=given).consume()
    for name, (start, kind, end, properties) in graph.relationships.items():
        session.run(
            f"MATCH (a {{id: $a}}), (b {{id: $b}}) CREATE (a)-[r:`{kind}`]->(b) SET r = $p",
            a=start,
            b=end,
            p={**properties, "case_name": name},
        ).consume()


def recorded(session: neo4j.Session, case: Case) -> list[str]:
    """The lines of a case file with the database's answer."""
    try:
        result = session.run(case.query, case.parameters)
        columns = result.keys()
        rows = [[named(value) for value in record.values()] for record in result]
    except neo4j.exceptions.Neo4jError as error:
        kind = str(error.code).rpartition(".")[2]
        return [f"error {_KINDS[kind]}:"]
    if not case.ordered:
        rows.sort(key=lambda row: json.dumps(row, sort_keys=True, default=repr))
    return [
        f"columns {json.dumps(columns, ensure_ascii=False)}",
        *(f"row {json.dumps(row, ensure_ascii=False)}" for row in rows),
    ]


def is_empty(case: Case) -> bool:
    """True if the case has no expected answer."""
    return not (case.columns or case.rows or case.error or case.row_count is not None)


def rewritten(path: Path, answers: dict[str, list[str]]) -> Iterator[str]:
    """The file's lines, with answers inserted after the cases without one."""
    waiting: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        if waiting and (not line.strip() or line.startswith(("case ", "graph "))):
            yield from waiting
            waiting = []
        if line.startswith("case "):
            waiting = answers.get(line.removeprefix("case "), [])
        yield line
    yield from waiting


def check(session: neo4j.Session, case: Case) -> str:
    """The database's answer if it differs from the case's, else an empty text."""
    found = recorded(session, case)
    other = Case(case.topic, case.name, case.graph, case.query)
    for line in found:
        other = other.with_line(line)
    if case.row_count is not None:
        return "" if len(other.rows) == case.row_count else f"{len(other.rows)} rows"
    same = rows_key(other.rows, merges=case.merges) == rows_key(case.rows, merges=case.merges)
    return "" if same and other.error == case.error else "\n".join(found)


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--uri", default="bolt://127.0.0.1:7687")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    quiet = {"auth": None, "notifications_min_severity": "OFF"}
    different = 0
    with neo4j.GraphDatabase.driver(given.uri, **quiet) as driver, driver.session() as session:
        for path in given.files:
            graph: CaseGraph | None = None
            answers: dict[str, list[str]] = {}
            for case in read_cases(path):
                if not (given.check or is_empty(case)):
                    continue
                if case.graph is not graph:
                    fill(session, graph := case.graph)
                if given.check:
                    why = check(session, case)
                    different += bool(why)
                    print(f"{case.topic}: {case.name}: {why}" if why else "", end="\n" * bool(why))
                else:
                    answers[case.name] = recorded(session, case)
            if not given.check:
                path.write_text("\n".join(rewritten(path, answers)) + "\n", "utf-8")
                print(f"{path}: {len(answers)} cases filled in")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
