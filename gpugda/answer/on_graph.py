"""Answers from a loaded graph: by the device, by the reference engine, or with the plan only."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gpugda.answer.unknown_names import names_to_look_up, remarks_on_names
from gpugda.deadline import working_until
from gpugda.errors import DeviceError
from gpugda.match.embeddings import JoinProgress, StrategyReport
from gpugda.result.result import Result
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection

    from gpugda.answer.request import Request
    from gpugda.execute.pipeline import QueryPlan
    from gpugda.execute.result_table import ResultTable
    from gpugda.loading import LoadedGraph
    from gpugda.match.session import DeviceSession
    from gpugda.plan.physical import PhysicalPlan
    from gpugda.query.reads import KindAndName
    from gpugda.query.statement import Statement

__all__ = ["GraphAnswer", "answer_by_reference", "answer_on_device", "explained", "shown_plan"]


@value(frozen=True, slots=True)
class GraphAnswer:
    """Rows in columns, and facts for the summary about how they were computed."""

    table: ResultTable
    facts: dict[str, Any]

    def result(self, request: Request, **facts: Any) -> Result:
        """Returns the result, with further facts for the summary."""
        more = {"rows": self.table.row_count, "mode": request.prepared().mode or ""}
        summary = request.summary(**{**self.facts, **facts, **more})
        return Result(self.table, summary)


def answer_on_device(
    request: Request, loaded: LoadedGraph, session: DeviceSession, deadline: float | None
) -> GraphAnswer:
    """Computes the rows on the OpenCL device.

    Args:
        request: The query.
        loaded: The graph.
        session: The device.
        deadline: Time of ``time.monotonic``; may be earlier than the request's own.

    Raises:
        QueryError: See `Accelerator.run`.
        DeviceError: There is no device, or it failed.
        QueryTimeoutError: The deadline passed.
    """
    with working_until(deadline):
        return _answer_on_device(request, loaded, session, deadline)


def _answer_on_device(
    request: Request, loaded: LoadedGraph, session: DeviceSession, deadline: float | None
) -> GraphAnswer:
    report = StrategyReport(progress=JoinProgress(request.progress))
    query = request.prepared()
    with request.stage("plan"):
        plan = loaded.plan(query, request.strategy)
    opening = time.perf_counter()
    with session.strategy(request.strategy, loaded.graph) as runner:
        started, device_name = time.perf_counter(), session.device_name
        request.add_time("open", started - opening)
        exchange, places = None, session.places
        if places is not None and places.are_useful:
            # Few machines have several devices.
            from gpugda.calibration.kept import default_device_rates
            from gpugda.execute.exchanges import exchange_of

            rates = default_device_rates(session.info)
            exchange = exchange_of(places, runner, plan, rates, request.values)
        table = plan.pipeline.run(loaded.graph, runner, request.values, report, deadline, exchange)
    for stage, seconds in report.timings.items():
        request.add_time(stage, seconds)
    elsewhere = time.perf_counter() - started - sum(report.timings.values())
    request.add_time("other", max(0.0, elsewhere))
    remarks = remarks_on_names(query.text, loaded, _names_in(query, loaded, plan))
    failed = () if places is None else places.warnings()
    return GraphAnswer(
        table,
        {
            "engine": "gpu",
            "strategy": request.strategy,
            "device": device_name,
            "snapshot": loaded.described,
            "steps": report.steps,
            "tree": report.operators,
            "device_bytes": report.memory.bytes,
            "notices": remarks["notices"],
            "warnings": (*remarks["warnings"], *plan.warnings, *failed),
        },
    )


def _names_in(query: Statement, loaded: LoadedGraph, plan: QueryPlan) -> Collection[KindAndName]:
    """Names of a query that may be unknown, cached with its plan."""
    return plan.names.get(None, lambda: names_to_look_up(query, loaded.graph))


def answer_by_reference(request: Request, loaded: LoadedGraph) -> GraphAnswer:
    """Computes the rows in plain Python.

    Raises:
        QueryError: See `Accelerator.run`.
        QueryTimeoutError: The deadline passed.
    """
    from gpugda.reference.run import run_reference  # the device needs neither
    from gpugda.result.from_rows import table_from_rows

    query = request.prepared()
    with request.stage("join"):
        found = run_reference(query.tree, loaded.graph, request.values, deadline=request.deadline)
    table = table_from_rows(found.names, found.rows, loaded.graph)
    remarks = remarks_on_names(query.text, loaded)
    return GraphAnswer(table, {"engine": "reference", "snapshot": loaded.described, **remarks})


def shown_plan(session: DeviceSession, plan: QueryPlan, physical: PhysicalPlan) -> PhysicalPlan:
    """The physical plan as people see it: it says what several devices share."""
    try:
        places = session.places
    except DeviceError:  # there is none
        places = None
    if places is None:
        return physical
    from gpugda.execute.exchanges import with_exchanges  # few machines have several devices

    return with_exchanges(places, plan, physical)


def explained(
    request: Request, loaded: LoadedGraph, session: DeviceSession, engine: str
) -> GraphAnswer:
    """Returns no rows, but the plan as the summary's operators and steps."""
    from gpugda.plan.explain import plan_text  # none is needed to run a query
    from gpugda.plan.operator_tree import operators_of
    from gpugda.result.from_rows import table_from_rows

    query = request.prepared()
    with request.stage("plan"):
        plan = loaded.plan(query, request.strategy)
        physical = shown_plan(session, plan, plan.physical(values=request.values))
    return GraphAnswer(
        table_from_rows(plan.pipeline.columns, [], loaded.graph),
        {
            "engine": engine,
            "reason": "EXPLAIN asks for the plan and runs nothing",
            "strategy": request.strategy,
            "snapshot": loaded.described,
            "steps": tuple(plan_text(physical, plan.patterns).splitlines()),
            "tree": lambda: operators_of(physical.root),
        },
    )
