"""``gpugda bench``: runs both engines on the same queries and compares every answer."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gpugda.cli import options
from gpugda.cli.failures import guarded, log_to_standard_error, say, terminated_as_by_hand
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.bench.benchmark import Outcome
    from gpugda.bench.options import BenchOptions
    from gpugda.bench.practice.run import PracticeOptions

__all__ = ["bench"]

_WRONG = 1
_WORKLOADS = ("applications", "practice")
_OF_PRACTICE = frozenset({"domain", "only", "scale", "writes_per_second", "replace_data"})
_OF_QUERIES = frozenset({"queries", "params", "sizes", "per_size", "forms"})
_NOT_OF = {
    None: _OF_PRACTICE,
    "applications": _OF_PRACTICE | _OF_QUERIES,
    "practice": _OF_QUERIES
    | {"graph", "load", "indexes", "graphs", "quick", "new_texts", "clear_caches"},
}
"""By workload, the parameters of others."""
_CANCELLED = 130  # exit code that shells expect after Ctrl-C
_QUERIES, _MEASURING, _GRAPH = "What is asked", "How it is measured", "The graph"

Address = Annotated[
    str | None,
    typer.Option(
        "--uri",
        "--source",
        "-a",
        "--address",
        metavar="ADDRESS",
        help="The database, bolt://… or neo4j://…, with the graph that is in it; or any embedded "
        "source, which is compared with the reference executor. Default: GPUGDA_SOURCE, "
        "else NEO4J_URI; practice, which writes, never takes these.",
        rich_help_panel=_GRAPH,
    ),
]


@guarded
def bench(
    ctx: typer.Context,
    uri: Address = None,
    username: options.Username = None,
    password: options.Password = None,
    database: options.Database = None,
    planner: options.Planner = "cost",
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="An embedded graph, without a server: drwho, drwho-labelled, yeast, pole, "
            "recommendations, sample:wordnet.",
            rich_help_panel=_GRAPH,
        ),
    ] = None,
    load: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="WRITES this graph into the database first, if that is empty or holds it already.",
            rich_help_panel=_GRAPH,
        ),
    ] = None,
    indexes: Annotated[
        bool,
        typer.Option(
            "--indexes",
            help="With --load: create an index for every label and property.",
            rich_help_panel=_GRAPH,
        ),
    ] = False,
    graphs: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Where drwho, yeast-ppi and pole lie. Default: data in GPUGDA_SHARED.",
            rich_help_panel=_GRAPH,
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="applications: queries as applications write them, on the graph that --load or "
            "--graph names: drwho-labelled, pole, recommendations. practice: what people ask of "
            "their graphs, in five domains whose graphs are generated and WRITTEN into an empty "
            "database; without --uri, beside the reference engine.",
            rich_help_panel=_QUERIES,
        ),
    ] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Of practice: cloud, crime, directory, films, social. Repeatable; default: all.",
            rich_help_panel=_QUERIES,
        ),
    ] = None,
    only: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Of practice: the queries whose names contain this.",
            rich_help_panel=_QUERIES,
        ),
    ] = "",
    scale: Annotated[
        float,
        typer.Option(
            metavar="X",
            min=0.01,
            help="Size of practice's graphs: 1 has about 20 thousand relationships.",
            rich_help_panel=_GRAPH,
        ),
    ] = 1.0,
    writes_per_second: Annotated[
        float,
        typer.Option(
            metavar="N",
            min=0,
            help="With practice: another client writes meanwhile.",
            rich_help_panel=_MEASURING,
        ),
    ] = 0.0,
    replace_data: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="With practice: DELETE all that the database holds before the first domain.",
            rich_help_panel=_GRAPH,
        ),
    ] = False,
    queries: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Compare your own queries, separated by semicolons.",
            rich_help_panel=_QUERIES,
        ),
    ] = None,
    params: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="JSON object with their parameters.", rich_help_panel=_QUERIES
        ),
    ] = None,
    sizes: Annotated[
        str, typer.Option(metavar="N-N", help="Query nodes.", rich_help_panel=_QUERIES)
    ] = "2-6",
    per_size: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Query graphs of each size and density.",
            rich_help_panel=_QUERIES,
        ),
    ] = 30,
    forms: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORM", help="count, rows, predicate. Repeatable.", rich_help_panel=_QUERIES
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Of query graphs and order.", rich_help_panel=_QUERIES
        ),
    ] = 1,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A few small queries, in less than a minute.",
            rich_help_panel=_MEASURING,
        ),
    ] = False,
    repetitions: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Runs with repeated text.", rich_help_panel=_MEASURING
        ),
    ] = 5,
    settle: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Runs with repeated text that do not count, before those that do.",
            rich_help_panel=_MEASURING,
        ),
    ] = 2,
    new_texts: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Runs with new text.", rich_help_panel=_MEASURING),
    ] = 1,
    timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Per query and engine.", rich_help_panel=_MEASURING),
    ] = 30.0,
    row_cap: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Most rows returned and compared one by one.",
            rich_help_panel=_MEASURING,
        ),
    ] = 1000,
    clear_caches: Annotated[
        bool,
        typer.Option(
            "--clear-caches",
            help="Empty the server's query caches before each new text; needs the right to.",
            rich_help_panel=_MEASURING,
        ),
    ] = False,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Where the results go.")
    ] = "bench-results",
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Compare the device with Neo4j: times, speed-ups, and every answer."""
    from gpugda.bench.options import BenchOptions, parse_forms, parse_sizes
    from gpugda.bench.practice.domains import DOMAINS
    from gpugda.bench.practice.run import PracticeOptions

    log_to_standard_error(verbose)
    if workload not in (None, *_WORKLOADS):
        known = ", ".join(_WORKLOADS)
        raise ConfigurationError(f"--workload is {workload!r}; there are: {known}.")
    _check_given(ctx, workload)
    # Otherwise the time of printing the driver's notifications would be measured too.
    logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)
    server = options.ServerOptions(username, password, database, planner=planner)
    arguments = server.connect_arguments() | options.device_arguments(device, memory_limit)
    if workload == "practice":
        practice = PracticeOptions(
            tuple(domain or DOMAINS),
            scale,
            seed,
            settle,
            repetitions,
            _positive(timeout),
            row_cap,
            writes_per_second,
            only,
            replace_data,
            out,
            arguments,
        )
        _practise(uri, practice)
        return
    asked = BenchOptions(
        parse_sizes(sizes),
        per_size,
        parse_forms(forms or ()),
        queries,
        params,
        seed,
        new_texts,
        repetitions,
        _positive(timeout),
        row_cap,
        clear_caches=clear_caches,
        settle=settle,
        load=load,
        indexes=indexes,
        graphs=graphs,
        folder=out,
        connect=arguments,
    )
    asked = _shortened(asked) if quick else asked
    with terminated_as_by_hand():
        _run(uri, graph, replace(asked, applications=workload is not None))


def _check_given(ctx: typer.Context, workload: str | None) -> None:
    """Refuses options that the workload would ignore."""
    for option in ctx.command.params:
        given = ctx.get_parameter_source(option.name or "")
        if option.name in _NOT_OF[workload] and given is not None and given.name == "COMMANDLINE":
            without = option.name in _OF_PRACTICE
            where = "needs --workload practice" if without else f"is not for --workload {workload}"
            raise ConfigurationError(f"{option.opts[0]} {where}.")


def _practise(uri: str | None, asked: PracticeOptions) -> None:
    from gpugda.bench.practice.run import run_practice
    from gpugda.cli.progress import shown_progress

    with terminated_as_by_hand(), shown_progress() as progress:
        outcome = run_practice(uri, asked, progress)
    sys.stdout.write("\n".join([*outcome.lines, ""]))
    _fail(outcome.wrong, finished=outcome.finished)


def _fail(wrong: Sequence[str], *, finished: bool) -> None:
    """Ends the command if an answer was wrong, or if it was cancelled."""
    for each in wrong[:10]:
        say(f"WRONG: {each}")
    if wrong:
        raise typer.Exit(_WRONG)
    if not finished:
        raise typer.Exit(_CANCELLED)


def _positive(timeout: float) -> float:
    from gpugda.config import check_timeout

    return check_timeout(timeout) or timeout


def _shortened(asked: BenchOptions) -> BenchOptions:
    """Options for a run of less than a minute."""
    return replace(
        asked,
        sizes=tuple(size for size in asked.sizes if size <= 4)[:2] or asked.sizes[:1],
        per_size=min(asked.per_size, 3),
        repetitions=min(asked.repetitions, 2),
        timeout=min(asked.timeout, 5.0),  # the first runs may have to compile kernels
        row_cap=min(asked.row_cap, 100),
        warm_up=2,
        exports=1,
    )


def _run(uri: str | None, graph: str | None, asked: BenchOptions) -> None:
    from gpugda.bench.benchmark import run_benchmark
    from gpugda.bench.graphs import graph_source, graphs_folder
    from gpugda.cli.progress import shown_progress

    source: object
    if graph is not None:
        if uri is not None or asked.load is not None:
            raise ConfigurationError(
                "--graph is an embedded graph, without a server; leave out --uri, or load the "
                "graph into the database with --load."
            )
        source = graph_source(graph, graphs_folder(asked.graphs))
        asked = replace(asked, graph_name=graph)
    else:
        source = options.make_source(options.SourceOptions(uri))
    with shown_progress() as progress:
        outcome = run_benchmark(source, asked, progress)
    _tell(outcome)


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _without(number: int) -> str:
    return f"; {number:,} without a time of both" if number else ""


def _tell(outcome: Outcome) -> None:
    from gpugda.bench.own_queries import own_queries
    from gpugda.result.text_table import text_table

    for note in outcome.notes:
        say(note)
    names, rows = own_queries(outcome.findings, outcome.measured)
    if rows:
        width = max(shutil.get_terminal_size().columns, 100)
        sys.stdout.write(text_table(names, rows, width, _cell))
    for group in outcome.findings.overall:
        sys.stdout.write(
            f"{group.density or 'own':<7} {group.phase:<9} text: {group.cases:>5} queries, "
            f"speed-up {group.geometric:.3g} (geometric mean), median {group.speedup.median:.3g}"
            f"{_without(group.without)}\n"
        )
    for promise in outcome.findings.promises:
        sys.stdout.write(
            f"auto    {promise.phase:<9} text: {len(promise.broken)} of {promise.cases} slower "
            f"than allowed, {len(promise.again)} of these again when measured a second time, "
            f"regret {promise.auto_regret:.3f}\n"
        )
    sys.stdout.write(f"report: {outcome.folder / 'report.md'}{os.linesep}")
    wrong = [*map(str, outcome.measured.mismatches)]
    _fail(wrong, finished=outcome.measured.finished)
