"""Makes the accelerator of one of a driver's databases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.accelerate.later import NeverError
from gpugda.accelerator import Accelerator
from gpugda.ports import DatabaseServer
from gpugda.sources import resolve_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    import neo4j

__all__ = ["home_database", "open_accelerator"]

_OF_THE_SOURCE = ("auth", "labels", "types")


def open_accelerator(
    driver: neo4j.Driver | str, database: str, options: Mapping[str, Any]
) -> Accelerator:
    """Makes the accelerator of a database; its snapshot is read in the background.

    Args:
        driver: The driver, or the server's address.
        database: The database.
        options: Options of `gpugda.connect`.

    Raises:
        NeverError: This server's answers cannot be proven to be the newest.
        GpugdaError: As `gpugda.connect`.
    """
    given = {name: options[name] for name in _OF_THE_SOURCE if options.get(name) is not None}
    rest = {name: each for name, each in options.items() if name not in _OF_THE_SOURCE}
    source = resolve_source(driver, database=database, **given)
    assert isinstance(source, DatabaseServer)
    try:
        if source.facts.clustered:
            raise NeverError(
                "the database has several members, one of which may be behind the others"
            )
        return Accelerator(source, load="background", **rest)
    except BaseException:
        source.close()
        raise


def home_database(driver: neo4j.Driver) -> str:
    """Name of the database that the driver's sessions use by default.

    Raises:
        NeverError: The server does not report it.
        neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError: The server cannot be queried.
    """
    with driver.session(default_access_mode="READ") as session:
        name = session.run("RETURN 1").consume().database
    if not name:
        raise NeverError("the server does not tell which database it answered from")
    return name
