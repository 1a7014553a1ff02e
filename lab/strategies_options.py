"""What ``python -m lab strategies`` is asked for, what it measures, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lab.sweeps import Point

__all__ = [
    "FORMS",
    "Measured",
    "StrategiesOptions",
    "StrategiesOutcome",
    "Timed",
    "strategy_of",
    "within",
]

FORMS: Final = ("count", "rows")
_WITHIN = " within "


@dataclass(frozen=True, slots=True)
class StrategiesOptions:
    """Options of the comparison.

    Args:
        graph: Name of the recipe.
        scale: Factor of its nodes and relationships.
        count: Number of query graphs.
        forms: ``count``, ``rows`` or both.
        only: Names of strategies and variants; empty for all.
        seed: Seed of graph and queries.
        repetitions: Counted runs, after an uncounted one.
        timeout: Seconds per run.
        shares: Shares of the graph's bytes; all strategies also run with each as memory limit.
        folder: Folder of the report.
        connect: ``device`` and ``memory_limit``, as in `gpugda.connect`.
        sweep: What varies, such as ``labels``, and optionally its values; see `lab.sweeps`.
    """

    graph: str = "enron"
    scale: float = 0.1
    count: int = 30
    forms: tuple[str, ...] = FORMS
    only: tuple[str, ...] = ()
    seed: int = 1
    repetitions: int = 3
    timeout: float = 30.0
    shares: tuple[float, ...] = ()
    folder: str = "bench-results"
    connect: Mapping[str, Any] = field(default_factory=dict)
    sweep: str | None = None


@dataclass(frozen=True, slots=True)
class Timed:
    """The fastest run of one strategy on one query; ``embeddings`` is None if it failed.

    ``first`` is the time of planning and of the first, uncounted run, which includes one-time work
    of a strategy; ``stages`` are its parts. ``value`` is that of a sweep.
    """

    query: int
    form: str
    strategy: str
    outcome: str
    seconds: float
    embeddings: int | None
    first: float = 0.0
    stages: Mapping[str, float] = field(default_factory=dict)
    value: float | None = None


@dataclass(slots=True)
class Measured:
    """What was measured on one graph: of a sweep, or the only one.

    Args:
        point: Which graph.
        left_out: Why there are no runs, or not all; empty if all queries were asked.
        nodes: Number of nodes.
        relationships: Number of relationships.
        patterns: The queries.
        runs: What was measured.
        drawn: Seconds to draw and sort the graph.
    """

    point: Point
    left_out: str = ""
    nodes: int = 0
    relationships: int = 0
    patterns: Sequence[str] = ()
    runs: list[Timed] = field(default_factory=list)
    drawn: float = 0.0

    def facts(self) -> dict[str, Any]:
        """The graph, for the report in JSON."""
        return {
            "value": self.point.value,
            "scale": self.point.scale,
            "nodes": self.nodes,
            "relationships": self.relationships,
            "drawn": self.drawn,
            "left_out": self.left_out,
            "patterns": list(self.patterns),
        }


@dataclass(slots=True)
class StrategiesOutcome:
    """Result of the comparison.

    Args:
        table: The tables in Markdown.
        wrong: Queries on which the strategies disagree.
        notes: Notes to the table.
    """

    table: str
    wrong: list[str]
    notes: list[str]


def within(name: str, share: float) -> str:
    """Name of a strategy under a limit that is a share of the graph."""
    return f"{name}{_WITHIN}{share:g} of the graph"


def strategy_of(name: str) -> str:
    """Name of the strategy with its variant, without the limit."""
    return name.partition(_WITHIN)[0]
