"""Acceleration of existing code, by an object that replaces the Neo4j driver.

This package is callable: ``gpugda.accelerate(driver)`` calls `accelerate`. ``python -m
gpugda.accelerate script.py`` runs a script with accelerated drivers, and ``%load_ext gpugda`` adds
the magics of `gpugda.accelerate.notebook` to a notebook.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpugda.accelerate.entry import accelerate

__all__ = ["accelerate"]


class _CallableModule(ModuleType):
    """Makes ``gpugda.accelerate`` a package that users can call like a function."""

    def __call__(self, driver: Any, **options: Any) -> Any:
        from gpugda.accelerate.entry import accelerate

        return accelerate(driver, **options)


def __getattr__(name: str) -> Any:
    if name == "accelerate":
        from gpugda.accelerate.entry import accelerate

        return accelerate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


sys.modules[__name__].__class__ = _CallableModule
