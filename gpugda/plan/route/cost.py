"""The cost rule: estimated seconds on the device against estimated seconds of the database.

Both come from the physical plan. Measured times of the same query text replace them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.plan.route.history import Expected
from gpugda.plan.route.route import Verdict

if TYPE_CHECKING:
    from gpugda.plan.route.route import RouteInput

__all__ = [
    "device_seconds",
    "estimated_device_seconds",
    "expected_seconds",
    "judge_by_cost",
    "native_seconds",
]

_CLEARLY_FASTER: Final = 0.85
"""Of two measured times the device's must be this share of the database's: times differ by noise,
and the device is never to be slower."""
_MARGIN_SECONDS: Final = 0.002
"""An engine that may save less than this is not measured."""

_MIN_GIVE_UP_SECONDS: Final = 0.25
_ESTIMATE_ERROR: Final = 5.0
_LIKELY_ERROR: Final = 3.0
"""Estimates are within this factor mostly, and within the other one nearly always."""
_LATE_FACTOR: Final = {True: 3.0, False: _ESTIMATE_ERROR}
"""Multiple of the native time after which the device is given up, or joins the database, by whether
that time is known; it joins sooner if it was expected to be ready by then."""
_MIN_JOIN_SECONDS: Final = 0.25
"""The device does not join a database that answers within this time."""

_RECURRING_RUNS: Final = 2
"""Runs after which a text is taken for one that is asked again and again."""
_RETRY_RUNS: Final = 4
"""Runs after which the other engine is measured again, then after twice as many each time: its time
may come from a busy moment, and the graph grows."""
_MUCH_SLOWER_FACTOR: Final = 10.0
_RETRY_RUNS_IF_MUCH_SLOWER: Final = 16
"""An engine that took ``_MUCH_SLOWER_FACTOR`` times as long is measured again only from here on."""
_LONGEST_MEASURED_SECONDS: Final = 2.0
"""An engine expected to need longer, with what it does once, is not measured in the background."""
_LONG_PLANNING_SECONDS: Final = 2.0
_SLOW_FIRST_RUN_FACTOR: Final = 4.0
"""A first run that took this many times its estimate indicates slow work, not slow planning: a
second run must be expected to take as long."""
_COLD_FACTOR: Final = 8.0
"""Few first runs on the device take more than this many times as long as the later ones."""


def judge_by_cost(given: RouteInput) -> Verdict:
    """Chooses the engine with the lower expected time."""
    device, native = device_seconds(given), native_seconds(given)
    observed = given.observed
    known = observed.native is not None
    is_faster = device <= native * (_CLEARLY_FASTER if known else 1.0)
    engine = "gpu" if is_faster and observed.given_up is None else "native"
    warm = observed.pace.device * estimated_device_seconds(given)
    repeated = native if observed.planned else native - _planning(given)
    mine = repeated if engine == "native" else observed.device or min(warm, device)
    return Verdict(
        engine,
        _sentence(given, device, native),
        device,
        native,
        "cost",
        give_up_after=max(_MIN_GIVE_UP_SECONDS, _LATE_FACTOR[known] * native),
        join_after=max(_MIN_JOIN_SECONDS, min(device, _LATE_FACTOR[known] * native)),
        measure=_engine_to_measure(given, engine, mine),
    )


def _engine_to_measure(given: RouteInput, engine: str, mine: float) -> str | None:
    """The engine to measure in the background once the other one has answered; None for neither.

    So no query waits for an engine only to show how fast it is. If recent texts were asked again,
    a new text is measured if a second run might be late; otherwise it has to recur first.

    Args:
        given: The text.
        engine: The engine that answers.
        mine: Expected seconds of a repeated run of this engine.
    """
    observed = given.observed
    if engine == "gpu":
        runs = observed.device_runs + 1
        known = observed.native, observed.native_given_up
        other = observed.pace.native * given.physical.native_seconds
        once = 0.0 if observed.planned else _planning(given)
    else:
        runs = observed.native_runs + 1 + observed.planned
        known = observed.device, observed.given_up
        other = observed.pace.device * estimated_device_seconds(given)
        once = 0.0 if observed.device_runs else device_seconds(given) - other
    measured = [each for each in known if each is not None]
    if measured:
        much = max(measured) > _MUCH_SLOWER_FACTOR * mine
        first = _RETRY_RUNS_IF_MUCH_SLOWER if much else _RETRY_RUNS
        is_due = runs >= first
    else:
        is_new = runs < _RECURRING_RUNS
        error = _LIKELY_ERROR if is_new else _ESTIMATE_ERROR
        is_due = mine > other / error + _MARGIN_SECONDS and (observed.recurs or not is_new)
        is_due = is_due and other + once < _LONGEST_MEASURED_SECONDS
    seldom = measured or runs > _RETRY_RUNS
    others = {"gpu": "native", "native": "gpu"}
    return others[engine] if is_due and (not seldom or runs.bit_count() == 1) else None


def device_seconds(given: RouteInput) -> float:
    """Seconds from `run` to the last value, on the device."""
    observed = given.observed
    pace, estimated = observed.pace, estimated_device_seconds(given)
    expected = pace.device * estimated
    if observed.given_up is not None:
        return given.once + max(observed.given_up, observed.device or 0.0)
    if observed.device is not None:
        return given.once + observed.device
    if observed.device_first is not None:
        # A first run also compiles, and makes what is kept for later ones.
        first = observed.device_first
        return given.once + min(first, max(expected, first / _COLD_FACTOR))
    return given.once + pace.first * (estimated + _device_planning(given))


def expected_seconds(given: RouteInput) -> Expected:
    """The estimates, not corrected by any measured time."""
    return Expected(
        estimated_device_seconds(given),
        _device_planning(given),
        given.physical.native_seconds,
        given.physical.planning_seconds,
    )


def _device_planning(given: RouteInput) -> float:
    return given.first + given.physical.device.prepare_seconds * (1 + given.shape[1])


def estimated_device_seconds(given: RouteInput) -> float:
    """Seconds of a repeated run on the device, at its rates."""
    physical = given.physical
    rates, server, rows = physical.device, physical.server, physical.root.rows
    seconds = physical.device_seconds + given.sent_bytes / rates.sent_bytes_per_second
    # The probe runs concurrently.
    seconds = max(seconds, given.probes * server.round_trip_seconds)
    if physical.entity_columns and not given.entities_known:
        seconds += server.round_trip_seconds
        seconds += rows * physical.entity_columns / server.entities_per_second
    return seconds


def native_seconds(given: RouteInput) -> float:
    """Seconds from `run` to the last value, by the database."""
    observed = given.observed
    if observed.native_given_up is not None:
        return max(observed.native_given_up, observed.native or 0.0)
    if observed.native is not None:
        return observed.native
    seconds, planning = observed.pace.native * given.physical.native_seconds, _planning(given)
    if observed.native_first is not None:
        # Before the device has been measured, a slow first run is taken for planning.
        is_measured = observed.device is not None or observed.native_first > _LONG_PLANNING_SECONDS
        if is_measured and observed.native_first > _SLOW_FIRST_RUN_FACTOR * (seconds + planning):
            return observed.native_first - planning
        # The first run includes planning, the larger part; without it, it cannot take longer.
        return min(seconds, observed.native_first)
    return seconds if observed.planned else seconds + planning


def _planning(given: RouteInput) -> float:
    return given.observed.pace.planning * given.physical.planning_seconds


def _sentence(given: RouteInput, device: float, native: float) -> str:
    known = given.observed
    there = "takes" if known.native is not None else "is expected to take"
    if known.native_given_up is not None:
        there = "takes at least"
    here = "takes" if known.device is not None else "is expected to take"
    return f"the device {here} {_readable(device)}, the database {there} {_readable(native)}"


def _readable(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.2g} s"
