"""Compares answers of two engines: row by row as multisets, above a cap by count and hash."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Answer", "answer_of", "canonical", "difference", "multiset_hash"]

_MODULUS = 1 << 128


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in a form that can be compared.

    Args:
        row_count: Number of rows.
        hash: Hash of the multiset of rows.
        rows: The rows as text with their multiplicities; None above the cap.
        value: The value, if the answer is one row with one value.
    """

    row_count: int
    hash: int
    rows: Counter[str] | None
    value: Any = None


def answer_of(rows: Sequence[Sequence[Any]], cap: int, *, lists_unordered: bool = False) -> Answer:
    """Makes an answer from rows.

    Args:
        rows: Values, as returned by `gpugda.result.Result.values`.
        cap: Maximum number of rows that are kept.
        lists_unordered: True if the order within lists has no meaning.
    """
    texts = [
        repr(tuple(canonical(value, lists_unordered=lists_unordered) for value in row))
        for row in rows
    ]
    single = rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else None
    kept = Counter(texts) if len(texts) <= cap else None
    return Answer(len(texts), multiset_hash(texts), kept, single)


def multiset_hash(texts: Iterable[str]) -> int:
    """A hash that depends on the multiplicity of each text, but not on the order."""
    # A sum, not an exclusive or, which would cancel two equal rows.
    return (
        sum(
            int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "big") for text in texts
        )
        % _MODULUS
    )


def difference(expected: Answer, found: Answer, row_limit: int | None) -> tuple[str, str]:
    """Describes the difference (empty if there is none), and names the method of comparison.

    Args:
        expected: Answer of the baseline.
        found: Answer of the other engine.
        row_limit: With this many rows, or if it is 0, the choice of rows is not determined.
    """
    if expected.row_count != found.row_count:
        return f"{expected.row_count:,} rows expected, {found.row_count:,} found", "count"
    if row_limit is not None and expected.row_count >= row_limit:
        return "", "count"
    if expected.rows is not None and found.rows is not None:
        return _rows_differ(expected, found), "rows"
    return "" if expected.hash == found.hash else "the rows' hashes differ", "hash"


def _rows_differ(expected: Answer, found: Answer) -> str:
    assert expected.rows is not None  # checked by the caller
    assert found.rows is not None
    if expected.rows == found.rows:
        return ""
    missing, surplus = expected.rows - found.rows, found.rows - expected.rows
    return (
        f"{missing.total():,} rows are missing, such as {_example(missing)}; "
        f"{surplus.total():,} too many, such as {_example(surplus)}"
    )


def _example(rows: Counter[str]) -> str:
    text = min(rows, default="none")
    return text if len(text) <= 200 else f"{text[:200]}…"


def canonical(value: Any, *, lists_unordered: bool = False) -> Any:
    """A value as plain tuples, equal for all forms in which engines return the same value.

    Floats are rounded to ten digits, as their sums depend on the order of the rows.
    """
    if hasattr(value, "nodes") and hasattr(value, "relationships"):
        parts = [*value.nodes, *value.relationships]
        return ("path", *(canonical(part) for part in parts))
    if hasattr(value, "element_id"):
        return _entity(value)
    if isinstance(value, float):
        return ("float", f"{value:.10g}")
    if isinstance(value, list):
        items = [canonical(item, lists_unordered=lists_unordered) for item in value]
        return ("list", *(sorted(items, key=repr) if lists_unordered else items))
    if isinstance(value, dict):
        return ("map", *((key, canonical(value[key])) for key in sorted(value)))
    return (type(value).__name__, str(value))


def _entity(value: Any) -> tuple[Any, ...]:
    properties = tuple((key, canonical(value[key])) for key in sorted(value.keys()))
    labels = getattr(value, "labels", None)
    if labels is not None:
        return ("node", value.element_id, tuple(sorted(labels)), properties)
    return ("relationship", value.element_id, value.type, properties)
