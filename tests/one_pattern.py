"""The pattern and projection of a text that is one pattern, as `bind` takes them."""

from __future__ import annotations

from gpugda.execute.lower import lower
from gpugda.execute.pipeline import one_pattern
from gpugda.plan.building.build import build_query
from gpugda.query.prepare import prepare
from gpugda.query.query_graph import Query

__all__ = ["query_of"]


def query_of(text: str) -> Query:
    statement = prepare(text)
    found = one_pattern(statement)
    if found is None:  # a rule computes some columns after the sort
        built = build_query(statement.tree)
        _, found = lower(built.tree, built.columns, text)
    assert found is not None, text
    return found
