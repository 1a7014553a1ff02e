"""The summary of an accelerated result: the driver's class with gpugda's additional facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import neo4j

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.result.summary import Summary

__all__ = ["AcceleratedSummary"]


class AcceleratedSummary(neo4j.ResultSummary):
    """A ``neo4j.ResultSummary``; attributes that it lacks come from `Summary`.

    Args:
        ours: The summary of the run on the device.
        keys: Names of the columns.
    """

    def __init__(self, ours: Summary, keys: list[str]) -> None:
        theirs = ours.for_driver
        theirs.metadata["fields"] = keys
        make: Callable[..., None] = super().__init__  # its types are those of a server's answer
        make(None, theirs._had_key, theirs._had_record, theirs.metadata)
        self._ours = ours

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # the driver checks for cached values
            raise AttributeError(name)
        return getattr(self._ours, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(n for n in dir(self._ours) if not n.startswith("_"))})

    def __str__(self) -> str:
        return str(self._ours)
