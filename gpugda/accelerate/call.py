"""Reads the arguments of ``execute_query`` and the configurations of sessions."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gpugda.accelerate.statement import Statement, statement_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


__all__ = [
    "QueryCall",
    "QueryCalls",
    "another_user",
    "bookmarks_of",
    "for_our_result",
    "timeout_of",
    "transaction_options",
]


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


_NOT_PLAIN = "another user, or an option that is not known here"


@dataclass(frozen=True, slots=True)
class QueryCall:
    """A call of ``execute_query`` that might be accelerated.

    Args:
        statement: The query with its parameters.
        database: Name of the database, None for the home database.
        bookmark_manager: The manager whose bookmarks apply; None for no bookmarks.
        transformer: Makes the returned value from the result.
    """

    statement: Statement
    database: str | None
    bookmark_manager: Any
    transformer: Callable[..., Any]

    def with_time_left(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the call, with the remaining time as the query's time limit."""
        if args:
            return (self.statement.for_driver(args[0]), *args[1:]), kwargs
        return args, {**kwargs, "query_": self.statement.for_driver(kwargs["query_"])}


class QueryCalls:
    """Reads calls of a driver's ``execute_query``, for any version of the driver.

    Args:
        driver: The driver.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._signature = inspect.signature(driver.execute_query)
        parameters = self._signature.parameters
        self._defaults = {name: each.default for name, each in parameters.items()}

    def read(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> QueryCall | str:
        """Returns the call, or why it is left to the driver."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:
            return "the driver refuses these arguments"
        bound.apply_defaults()
        given = bound.arguments
        more = given.pop("kwargs", {})
        if any(name.endswith("_") and not name.endswith("__") for name in more):
            return "the driver refuses these arguments"
        statement = statement_of(given.pop("query_"), given.pop("parameters_"), more)
        if statement is None:
            return "a query with metadata, or no query"
        manager = given.pop("bookmark_manager_")
        if manager is self._defaults["bookmark_manager_"]:
            manager = self._driver.execute_query_bookmark_manager
        database, transformer = given.pop("database_"), given.pop("result_transformer_")
        if given.pop("routing_") not in ("r", "w") or not _is_name(database):
            return "the driver refuses these arguments"
        if any(value is not None for value in given.values()):
            return _NOT_PLAIN
        return QueryCall(statement, database, manager, transformer)


def another_user(config: Mapping[str, Any]) -> bool:
    """True if a session's configuration names another user than the driver's, or is unusual."""
    if config.get("impersonated_user") is not None or config.get("auth") is not None:
        return True
    return not _is_name(config.get("database"))


def timeout_of(unit_of_work: Any) -> float | None:
    """The time limit in seconds that ``neo4j.unit_of_work`` gave a transaction function."""
    timeout: float | None = getattr(unit_of_work, "timeout", None)
    return timeout


async def bookmarks_of(manager: Any) -> Collection[str]:
    """The bookmarks of a synchronous or asynchronous bookmark manager."""
    found = manager.get_bookmarks()
    bookmarks: Collection[str] = await found if inspect.isawaitable(found) else found
    return bookmarks


def transaction_options(metadata: Any = None, timeout: Any = None) -> tuple[Any, Any]:
    """Metadata and time limit from the arguments of ``begin_transaction``."""
    return metadata, timeout


def _is_name(database: Any) -> bool:
    return database is None or (isinstance(database, str) and database != "")
