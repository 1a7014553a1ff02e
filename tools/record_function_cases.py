"""Writes the answers of a Neo4j server into the case files of functions.

A case is a line ``expression ==> value``. The server evaluates the expression before the arrow
again, and the value is replaced; a line without an arrow is a new case. Lines that begin with ``#``
and empty lines are kept. A line ``UNWIND list AS x RETURN aggregate`` is a case of an aggregate.
``cypher_25.txt`` needs a server with Cypher 25, ``apoc.txt`` one with APOC.

    python tools/record_function_cases.py bolt://127.0.0.1:7687 tests/conformance/functions/*.txt
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import neo4j
from neo4j.exceptions import BrokenRecordError, Neo4jError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from function_cases import ARROW, rendered, split_case


def answer(session: neo4j.Session, expression: str, prefix: str) -> str:
    """The value as text, or ``!`` and the server's error code."""
    query = expression if expression.startswith("UNWIND ") else f"RETURN {expression}"
    try:
        return rendered(session.run(prefix + query).single(strict=True)[0])
    except Neo4jError as error:
        return f"! {error.code}"
    except (BrokenRecordError, ValueError, OverflowError) as error:
        return f"? the driver cannot hold it: {type(error).__name__}"


def recorded(session: neo4j.Session, line: str, prefix: str) -> str:
    """A line of a case file with the server's current answer."""
    if not line.strip() or line.startswith("#"):
        return line
    expression, _ = split_case(line)
    return f"{expression}{ARROW}{answer(session, expression, prefix)}"


def main(address: str, *paths: str) -> None:
    with (
        neo4j.GraphDatabase.driver(address, notifications_min_severity="OFF") as driver,
        driver.session() as session,
    ):
        for path in map(Path, paths):
            lines = path.read_text(encoding="utf-8").splitlines()
            prefix = "CYPHER 25 " if path.stem == "cypher_25" else ""
            text = "\n".join(recorded(session, line, prefix) for line in lines)
            path.write_text(text + "\n", encoding="utf-8")


def command_line(arguments: list[str]) -> Any:
    if len(arguments) < 2:
        sys.exit(__doc__)
    return main(*arguments)


if __name__ == "__main__":
    command_line(sys.argv[1:])
