"""Makes an accelerated driver from a driver."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, overload

from gpugda.accelerate.accelerators import Accelerators, open_accelerator
from gpugda.accelerate.gate import Gate
from gpugda.api import connect
from gpugda.config import parse_freshness
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from typing import Self

    import neo4j

    from gpugda.types import Load

    # The classes at run time stand in for the driver's, without inheriting from them.
    class AcceleratedDriver(neo4j.Driver):
        """A driver whose reads the device answers where that is correct and faster."""

        @property
        def gpugda(self) -> Gate:
            """The acceleration: ``tally``, ``status()`` and ``wait()``."""

        def __enter__(self) -> Self: ...

    class AsyncAcceleratedDriver(neo4j.AsyncDriver):
        """The same for asyncio."""

        @property
        def gpugda(self) -> Gate:
            """The acceleration."""

        async def __aenter__(self) -> Self: ...


__all__ = ["accelerate", "check_options", "is_async"]

_NOT_OURS = {"source", "auth", "database", "impersonated_user", "load"}
_LOADS = ("background", "now")


@overload
def accelerate(
    driver: neo4j.Driver, *, load: Load = "background", **options: Any
) -> AcceleratedDriver: ...
@overload
def accelerate(
    driver: neo4j.AsyncDriver,
    *,
    load: Load = "background",
    reader: neo4j.Driver | None = None,
    **options: Any,
) -> AsyncAcceleratedDriver: ...
def accelerate(
    driver: Any, *, load: Load = "background", reader: Any = None, **options: Any
) -> Any:
    """Wraps a driver so that reads run on the OpenCL device where that is correct and faster.

    Everything else goes to the driver unchanged. One snapshot per database is read when the
    database is first used; until then its queries go to the database. Closing the returned object
    closes the driver.

    Args:
        driver: A ``neo4j.Driver`` or ``neo4j.AsyncDriver``.
        load: ``"background"`` to read the first snapshot without waiting; ``"now"`` to wait here
            for the snapshot of the home database.
        reader: For an asynchronous driver, a ``neo4j.Driver`` of the same server and user that
            reads snapshots; made like the driver by default, and closed with it.
        options: Options of `gpugda.connect`: ``freshness``, ``planner``, ``device``,
            ``memory_limit``, ``refinement``, ``cache``, ``labels``, ``types``, ``progress``.

    Raises:
        ConfigurationError: An option is invalid, or ``driver`` is no driver.

    Example:
        driver = gpugda.accelerate(neo4j.GraphDatabase.driver("bolt://localhost:7687"))
        records, summary, keys = driver.execute_query("MATCH (a)-->(b)-->(a) RETURN count(*)")
        print(summary)
    """
    check_options(load=load, **options)
    asynchronous = is_async(driver)
    if not asynchronous and reader is not None:
        raise ConfigurationError("reader is only for an asynchronous driver.")
    if asynchronous and reader is None:
        from gpugda.accelerate.twin import twin_of

        reader = twin_of(driver)
    accelerators = Accelerators(
        reader or driver, lambda name: open_accelerator(reader or driver, name, options)
    )
    gate = Gate(
        accelerators, strict=parse_freshness(options.get("freshness", "strict")).policy == "strict"
    )
    if load == "now":
        gate.wait()
    return _wrapped(driver, gate, reader if asynchronous else None)


def is_async(driver: Any) -> bool:
    """True if the driver is asynchronous.

    Raises:
        ConfigurationError: The object is no driver.
    """
    if not callable(getattr(driver, "session", None)) or not hasattr(driver, "execute_query"):
        raise ConfigurationError(
            f"accelerate() takes a neo4j.Driver or neo4j.AsyncDriver, not a "
            f"{type(driver).__name__}: make one with neo4j.GraphDatabase.driver(...)."
        )
    return inspect.iscoroutinefunction(driver.execute_query)


def _wrapped(driver: Any, gate: Gate, reader: Any) -> Any:
    if reader is None:
        from gpugda.accelerate.driver import AcceleratedDriver

        return AcceleratedDriver(driver, gate)
    from gpugda.accelerate.async_driver import AsyncAcceleratedDriver

    return AsyncAcceleratedDriver(driver, gate, reader)


def check_options(*, load: str = "background", **options: Any) -> None:
    """Checks the options of `accelerate`.

    Raises:
        ConfigurationError: An option is unknown, or ``load`` is invalid.
    """
    if load not in _LOADS:
        raise ConfigurationError(f"load is {load!r}; it can be {', '.join(map(repr, _LOADS))}.")
    known = set(inspect.signature(connect).parameters) - _NOT_OURS
    unknown = sorted(set(options) - known)
    if unknown:
        raise ConfigurationError(
            f"accelerate() has no option {', '.join(unknown)}; there are "
            f"{', '.join(sorted(known | {'load', 'reader'}))}. Database, user and address are the "
            "driver's and its sessions' own."
        )
