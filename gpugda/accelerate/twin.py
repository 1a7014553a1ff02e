"""Makes a synchronous copy of an asynchronous driver, to read snapshots and the newest state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import neo4j

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["twin_of"]

_SAME = ("user_agent", "connection_timeout", "keep_alive", "ssl_context")
_NEVER = ("resolver", "client_certificate")


def twin_of(driver: Any) -> neo4j.Driver:
    """Makes a ``neo4j.Driver`` for the same server with the same credentials.

    The driver does not publish its arguments, so its internal configuration is read.

    Raises:
        ConfigurationError: It cannot be made; the message asks the caller to provide one.
    """
    try:
        uri, options = _described(driver)
    except AttributeError as error:
        raise ConfigurationError(_ADVICE.format("it is of an unknown kind")) from error
    make: Callable[..., neo4j.Driver] = neo4j.GraphDatabase.driver
    return make(uri, **options)


_ADVICE = (
    "no driver can be made like this asynchronous one, because {}: give one for the same server "
    "and user, as accelerate(driver, reader=neo4j.GraphDatabase.driver(...))."
)


def _described(driver: Any) -> tuple[str, dict[str, Any]]:
    pool = driver._pool
    config = pool.pool_config
    for name in _NEVER:
        if getattr(config, name, None) is not None:
            raise ConfigurationError(_ADVICE.format(f"it has a {name}"))
    manager = config.auth
    if not hasattr(manager, "_auth"):
        raise ConfigurationError(_ADVICE.format("its credentials change with time"))
    options = {name: getattr(config, name, None) for name in _SAME}
    options = {name: value for name, value in options.items() if value is not None}
    if "ssl_context" not in options:
        options["encrypted"] = config.encrypted
        options["trusted_certificates"] = config.trusted_certificates
    host, port = pool.address[:2]
    host = f"[{host}]" if ":" in host else host
    scheme = "bolt" if pool.is_direct_pool else "neo4j"
    return f"{scheme}://{host}:{port}", {"auth": manager._auth, **options}
