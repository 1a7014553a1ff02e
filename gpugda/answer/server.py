"""Answers queries on a live database, by the device if its answer is correct and faster.

With engine ``auto``, a query passes these decisions:

1. Can the device answer it? Unsupported queries, and data that it may not see, go to Neo4j.
2. Should it? The planner compares both from statistics and earlier times; it sends nothing.
3. Are the kernels compiled? If not, they are compiled in the background, once per machine.
4. Is the snapshot fresh enough, by at most one probe? If not, the changes are applied or it is
   refreshed: at once if that is cheaper than the native answer, else in the background.
5. Does it hold the properties that the query reads? If not, they are read, or Neo4j answers.
6. The device answers; whole nodes and relationships get their properties. Properties read after
   the probe count only if a second probe finds the database unchanged.
"""

from __future__ import annotations

import logging
import math
import re
import time
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from gpugda.answer.declined import Declined
from gpugda.answer.demanded import DemandedAnswers, admission_for, checked, missing_for
from gpugda.answer.faults import as_internal_errors, log_fault
from gpugda.answer.on_graph import shown_plan
from gpugda.answer.on_snapshot import SnapshotAnswers
from gpugda.answer.racing import Races
from gpugda.data.values.columns import ColumnKind
from gpugda.deadline import Cancellation, cancelled_by, check_time, working_until
from gpugda.errors import (
    DeviceError,
    GpugdaError,
    InternalError,
    QueryError,
    QueryTimeoutError,
    SourceError,
    StaleSnapshotError,
    StillCompilingError,
)
from gpugda.live.age_clock import age_clock
from gpugda.live.properties import refuse_unkept
from gpugda.plan.explain import Explanation, cannot_run
from gpugda.plan.physical import Estimate, estimate_query
from gpugda.result.result import Result
from gpugda.types import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gpugda.answer.on_graph import GraphAnswer
    from gpugda.answer.on_snapshot import EarlyAnswer
    from gpugda.answer.request import Request
    from gpugda.answer.routing import Router
    from gpugda.live.keeper import Admission, SnapshotKeeper
    from gpugda.loading import LoadedGraph
    from gpugda.match.session import DeviceSession
    from gpugda.plan.route.route import Verdict
    from gpugda.ports import DatabaseServer, DatabaseVersion, Progress, ServerFacts
    from gpugda.query.reads import Reads
    from gpugda.query.statement import Statement


__all__ = ["ServerAnswers", "answer_natively", "explained_by_database", "following_status"]

_MODE: Final = re.compile(r"\s*(EXPLAIN|PROFILE)\b", re.IGNORECASE)
_UNKNOWN: Final = float("nan")


def explained_by_database(request: Request, server: DatabaseServer, reason: str) -> Explanation:
    """Explains a query that the database answers, with the database's own plan; runs nothing.

    Args:
        request: The query.
        server: The database.
        reason: Why the database answers.

    Raises:
        QueryTimeoutError: The time limit passed.
        neo4j.exceptions.Neo4jError: The server rejected the query.
    """
    text = _MODE.sub("", request.text, count=1)
    answer = server.run_native(
        f"EXPLAIN {text}", request.values, timeout=request.seconds_left(), read_only=False
    )
    plan = getattr(answer.summary, "plan", None) or {}
    rows = _estimated_rows(plan)
    lines = [f"expected by the database: {_number(rows)} rows"] if rows == rows else []
    lines += _steps(plan)
    return Explanation(Estimate(rows, 0), engine="native", reason=reason, lines=lines)


def _estimated_rows(plan: dict[str, Any]) -> float:
    found = plan.get("args", {}).get("EstimatedRows")
    return _UNKNOWN if found is None else float(found)


def _number(rows: float) -> str:
    return f"{rows:,.0f}" if rows >= 100 else f"{rows:.3g}"


def _steps(plan: dict[str, Any], depth: int = 0) -> list[str]:
    """Lines for the operators of the server's plan, each before its inputs."""
    if not plan:
        return []
    name = str(plan.get("operatorType", "")).partition("@")[0]
    details = plan.get("args", {}).get("Details", "")
    rows = _estimated_rows(plan)
    expected = f"  {_number(rows)} rows" if rows == rows else ""
    lines = [f"{'  ' * (depth + 1)}{name}  {details}".rstrip() + expected]
    for child in plan.get("children", ()):
        lines += _steps(child, depth + 1)
    return lines


_ADVICE = (
    "install gpugda's plugin in the server (gpugda plugin install): changes are applied instead of "
    "reading the database anew, and it is read 5 times as fast"
)


def following_status(keeper: SnapshotKeeper, facts: ServerFacts) -> dict[str, Any]:
    """Returns how the database is followed, what was applied, and advice to improve it."""
    follower = keeper.follower
    loaded = keeper.loaded
    return {
        "following": follower.described or f"not followed: {follower.reason}",
        "transactions_applied": 0 if loaded is None else loaded.transactions,
        "changes_seconds": follower.seconds if follower.transactions else None,
        "advice": "" if follower.follows else _advice(facts),
    }


def _advice(facts: ServerFacts) -> str:
    if not facts.sees_everything or facts.product != "Neo4j":
        return ""
    if facts.plugin:
        return ""
    if facts.clustered or "aura" in facts.address:
        return "turn change data capture on for the database: changes are applied then"
    return facts.plugin_advice or _ADVICE


def answer_natively(
    request: Request,
    server: DatabaseServer,
    reason: str,
    cancellation: Cancellation | None = None,
) -> tuple[Result, float, DatabaseVersion | None]:
    """Returns the result, the server's seconds, and the database state that its answer reports.

    Raises:
        QueryTimeoutError: The time limit passed, or the query was cancelled.
        neo4j.exceptions.Neo4jError: The server failed or rejected the query.
    """
    timeout = request.seconds_left()
    started = time.perf_counter()
    answer = server.run_native(
        request.text,
        request.values,
        timeout=timeout,
        read_only=_only_reads(request),
        metadata=request.metadata,
        cancellation=cancellation,
    )
    seconds = time.perf_counter() - started
    request.add_time("native", seconds)
    request.notes.pop("freshness", None)
    summary = request.summary(
        engine="native",
        reason=reason,
        snapshot=server.name,
        rows=len(answer.records),
        native=answer.summary,
    )
    return Result.from_native(answer, summary), seconds, answer.version


def _only_reads(request: Request) -> bool:
    """True if the query is known to write nothing; a query that we cannot parse may write."""
    try:
        request.prepared()
    except GpugdaError:
        return False
    return True


logger = logging.getLogger(__name__)

_MEASURING_SECONDS = 2.0
"""Time limit of each run that measures the database's time for a text."""

_REST = 10.0
"""Measuring takes at most one in so many seconds, so that it hardly disturbs callers."""

_MEASURED_RUNS = 2

_CHANGED = "the database changed while the query ran"

_VALUE_SECONDS = {True: 1.5e-6, False: 0.1e-6}
"""Seconds to make a whole entity (True) or another value for the user; Neo4j's time includes it."""

_RESERVE_FACTOR = 1.5
"""The database needs up to this many times its expected seconds."""

_ONCE = ("native", "refresh", "properties", "open")
"""Stages that a repeated run on the device does not have."""

_CLOSING_SECONDS = 30.0

_WAIT_SECONDS = 0.05
"""Interval at which a device that waits for background work checks its deadline."""

_WHOLE = (ColumnKind.NODE, ColumnKind.RELATIONSHIP)

_REFRESH_GAIN = 1.5
"""A stale snapshot is refreshed at once if the native answer takes this many times as long."""


class ServerAnswers:
    """Answers from one live database, its snapshot and one device.

    Args:
        server: The database.
        keeper: Keeps its snapshot.
        session: The device.
        router: Chooses the engine.
        progress: Receives the progress of reading properties.
    """

    def __init__(
        self,
        server: DatabaseServer,
        keeper: SnapshotKeeper,
        session: DeviceSession,
        router: Router,
        progress: Progress,
    ) -> None:
        self._server = server
        self._keeper = keeper
        self._session = session
        self._router = router
        self._snapshot = SnapshotAnswers(server, keeper, session, progress)
        self._demanded = DemandedAnswers(server, keeper, router, self._snapshot)
        self._unusable = False
        self._races = Races()
        self._measuring = Cancellation()
        self._rests_until = 0.0

    @property
    def loaded(self) -> LoadedGraph | None:
        """The snapshot, None if there is none yet."""
        return self._keeper.loaded

    # ------------------------------------------------------------------ queries
    def run(self, request: Request, engine: str) -> Result:
        """See `Accelerator.run`."""
        request.notes.update(_of_server(self._server.facts))
        if engine == "native":
            return self._native(request, "engine='native' was asked for")
        if engine in ("gpu", "reference"):
            with as_internal_errors(), working_until(request.deadline):
                return self._demanded.run(request, engine)
        found = self._offer(request)
        if not isinstance(found, Declined):
            return found
        verdict = found.verdict
        if verdict is None:
            return self._native(request, found.reason)
        if verdict.join_after is None:
            result = self._native(request, found.reason)
        else:
            result = self._raced(request, found.reason, verdict.join_after)
        self._measure_soon(request, verdict)
        return result

    def try_device(self, request: Request) -> Result | Declined:
        """Returns the device's answer, or why to ask the database; sends only reads to it."""
        request.notes.update(_of_server(self._server.facts))
        found = self._offer(request)
        if isinstance(found, Declined) and found.verdict is not None:
            self._measure_soon(request, found.verdict)  # the caller asks the database
        return found

    def covers(self, bookmarks: Iterable[str]) -> bool:
        """True if the snapshot covers all bookmarks; else refreshes it soon, if that is allowed."""
        try:
            with as_internal_errors():
                return self._covers(bookmarks)
        except InternalError as error:
            log_fault(error)
            return False

    def _covers(self, bookmarks: Iterable[str]) -> bool:
        versions = [self._server.version_in(bookmark) for bookmark in bookmarks]
        known = [version for version in versions if version is not None]
        covered = [self._keeper.covers(version) for version in known]
        if not all(covered) and self._keeper.freshness.policy != "manual":
            self._keeper.refresh_soon()
        return len(known) == len(versions) and all(covered)

    def observe_native(self, text: str, seconds: float | None) -> None:
        """Records that the database answered a text that another caller sent to it."""
        self._note(lambda: self._router.observe_native(text, seconds))

    def explain(self, request: Request) -> Explanation:
        """Explains engine, reason and plan, on the snapshot however old it is.

        Raises:
            neo4j.exceptions.Neo4jError: The database rejected the query.
        """
        refused = self._cannot_run(request)
        if refused is not None:
            return explained_by_database(request, self._server, refused.reason)
        try:
            loaded = self._snapshot.newest()
        except SourceError as error:
            reason = f"there is no snapshot: {first_line(error)}"
            return explained_by_database(request, self._server, reason)
        plan = loaded.plan(request.prepared(), request.strategy)
        if plan.declined:
            return explained_by_database(
                request, self._server, cannot_run(plan.strategy, plan.declined)
            )
        verdict = self._router.decide(request, plan, loaded, self._keeper)
        compiling = self._session.compiling_reason
        on_device = verdict.engine == "gpu" and not compiling
        seconds = verdict.device_seconds if on_device else verdict.native_seconds
        physical = self._router.physical(request, plan)
        return Explanation(
            estimate_query(physical, plan.patterns, seconds),
            engine="gpu" if on_device else "native",
            reason=compiling or verdict.reason,
            physical=shown_plan(self._session, plan, physical),
            patterns=plan.patterns,
            lines=self._router.streamed(plan, loaded),
            route=self._router.described(request, plan, loaded, self._keeper),
        )

    # ------------------------------------------------------------------ auto
    def _offer(self, request: Request) -> Result | Declined:
        try:
            with as_internal_errors(), working_until(request.deadline):
                return self._offer_if_possible(request)
        except QueryTimeoutError as error:
            spent = time.monotonic() - request.started
            request.add_time("given up", max(0.0, spent - sum(request.timings.values())))
            alone = spent - _seconds_once(request)
            if not isinstance(error, StillCompilingError) and alone > (request.joined_after or 0.0):
                self._note(lambda: self._router.record_given_up(request.text, alone))
            request.seconds_left()  # raises if the user's time limit has passed
            return Declined("the device took longer than expected")
        except (QueryError, DeviceError) as error:
            return Declined(f"the device does not answer it: {first_line(error)}", can_run=False)
        except SourceError as error:
            return Declined(f"the snapshot cannot be used: {first_line(error)}")
        except InternalError as error:
            log_fault(error)
            return Declined(f"the device failed: {first_line(error.__cause__ or error)}")

    def _raced(self, request: Request, reason: str, after: float) -> Result:
        """Asks the database; the device joins it if it has not answered after some seconds."""
        started = time.monotonic()

        def ask(cancellation: Cancellation) -> Result:
            return self._native(request, reason, cancellation)

        def join(cancellation: Cancellation) -> Result | Declined:
            joining = request.joining(after)
            joining.add_time("native", time.monotonic() - started)
            with cancelled_by(lambda: cancellation.cancelled):
                return self._offer(joining)

        found = self._races.run(ask, join, after)
        assert not isinstance(found, Declined)  # the database answers or fails
        return found

    def _offer_if_possible(self, request: Request) -> Result | Declined:
        refused = self._cannot_run(request)
        if refused is not None:
            return refused
        loaded = self._keeper.loaded
        if loaded is None:
            reason = self._keeper.admit().reason
            self._keeper.refresh_soon()
            return Declined(reason)
        return self._offer_on(request, loaded)

    def _offer_on(self, request: Request, loaded: LoadedGraph) -> Result | Declined:
        declined = self._offer_once(request, loaded)
        # The entities were read from a later state: answer once more, from that state.
        if isinstance(declined, Declined) and declined.reason == _CHANGED and self._keeper.follows:
            return self._offer_once(request, self._keeper.loaded or loaded)
        return declined

    def _offer_once(self, request: Request, loaded: LoadedGraph) -> Result | Declined:
        with request.stage("plan"):
            plan = loaded.plan(request.prepared(), request.strategy)
            if plan.declined:
                return Declined(cannot_run(plan.strategy, plan.declined), can_run=False)
            verdict = self._router.decide(request, plan, loaded, self._keeper)
        if request.joined_after is not None:
            return self._joining(request, request.joined_after, verdict)
        found = self._answered(request, loaded, verdict)
        if isinstance(found, Declined) and found.can_run:
            if verdict.engine == "gpu":
                verdict = replace(verdict, measure=None)
            return Declined(found.reason, verdict=verdict)
        return found

    def _joining(self, request: Request, after: float, verdict: Verdict) -> Result | Declined:
        """The answer of a device that joins the database, whatever it is expected to take."""
        reason = f"the database had not answered after {after:.3g} s; the device answered first"
        verdict = replace(
            verdict,
            engine="gpu",
            reason=reason,
            native_seconds=math.inf,
            give_up_after=None,
            measure=None,
        )
        while True:
            waits, loaded = self._keeper.busy, self._keeper.loaded
            assert loaded is not None  # there was one when the planner decided
            found = self._answered(request, loaded, verdict)
            if not waits or not isinstance(found, Declined):
                return found
            with request.stage("refresh"):  # the snapshot may be read anew at this moment
                while not self._keeper.wait(_WAIT_SECONDS):
                    check_time()

    def _answered(
        self, request: Request, loaded: LoadedGraph, verdict: Verdict
    ) -> Result | Declined:
        if verdict.engine == "native":
            self._open_soon(loaded)
            return Declined(verdict.reason)
        if compiling := self._session.warm_soon():
            return Declined(compiling)
        self._measuring.cancel()  # it would hold the device
        deadline = _device_deadline(request, verdict)
        early = self._snapshot.answer_early(request, loaded, verdict.device_seconds, deadline)
        fresh = self._fresh(request, verdict, early)
        if isinstance(fresh, Declined):
            return fresh
        fresh = self._with_properties(request, fresh, verdict)
        if isinstance(fresh, Declined):
            return fresh
        deadline = _device_deadline(request, verdict)
        found = self._snapshot.answer(request, fresh, "gpu", deadline, early)
        if found is None:
            if not self._keeper.follows:
                self._keeper.refresh_soon()
            return Declined(_CHANGED)
        self._router.record_device(request, fresh, _usual_seconds(request, found))
        self._measure_soon(request, verdict)
        return found.result(request, reason=verdict.reason)

    def _open_soon(self, loaded: LoadedGraph) -> None:
        """Opens the device while the database answers, so that it may pay off for later queries."""
        if not self._session.is_ready(loaded.graph) and not self._unusable:
            self._keeper.in_background(lambda: self._open(loaded))

    def _open(self, loaded: LoadedGraph) -> None:
        try:
            if not self._session.warm_soon():
                self._session.prepare(loaded.graph)
        except Exception as error:
            self._unusable = True
            if not isinstance(error, GpugdaError):
                raise
            logger.info("the device cannot be opened: %s", error)

    def _measure_soon(self, request: Request, verdict: Verdict) -> None:
        """Measures in the background how long the other engine takes; see ADR 0007."""
        if time.monotonic() < self._rests_until:
            return
        if verdict.measure == "native":
            self._keeper.in_background(lambda: self._rested(lambda: self._measure_native(request)))
        elif verdict.measure == "gpu" and verdict.give_up_after is not None:
            seconds = verdict.give_up_after
            measure = partial(self._note, lambda: self._measure_device(request, seconds))
            self._keeper.in_background(lambda: self._rested(measure))

    def _rested(self, measure: Callable[[], object]) -> None:
        """Measures, and leaves the processor to callers for a multiple of that time."""
        started = time.monotonic()
        try:
            measure()
        finally:
            ended = time.monotonic()
            self._rests_until = ended + _REST * (ended - started)

    def _measure_native(self, request: Request) -> None:
        for _ in range(_MEASURED_RUNS):  # the first one may plan
            started = time.perf_counter()
            try:
                self._server.run_native(
                    request.text, request.values, timeout=_MEASURING_SECONDS, read_only=True
                )
            except QueryTimeoutError:
                # This is a measurement, too; otherwise a user would wait for it to be found out.
                self._router.record_native_given_up(request.text, _MEASURING_SECONDS)
                return
            self._router.record_native(request, time.perf_counter() - started)

    def _measure_device(self, request: Request, seconds: float) -> None:
        """Times the device on the snapshot, however old it is; nobody sees the rows."""
        query, loaded = request.prepared(), self._snapshot.newest()
        if not self._session.is_ready(loaded.graph) or self._session.warm_soon():
            return
        if missing := missing_for(loaded, query):
            refuse_unkept(self._keeper, missing)
            found = self._snapshot.load(loaded, missing)
            if found is None:
                return
            loaded = found
        measuring = self._measuring = Cancellation()
        for _ in range(_MEASURED_RUNS):  # the first one may compile
            again = request.again(seconds)
            try:
                with working_until(again.deadline), cancelled_by(lambda: measuring.cancelled):
                    answer = self._snapshot.answer(again, loaded, "gpu", again.deadline)
            except StillCompilingError:
                return
            except QueryTimeoutError:
                if not measuring.cancelled:
                    self._router.record_given_up(request.text, seconds)
                return
            if answer is not None:
                self._router.record_device(again, loaded, _usual_seconds(again, answer))

    def _cannot_run(self, request: Request) -> Declined | None:
        facts = self._server.facts
        if request.metadata:
            return Declined("its metadata is for the server's query log", can_run=False)
        if not facts.sees_everything:
            return Declined(facts.restriction, can_run=False)
        try:
            query = checked(request, self._server)
        except QueryError as error:
            return Declined(f"not answered by the device: {first_line(error)}", can_run=False)
        if query.mode is not None:
            return Declined(f"{query.mode} shows Neo4j's own plan", can_run=False)
        return None

    def _fresh(
        self, request: Request, verdict: Verdict, early: EarlyAnswer | None
    ) -> LoadedGraph | Declined:
        keeper = self._keeper
        expected = keeper.follower.seconds + verdict.device_seconds
        follows = early is None and expected <= verdict.native_seconds
        admission = admission_for(request, keeper, early, follows=follows)
        request.notes["freshness"] = admission.reason
        if admission.loaded is not None:
            return admission.loaded
        if self._keeper.follows and admission.newest is not None:
            followed = self._followed(request, admission, verdict)
            if followed is not None:
                return followed
        cost = self._keeper.refresh_seconds
        worth_it = cost is not None and verdict.native_seconds > _REFRESH_GAIN * cost
        if worth_it and self._keeper.may_refresh:
            with request.stage("refresh"):
                try:
                    loaded = self._keeper.refresh(attempts=1)
                except StaleSnapshotError:
                    return Declined("the database changes faster than it can be read")
            request.notes["freshness"] = f"{self._keeper.freshness}: read anew for this query"
            return loaded
        self._keeper.refresh_soon()
        return Declined(f"{admission.reason}; it is read anew in the background")

    def _followed(
        self, request: Request, admission: Admission, verdict: Verdict
    ) -> LoadedGraph | Declined | None:
        """Brings the snapshot to the newest state by its changes; None if they are unknown."""
        newest = admission.newest
        assert newest is not None
        keeper = self._keeper
        if keeper.follower.seconds + verdict.device_seconds > verdict.native_seconds:
            keeper.catch_up_soon(newest, admission.asked_at)
            return Declined(f"{admission.reason}; changes are applied in the background")
        with request.stage("changes"):
            found = keeper.catch_up(newest, admission.asked_at)
        if found is not None:
            request.notes["freshness"] = f"{keeper.freshness}: {found.followed}"
            return found
        if keeper.follows:
            return Declined(f"{admission.reason}, which others are still committing to")
        return None

    def _with_properties(
        self, request: Request, loaded: LoadedGraph, verdict: Verdict
    ) -> LoadedGraph | Declined:
        """Returns this or a later snapshot with the properties that the query reads."""
        missing = missing_for(loaded, request.prepared())
        if not missing:
            return loaded
        refuse_unkept(self._keeper, missing)
        if missing.seconds + verdict.device_seconds > verdict.native_seconds:
            self._keeper.in_background_soon(lambda: self._read_missing(request.prepared()))
            return Declined(f"properties of the snapshot are read in the background: {missing}")
        with request.stage("properties"):
            found = self._snapshot.load(loaded, missing)
        if found is not None:
            return found
        self._keeper.refresh_soon()
        return Declined("the database changed while properties were read")

    def _read_missing(self, query: Statement) -> None:
        """Reads the properties that the snapshot lacks by now."""
        loaded = self._snapshot.newest()
        if missing := missing_for(loaded, query):
            self._snapshot.load(loaded, missing)

    def _native(
        self, request: Request, reason: str, cancellation: Cancellation | None = None
    ) -> Result:
        started = time.monotonic()
        try:
            result, seconds, version = answer_natively(request, self._server, reason, cancellation)
        except QueryTimeoutError:
            spent = time.monotonic() - started
            self._note(lambda: self._router.record_native_given_up(request.text, spent))
            raise

        def note() -> None:
            self._keeper.observe(version)
            self._router.record_native(request, seconds)

        self._note(note)
        return result

    def _note(self, what: Callable[[], None]) -> None:
        """Records facts about a finished answer; a failure here must not lose the answer."""
        try:
            with as_internal_errors():
                what()
        except GpugdaError as error:
            if isinstance(error, InternalError):
                log_fault(error)
            else:
                logger.warning("an answer was not learned from: %s", first_line(error))

    # ------------------------------------------------------------------ the snapshot
    def refresh(self) -> None:
        """Reads the database again if it changed."""
        self._keeper.refresh()

    def state_since(
        self, reads: Reads, since: DatabaseVersion | None
    ) -> tuple[DatabaseVersion | None, bool]:
        """Returns a state that the next answer includes, and True if ``reads`` may differ there.

        Args:
            reads: What the query reads.
            since: State of the last answer, None before the first one.

        Raises:
            SourceError: The server cannot be reached.
        """
        keeper, policy = self._keeper, self._keeper.freshness.policy
        ours = None if keeper.loaded is None else keeper.loaded.version
        if policy == "manual" and ours is not None:
            return ours, ours != since  # answers change when the snapshot is refreshed
        asked_at = age_clock()
        newest = self._server.probe()
        if newest is None or newest == since:
            return newest, newest is None
        found = keeper.catch_up(newest, asked_at) if keeper.follows else None
        if found is not None and found.version is not None:
            differs = since is None or keeper.follower.may_affect(reads, since, found.version)
            return found.version, differs
        if policy == "max_age" and ours is not None:
            return ours, True  # the snapshot may answer until it is too old
        return newest, True

    def complete(self) -> LoadedGraph:
        """Returns the snapshot with all its properties, see `SnapshotAnswers.complete`."""
        return self._snapshot.complete()

    def status(self) -> dict[str, Any]:
        """Facts about the server and the snapshot's freshness."""
        facts, keeper = self._server.facts, self._keeper
        return {
            "server": f"{facts.product} {facts.version} {facts.edition}",
            "address": facts.address,
            "database": facts.database,
            "user": facts.user,
            "plugin": facts.plugin or facts.plugin_advice,
            "freshness": str(keeper.freshness),
            "stale": keeper.is_stale,
            **following_status(keeper, facts),
            "refreshing": keeper.busy,
            "refresh_seconds": keeper.refresh_seconds,
            "refresh_error": str(keeper.last_error or ""),
        }

    def calibrate(self, *, again: bool = False) -> dict[str, dict[str, float]]:
        """Measures the device and the server; ``again`` ignores saved rates."""
        device, server = self._router.calibrate(again=again)
        return {"device": asdict(device), "server": asdict(server)}

    def close(self) -> None:
        """Stops background work and closes the connection."""
        self._measuring.cancel()
        self._races.close(_CLOSING_SECONDS)
        self._keeper.close()
        self._server.close()


def _of_server(facts: ServerFacts) -> dict[str, Any]:
    return {"database": facts.database, "server": facts.server_info}


def _device_deadline(request: Request, verdict: Verdict) -> float | None:
    """Deadline of the device: the request's own, or one that leaves enough time for the database.

    Half of the time that is left is the database's own, as its expected time may be far too low;
    more, if it is expected to need more and still to be in time.
    """
    if request.joined_after is not None:
        return request.deadline  # the database is at work
    now, deadlines = time.monotonic(), []
    if verdict.give_up_after is not None:
        deadlines.append(now + verdict.give_up_after)
    if request.deadline is not None:
        left, native = request.deadline - now, verdict.native_seconds
        needed = (each for each in (left / 2, native, _RESERVE_FACTOR * native) if each < left)
        deadlines.append(request.deadline - max(needed, default=0.0))
    return min(deadlines, default=None)


def _usual_seconds(request: Request, found: GraphAnswer) -> float:
    """The device's expected seconds for a repeated run: all but what happens once."""
    kinds = (column.kind in _WHOLE for column in found.table.columns)
    making_values = found.table.row_count * sum(_VALUE_SECONDS[whole] for whole in kinds)
    return time.monotonic() - request.started - _seconds_once(request) + making_values


def _seconds_once(request: Request) -> float:
    return sum(request.timings.get(stage, 0.0) for stage in _ONCE)
