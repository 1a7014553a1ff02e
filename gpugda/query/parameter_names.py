"""The parameters that a text names, found without parsing it."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from gpugda.errors import CypherSyntaxError
from gpugda.query.lexer import tokenise

__all__ = ["parameter_names"]


@lru_cache(maxsize=512)
def parameter_names(text: str) -> tuple[str, ...] | None:
    """Names of the parameters of a query, each once, in order; None where it is no Cypher."""
    try:
        tokens = tokenise(text)
    except CypherSyntaxError:
        return None  # whoever runs it says what is wrong
    names = (after[1] for before, after in pairwise(tokens) if before[0] == "$")
    return tuple(dict.fromkeys(names))
