"""The functions of `pyarrow.compute`, which is imported when the first one is called.

That takes a tenth of the time to the first answer of a process, which seldom needs any.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import pyarrow.compute

    found = globals()[name] = getattr(pyarrow.compute, name)
    return found
