"""Acceleration of code that exists: an object used in place of the Neo4j driver.

This package can be called: ``gpugda.accelerate(driver)`` is `accelerate`. ``python -m
gpugda.accelerate script.py`` runs a script with accelerated drivers, and ``%load_ext gpugda`` gives
notebooks the magics of `gpugda.accelerate.notebook`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpugda.accelerate.entry import accelerate

__all__ = ["accelerate"]


class _CallableModule(ModuleType):
    """The name ``gpugda.accelerate`` is a package and, for users, a function."""

    def __call__(self, driver: Any, **options: Any) -> Any:
        from gpugda.accelerate.entry import accelerate

        return accelerate(driver, **options)


def __getattr__(name: str) -> Any:
    if name == "accelerate":
        from gpugda.accelerate.entry import accelerate

        return accelerate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


sys.modules[__name__].__class__ = _CallableModule
