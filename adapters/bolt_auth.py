"""Credentials and database name: from arguments, else from the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import neo4j
from neo4j.auth_management import AuthManager

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_name", "choose_auth", "choose_database"]

_USER, _PASSWORD, _DATABASE = "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"


def choose_auth(auth: object, environment: Mapping[str, str]) -> Any:
    """The driver's ``auth`` argument: the caller's, else the environment's, else None.

    Args:
        auth: None, ``(user, password)``, a ``neo4j.Auth`` or an auth manager.
        environment: Environment variables.

    Raises:
        ConfigurationError: It is none of these; the message does not repeat the value.
    """
    if auth is None:
        return _from_environment(environment)
    if isinstance(auth, neo4j.Auth | AuthManager):
        return auth
    if isinstance(auth, tuple | list) and len(auth) == 2:
        user, password = auth
        if isinstance(user, str) and isinstance(password, str):
            return neo4j.basic_auth(user, password)
    raise ConfigurationError(
        f"auth cannot be this {type(auth).__name__}; give (user, password) as texts, what "
        "neo4j.basic_auth, bearer_auth, kerberos_auth or custom_auth return, or an auth manager "
        "of neo4j.auth_management.AuthManagers."
    )


def _from_environment(environment: Mapping[str, str]) -> neo4j.Auth | None:
    user, password = environment.get(_USER, ""), environment.get(_PASSWORD, "")
    if user and password:
        return neo4j.basic_auth(user, password)
    if user or password:
        there, missing = (_USER, _PASSWORD) if user else (_PASSWORD, _USER)
        raise ConfigurationError(
            f"{there} is set, but {missing} is not: set both, or give auth=(user, password), "
            "on the command line -u and -p; for a server without authentication set neither."
        )
    return None


def choose_database(database: str | None, environment: Mapping[str, str]) -> str | None:
    """The database's name, None for the user's home database.

    Raises:
        ConfigurationError: The argument is not a valid name.
    """
    if database is None:
        database = environment.get(_DATABASE, "").strip() or None
    return check_name("database", database)


def check_name(argument: str, name: str | None) -> str | None:
    """Returns the name unchanged.

    Raises:
        ConfigurationError: It is neither None nor a non-empty text.
    """
    if name is None or (isinstance(name, str) and name.strip()):
        return name
    raise ConfigurationError(f"{argument} is {name!r}; give a name, or None.")
