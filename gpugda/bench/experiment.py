"""The whole comparison on one graph: query graphs, both engines, figures."""

from __future__ import annotations

import logging
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from gpugda.api import connect
from gpugda.bench.measure import Case, Measured, measure
from gpugda.bench.query_graphs import random_queries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gpugda.accelerator import Accelerator
    from gpugda.data.data_graph import DataGraph

__all__ = ["Ablation", "Experiment", "Options", "ablations", "own_cases", "random_cases", "run"]

logger = logging.getLogger(__name__)

_NEW_TEXTS = 2


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured.

    Args:
        sizes: Numbers of query nodes.
        count: Query graphs of each size, density and form.
        repetitions: Of a known text.
        timeout: Seconds per run.
        seed: Of the query graphs.
        forms: ``count``, ``rows``.
        with_labels: Whether query nodes ask for labels.
    """

    sizes: tuple[int, ...] = (2, 3, 4, 5, 6)
    count: int = 30
    repetitions: int = 3
    timeout: float = 30.0
    seed: int = 1
    forms: tuple[str, ...] = ("count",)
    with_labels: bool = True


@dataclass(frozen=True, slots=True)
class Ablation:
    """The same queries with one thing changed: seconds of the device in all."""

    name: str
    seconds: float
    queries: int


@dataclass(slots=True)
class Experiment:
    """What was measured on one graph.

    Args:
        graph: Its name.
        nodes: How many there are.
        relationships: Likewise.
        load_seconds: From the database to a snapshot.
        measured: A query each.
        ablations: If asked for.
        stopped: Whether it was ended early.
    """

    graph: str
    nodes: int
    relationships: int
    load_seconds: float
    measured: list[Measured] = field(default_factory=list)
    ablations: list[Ablation] = field(default_factory=list)
    stopped: bool = False

    @property
    def wrong(self) -> list[Measured]:
        """Where the engines did not agree."""
        return [each for each in self.measured if each.agrees is False]


def random_cases(name: str, graph: DataGraph, options: Options) -> Iterator[Case]:
    """The thesis' query graphs: for each size sparse and dense ones, as far as there are."""
    for nodes in options.sizes:
        for density in ("sparse", "dense"):
            random = Random(f"{options.seed} {name} {nodes} {density}")
            queries = random_queries(
                graph,
                random,
                nodes=nodes,
                density=density,
                count=options.count,
                with_labels=options.with_labels,
            )
            if len(queries) < options.count:
                logger.info("%s: %d %s query graphs of %d", name, len(queries), density, nodes)
            for number, query in enumerate(queries):
                for form in options.forms:
                    texts = tuple(
                        query.text(form, prefix=f"v{options.seed}_{number}_{i}_")
                        for i in range(_NEW_TEXTS)
                    )
                    yield Case(
                        f"{name} {nodes} {density} {number} {form}",
                        name,
                        density,
                        nodes,
                        len(query.relationships),
                        form,
                        texts,
                    )


def own_cases(texts: Sequence[str], parameters: Mapping[str, Any]) -> Iterator[Case]:
    """A user's own queries."""
    for number, text in enumerate(texts, 1):
        yield Case(f"query {number}", "own", "", 0, 0, "", (text,), parameters)


def run(
    accelerator: Accelerator,
    name: str,
    cases: Sequence[Case],
    options: Options,
    told: Callable[[Measured], None],
) -> Experiment:
    """Measures all cases; Ctrl-C ends early and keeps what there is.

    Args:
        accelerator: On a database that holds the graph.
        name: Of the graph.
        cases: What is asked.
        options: How often.
        told: Called with each query that was measured.
    """
    status = accelerator.status()
    experiment = Experiment(
        name, status["nodes"], status["relationships"], _load_seconds(accelerator)
    )
    random = Random(options.seed)
    todo = list(cases)
    random.shuffle(todo)
    _clear_plans(accelerator)
    try:
        for case in todo:
            found = measure(
                accelerator,
                case,
                random,
                repetitions=options.repetitions,
                timeout=options.timeout,
            )
            experiment.measured.append(found)
            told(found)
    except KeyboardInterrupt:
        experiment.stopped = True
    return experiment


def _load_seconds(accelerator: Accelerator) -> float:
    return float(accelerator.status()["load_seconds"])


def _clear_plans(accelerator: Accelerator) -> None:
    # Not every server lets us; then new texts are new all the same, by their variables.
    with suppress(Exception):
        accelerator.run("CALL db.clearQueryCaches()", engine="native")


# ------------------------------------------------------------------ ablations
_CHANGES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("extend, as it is", {}, "extend"),
    ("extend, subsets of 64 MiB", {"memory_limit": "64MiB"}, "extend"),
    ("gpsm, no refinement", {"refinement": "off"}, "gpsm"),
    ("gpsm, refined once", {"refinement": "once"}, "gpsm"),
    ("gpsm, refined to the end", {"refinement": "fixpoint"}, "gpsm"),
)


def ablations(source: object, cases: Sequence[Case], timeout: float) -> list[Ablation]:
    """The device alone with one thing changed, over the queries that all variants can do.

    Args:
        source: The same graph, embedded.
        cases: What is asked.
        timeout: Seconds per run.
    """
    found = []
    for name, changes, strategy in _CHANGES:
        with closing(connect(source, **changes)) as accelerator:
            seconds, queries = 0.0, 0
            for case in cases:
                with suppress(Exception):
                    accelerator.run(case.texts[0], strategy=strategy, timeout=timeout).values()
                    started = time.perf_counter()
                    accelerator.run(case.texts[0], strategy=strategy, timeout=timeout).values()
                    seconds += time.perf_counter() - started
                    queries += 1
            found.append(Ablation(name, seconds, queries))
    return found
