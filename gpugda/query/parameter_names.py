"""Finds the parameter names of a text without parsing it."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from gpugda.errors import CypherSyntaxError
from gpugda.query.lexer import tokenise

__all__ = ["parameter_names"]


@lru_cache(maxsize=512)
def parameter_names(text: str) -> tuple[str, ...] | None:
    """Distinct names of a query's parameters in order; None if the text cannot be tokenised."""
    try:
        tokens = tokenise(text)
    except CypherSyntaxError:
        return None  # running the query reports the error
    names = (after[1] for before, after in pairwise(tokens) if before[0] == "$")
    return tuple(dict.fromkeys(names))
