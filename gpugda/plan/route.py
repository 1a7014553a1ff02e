"""Device or database: what the judgement is made from, what it says, and what was seen before."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.statistics import GraphStatistics
    from gpugda.plan.plan import Plan
    from gpugda.plan.rates import DeviceRates, ServerRates

__all__ = ["History", "Observed", "RouteInput", "Verdict", "route_text"]

_NEWEST = 0.4
_TEXTS = 10_000


@dataclass(frozen=True, slots=True)
class Observed:
    """Seconds that a text took before; None where it has not run there.

    Args:
        device: On the device, everything included.
        native: By the database, its plan being known.
        native_first: By the database when it had to plan.
        planned: Whether the database has answered it before, and so may have kept its plan.
        device_runs: How often the device has answered it.
    """

    device: float | None = None
    native: float | None = None
    native_first: float | None = None
    planned: bool = False
    device_runs: int = 0


@dataclass(frozen=True, slots=True)
class RouteInput:
    """What a rule may look at. Nothing of it costs a round trip.

    Args:
        plan: The plan on the snapshot.
        statistics: Of the snapshot.
        device: Rates of the device.
        server: Rates of the server.
        entity_columns: Returned columns that are whole nodes or relationships.
        observed: Earlier times of the same text.
        probes: Round trips that the device's answer needs.
        limit: Most rows that are returned, None without a limit.
    """

    plan: Plan
    statistics: GraphStatistics
    device: DeviceRates
    server: ServerRates
    entity_columns: int = 0
    observed: Observed = Observed()
    probes: int = 1
    limit: int | None = None


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


class History:
    """Times per query text, the newest counting most. Usable from several threads."""

    def __init__(self, texts: int = _TEXTS) -> None:
        self._texts = texts
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, Observed] = OrderedDict()

    def observed(self, text: str) -> Observed:
        """What is known of a text."""
        with self._lock:
            if text in self._seen:
                self._seen.move_to_end(text)
            return self._seen.get(text, Observed())

    def add_device(self, text: str, seconds: float) -> None:
        """The device took so long."""
        with self._lock:
            old = self._seen.get(text, Observed())
            # The first run may have compiled kernels: what comes after it counts.
            runs = old.device_runs + 1
            self._put(text, replace(old, device=_mixed(old.device, seconds), device_runs=runs))

    def add_native(self, text: str, seconds: float) -> None:
        """The database took so long."""
        with self._lock:
            old = self._seen.get(text, Observed())
            if not old.planned:
                new = replace(old, planned=True, native_first=seconds)
            else:
                new = replace(old, native=_mixed(old.native, seconds))
            self._put(text, new)

    def forget_plans(self) -> None:
        """The database may have dropped its plans."""
        with self._lock:
            for text, old in self._seen.items():
                self._seen[text] = replace(old, planned=False)

    def _put(self, text: str, observed: Observed) -> None:
        self._seen[text] = observed
        self._seen.move_to_end(text)
        while len(self._seen) > self._texts:
            self._seen.popitem(last=False)


def _mixed(old: float | None, new: float) -> float:
    # A much shorter time replaces: the longer one was a cold start.
    if old is None or new < 0.5 * old:
        return new
    return (1 - _NEWEST) * old + _NEWEST * new


def route_text(verdicts: Sequence[Verdict], chosen: str) -> list[str]:
    """What each rule says, a line a rule, the one that counts first."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.rule != chosen)
    return [
        f"planner {verdict.rule}{' (asked)' if verdict.rule == chosen else ''}: "
        f"{verdict.engine}, {verdict.reason}"
        for verdict in ordered
    ]
