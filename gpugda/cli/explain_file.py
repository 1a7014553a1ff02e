"""``gpugda explain FILE.cypher``: tells where each query would run, without a source."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gpugda.answer.device_support import device_support
from gpugda.cli.script import open_script
from gpugda.plan.building.build import build_query
from gpugda.plan.tree_text import rule_lines
from gpugda.query.parser import tree_of
from gpugda.query.statements import EntryReader
from gpugda.types import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.answer.device_support import DeviceSupport
    from gpugda.query.statements import Entry

__all__ = ["explain_file", "names_file"]

_ENDINGS: Final = (".cypher", ".cql", ".cyp")
_SHOWN: Final = 72
_WHO: Final = {"device": "device", "Neo4j": "Neo4j", "nobody": "no query"}


def names_file(query: str | None) -> bool:
    """True if the query argument is the name of a file of queries."""
    if query is None or not query.lower().endswith(_ENDINGS):
        return False
    return not any(mark.isspace() for mark in query) or Path(query).is_file()


def explain_file(file: str, *, rules: bool = False) -> None:
    """Prints which engine would run each statement, and the number of statements per engine.

    Args:
        file: Name of the file.
        rules: True to print also what each rule of the optimizer did to the statement.

    Raises:
        ConfigurationError: The file cannot be read.
        SystemExit: With code 1, if a statement does not compile.
    """
    found: Counter[str] = Counter()
    with open_script(file) as (lines, _):
        reader = EntryReader()
        entries = [entry for line in lines for entry in reader.feed(line)]
        entries += reader.finish()
    for entry in entries:
        if entry.is_command:
            continue
        seen = device_support(entry.text)
        found[seen.engine] += 1
        sys.stdout.write("\n".join(_lines(file, entry, seen)) + "\n")
        for rule_line in _rules(entry) if rules and seen.device else ():
            sys.stdout.write(f"  {rule_line}\n")
    sys.stdout.write(f"{_counted(found)}\n")
    if found["nobody"]:
        raise SystemExit(1)


def _rules(entry: Entry) -> list[str]:
    return rule_lines(build_query(tree_of(entry.text)).tree)


def _lines(file: str, entry: Entry, seen: DeviceSupport) -> Iterator[str]:
    line = entry.line + entry.text.count("\n", 0, entry.comments)
    yield f"{file}:{line}: {_WHO[seen.engine]}: {_shortened(entry.text[entry.comments :])}"
    if seen.mode:
        yield f"  {seen.mode} shows Neo4j's own plan"
    elif seen.error is not None:
        yield f"  {_reason(file, entry, seen)}"
    yield from (f"  device   {line}" for line in seen.device)
    yield from (f"  columns  {line}" for line in seen.host)


def _reason(file: str, entry: Entry, seen: DeviceSupport) -> str:
    error = seen.error
    assert error is not None
    if error.line is None:
        return seen.construct or first_line(error)
    line = entry.line + error.line - 1
    return f"{file}:{line}:{error.column}: {seen.construct or error.message}"


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1]}…"


def _counted(found: Counter[str]) -> str:
    total = found.total()
    parts = [f"{found['device']} on the device", f"{found['Neo4j']} left to Neo4j"]
    if found["nobody"]:
        parts.append(f"{found['nobody']} that Neo4j would refuse to compile")
    return f"{total} {'query' if total == 1 else 'queries'}: {', '.join(parts)}"
