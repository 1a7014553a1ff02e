"""Finds out if gpugda's plugin is installed in a server and may be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neo4j.exceptions import Neo4jError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import neo4j

__all__ = ["find_plugin"]

_FORMAT = 2
"""Version of the answers that are understood: `ChangeProcedures.FORMAT` in the plugin."""
_NOT_THERE = "Neo.ClientError.Procedure.ProcedureNotFound"
_FORBIDDEN = "Neo.ClientError.Security.Forbidden"
_INSTALL = (
    "with gpugda's plugin in the server, exports would be many times as fast and changes would be "
    "followed: gpugda plugin install --neo4j-home DIR"
)
_GRANT = (
    "the server has gpugda's plugin, but the user may not call it: "
    "GRANT EXECUTE PROCEDURE gpugda.* ON DBMS TO the user's role"
)


def find_plugin(
    open_session: Callable[[], AbstractContextManager[neo4j.Session]], product: str
) -> tuple[str, str]:
    """The plugin's version, or empty; and if it cannot be used, why and what to do."""
    if product != "Neo4j":
        return "", ""
    try:
        with open_session() as session:
            (row,) = [record.data() for record in session.run("CALL gpugda.plugin()")]
    except Neo4jError as error:
        return "", _advice(error)
    except (ValueError, KeyError):
        return "", _INSTALL
    version = str(row["version"])
    if row["format"] != _FORMAT:
        return "", (
            f"the server's plugin is gpugda {version}, whose answers are unknown: install "
            "the plugin of this version"
        )
    return version, ""


def _advice(error: Neo4jError) -> str:
    if error.code == _FORBIDDEN:
        return _GRANT
    if error.code == _NOT_THERE:
        return _INSTALL
    return f"the server's plugin does not answer: {error.message}"
