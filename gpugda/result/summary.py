"""What a query's result says about how it came to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STAGES", "Summary"]

STAGES = (
    "parse",
    "plan",
    "open",
    "upload",
    "filter",
    "relationships",
    "join",
    "fetch",
    "tail",
    "other",
    "materialise",
    "total",
)
"""Stages in the order in which they happen; a query need not have all."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Which engine answered a query, why, and how long each stage took.

    Args:
        engine: ``gpu`` (the OpenCL device, also where that is a CPU), ``native`` or ``reference``.
        reason: One sentence: why this engine.
        query: The query text.
        parameters: The parameters as given. Their values are shown by no text form of the summary.
        strategy: The strategy that found the embeddings, empty where none ran.
        timings: Seconds per stage, see ``STAGES``. ``materialise`` and ``total`` grow as rows are
            read.
        device: The device's name, empty where none was used.
        snapshot: What was queried: the source's name and version.
        rows: Rows of the whole result.
        warnings: Sentences for the user, such as a cross product of unconnected parts.
        steps: Lines for people, one a step of the join: what was done and how many rows came of it.
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
    steps: tuple[str, ...] = ()

    @property
    def notifications(self) -> tuple[str, ...]:
        """The warnings, under the name that Neo4j's summary uses."""
        return self.warnings

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

    def __str__(self) -> str:
        lines = [self.headline()]
        for title, text in (
            ("reason", self.reason),
            ("strategy", self.strategy),
            ("source", self.snapshot),
            ("parameters", ", ".join(self.parameters)),
            ("times", self._times()),
        ):
            if text:
                lines.append(f"  {title + ':':<12}{text}")
        lines += [f"  {'step:':<12}{step}" for step in self.steps]
        lines += [f"  {'warning:':<12}{warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _times(self) -> str:
        rest = [stage for stage in self.timings if stage not in STAGES]
        known = [stage for stage in (*rest, *STAGES) if stage in self.timings]
        return ", ".join(f"{stage} {format_seconds(self.timings[stage])}" for stage in known)


def format_seconds(seconds: float) -> str:
    """A duration for people, in the unit that fits."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
