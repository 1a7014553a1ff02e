"""The reason why the device does not answer a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugda.plan.route.route import Verdict

__all__ = ["Declined"]


@dataclass(frozen=True, slots=True)
class Declined:
    """The device does not answer this query now.

    Args:
        reason: One sentence.
        can_run: False if the device cannot answer the query at all, whatever the cost.
        verdict: The planner's verdict, if the query got that far and the database may be joined.
    """

    reason: str
    can_run: bool = True
    verdict: Verdict | None = None
