"""Compares answers of two engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from strategies import rows_key


def comparable(value: Any) -> Any:
    """Nodes and relationships in comparable form: each result has its own objects."""
    if hasattr(value, "element_id"):
        kind = getattr(value, "type", None) or tuple(sorted(value.labels))
        return (kind, value.element_id, tuple(sorted(dict(value).items(), key=str)))
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return value


def answer(rows: Iterable[Sequence[Any]]) -> Counter[Any]:
    """The rows as a multiset."""
    return rows_key([[comparable(value) for value in row] for row in rows])
