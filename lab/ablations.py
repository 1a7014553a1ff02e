"""Effect of single parts: refinement, prefix sums, size of the subsets, property indexes."""

from __future__ import annotations

import logging
import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.bench.benchmark import (
    check_options,
    fill_database,
    is_server,
    opener,
    read_workload,
)
from gpugda.bench.graphs import graph_source, graphs_folder
from gpugda.bench.load_graph import create_indexes, drop_indexes
from gpugda.bench.report import markdown_table
from gpugda.loading import load
from gpugda.match.registry import STRATEGIES
from gpugda.result.summary import format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gpugda.accelerator import Accelerator
    from gpugda.bench.cases import Case
    from gpugda.bench.options import BenchOptions
    from gpugda.data.data_graph import DataGraph
    from gpugda.ports import Progress

__all__ = [
    "Ablation",
    "ablations_table",
    "measure_ablations",
]

logger = logging.getLogger(__name__)

_REPETITIONS = 3
_REFINED = "gpsm"
"""The thesis' join, which refines its candidates as often as asked."""
_PREFIX_SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_MEMORY_LIMITS = ("4MiB", "16MiB", "64MiB", None)
_MAX_CASES = 40


@dataclass(frozen=True, slots=True)
class Ablation:
    """One measured variant of one part.

    Args:
        part: The part that is varied.
        variant: Name of the variant.
        queries: Number of queries answered in every variant of the part; sizes for prefix sums.
        mean_seconds: Mean of the queries' median times.
        median_seconds: Median of the queries' median times.
        failed: Number of queries that this variant did not answer.
    """

    part: str
    variant: str
    queries: int
    mean_seconds: float
    median_seconds: float
    failed: int = 0


def measure_ablations(source: object, options: BenchOptions, progress: Progress) -> list[Ablation]:
    """Measures all parts on the queries that the options name; takes up to 40 of them.

    Property indexes are compared with ``options.load`` only, as they are created in the database.

    Args:
        source: Source, as in `gpugda.connect`.
        options: Options of a benchmark.
        progress: Receives the progress.

    Raises:
        ConfigurationError: The options do not go together.
        DeviceError: There is no device, or it failed.
        SourceError: The graph cannot be read.
    """
    check_options(source, options)
    if options.load is not None:
        fill_database(source, options, progress)
    opened = opener(source, options)
    workload = read_workload(source, options, progress)[-1]
    cases = [case for case in workload.cases if case.form in ("count", "own")]
    cases = cases[:: max(1, len(cases) // _MAX_CASES)]
    found = _ablate_refinement(opened, cases, options.timeout, progress)
    found += _ablate_prefix_sums(options.connect.get("device"))
    found += _ablate_subsets(opened, cases, options.timeout, progress)
    if options.load is not None and is_server(source):
        conditions = [case for case in workload.cases if case.form == "predicate"]
        complete = load(graph_source(options.load, graphs_folder(options.graphs)), progress).graph
        found += _ablate_indexes(opened, complete, conditions, options.timeout, progress)
    return found


def ablations_table(ablations: Sequence[Ablation]) -> list[str]:
    """Lines of a Markdown table."""
    rows = [
        (
            each.part,
            each.variant,
            each.queries,
            format_seconds(each.mean_seconds),
            format_seconds(each.median_seconds),
            each.failed,
        )
        for each in ablations
    ]
    return markdown_table(("part", "variant", "queries", "mean", "median", "not answered"), rows)


def _ablate_refinement(
    opened: Callable[..., Accelerator],
    cases: Sequence[Case],
    timeout: float,
    progress: Progress,
) -> list[Ablation]:
    """Runs the thesis' join with candidates refined never, once, and until nothing changes.

    Args:
        opened: Connects with the given options, which are varied.
        cases: Queries, run with one text each.
        timeout: Seconds per query.
        progress: Receives the progress.
    """
    variants = {name: {"refinement": name} for name in ("off", "once", "fixpoint")}
    options = {"engine": "gpu", "strategy": _REFINED, "timeout": timeout}
    times = _in_turn(opened, variants, cases, options, progress)
    return _compared(f"refinement ({_REFINED})", times)


def _ablate_subsets(
    opened: Callable[..., Accelerator],
    cases: Sequence[Case],
    timeout: float,
    progress: Progress,
) -> list[Ablation]:
    """Joins partial embeddings in subsets, whose size follows from the memory limit."""
    variants = {
        f"memory limit {limit or 'the default'}": {"memory_limit": limit}
        for limit in _MEMORY_LIMITS
    }
    found = []
    for strategy in STRATEGIES:
        options = {"engine": "gpu", "strategy": strategy, "timeout": timeout}
        times = _in_turn(opened, variants, cases, options, progress)
        found += _compared(f"size of the subsets ({strategy})", times)
    return found


def _ablate_prefix_sums(device: str | int | None = None) -> list[Ablation]:
    """Prefix sums on the device, compared with download, sum on the host and upload.

    Args:
        device: Device, as in `gpugda.connect`.

    Raises:
        DeviceError: There is no device, or it failed.
    """
    from gpugda.config import requested_device
    from gpugda.device.context import DeviceContext, choose_device
    from gpugda.device.launch.primitives import PrefixSum
    from gpugda.device.memory.buffers import MemoryBudget, Workspace

    context = DeviceContext(choose_device(requested_device(device)))
    found = []
    try:
        prefix_sum = PrefixSum(context)
        for size in _PREFIX_SIZES:
            values = np.random.default_rng(size).integers(0, 100, size, dtype=np.uint32)
            with Workspace(context, MemoryBudget(1 << 30)) as workspace:
                array = workspace.upload(values)

                def on_device(workspace: Any = workspace, array: Any = array) -> None:
                    sums = prefix_sum.run(workspace, array, 0, array.count)
                    context.finish()
                    workspace.release(sums)

                def on_host(workspace: Any = workspace, array: Any = array) -> None:
                    sums = np.zeros(array.count + 1, dtype=np.uint64)
                    np.cumsum(workspace.download(array), out=sums[1:])
                    sent = workspace.upload(sums)
                    context.finish()
                    workspace.release(sent)

                for variant, work in (("device", on_device), ("host", on_host)):
                    seconds = _median_of(work)
                    part = f"prefix sum of {size:,} values"
                    found.append(Ablation(part, variant, 1, seconds, seconds))
    finally:
        context.close()
    return found


def _ablate_indexes(
    opened: Callable[..., Accelerator],
    graph: DataGraph,
    cases: Sequence[Case],
    timeout: float,
    progress: Progress,
) -> list[Ablation]:
    """Runs Neo4j with and without indexes on every property that a query may read.

    Writes to the database's schema, and drops these indexes at the end.

    Args:
        opened: Connects to the database.
        graph: The graph in the database, with its properties.
        cases: Queries with predicates on properties.
        timeout: Seconds per query.
        progress: Receives the progress.
    """
    times = {}
    with opened() as accelerator:
        try:
            for variant in ("without indexes", "with indexes"):
                progress.phase(f"Neo4j {variant}", len(cases))
                if variant == "without indexes":
                    drop_indexes(accelerator)
                elif create_indexes(accelerator, graph) == 0:
                    return []
                options = {"engine": "native", "timeout": timeout}
                times[variant] = _each(accelerator, cases, options, progress)
        finally:
            drop_indexes(accelerator)
    return _compared("property indexes of Neo4j", times)


def _in_turn(
    opened: Callable[..., Accelerator],
    variants: Mapping[str, Mapping[str, Any]],
    cases: Sequence[Case],
    options: Mapping[str, Any],
    progress: Progress,
) -> dict[str, dict[str, float]]:
    """Median seconds by variant and case, the variants in random order for each case.

    If the variants ran one after the other, changes of the machine's load would bias them.
    """
    times: dict[str, dict[str, float]] = {name: {} for name in variants}
    progress.phase(f"comparing {', '.join(variants)}", len(cases))
    order = Random(len(cases))
    with ExitStack() as stack:
        accelerators = [
            (name, stack.enter_context(opened(**settings))) for name, settings in variants.items()
        ]
        for number, case in enumerate(cases):
            order.shuffle(accelerators)
            for name, accelerator in accelerators:
                seconds = _seconds(accelerator, case, number, options)
                if seconds is not None:
                    times[name][case.name] = seconds
            progress.advance(1)
    return times


def _each(
    accelerator: Accelerator,
    cases: Sequence[Case],
    options: Mapping[str, Any],
    progress: Progress,
) -> dict[str, float]:
    """Median seconds by case; cases without an answer are left out."""
    found = {}
    for number, case in enumerate(cases):
        seconds = _seconds(accelerator, case, number, options)
        if seconds is not None:
            found[case.name] = seconds
        progress.advance(1)
    return found


def _seconds(
    accelerator: Accelerator, case: Case, number: int, options: Mapping[str, Any]
) -> float | None:
    text = case.text(f"a{number}")
    try:
        return _median_of(lambda: accelerator.run(text, case.parameters, **options).values())
    except Exception as error:  # the server's too: failed queries are counted
        logger.info("%s: %s", case.name, error)
        return None


def _median_of(work: Callable[[], object]) -> float:
    work()  # the first run compiles and plans
    seconds = []
    for _ in range(_REPETITIONS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def _compared(part: str, times: dict[str, dict[str, float]]) -> list[Ablation]:
    """Figures of each variant over the queries that all variants answered."""
    everything = set.union(*map(set, times.values()))
    common = sorted(everything.intersection(*times.values()))
    if not common:
        return []
    return [
        Ablation(
            part,
            variant,
            len(common),
            statistics.fmean(found[name] for name in common),
            statistics.median(found[name] for name in common),
            len(everything) - len(found),
        )
        for variant, found in times.items()
    ]
