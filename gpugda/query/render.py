"""Renders syntax nodes as Cypher text; parsing the text gives the same tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

# Importing each of these modules adds its writers to a common table.
from gpugda.query import render_clauses as _clauses  # noqa: F401 - see above
from gpugda.query import render_patterns as _patterns  # noqa: F401 - see above
from gpugda.query.render_expressions import labels_text
from gpugda.query.render_values import name_text, text_of, value_text, with_colons

if TYPE_CHECKING:
    from gpugda.query import ast

__all__ = ["expression_text", "labels_text", "name_text", "query_text", "value_text", "with_colons"]


def expression_text(node: ast.Expression) -> str:
    """An expression as Cypher; parsing it gives the same tree.

    Raises:
        KeyError: The expression is of a kind that no query has.
    """
    return text_of(node)


def query_text(query: ast.Query | ast.QueryBody) -> str:
    """A reading query as Cypher on one line.

    Parsing it gives the same tree, except that a column named by its expression's original text
    gets this name with AS.

    Raises:
        KeyError: A clause writes or is a command, of which the tree does not keep enough.
    """
    return text_of(query)
