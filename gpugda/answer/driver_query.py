"""Queries in the Neo4j driver's forms: ``neo4j.Query`` and calls of ``execute_query``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.result.result import Result

__all__ = ["parameters_of_call", "transformed", "unwrapped"]

_ATTRIBUTES = ("text", "metadata", "timeout")


def unwrapped(query: Any, timeout: float | None) -> tuple[Any, Mapping[str, Any], float | None]:
    """Returns the query text, the metadata for the server's query log, and the time limit.

    Args:
        query: A ``neo4j.Query``, recognised by its attributes; other values are returned unchanged.
        timeout: Seconds; None for the time limit of the ``neo4j.Query``.
    """
    if isinstance(query, str) or not all(hasattr(query, name) for name in _ATTRIBUTES):
        return query, {}, timeout
    # For the driver, 0 means no limit.
    own = query.timeout or None
    return query.text, dict(query.metadata or {}), own if timeout is None else timeout


def parameters_of_call(
    parameters: Mapping[str, Any] | None, more: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the parameters of an ``execute_query`` call; keywords win, as in the driver.

    Raises:
        ConfigurationError: A keyword ends with an underscore like an option, but is none.
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
    """Applies the transformer to a result; the default gives a ``neo4j.EagerResult``."""
    if transformer is None:
        return result.to_eager_result()
    # A method of the driver's result class is replaced by our method of the same name.
    name = getattr(transformer, "__name__", "")
    is_theirs = getattr(transformer, "__module__", "").startswith("neo4j.")
    return getattr(type(result), name)(result) if is_theirs else transformer(result)
