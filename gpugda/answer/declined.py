"""Why the device does not answer."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Declined"]


@dataclass(frozen=True, slots=True)
class Declined:
    """The device does not answer this query now.

    Args:
        reason: One sentence.
        can_run: False where the device could not answer it at all, whatever the cost.
    """

    reason: str
    can_run: bool = True
