"""Result transformers that are methods of the driver's own result classes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["for_our_result"]


def for_our_result(transformer: Callable[..., Any], theirs: type, ours: type) -> Any:
    """Replaces methods such as ``neo4j.Result.to_df`` by those of our class; returns others as is.

    Args:
        transformer: The transformer given to ``execute_query``.
        theirs: ``neo4j.Result`` or ``neo4j.AsyncResult``.
        ours: Our class with the same interface.
    """
    if isinstance(transformer, partial):
        function = for_our_result(transformer.func, theirs, ours)
        return partial(function, *transformer.args, **transformer.keywords)
    name = getattr(transformer, "__name__", "")
    if name and getattr(theirs, name, None) is transformer:
        return getattr(ours, name, transformer)
    return transformer
