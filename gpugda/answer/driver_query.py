"""Queries as the Neo4j driver takes them: ``neo4j.Query``, and calls of ``execute_query``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.result.result import Result

__all__ = ["parameters_of_call", "transformed", "unwrapped"]

_ATTRIBUTES = ("text", "metadata", "timeout")


def unwrapped(query: Any, timeout: float | None) -> tuple[Any, Mapping[str, Any], float | None]:
    """The query itself, what the server's query log shall hold, and the time limit.

    Args:
        query: A ``neo4j.Query``, known by its attributes, or anything else, which stays as it is.
        timeout: Seconds; that of a ``neo4j.Query`` counts where None is given here.
    """
    if isinstance(query, str) or not all(hasattr(query, name) for name in _ATTRIBUTES):
        return query, {}, timeout
    # The driver takes 0 for no limit.
    own = query.timeout or None
    return query.text, dict(query.metadata or {}), own if timeout is None else timeout


def parameters_of_call(
    parameters: Mapping[str, Any] | None, more: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters of a call of ``execute_query``: as there, keywords win.

    Raises:
        ConfigurationError: A keyword ends with an underscore, as options do, and is none.
    """
    for name in more:
        if name.endswith("_") and not name.endswith("__"):
            raise ConfigurationError(
                f"execute_query() has no argument {name!r}; there are parameters_, database_, "
                "engine_, timeout_ and result_transformer_. User and routing are the "
                "accelerator's own."
            )
    return {**(parameters or {}), **more}


def transformed(result: Result, transformer: Callable[[Any], Any] | None) -> Any:
    """What the transformer makes of a result, by default a ``neo4j.EagerResult``."""
    if transformer is None:
        return result.to_eager_result()
    # A method of the driver's own class means that of ours.
    name = getattr(transformer, "__name__", "")
    is_theirs = getattr(transformer, "__module__", "").startswith("neo4j.")
    return getattr(type(result), name)(result) if is_theirs else transformer(result)
