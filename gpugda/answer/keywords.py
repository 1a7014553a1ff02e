"""Checks that each keyword argument that is no option is a parameter of the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.errors import ConfigurationError
from gpugda.query.reads import parameter_names

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["check_keywords"]

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
