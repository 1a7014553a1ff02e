"""What callers pass to ``run``: queries in the driver's forms, and parameters as keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gpugda.errors import ConfigurationError
from gpugda.query.reads import parameter_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from gpugda.result.result import Result


__all__ = ["check_keywords", "parameters_of_call", "transformed", "unwrapped"]

OPTIONS: Final = ("parameters", "engine", "strategy", "timeout")
"""Arguments of `Accelerator.run` besides parameters of the query."""

_OF_CONNECT: Final = (
    *("source", "auth", "database", "impersonated_user", "labels", "types", "device"),
    *("memory_limit", "refinement", "freshness", "planner", "load", "cache", "progress"),
)
"""Arguments of `gpugda.connect`, only for hints."""


def check_keywords(text: str, names: Collection[str]) -> None:
    """Refuses names that the query does not use; a misspelt option would be ignored silently.

    Args:
        text: The query. Text that is no Cypher is not checked here; the parser rejects it later.
        names: Names of the keyword arguments that are no options.

    Raises:
        ConfigurationError: One of the names is no parameter of the query.
    """
    if not names:
        return
    used = parameter_names(text)
    unknown = [] if used is None else [name for name in names if name not in used]
    if unknown:
        raise ConfigurationError(
            f"run() has no argument {unknown[0]!r}, and the query no parameter ${unknown[0]}"
            f"{_hint(unknown[0], used or ())} Parameters that a query need not use can be given "
            "as a mapping: run(query, {...})."
        )


def _hint(name: str, used: Collection[str]) -> str:
    if name in _OF_CONNECT:
        return f"; {name} is an argument of gpugda.connect()."
    from difflib import get_close_matches  # slow to import

    near = get_close_matches(name, [*OPTIONS, *used], n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    wanted = get_close_matches(name, _OF_CONNECT, n=1)
    return f"; did you mean {wanted[0]!r}, an argument of gpugda.connect()?" if wanted else "."


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
