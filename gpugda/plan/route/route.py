"""Input and output of the rules that choose between device and database."""

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
    """The input of a routing rule; collecting it costs no round trip.

    Args:
        plan: The plan on the snapshot.
        statistics: Statistics of the snapshot.
        device: Rates of the device.
        server: Rates of the server.
        entity_columns: Number of returned columns that are whole nodes or relationships.
        entities_known: True if the snapshot has all their properties.
        observed: Earlier times of the same text.
        probes: Round trips that an answer of the device needs.
        limit: Maximum number of returned rows; None for no limit.
        opening_seconds: Time until the device is open and holds the graph.
        sent_bytes: Estimated bytes of a streamed data graph that the query sends to the device.
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
    """The result of a routing rule.

    Args:
        engine: ``gpu`` or ``native``.
        reason: One sentence.
        device_seconds: Expected seconds on the device.
        native_seconds: Expected seconds of the database.
        rule: ``cost`` or ``density``.
        give_up_after: Seconds after which the device should be given up; None for never.
    """

    engine: str
    reason: str
    device_seconds: float
    native_seconds: float
    rule: str
    give_up_after: float | None = None


def route_text(verdicts: Sequence[Verdict], chosen: str) -> list[str]:
    """The verdicts as text, one line per rule, the chosen rule first."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.rule != chosen)
    return [
        f"planner {verdict.rule}{' (asked)' if verdict.rule == chosen else ''}: "
        f"{verdict.engine}, {verdict.reason}"
        for verdict in ordered
    ]
