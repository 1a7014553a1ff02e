"""Cypher's keywords: clause starts, words that can follow a value, and spelling suggestions."""

from __future__ import annotations

from typing import Final

__all__ = ["CLAUSE_STARTS", "COMMANDS", "FOLLOWS_OPERAND", "KEYWORDS", "did_you_mean", "words"]


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


CLAUSE_STARTS: Final = words(
    "CALL CREATE DELETE DETACH FILTER FINISH FOR FOREACH INSERT LET LIMIT LOAD MATCH MERGE NEXT"
    " NODETACH OFFSET OPTIONAL ORDER REMOVE RETURN SET SKIP UNION UNWIND USE USING WHEN WHERE WITH"
)
"""Words that begin a clause or a part of one."""

COMMANDS: Final = words(
    "ALTER DEALLOCATE DENY DROP DRYRUN ENABLE GRANT REALLOCATE RENAME REVOKE SHOW START STOP"
    " TERMINATE"
)
"""First words of schema and administration commands (in addition to CREATE)."""

_OPERATORS: Final = words("AND AS CONTAINS ENDS IN IS OR STARTS XOR")
_INNER: Final = words("ASC ASCENDING BY DESC DESCENDING ELSE END THEN YIELD")

FOLLOWS_OPERAND: Final = (
    CLAUSE_STARTS
    | _OPERATORS
    | _INNER
    | words("end ) ] } , ; | = <> < > <= >= =~ .. . : :: * / % ^ ||")
)
"""Token kinds that cannot begin a value: a keyword before one of them is a name."""

KEYWORDS: Final = (
    CLAUSE_STARTS
    | COMMANDS
    | _OPERATORS
    | _INNER
    | words("CASE CYPHER DISTINCT EXISTS EXPLAIN NOT NULL PROFILE")
)
"""All of these words, and those that begin an expression or a text."""

_SQL: Final = words("LIKE ILIKE RLIKE REGEXP SIMILAR")


def did_you_mean(word: str) -> str:
    """A hint with the keyword most similar to a misspelt word; empty if there is none."""
    if word.upper() in _SQL:
        return "; Cypher has CONTAINS, STARTS WITH, ENDS WITH and =~ (a regular expression)"
    if word.upper() in KEYWORDS:
        return ""
    # Imported on errors only: importing difflib takes longer than parsing a query.
    from difflib import get_close_matches

    near = get_close_matches(word.upper()[:40], sorted(KEYWORDS), n=1, cutoff=0.65)
    return f"; did you mean {near[0]}?" if near else ""
