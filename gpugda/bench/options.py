"""Options of a benchmark."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpugda.bench.cases import FORMS
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BenchOptions", "parse_forms", "parse_sizes"]

_LARGEST = 32


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """Options of one benchmark.

    Args:
        sizes: Numbers of query nodes of the generated query graphs.
        per_size: Number of query graphs of each size and density.
        forms: Names from `gpugda.bench.cases.FORMS`.
        queries: File of the user's queries, which replace generated ones.
        parameters: File of their parameters.
        seed: Seed of the query graphs and of the order of the runs.
        new_texts: Runs per engine with new text.
        repetitions: Runs per engine with repeated text.
        settle: Uncounted runs with the repeated text before them.
        timeout: Seconds per query.
        row_cap: LIMIT of queries that return nodes, and maximum of rows compared one by one.
        warm_up: Number of queries run before the measurement.
        clear_caches: True to empty the server's query caches before new texts, even if the text
            alone makes a query new.
        exports: Number of times the export is measured.
        load: Name of the graph to write into an empty database before the benchmark.
        indexes: True to create property indexes in a database that is loaded.
        graphs: Folder of the graphs.
        folder: Folder of the results.
        graph_name: Name of an embedded graph, for the report.
        applications: True to run the graph's application queries.
        connect: Further arguments of `gpugda.connect`.
    """

    sizes: tuple[int, ...] = (2, 3, 4, 5, 6)
    per_size: int = 30
    forms: tuple[str, ...] = FORMS
    queries: str | None = None
    parameters: str | None = None
    seed: int = 1
    new_texts: int = 1
    repetitions: int = 5
    timeout: float = 30.0
    row_cap: int = 1000
    warm_up: int = 20
    clear_caches: bool = False
    exports: int = 3
    load: str | None = None
    indexes: bool = False
    graphs: str | None = None
    settle: int = 2
    folder: str = "bench-results"
    graph_name: str = ""
    applications: bool = False
    connect: Mapping[str, Any] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """The options for the report, without paths and credentials."""
        found: dict[str, Any] = {
            "seed": self.seed,
            "timeout": f"{self.timeout:g} s",
            "repetitions": self.repetitions,
            "settle": self.settle,
            "new_texts": self.new_texts,
            "row_cap": self.row_cap,
            "warm_up": self.warm_up,
        }
        if self.queries is None:
            found |= {
                "sizes": " ".join(map(str, self.sizes)),
                "per_size": self.per_size,
                "forms": " ".join(self.forms),
            }
        if self.load is not None:
            found |= {"load": self.load, "indexes": "yes" if self.indexes else "no"}
        return found


def parse_sizes(text: str) -> tuple[int, ...]:
    """Parses sizes such as ``2-6`` or ``2,4,8``; returns them ascending.

    Raises:
        ConfigurationError: The text has another form.
    """
    sizes: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if match is None:
            raise ConfigurationError(f"--sizes is {text!r}; write 2-6 or 2,4,8.")
        sizes.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    if not sizes or min(sizes) < 1 or max(sizes) > _LARGEST:
        raise ConfigurationError(f"--sizes is {text!r}; sizes are from 1 to {_LARGEST} nodes.")
    return tuple(sorted(sizes))


def parse_forms(names: Sequence[str]) -> tuple[str, ...]:
    """The named forms; all of them if none is named.

    Raises:
        ConfigurationError: There is no such form.
    """
    given = [name for text in names for name in text.replace(",", " ").split()]
    unknown = [name for name in given if name not in FORMS]
    if unknown:
        raise ConfigurationError(
            f"--forms {unknown[0]!r} is unknown; there are: {', '.join(FORMS)}."
        )
    return tuple(form for form in FORMS if not given or form in given)
