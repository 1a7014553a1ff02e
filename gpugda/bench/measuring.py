"""Measures every case on every engine, in random order, and compares each answer."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpugda.bench.answers import Answer, answer_of, difference
from gpugda.errors import GpugdaError, QueryTimeoutError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.bench.cases import Case
    from gpugda.ports import Progress

__all__ = ["NEW", "REPEATED", "Engines", "Measured", "Mismatch", "Pace", "Run", "measure"]

logger = logging.getLogger(__name__)

NEW, REPEATED = "new", "repeated"
_BLOCK = 20  # cases: fewer texts than any plan cache keeps, gpugda's or Neo4j's


def _new_mark() -> str:
    return f"x{token_hex(4)}"


class Engines(Protocol):
    """Runs and explains queries: an `Accelerator`."""

    def run(self, query: str, parameters: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """As `Accelerator.run`."""

    def explain(self, query: str) -> Any:
        """As `Accelerator.explain`."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Extent of the measurement.

    Args:
        baseline: ``native``, or ``reference`` if there is no server.
        engines: All engines, the baseline first.
        new_texts: Runs per engine with a text that no cache contains; without any, the first runs
            of the repeated text are new: queries are measured one by one, and nothing else runs or
            explains their texts.
        repetitions: Runs per engine with one repeated text.
        settle: Uncounted runs of that text before them: caches fill, the planner learns.
        timeout: Seconds per query; a query's further runs are skipped when their sum reaches it.
        row_cap: Maximum number of rows compared one by one.
        warm_up: Number of queries run before the measurement.
        clear_caches: True to empty the server's query caches before new texts.
        seed: Seed of the random order.
        mark: Part of every tag, as the server's caches still contain an earlier benchmark's texts.
    """

    baseline: str
    engines: tuple[str, ...]
    new_texts: int
    repetitions: int
    settle: int
    timeout: float
    row_cap: int
    warm_up: int
    clear_caches: bool
    seed: int
    mark: str = field(default_factory=_new_mark)

    def again(self) -> Pace:
        """The pace of a second measurement: other texts, as many new ones as repetitions."""
        often = max(self.new_texts, self.repetitions)
        return replace(self, new_texts=often, warm_up=0, mark=_new_mark())


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one query.

    Args:
        case: Name of the case.
        phase: `NEW` or `REPEATED`.
        engine: The engine asked for.
        repetition: From 1.
        seconds: From `run` to the last value in Python; a lower bound if it timed out.
        outcome: ``ok``, ``timeout`` or ``error``.
        rows: Number of rows received.
        answered_by: The engine that answered.
        note: The engine's reason, or the error.
        timings: Seconds per stage.
    """

    case: str
    phase: str
    engine: str
    repetition: int
    seconds: float
    outcome: str
    rows: int = 0
    answered_by: str = ""
    note: str = ""
    timings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An answer that differs from the baseline's.

    Args:
        case: The case.
        engine: The engine that differs.
        text: The text of the query.
        what: Description of the difference.
    """

    case: Case
    engine: str
    text: str
    what: str

    def __str__(self) -> str:
        return f"{self.case.name}, engine {self.engine}: {self.what}\n{self.text}"


@dataclass(slots=True)
class Measured:
    """All measurements so far.

    Args:
        runs: All runs, in the order in which they ran.
        mismatches: Wrong answers.
        compared_by: By case and engine, ``rows``, ``hash`` or ``count``; absent if one of the
            two gave no answer.
        answers: By case, the number of rows, or the count if the answer is one.
        verdicts: By phase, case and rule of the planner, the engine that the rule would choose.
        cleared: Number of times the server's query caches were emptied; None if it refused.
        finished: False if the measurement was cancelled.
    """

    runs: list[Run] = field(default_factory=list)
    mismatches: list[Mismatch] = field(default_factory=list)
    compared_by: dict[tuple[str, str], str] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    verdicts: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    cleared: int | None = 0
    finished: bool = False


def measure(engines: Engines, cases: Sequence[Case], pace: Pace, progress: Progress) -> Measured:
    """Runs everything; after Ctrl-C, returns the measurements so far."""
    measured = Measured()
    rng = np.random.default_rng([pace.seed, 1])
    order = [cases[place] for place in rng.permutation(len(cases))]
    progress.phase("measuring", len(order))
    try:
        _warm_up(engines, order, pace)
        size = _BLOCK if pace.new_texts else 1
        for first in range(0, len(order), size):
            _Block(engines, order[first : first + size], pace, rng, measured).run(progress)
        measured.finished = True
    except KeyboardInterrupt:
        logger.warning("cancelled: the report holds what was measured until now")
    return measured


def _warm_up(engines: Engines, cases: Sequence[Case], pace: Pace) -> None:
    """Runs queries uncounted, as both sides compile code at first; first runs are not typical."""
    for case in cases[: pace.warm_up]:
        for engine in pace.engines:
            _timed(engines, case, case.text(f"{pace.mark}w{engine}"), engine, pace.timeout)


@dataclass(slots=True)
class _Block:
    """A group of cases, from their first run to the comparison of their answers."""

    engines: Engines
    cases: Sequence[Case]
    pace: Pace
    rng: np.random.Generator
    measured: Measured
    answers: dict[tuple[str, str], list[tuple[Answer, str]]] = field(default_factory=dict)
    spent: dict[tuple[str, str, str], float] = field(default_factory=dict)
    stopped: dict[tuple[str, str], Run] = field(default_factory=dict)

    def run(self, progress: Progress) -> None:
        try:
            if self.pace.new_texts:
                self._explain(NEW, f"{self.pace.mark}q")
            self._phase(NEW, self.pace.new_texts)
            self._settle()
            self._phase(REPEATED, self.pace.repetitions)
            self._explain(REPEATED, f"{self.pace.mark}rauto")
        finally:
            self._compare()
        progress.advance(len(self.cases))

    def _phase(self, phase: str, times: int) -> None:
        jobs = [
            (case, engine, number)
            for case in self.cases
            for engine in self.pace.engines
            for number in range(1, times + 1)
        ]
        # Engines alternate in random order; the first runs of all come before the second ones.
        for place in sorted(self.rng.permutation(len(jobs)), key=lambda place: jobs[place][2]):
            case, engine, number = jobs[place]
            tag = f"{engine}{number}" if phase == NEW else f"r{engine}"
            self._one(case, phase, engine, number, f"{self.pace.mark}{tag}")

    def _settle(self) -> None:
        # One text per engine, so that no cache profits from another engine's run.
        for case in self.cases:
            for engine in self.pace.engines:
                spent = 0.0
                for _ in range(self.pace.settle):
                    if (case.name, engine) in self.stopped or spent >= self.pace.timeout:
                        break
                    text = case.text(f"{self.pace.mark}r{engine}")
                    timeout = self.pace.timeout
                    spent += _timed(self.engines, case, text, engine, timeout)[0]

    def _one(self, case: Case, phase: str, engine: str, number: int, tag: str) -> None:
        stopped = self.stopped.get((case.name, engine))
        if stopped is not None:
            if phase != stopped.phase and number == 1:  # it would take as long again
                note = f"not run again: {stopped.note}"
                self.measured.runs.append(
                    Run(case.name, phase, engine, 1, stopped.seconds, stopped.outcome, note=note)
                )
            return
        key = (case.name, phase, engine)
        if self.spent.get(key, 0.0) >= self.pace.timeout:
            return
        first = number == 1 and not self.pace.new_texts and engine != "gpu"
        if self.pace.baseline == "native" and (first or (phase, engine) == (NEW, "native")):
            self._clear(case)
        text = case.text(tag)
        seconds, outcome = _timed(self.engines, case, text, engine, self.pace.timeout)
        self.spent[key] = self.spent.get(key, 0.0) + seconds
        run = _run(case, phase, engine, number, seconds, outcome)
        self.measured.runs.append(run)
        if isinstance(outcome, BaseException):
            self.stopped[case.name, engine] = run
            return
        self._keep(case, engine, text, outcome)

    def _clear(self, case: Case) -> None:
        """Empties the query caches if the text alone does not make the query new."""
        if self.measured.cleared is None or not (self.pace.clear_caches or not case.renames):
            return
        try:
            self.engines.run("CALL db.clearQueryCaches()", {}, engine="native").values()
            self.measured.cleared += 1
        except Exception as error:  # a missing right, or a server without such a procedure
            logger.info("query caches cannot be emptied: %s", error)
            self.measured.cleared = None

    def _keep(self, case: Case, engine: str, text: str, result: _Rows) -> None:
        answer = answer_of(result.rows, self.pace.row_cap, lists_unordered=case.lists_unordered)
        known = self.answers.setdefault((case.name, engine), [])
        if all((answer.row_count, answer.hash) != (old.row_count, old.hash) for old, _ in known):
            known.append((answer, text))

    def _compare(self) -> None:
        for case in self.cases:
            expected = self.answers.get((case.name, self.pace.baseline))
            anyone = expected or next(
                (found for (name, _), found in self.answers.items() if name == case.name), None
            )
            if anyone:
                self.measured.answers[case.name] = _size(anyone[0][0], case)
            if expected:
                self._compare_case(case, expected[0][0])

    def _compare_case(self, case: Case, expected: Answer) -> None:
        for engine in self.pace.engines:
            for answer, text in self.answers.get((case.name, engine), ()):
                what, how = difference(expected, answer, case.row_limit)
                if what:
                    self.measured.mismatches.append(Mismatch(case, engine, text, what))
                self.measured.compared_by[case.name, engine] = how

    def _explain(self, phase: str, tag: str) -> None:
        """Records the decision of each rule of the planner."""
        if self.pace.baseline != "native":
            return
        for case in self.cases:
            try:
                lines = getattr(self.engines.explain(case.text(tag)), "route", ())
            except GpugdaError:
                continue
            found = dict(verdict for line in lines if (verdict := _verdict(line)))
            self.measured.verdicts[phase, case.name] = found


@dataclass(frozen=True, slots=True)
class _Rows:
    rows: list[list[Any]]
    summary: Any


def _timed(
    engines: Engines, case: Case, text: str, engine: str, timeout: float
) -> tuple[float, _Rows | Exception]:
    """Seconds until all values are read, and the rows or the exception."""
    started = time.perf_counter()
    try:
        result = engines.run(text, case.parameters, engine=engine, timeout=timeout)
        rows = result.values()
        seconds = time.perf_counter() - started
    except Exception as error:  # the server's too: all are recorded, none ends the benchmark
        return time.perf_counter() - started, error
    return seconds, _Rows(rows, result.summary)


def _run(
    case: Case,
    phase: str,
    engine: str,
    number: int,
    seconds: float,
    outcome: _Rows | Exception,
) -> Run:
    if isinstance(outcome, QueryTimeoutError):
        note = "time limit"
        return Run(case.name, phase, engine, number, seconds, "timeout", note=note)
    if isinstance(outcome, Exception):
        note = f"{type(outcome).__name__}: {(str(outcome).splitlines() or [''])[0]}"
        return Run(case.name, phase, engine, number, seconds, "error", note=note)
    summary = outcome.summary
    return Run(
        case.name,
        phase,
        engine,
        number,
        seconds,
        "ok",
        len(outcome.rows),
        summary.engine,
        summary.reason,
        dict(summary.timings),
    )


def _size(answer: Answer, case: Case) -> int:
    """The count if the query asks for one, else the number of rows."""
    if case.form in ("count", "predicate") and isinstance(answer.value, int):
        return answer.value
    return answer.row_count


def _verdict(line: str) -> tuple[str, str] | None:
    """Rule and engine from a line ``planner cost (asked): gpu, …``."""
    head, _, rest = line.partition(": ")
    words = head.split()
    if len(words) < 2 or words[0] != "planner":
        return None
    return words[1], rest.partition(",")[0]
