"""``python -m lab strategies``: runs all strategies on the same queries; cites the papers."""

from __future__ import annotations

import gc
import logging
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from gpugda.bench.machine import describe_machine
from gpugda.bench.report import made_folder
from gpugda.bench.tables import write_json
from gpugda.config import parse_bytes, requested_device
from gpugda.device.background_compilation import start_compile_processes
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.row_building import build_rows
from gpugda.device.graph.segments import whole_bytes
from gpugda.device.program import build_everything
from gpugda.errors import ConfigurationError
from gpugda.match.registry import DEFAULT_STRATEGY
from lab.graph_limits import why_too_large
from lab.recipes import make_recipe, recipe_queries
from lab.strategies_measuring import measured_runs
from lab.strategies_options import (
    Measured,
    StrategiesOptions,
    StrategiesOutcome,
    within,
)
from lab.strategies_report import report_of
from lab.sweeps import Point, number_text, points_of
from lab.variants import chosen_matchers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.sorting import RowSorter, SortedRows, Unsorted
    from gpugda.device.background_compilation import CompileProcesses
    from gpugda.match.matcher import Matcher
    from gpugda.ports import Progress
    from lab.variants import MatcherMaker

__all__ = ["run_strategies"]

logger = logging.getLogger(__name__)
_KERNELS = ("gpugda_strategies/opencl",)
_BY_HAND = "Ended by hand"


@dataclass(slots=True)
class _Device:
    """The device, whose kernels are compiled while the first graph is drawn.

    Args:
        context: The device.
        apart: Processes that compile; None if there are none.
        compiled: True once all kernels are there.
    """

    context: DeviceContext
    apart: CompileProcesses | None
    compiled: bool = False

    def compile_once(self, only: Sequence[str], progress: Progress) -> None:
        """Waits for the kernels and builds them."""
        if self.compiled:
            return
        progress.phase("compiling kernels")
        if self.apart is not None:
            self.apart.wait()
        more = any(each != DEFAULT_STRATEGY for each in only or [""])
        build_everything(self.context, on_demand=more, folders=_KERNELS if more else ())
        self.compiled = True

    def close(self) -> None:
        """Stops the processes and frees the device."""
        if self.apart is not None:
            self.apart.stop()
        self.context.close()


def run_strategies(options: StrategiesOptions, progress: Progress) -> StrategiesOutcome:
    """Generates each graph, runs every query with every strategy, and writes the report.

    Ctrl-C ends the run; the report contains the measurements so far. In a sweep, a graph that does
    not fit is left out, with the reason.

    Raises:
        ConfigurationError: There is no such recipe, strategy or sweep, no graph fits, or the folder
            cannot be written.
        DeviceError: There is no device, or it failed.
    """
    points = points_of(options.graph, options.scale, options.sweep)
    makers = chosen_matchers(points[0].recipe, options.only)
    measured = [
        Measured(each, why_too_large(options.graph, each.recipe, each.scale) or "")
        for each in points
    ]
    if all(each.left_out for each in measured):
        raise ConfigurationError(measured[0].left_out)
    folder = made_folder(options.folder)
    context = DeviceContext(choose_device(requested_device(options.connect.get("device"))))
    device = _Device(context, start_compile_processes(context))
    outcome = StrategiesOutcome("", [], [])
    try:
        for number, each in enumerate(measured, 1):
            ended = not each.left_out and _ended_by_hand(device, options, each, makers, progress)
            given = measured[:number]
            outcome = report_of(options, given, _names(makers, options), context.info.name)
            _write(folder, options, outcome, given, context.info.name)
            if ended:
                break
    finally:
        device.close()
    return outcome


def _ended_by_hand(
    device: _Device,
    options: StrategiesOptions,
    into: Measured,
    makers: Mapping[str, MatcherMaker],
    progress: Progress,
) -> bool:
    """Measures one graph; True if Ctrl-C ended it."""
    try:
        _measure(device, options, into, makers, progress)
    except KeyboardInterrupt:
        logger.info("ended by hand after %d runs", len(into.runs))
        asked = len({run.query for run in into.runs})
        of = f"{asked} of {len(into.patterns)} queries were asked"
        into.left_out = f"{_BY_HAND}{f': {of}' if into.patterns else ' while it was drawn'}."
        return True
    except MemoryError:
        into.left_out = "The host's memory did not suffice to draw and hold the graph."
    finally:
        gc.collect()  # before the next graph is drawn
    return False


def _measure(
    device: _Device,
    options: StrategiesOptions,
    into: Measured,
    makers: Mapping[str, MatcherMaker],
    progress: Progress,
) -> None:
    """Draws one graph and runs its queries."""
    point, context = into.point, device.context
    progress.phase(f"generating {_title(options, point)}")
    started = time.perf_counter()
    graph = make_recipe(options.graph, point.scale, options.seed, _sorter(context), point.recipe)
    into.drawn = time.perf_counter() - started
    into.nodes, into.relationships = graph.node_count, graph.relationship_count
    drawn = recipe_queries(options.graph, graph, options.count, options.seed, point.recipe)
    into.patterns = drawn
    if not drawn:
        into.left_out = "No random walk reached enough nodes for a query: the graph is too small."
        return
    device.compile_once(options.only, progress)
    on_device = [DeviceGraph(context, graph) for _ in range(1 + len(options.shares))]
    try:
        matchers = _matchers(on_device, graph, options, makers)
        progress.phase(f"measuring {_title(options, point)}", len(drawn) * len(options.forms))
        for run in measured_runs(graph, drawn, matchers, options, progress):
            into.runs.append(replace(run, value=point.value))
    finally:
        for each in on_device:
            each.close()


def _title(options: StrategiesOptions, point: Point) -> str:
    if point.value is None or options.sweep is None:
        return options.graph
    return f"{options.graph}, {options.sweep.partition('=')[0]} {number_text(point.value)}"


def _matchers(
    on_device: Sequence[DeviceGraph],
    graph: DataGraph,
    options: StrategiesOptions,
    makers: Mapping[str, MatcherMaker],
) -> dict[str, Matcher]:
    """Matchers by name: under the requested limit, and under each share of the graph's bytes.

    Each limit has its own graph on the device, so that the limits share no cached data.
    """
    limit = parse_bytes(options.connect.get("memory_limit"))
    limits = [limit, *(round(share * whole_bytes(graph)) for share in options.shares)]
    names = iter(_names(makers, options))
    return {
        next(names): make(own, memory_limit=limit)
        for own, limit in zip(on_device, limits, strict=True)
        for make in makers.values()
    }


def _names(makers: Mapping[str, MatcherMaker], options: StrategiesOptions) -> list[str]:
    """Names of all that is measured, in the order of the table."""
    return [*makers, *(within(name, share) for share in options.shares for name in makers)]


def _sorter(context: DeviceContext) -> RowSorter:
    """Sorts on the device where that is faster than on the host."""
    wanted_from = context.profile.sorted_from

    def sort(given: Unsorted, *, with_order: bool) -> SortedRows | None:
        if wanted_from is None or len(given.starts) < wanted_from:
            return None
        return build_rows(context, given, with_order=with_order)

    return sort


def _write(
    folder: Path,
    options: StrategiesOptions,
    outcome: StrategiesOutcome,
    measured: Sequence[Measured],
    device: str,
) -> None:
    notes = "\n\n".join(outcome.notes)
    text = f"# Strategies on {options.graph}\n\n{notes}\n\n{outcome.table}"
    content = {
        "options": asdict(options) | {"connect": {}, "folder": ""},
        "machine": describe_machine({"device": device}),
        "wrong": outcome.wrong,
        "graphs": [each.facts() for each in measured],
        "patterns": list(measured[0].patterns),
        "runs": [asdict(run) for each in measured for run in each.runs],
    }
    try:
        (folder / "strategies.md").write_text(text, encoding="utf-8")
        write_json(folder / "strategies.json", content)
    except OSError as error:
        outcome.notes.append(f"The report could not be written to --out: {error.strerror}.")
