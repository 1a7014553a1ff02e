"""Device or database: what the judgement is made from, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpugda.plan.route.history import Observed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.statistics import GraphStatistics
    from gpugda.plan.plan import Plan
    from gpugda.plan.route.rates import DeviceRates, ServerRates

__all__ = ["RouteInput", "Verdict", "route_text"]


@dataclass(frozen=True, slots=True)
class RouteInput:
    """What a rule may look at. Nothing of it costs a round trip.

    Args:
        plan: The plan on the snapshot.
        statistics: Of the snapshot.
        device: Rates of the device.
        server: Rates of the server.
        entity_columns: Returned columns that are whole nodes or relationships.
        entities_known: Whether the snapshot has all their properties.
        observed: Earlier times of the same text.
        probes: Round trips that the device's answer needs.
        limit: Most rows that are returned, None without a limit.
        opening_seconds: What it takes until the device is open and holds the graph.
    """

    plan: Plan
    statistics: GraphStatistics
    device: DeviceRates
    server: ServerRates
    entity_columns: int = 0
    entities_known: bool = False
    observed: Observed = field(default_factory=Observed)
    probes: int = 1
    limit: int | None = None
    opening_seconds: float = 0.0
    sent_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rule says.

    Args:
        engine: ``gpu`` or ``native``.
        reason: One sentence.
        device_seconds: Expected on the device.
        native_seconds: Expected of the database.
        rule: ``cost`` or ``density``.
        give_up_after: Seconds after which the device should be given up, None for never.
    """

    engine: str
    reason: str
    device_seconds: float
    native_seconds: float
    rule: str
    give_up_after: float | None = None


def route_text(verdicts: Sequence[Verdict], chosen: str) -> list[str]:
    """What each rule says, a line a rule, the one that counts first."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.rule != chosen)
    return [
        f"planner {verdict.rule}{' (asked)' if verdict.rule == chosen else ''}: "
        f"{verdict.engine}, {verdict.reason}"
        for verdict in ordered
    ]
