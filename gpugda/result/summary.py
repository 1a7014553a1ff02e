"""The summary of a result: engine, reason, times and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from gpugda.plan.operator_tree import OperatorNode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import neo4j

    from gpugda.query.notices import Notice


__all__ = ["STAGES", "Summary", "operators_of", "plan_of"]


def plan_of(tree: OperatorNode, *, profiled: bool) -> dict[str, Any]:
    """An operator tree in the form of Neo4j's plans, which Browser and cypher-shell draw."""
    found = _operator(tree, profiled=profiled)
    found["args"].update(
        {"planner": "COST", "planner-impl": "GPUGDA", "runtime": "GPUGDA", "version": "5"}
    )
    return found


def _operator(node: OperatorNode, *, profiled: bool) -> dict[str, Any]:
    name, _, details = node.what.partition(" ")
    args: dict[str, Any] = {"Details": details}
    if node.expected is not None:
        args["EstimatedRows"] = float(node.expected)
    found: dict[str, Any] = {
        "operatorType": f"{name.capitalize()}@gpugda",
        "identifiers": [],
        "args": args,
        "children": [_operator(child, profiled=profiled) for child in node.children],
    }
    if not profiled:
        return found
    figures = {"Rows": node.rows or 0, "DbHits": 0, "Time": round((node.seconds or 0.0) * 1e9)}
    args.update(figures)
    if node.device_bytes is not None:
        args["Memory"] = node.device_bytes
    if node.steps:
        args["Steps"] = "\n".join(node.steps)
    return {
        **found,
        "rows": figures["Rows"],
        "dbHits": 0,
        "time": figures["Time"],
        "pageCacheHits": 0,
        "pageCacheMisses": 0,
        "pageCacheHitRatio": 0.0,
    }


def operators_of(plan: Mapping[str, Any], *, profiled: bool) -> OperatorNode:
    """Neo4j's plan as an operator tree, which is printed and drawn."""
    args: Mapping[str, Any] = plan.get("args") or {}
    name = str(plan.get("operatorType", "")).partition("@")[0]
    seconds = args.get("Time") if profiled else None
    return OperatorNode(
        f"{name} {args.get('Details', '')}".strip(),
        args.get("EstimatedRows"),
        args.get("Rows", plan.get("rows")) if profiled else None,
        None if seconds is None else seconds / 1e9,
        children=tuple(
            operators_of(child, profiled=profiled) for child in plan.get("children") or ()
        ),
    )


STAGES = (
    "parse",
    "plan",
    "probe",
    "refresh",
    "properties",
    "open",
    "upload",
    "filter",
    "relationships",
    "join",
    "fetch",
    "tail",
    "other",
    "entities",
    "native",
    "materialise",
    "total",
)
"""Stages in their order of execution; a query may lack some."""

_CHANGES = {
    "nodes_created": ("Added", "node", "nodes"),
    "nodes_deleted": ("Deleted", "node", "nodes"),
    "relationships_created": ("Created", "relationship", "relationships"),
    "relationships_deleted": ("Deleted", "relationship", "relationships"),
    "properties_set": ("Set", "property", "properties"),
    "labels_added": ("Added", "label", "labels"),
    "labels_removed": ("Removed", "label", "labels"),
    "indexes_added": ("Added", "index", "indexes"),
    "indexes_removed": ("Removed", "index", "indexes"),
    "constraints_added": ("Added", "constraint", "constraints"),
    "constraints_removed": ("Removed", "constraint", "constraints"),
    "system_updates": ("Made", "system update", "system updates"),
}
"""How `Summary.changes` says the counters of Neo4j, as cypher-shell does."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Which engine answered a query, why, and how long each stage took.

    It has the attributes of ``neo4j.ResultSummary``: those of Neo4j's summary if Neo4j answered,
    otherwise the values for a read-only query.

    Args:
        engine: ``gpu`` (the OpenCL device, also if that is a CPU), ``native`` or ``reference``.
        reason: Reason for this engine, one sentence.
        query: The query text.
        parameters: The parameters as given. Text forms of the summary never show their values.
        strategy: The strategy that found the embeddings; empty if none ran.
        timings: Seconds per stage, see ``STAGES``. ``materialise`` and ``total`` grow as rows are
            read.
        device: The device's name; empty if none was used.
        snapshot: Name and version of the queried source.
        rows: Number of rows of the whole result.
        warnings: Sentences for the user, for example on a Cartesian product of unconnected parts.
        notices: Notifications that Neo4j would give for names that the graph does not have.
        steps: Readable lines, one per join step: the operation and its row count.
        tree: Returns the operators that ran; see `operators`.
        mode: ``EXPLAIN`` or ``PROFILE`` if the query begins with it.
        device_bytes: Peak bytes of a join on the device, without the graph.
        freshness: Why the snapshot is fresh enough, for example ``strict: transaction 7 is the
            newest``; empty if no snapshot was used.
        declined: Reason why the device was not used; empty if it was used or not considered.
        estimates: Estimated seconds by engine.
        database: The database's name; empty if there is none or it is unknown.
        server: The driver's ``neo4j.ServerInfo``, if known.
        native: Neo4j's own summary, if Neo4j answered.
        keeps: Chooses the notifications that the caller wants; None for all.
    """

    engine: str
    reason: str = ""
    query: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    strategy: str = ""
    timings: dict[str, float] = field(default_factory=dict)
    device: str = ""
    snapshot: str = ""
    rows: int = 0
    warnings: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = field(default=(), repr=False)
    steps: Sequence[str] = ()
    tree: Callable[[], OperatorNode] | None = field(default=None, repr=False, compare=False)
    mode: str = ""
    device_bytes: int = 0
    freshness: str = ""
    declined: str = ""
    estimates: Mapping[str, float] = field(default_factory=dict)
    database: str = ""
    server: neo4j.ServerInfo | None = None
    native: neo4j.ResultSummary | None = field(default=None, repr=False)
    keeps: Callable[[Notice], bool] | None = field(default=None, repr=False)

    @property
    def operators(self) -> OperatorNode | None:
        """The operator tree with estimated and actual rows, seconds, and bytes on the device.

        None if another engine answered.
        """
        return None if self.tree is None else self.tree()

    @property
    def asked_plan(self) -> OperatorNode | None:
        """The plan, or profile, for which the query asked by ``EXPLAIN`` or ``PROFILE``.

        It is gpugda's or Neo4j's, whoever answered. Print it; notebooks show a table.
        """
        if self.native is None:
            return self.operators if self.mode else None

        plan, profile = self.native.plan, self.native.profile
        found = profile or plan
        return None if found is None else operators_of(found, profiled=profile is not None)

    # -------------------------------------------------------------- as in neo4j's summary
    @property
    def counters(self) -> neo4j.SummaryCounters:
        """Counts of changes that the query made."""
        return self.for_driver.counters

    @property
    def query_type(self) -> str | None:
        """``r``, ``w``, ``rw`` or ``s``, as in Neo4j's summary."""
        return self.for_driver.query_type

    @property
    def plan(self) -> dict[str, Any] | None:
        """The plan in Neo4j's form, if the query has ``EXPLAIN``; see `asked_plan`."""
        return self.plans.get("plan")

    @property
    def profile(self) -> dict[str, Any] | None:
        """The plan with its counts in Neo4j's form, if the query has ``PROFILE``."""
        return self.plans.get("profile")

    @property
    def notifications(self) -> list[dict[str, Any]] | None:
        """Neo4j's notifications, or gpugda's in the same form; None if there are none."""
        summary: Any = self.for_driver
        # The public name emits a deprecation warning, which is of no use to callers here.
        read = getattr(summary, "_get_notifications", None)
        found: list[dict[str, Any]] | None = read() if read else summary.notifications
        return found

    @property
    def summary_notifications(self) -> Sequence[Any]:
        """The notifications as ``neo4j.SummaryNotification``."""
        return self.for_driver.summary_notifications

    @property
    def gql_status_objects(self) -> Sequence[Any]:
        """The outcome and the notifications, as ``neo4j.GqlStatusObject``."""
        return self.for_driver.gql_status_objects

    @property
    def result_available_after(self) -> int | None:
        """Milliseconds until the first row could be read."""
        return self.for_driver.result_available_after

    @property
    def result_consumed_after(self) -> int | None:
        """Milliseconds spent reading the rows."""
        return self.for_driver.result_consumed_after

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that the driver keeps of the server's last message."""
        return self.for_driver.metadata

    @property
    def for_driver(self) -> neo4j.ResultSummary:
        """Neo4j's own summary, or an instance of the driver's class made from this one."""
        if self.native is not None:
            return self.native
        from gpugda.result.neo4j_summary import summary_of_reading

        facts = {
            "server": self.server,
            "db": self.database or None,
            "query": self.query,
            "parameters": dict(self.parameters),
        }
        notices = self.all_notices
        return summary_of_reading(facts, self.timings, notices, rows=self.rows, plans=self.plans)

    @property
    def plans(self) -> dict[str, dict[str, Any]]:
        """``{"plan": …}`` or ``{"profile": …}`` in Neo4j's form; empty if no one asked for it."""
        if self.native is not None:
            native = {"plan": self.native.plan, "profile": self.native.profile}
            return {name: plan for name, plan in native.items() if plan is not None}
        tree = self.asked_plan
        if tree is None:
            return {}

        if self.mode == "EXPLAIN":
            return {"plan": plan_of(tree, profiled=False)}
        return {"profile": plan_of(tree, profiled=True)}

    @property
    def all_notices(self) -> tuple[Notice, ...]:
        """Neo4j's notifications for the query, for its text and for the names in it."""
        from gpugda.query.notices import notices_of

        told = (*self.notices, *notices_of(self.query))
        return told if self.keeps is None else tuple(filter(self.keeps, told))

    # -------------------------------------------------------------- additions of gpugda
    def add_time(self, stage: str, seconds: float) -> None:
        """Adds to a stage's time and to the total."""
        for name in (stage, "total"):
            self.timings[name] = self.timings.get(name, 0.0) + seconds

    def headline(self) -> str:
        """One line: rows, time, engine, device."""
        unit = "row" if self.rows == 1 else "rows"
        time = f" in {format_seconds(self.timings['total'])}" if "total" in self.timings else ""
        where = f" on {self.device}" if self.device else ""
        return f"{self.rows:,} {unit}{time}, engine {self.engine}{where}"

    def changes(self) -> str:
        """What the query changed: ``Added 1 node, Set 2 properties``; empty for nothing."""
        if self.native is None:
            return ""
        counts = vars(self.native.counters)
        return ", ".join(
            f"{verb} {counts[name]:,} {one if counts[name] == 1 else more}"
            for name, (verb, one, more) in _CHANGES.items()
            if counts.get(name)
        )

    def __str__(self) -> str:
        lines = self._facts([("step", step) for step in self.steps])
        return "\n".join(
            [self.headline(), *(f"  {title + ':':<12}{text}" for title, text in lines)]
        )

    def _repr_html_(self) -> str:
        """The facts as a small table, and the operators below, for notebooks."""
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(title)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for title, text in self._facts()
        )
        tree = self.operators
        table = f"<p>{escape(self.headline())}</p><table><tbody>{rows}</tbody></table>"
        return table if tree is None else table + tree._repr_html_()

    def _facts(self, steps: Sequence[tuple[str, str]] = ()) -> list[tuple[str, str]]:
        """Titles and texts, without those that are empty; the steps stand before the warnings."""
        facts = (
            ("reason", self.reason),
            ("declined", "" if self.declined == self.reason else self.declined),
            ("expected", self._expected()),
            ("strategy", self.strategy),
            ("source", self.snapshot),
            ("freshness", self.freshness),
            ("parameters", ", ".join(self.parameters)),
            ("changes", self.changes()),
            ("times", self._times()),
            *steps,
            *(("warning", warning) for warning in self._all_warnings()),
        )
        return [(title, text) for title, text in facts if text]

    def _expected(self) -> str:
        found = sorted(self.estimates.items(), key=lambda each: each[1])
        return ", ".join(f"{name} {format_seconds(seconds)}" for name, seconds in found)

    def _all_warnings(self) -> list[str]:
        if self.native is None:
            return list(self.warnings)
        found = self.notifications or []
        told = [str(each.get("description") or each.get("title") or "") for each in found]
        return [*self.warnings, *(text for text in told if text)]

    def _times(self) -> str:
        rest = [stage for stage in self.timings if stage not in STAGES]
        known = [stage for stage in (*rest, *STAGES) if stage in self.timings]
        return ", ".join(f"{stage} {format_seconds(self.timings[stage])}" for stage in known)


def format_seconds(seconds: float) -> str:
    """A duration as readable text in a fitting unit."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
