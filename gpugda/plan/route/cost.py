"""The cost rule: estimated seconds on the device against estimated seconds of the database.

Both come from the physical plan. Measured times of the same query text replace them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpugda.plan.route.history import Expected
from gpugda.plan.route.route import Verdict

if TYPE_CHECKING:
    from gpugda.plan.route.history import Observed
    from gpugda.plan.route.route import RouteInput

__all__ = [
    "device_seconds",
    "estimated_device_seconds",
    "expected_seconds",
    "is_worth_learning",
    "judge_by_cost",
    "native_seconds",
]

_RUNS_BEFORE_LEARNING: Final = 2
_CHEAP_SECONDS: Final = 0.05
_ESTIMATE_ERROR: Final = 5.0
"""Most estimates are within this factor: a database expected to be this much slower is slower."""
_SHORTEST_SECONDS: Final = 0.002
"""Seconds below which no database answers."""
_LEARNABLE_SECONDS: Final = 1.0
"""Seconds on the device from which only a query that waits anyway tries the database."""
_LONG_PLANNING_SECONDS: Final = 2.0

_MIN_GIVE_UP_SECONDS: Final = 0.25
_LATE_FACTOR: Final = {True: 3.0, False: _ESTIMATE_ERROR}
"""Multiple of the native time after which the device is given up, or joins the database, by whether
that time is known; it joins sooner if it was expected to be ready by then."""

_MIN_JOIN_SECONDS: Final = 0.25
"""The device does not join a database that answers within this time."""

_NOISE_SECONDS: Final = {True: 0.0003, False: 0.002}
"""Smaller differences (seconds) count as noise, by whether both times are measured. The device is
then preferred, which relieves the server."""

_SLOW_FIRST_RUN_FACTOR: Final = 4.0
"""A first run that took this many times its estimate indicates slow work, not slow planning: a
second run must be expected to take as long."""

_COLD_FACTOR: Final = 8.0
"""Few first runs on the device take more than this many times as long as the later ones."""

_RETRY_RUNS: Final = 4
"""Runs on one side after which the other side is tried again, then after twice as many each time:
its measured time may come from a busier moment."""

_RETRY_FACTOR: Final = 2.0
"""A device that was given up gets this many times the seconds when it is tried again."""

_MUCH_SLOWER_FACTOR: Final = 10.0
_RETRY_RUNS_IF_MUCH_SLOWER: Final = 16
"""A database that took ``_MUCH_SLOWER_FACTOR`` times as long as the device is tried again only
after this many runs, if it was expected to be faster."""

_RETRY_MARGIN_SECONDS: Final = 0.002
"""A device that is slower than the database by more than these seconds is not tried again."""


def judge_by_cost(given: RouteInput) -> Verdict:
    """Chooses the engine with the lower expected time."""
    device, native = device_seconds(given), native_seconds(given)
    observed = given.observed
    known = observed.native is not None
    slack = _NOISE_SECONDS[known and observed.device is not None]
    engine = "gpu" if device <= native + slack or _should_try_device(given, native) else "native"
    if _should_try_database(given, device):
        engine = "native"
    device_limit = max(_MIN_GIVE_UP_SECONDS, _LATE_FACTOR[known] * native)
    if observed.given_up is not None:
        engine = "gpu" if _should_retry_after(observed, native) else "native"
        device_limit = min(device_limit, _RETRY_FACTOR * observed.given_up)
    native_limit = max(_MIN_JOIN_SECONDS, min(device, _LATE_FACTOR[known] * native))
    return Verdict(
        engine,
        _sentence(given, device, native),
        device,
        native,
        "cost",
        give_up_after=device_limit,
        join_after=native_limit,
    )


def _should_try_database(given: RouteInput, device: float) -> bool:
    """True if the database should plan a text that the device has always answered.

    With a cached plan the database may be faster.
    """
    observed = given.observed
    if observed.planned or observed.device is None:
        return False
    again = native_seconds(replace(given, observed=replace(observed, planned=True)))
    return _is_paid(observed.device_runs, device - again, _planning(given))


def _should_try_device(given: RouteInput, native: float) -> bool:
    """True if the device should run a text that the database answers as fast or faster.

    A later run may be faster: the first one compiles, and the times may come from a busy moment.
    """
    observed = given.observed
    if observed.native is None:
        return False
    if observed.device is None:
        warm = observed.pace.device * estimated_device_seconds(given)
        once = device_seconds(given) - warm
        return _is_paid(1 + observed.native_runs, native - warm, once)
    late = observed.device - observed.native
    return late < _RETRY_MARGIN_SECONDS and _is_retry_run(observed.native_runs)


def _is_paid(runs: int, loss: float, once: float) -> bool:
    """True if the loss of each run so far amounts to what the other engine needs once.

    The number of future runs is unknown: so at most twice the smaller of both costs is paid.
    """
    return runs * loss > once


def _should_retry_after(observed: Observed, native: float) -> bool:
    """True if the device should run a text again that it did not finish in time.

    That may have been a busy moment. Each retry takes at most twice as long as the one before, and
    comes after twice as many runs of the database.
    """
    assert observed.given_up is not None
    return _is_retry_run(observed.native_runs) and observed.given_up < native


def _is_retry_run(runs: int) -> bool:
    return runs >= _RETRY_RUNS and runs.bit_count() == 1


def is_worth_learning(given: RouteInput) -> bool:
    """True if measuring the database's time for a recurring text is worthwhile.

    That needs a database that may be faster once it has the plan, even if its estimate is wrong,
    and a device that is not slow: the measurement is ended when it takes much longer than that.
    """
    observed = given.observed
    if observed.device is None or observed.device_runs < _RUNS_BEFORE_LEARNING:
        return False
    is_known = observed.native is not None or observed.native_given_up is not None
    if is_known and not _is_retry_run(observed.device_runs):
        return False
    if observed.native is not None:
        if observed.native <= min(_CHEAP_SECONDS, _MUCH_SLOWER_FACTOR * observed.device):
            return True
        if observed.device_runs < _RETRY_RUNS_IF_MUCH_SLOWER:
            return False
    # Use the estimate, not the measured time, which may come from a cold or busy server.
    physical = given.physical
    native = observed.pace.native * physical.native_seconds
    least = max(_SHORTEST_SECONDS, native / _ESTIMATE_ERROR)
    if _is_retry_run(observed.device_runs):
        least = _SHORTEST_SECONDS  # its rates may have been measured while it was busy
    is_short = observed.device < _LEARNABLE_SECONDS
    return least < observed.device and is_short and _planning(given) < _LONG_PLANNING_SECONDS


def device_seconds(given: RouteInput) -> float:
    """Seconds from `run` to the last value, on the device."""
    observed = given.observed
    pace, estimated = observed.pace, estimated_device_seconds(given)
    expected = pace.device * estimated
    if observed.given_up is not None:
        return given.once + max(observed.given_up, observed.device or 0.0)
    if observed.device is not None:
        # The estimate counts as one more run: other programs only ever add to a time.
        lucky = observed.device_runs == _RUNS_BEFORE_LEARNING
        return given.once + (min(observed.device, expected) if lucky else observed.device)
    if observed.device_first is not None:
        # A first run also compiles, and makes what is kept for later ones.
        first = observed.device_first
        least = 0.0 if _is_retry_run(observed.native_runs) else first / _COLD_FACTOR
        return given.once + min(first, max(expected, least))
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
