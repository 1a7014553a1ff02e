"""The cost rule: expected seconds on the device against expected seconds of the database.

Cardinalities come from the plan, rates from a calibration, and both give way to times that the same
text took before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpugda.plan.plan import StepKind
from gpugda.plan.route.route import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.plan import Plan, PlanStep
    from gpugda.plan.route.history import Observed
    from gpugda.plan.route.route import RouteInput

__all__ = ["device_seconds", "is_worth_learning", "judge_by_cost", "native_seconds"]

_RUNS_BEFORE_LEARNING: Final = 2
_CHEAP: Final = 0.05
_BEARABLE: Final = 0.25
_LONG_PLANNING: Final = 2.0
"""What the database is asked for its time at all: seconds that it is expected to take."""

_LEAST_PATIENCE: Final = 0.25
_PATIENCE: Final = {True: 3.0, False: 20.0}
"""How often the native time may pass before the device is given up, if that is known or guessed."""

_SLACK: Final = {True: 0.0003, False: 0.002}
"""Differences below this are noise, if both times are known or if one is guessed: the device is
then preferred, so that the server can rest."""

_SURPRISE: Final = 4.0
"""A first run that took so many times what was expected of it tells of slow work, not of slow
planning: to trust the expectation again would mean to wait as long a second time."""

_LOOK_AGAIN: Final = 4
"""Runs on one side after which the other is looked at again, and then twice as many each time:
what is known of it may be from a busier moment."""

_NEAR: Final = 10.0
_LOOK_AGAIN_FAR: Final = 16
"""A database that took so many times as long as the device is looked at again after so many runs,
if it was expected to be the faster one."""

_NEARLY: Final = 0.002
"""A device that took so many seconds more than the database is not looked at again."""


def judge_by_cost(given: RouteInput) -> Verdict:
    """The engine that is expected to answer first."""
    device, native = device_seconds(given), native_seconds(given)
    observed = given.observed
    known = observed.native is not None
    slack = _SLACK[known and observed.device is not None]
    engine = "gpu" if device <= native + slack or _look_again(observed) else "native"
    if _worth_a_try(given, device):
        engine = "native"
    patience = max(_LEAST_PATIENCE, _PATIENCE[known] * native)
    return Verdict(
        engine, _sentence(given, device, native), device, native, "cost", give_up_after=patience
    )


def _worth_a_try(given: RouteInput, device: float) -> bool:
    """Should the database plan a text that the device keeps answering?

    Once it has the plan it may be faster. Nobody knows how often the text will come, so it is tried
    when what the device lost until now, if it did, is as much as the planning costs.
    """
    observed = given.observed
    if observed.planned or observed.device is None:
        return False
    again = native_seconds(replace(given, observed=replace(observed, planned=True)))
    lost = observed.device_runs * (device - again)
    return lost > _planning_seconds(given)


def _look_again(observed: Observed) -> bool:
    """Should the device answer once more what the database answers a little faster?"""
    if observed.device is None or observed.native is None:
        return False
    return _is_time(observed.native_runs) and observed.device < observed.native + _NEARLY


def _is_time(runs: int) -> bool:
    return runs >= _LOOK_AGAIN and runs.bit_count() == 1


def is_worth_learning(given: RouteInput) -> bool:
    """Would it help to know how long the database takes for a text that keeps coming?

    Only where the database may be faster once it has the plan, and where finding out costs it
    little. What is expected of it may be wrong: after some runs only what nobody can beat counts.
    """
    observed = given.observed
    if observed.device is None or observed.device_runs < _RUNS_BEFORE_LEARNING:
        return False
    if observed.native is not None:
        far = observed.native > min(_CHEAP, _NEAR * observed.device)
        if not _is_time(observed.device_runs) or (far and observed.device_runs < _LOOK_AGAIN_FAR):
            return False
        if not far:
            return True
    # As expected and not as it was: that may have met a cold or busy server, and this is cheap.
    unseen = replace(observed, planned=True, native_first=None, native=None)
    again = native_seconds(replace(given, observed=unseen))
    least, bearable = again, _CHEAP
    if observed.native is None and _is_time(observed.device_runs):
        least, bearable = given.server.round_trip_seconds, _BEARABLE
    is_short = again < bearable and _planning_seconds(given) < _LONG_PLANNING
    return least < observed.device and is_short


def device_seconds(given: RouteInput) -> float:
    """Everything from `run` to the last value, on the device."""
    if given.observed.device is not None:
        return given.opening_seconds + given.observed.device
    rates, plan = given.device, given.plan
    relationships = len(plan.bound.query.graph.relationships)
    expansions, rows = work(given)
    seconds = rates.query_seconds + rates.step_seconds * max(len(_joined(plan)) - 1, 0)
    seconds += expansions / rates.pairs_per_second
    seconds += given.sent_bytes / rates.sent_bytes_per_second
    if not _is_count(given):
        seconds += rows / rates.rows_per_second
    # The probe is under way meanwhile.
    seconds = max(seconds, given.probes * given.server.round_trip_seconds)
    seconds += given.opening_seconds + rates.prepare_seconds * (1 + relationships)
    if given.entity_columns and not given.entities_known and not _is_count(given):
        seconds += given.server.round_trip_seconds
        seconds += rows * given.entity_columns / given.server.entities_per_second
    return seconds


def native_seconds(given: RouteInput) -> float:
    """Everything from `run` to the last value, by the database."""
    observed, rates = given.observed, given.server
    if observed.native is not None:
        return observed.native
    expansions, rows = work(given)
    seconds = rates.round_trip_seconds + expansions / rates.expansions_per_second
    if not _is_count(given):
        seconds += rows / rates.rows_per_second
        seconds += rows * given.entity_columns / rates.entities_per_second
    if observed.native_first is not None:
        planning = _planning_seconds(given)
        if observed.native_first > _SURPRISE * (seconds + planning):
            return observed.native_first - planning
        # Planning is in it, and is the larger part: without it, it cannot take longer.
        return min(seconds, observed.native_first)
    return seconds if observed.planned else seconds + _planning_seconds(given)


def _planning_seconds(given: RouteInput) -> float:
    graph = given.plan.bound.query.graph
    pairs = len(graph.nodes) * max(1, len(graph.relationships))
    return given.server.planning_seconds * (1 + pairs)


def work(given: RouteInput) -> tuple[float, float]:
    """Expected partial rows over all steps, and expected result rows."""
    plan = given.plan
    if plan.bound.no_rows is not None:
        return 0.0, 0.0
    partial = [step.cardinality for step in _joined(plan)]
    rows = partial[-1] if partial else 0.0
    total = sum(partial)
    if given.limit is not None and not plan.bound.query.aggregating and rows > given.limit:
        # Both stop early.
        if not plan.bound.query.order_by and not plan.bound.query.distinct:
            total *= given.limit / rows
        rows = float(given.limit)
    return total, rows


def _joined(plan: Plan) -> Sequence[PlanStep]:
    """The steps that make rows: not that which lists the nodes from which others go on."""
    steps = plan.steps
    return steps[1:] if len(steps) > 1 and steps[1].kind is StepKind.EXTEND else steps


def _is_count(given: RouteInput) -> bool:
    query = given.plan.bound.query
    return query.aggregating and not query.grouping


def _sentence(given: RouteInput, device: float, native: float) -> str:
    known = given.observed
    there = "takes" if known.native is not None else "is expected to take"
    here = "takes" if known.device is not None else "is expected to take"
    return f"the device {here} {_readable(device)}, the database {there} {_readable(native)}"


def _readable(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.2g} s"
