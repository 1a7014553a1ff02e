"""A Bolt server: any driver, any language, no change.

This package is callable: ``gpugda.serve("sample:wordnet")`` calls `serve`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__all__: list[str] = []


class _CallableModule(ModuleType):
    """Makes ``gpugda.serve`` a package that users can call like a function."""

    def __call__(self, source: object, **options: Any) -> None:
        from gpugda.serve.server import serve

        serve(source, **options)


sys.modules[__name__].__class__ = _CallableModule
