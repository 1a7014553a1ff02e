"""The pattern and projection of a text that is one pattern, as `bind` takes them."""

from __future__ import annotations

from gpugda.execute.pipeline import one_pattern
from gpugda.query.prepare import prepare
from gpugda.query.query_graph import Query

__all__ = ["query_of"]


def query_of(text: str) -> Query:
    found = one_pattern(prepare(text))
    assert found is not None, text
    return found
