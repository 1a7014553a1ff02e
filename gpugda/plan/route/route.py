"""Input and output of the rules that choose between device and database."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpugda.plan.route.history import Observed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.physical import PhysicalPlan

__all__ = ["RouteInput", "Verdict", "route_text"]


@dataclass(frozen=True, slots=True)
class RouteInput:
    """The input of a routing rule; collecting it costs no round trip.

    Args:
        physical: The plan of the query on the snapshot.
        shape: Query nodes and relationships of its largest pattern.
        relationship_count: Relationships of the snapshot.
        entities_known: True if the snapshot has all properties of the entities in the result.
        observed: Earlier times of the same text.
        probes: Round trips that an answer of the device needs.
        once: Seconds until the device is open and holds the graph.
        first: Seconds that the first run of a text takes besides, to compile what it needs.
        sent_bytes: Estimated bytes of a streamed data graph that the query sends to the device.
    """

    physical: PhysicalPlan
    shape: tuple[int, int] = (0, 0)
    relationship_count: int = 0
    entities_known: bool = False
    observed: Observed = field(default_factory=Observed)
    probes: int = 1
    once: float = 0.0
    first: float = 0.0
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
        join_after: Seconds after which the device should join a database that was asked first and
            has not answered; None for never.
        measure: The engine whose time should be measured in the background afterwards, since it
            may be faster the next time; None for neither.
    """

    engine: str
    reason: str
    device_seconds: float
    native_seconds: float
    rule: str
    give_up_after: float | None = None
    join_after: float | None = None
    measure: str | None = None


def route_text(verdicts: Sequence[Verdict], chosen: str) -> list[str]:
    """The verdicts as text, one line per rule, the chosen rule first."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.rule != chosen)
    return [
        f"planner {verdict.rule}{' (asked)' if verdict.rule == chosen else ''}: "
        f"{verdict.engine}, {verdict.reason}"
        for verdict in ordered
    ]
