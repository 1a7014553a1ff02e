"""Syntax nodes back to Cypher text; reading the text again gives the same tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

# Each of the three adds what it can write to one table.
from gpugda.query import render_clauses as _clauses  # noqa: F401 - see above
from gpugda.query import render_patterns as _patterns  # noqa: F401 - see above
from gpugda.query.render_expressions import labels_text
from gpugda.query.render_values import name_text, text_of, value_text, with_colons

if TYPE_CHECKING:
    from gpugda.query import ast

__all__ = ["expression_text", "labels_text", "name_text", "query_text", "value_text", "with_colons"]


def expression_text(node: ast.Expression) -> str:
    """An expression as Cypher; reading it gives the same tree.

    Raises:
        KeyError: The expression is of a kind that no query has.
    """
    return text_of(node)


def query_text(query: ast.Query | ast.QueryBody) -> str:
    """A query that reads, as Cypher on one line.

    Reading it gives the same tree, but that a column whose name was its expression's text as
    written gets the name with AS.

    Raises:
        KeyError: A clause writes or is a command: of those the tree keeps too little.
    """
    return text_of(query)
