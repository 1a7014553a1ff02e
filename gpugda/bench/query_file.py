"""A user's own queries: statements of a file, separated by semicolons as in cypher-shell."""

from __future__ import annotations

import re
from typing import Final

from gpugda.errors import ConfigurationError

__all__ = ["statements"]

_PIECE: Final = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<kept>"(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | `[^`]*` | [^;])
      | (?P<end>;)""",
    re.DOTALL | re.VERBOSE,
)


def statements(text: str) -> list[str]:
    """The statements, without comments; semicolons within quotes do not end one.

    Raises:
        ConfigurationError: There is none.
    """
    found, current = [], []
    for match in _PIECE.finditer(text):
        if match["kept"] is not None:
            current.append(match["kept"])
        elif match["comment"] is not None:
            current.append(" ")
        else:
            found.append("".join(current).strip())
            current = []
    found.append("".join(current).strip())
    kept = [statement for statement in found if statement]
    if not kept:
        raise ConfigurationError("The file holds no query.")
    return kept
