"""Cypher's words: which ones begin clauses, which follow a value, and which one was meant."""

from __future__ import annotations

from typing import Final

__all__ = ["CLAUSE_STARTS", "COMMANDS", "FOLLOWS_OPERAND", "did_you_mean", "words"]


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


CLAUSE_STARTS: Final = words(
    "CALL CREATE DELETE DETACH FILTER FINISH FOR FOREACH INSERT LET LIMIT LOAD MATCH MERGE NEXT"
    " NODETACH OFFSET OPTIONAL ORDER REMOVE RETURN SET SKIP UNION UNWIND USE USING WHEN WHERE WITH"
)
"""Words after which a clause or a part of one begins."""

COMMANDS: Final = words(
    "ALTER DEALLOCATE DENY DROP DRYRUN ENABLE GRANT REALLOCATE RENAME REVOKE SHOW START STOP"
    " TERMINATE"
)
"""First words of schema and administration commands (CREATE is one of them as well)."""

_OPERATORS: Final = words("AND AS CONTAINS ENDS IN IS OR STARTS XOR")
_INNER: Final = words("ASC ASCENDING BY DESC DESCENDING ELSE END THEN YIELD")

FOLLOWS_OPERAND: Final = (
    CLAUSE_STARTS
    | _OPERATORS
    | _INNER
    | words("end ) ] } , ; | = <> < > <= >= =~ .. . : :: * / % ^ ||")
)
"""Kinds of tokens that cannot begin a value: a keyword before one of them is a name."""

_ALL: Final = sorted(
    CLAUSE_STARTS
    | COMMANDS
    | _OPERATORS
    | _INNER
    | words("CASE CYPHER DISTINCT EXISTS EXPLAIN NOT NULL PROFILE")
)


def did_you_mean(word: str) -> str:
    """A hint for an error message: the keyword that a misspelt word comes near; else empty."""
    if word.upper() in _ALL:
        return ""
    # Only where an error is being made: difflib takes longer to import than a query to parse.
    from difflib import get_close_matches

    near = get_close_matches(word.upper()[:40], _ALL, n=1, cutoff=0.65)
    return f"; did you mean {near[0]}?" if near else ""
