"""Reads users' own queries: a file of statements and a file of parameters."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpugda.bench.application_queries import APPLICATIONS, PARAMETERS
from gpugda.bench.cases import Case
from gpugda.errors import ConfigurationError, QueryError
from gpugda.execute.pipeline import one_pattern
from gpugda.query import ast
from gpugda.query.prepare import prepare
from gpugda.query.statements import EntryReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.query.query_graph import Query


__all__ = ["application_cases", "cases_of_file", "cases_of_text", "read_parameters"]

_COMMENT = re.compile(
    r"(?P<comment>//[^\n\r]*|/\*.*?(?:\*/|\Z))|'(?:[^'\\]|\\.)*'|`[^`]*`", re.DOTALL
)
_CUTS = re.compile(r"\b(?:LIMIT|SKIP|OFFSET)\b", re.IGNORECASE)
_WRITES = re.compile(
    r"\b(?:CREATE|MERGE|DELETE|SET|REMOVE|DROP|FOREACH|LOAD|ALTER|GRANT|REVOKE|DENY)\b",
    re.IGNORECASE,
)


def read_parameters(path: str | None) -> dict[str, Any]:
    """Reads parameters from a JSON file: one object of names and values.

    Raises:
        ConfigurationError: The file cannot be read, or contains something else.
    """
    if path is None:
        return {}
    try:
        found = json.loads(_read(path, "--params"))
    except ValueError as error:
        raise ConfigurationError(f"--params {path!r} is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ConfigurationError(f'--params {path!r} must hold one object: {{"name": value, …}}.')
    return found


def cases_of_file(path: str, parameters: Mapping[str, Any]) -> list[Case]:
    """The cases of a query file.

    Raises:
        ConfigurationError: The file is unreadable, has no query, a writing query, or a command.
    """
    cases = cases_of_text(_read(path, "--queries"), parameters)
    if not cases:
        raise ConfigurationError(f"--queries {path!r} holds no query.")
    return cases


def cases_of_text(text: str, parameters: Mapping[str, Any]) -> list[Case]:
    """The cases of statements that semicolons separate.

    Raises:
        ConfigurationError: A query writes, or there is a command.
    """
    return [_case(number, each, parameters) for number, each in enumerate(_statements(text), 1)]


def application_cases(graph: str) -> list[Case]:
    """The application queries of a graph; their rows are determined, also under LIMIT.

    Raises:
        ConfigurationError: The graph has no such queries.
    """
    if graph not in APPLICATIONS:
        known = ", ".join(APPLICATIONS)
        raise ConfigurationError(
            f"--workload applications has queries for {known}: name one of them with --load (and "
            f"--uri) or --graph; given was {graph or 'none'}."
        )
    return [
        replace(_case(number, text, PARAMETERS), name=name, row_limit=None)
        for number, (name, text) in enumerate(APPLICATIONS[graph].items(), start=1)
    ]


def _statements(text: str) -> list[str]:
    reader = EntryReader()
    entries = [*reader.feed(text), *reader.finish()]
    for entry in entries:
        if entry.is_command:
            raise ConfigurationError(
                f"Line {entry.line} holds {entry.text.split()[0]}, a command of the shell: the "
                "benchmark takes queries only."
            )
    return [entry.text for entry in entries if _without_comments(entry.text)]


def _read(path: str, option: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{option} {path!r} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{option} {path!r} is not UTF-8 text.") from error


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda match: "" if match["comment"] else match[0], text).strip()


def _case(number: int, text: str, parameters: Mapping[str, Any]) -> Case:
    bare = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`", "''", _without_comments(text))
    query = _prepared(text)
    if query is None and (found := _WRITES.search(bare)):
        raise ConfigurationError(
            f"Query {number} holds {found[0].upper()}: the benchmark runs queries many times, so "
            "only those that read."
        )
    return Case(
        f"query-{number:03}",
        "",
        0 if query is None else len(query.graph.nodes),
        0 if query is None else len(query.graph.relationships),
        "own",
        (f"{text}\n// ", ""),
        {name: value for name, value in parameters.items() if _uses(bare, name)},
        _row_limit(query, bare),
        lists_unordered=re.search(r"\bcollect\s*\(", bare, re.IGNORECASE) is not None,
        renames=False,
    )


def _prepared(text: str) -> Query | None:
    try:
        return one_pattern(prepare(text))
    except QueryError:
        return None  # Neo4j may accept it; the run reports whether the device does


def _uses(text: str, name: str) -> bool:
    return re.search(rf"\$\s*{re.escape(name)}(?!\w)", text) is not None


def _row_limit(query: Query | None, bare: str) -> int | None:
    if _CUTS.search(bare) is None:
        return None
    if query is not None and query.skip is None and isinstance(query.limit, ast.Literal):
        return int(query.limit.value) if bare.upper().count("LIMIT") == 1 else 0
    return 0
