"""The reason why the device does not answer a query."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Declined"]


@dataclass(frozen=True, slots=True)
class Declined:
    """The device does not answer this query now.

    Args:
        reason: One sentence.
        can_run: False if the device cannot answer the query at all, whatever the cost.
        join_after: Seconds after which the device should answer beside a database that has not
            answered yet; None for never.
    """

    reason: str
    can_run: bool = True
    join_after: float | None = None
