"""Accelerates all drivers that this process makes."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

import neo4j

from gpugda.accelerate.entry import accelerate, check_options
from gpugda.errors import GpugdaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.accelerate.gate import Gate

__all__ = ["accelerate_all", "install"]

logger = logging.getLogger(__name__)


_options: dict[str, Any] = {}


@functools.cache
def _installed() -> list[Gate]:
    return accelerate_all(_options)


def install(**options: Any) -> list[Gate]:
    """Accelerates every driver that this program makes from now on: call it at the top.

    ``neo4j.GraphDatabase.driver`` and ``neo4j.AsyncGraphDatabase.driver`` then return accelerated
    drivers; earlier drivers stay as they are. A second call changes the options of later drivers.

    Args:
        options: Options of `accelerate`.

    Returns:
        A list with one gate per driver, which grows as drivers are made; a gate's ``tally`` counts
        what was accelerated.

    Raises:
        ConfigurationError: An option is invalid.
    """
    check_options(**options)
    _options.clear()
    _options.update(options)
    return _installed()


def accelerate_all(options: dict[str, Any]) -> list[Gate]:
    """Patches the neo4j package's two driver factories to return accelerated drivers from now on.

    Args:
        options: Options of `accelerate`.

    Returns:
        A list with one gate per driver, which grows as drivers are made.
    """
    gates: list[Gate] = []
    for factory in (neo4j.GraphDatabase, neo4j.AsyncGraphDatabase):
        make = factory.driver
        replacement = staticmethod(_accelerating(make, options, gates))
        factory.driver = replacement  # type: ignore[method-assign] # intended
    return gates


def _accelerating(
    make: Callable[..., Any], options: dict[str, Any], gates: list[Gate]
) -> Callable[..., Any]:
    @functools.wraps(make)
    def driver(*args: Any, **config: Any) -> Any:
        made = make(*args, **config)
        try:
            accelerated: Any = accelerate(made, **options)
        except GpugdaError as error:
            logger.warning("a driver is not accelerated: %s", error)
            return made
        gates.append(accelerated.gpugda)
        return accelerated

    return driver
