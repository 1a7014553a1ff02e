"""``python -m lab``: the benchmarks of papers, and the tests of public clients of Neo4j."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from gpugda.cli import options
from gpugda.cli.failures import guarded, log_to_standard_error, say, terminated_as_by_hand
from gpugda.cli.progress import shown_progress
from gpugda.config import check_timeout

__all__ = ["app"]

_WRONG = 1

app = typer.Typer(
    help="Benchmarks of papers, and the tests of public clients of Neo4j.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="Of the generated graph and the queries.")
]
Repetitions = Annotated[int, typer.Option(metavar="N", min=1, help="Runs that count.")]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help="Per query and engine.")]
Out = Annotated[str, typer.Option("--out", "-o", metavar="FOLDER", help="Where the results go.")]


@app.command()
@guarded
def strategies(
    graph: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="enron, gowalla, patent, road, watdiv, dbpedia, stwig, db, fr, yh, wd: random "
            "walks of 12 nodes; youtube, livejournal, orkut, uk2002, friendster: the patterns of "
            "PBE.",
        ),
    ] = "enron",
    scale: Annotated[float, typer.Option(metavar="X", help="Of the generated graph.")] = 0.1,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only this one, such as extend or 'gsi +PC'. Repeatable."
        ),
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[=V,V]",
            help="Again for each value of nodes, relationships, labels, types, degree or "
            "query-nodes, such as labels=4,8,16. Default values: those of the paper.",
        ),
    ] = None,
    within: Annotated[
        list[float] | None,
        typer.Option(
            metavar="SHARE",
            min=0.001,
            help="Once more with this share of the graph's bytes as memory limit, such as 0.25. "
            "Repeatable.",
        ),
    ] = None,
    per_size: Annotated[int, typer.Option(metavar="N", min=1, help="Number of queries.")] = 30,
    forms: Annotated[
        list[str] | None, typer.Option(metavar="FORM", help="count, rows. Repeatable.")
    ] = None,
    seed: Seed = 1,
    repetitions: Repetitions = 5,
    timeout: Timeout = 30.0,
    out: Out = "bench-results",
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Run all strategies on the same queries of a generated graph, beside published figures."""
    from gpugda.bench.options import parse_forms
    from lab.strategies import run_strategies
    from lab.strategies_options import FORMS, StrategiesOptions

    log_to_standard_error(verbose)
    asked = StrategiesOptions(
        graph=graph,
        scale=scale,
        count=per_size,
        forms=tuple(form for form in FORMS if form in parse_forms(forms or ())) or FORMS,
        only=tuple(strategy or ()),
        seed=seed,
        repetitions=repetitions,
        timeout=check_timeout(timeout) or timeout,
        shares=tuple(within or ()),
        folder=out,
        connect=options.device_arguments(device, memory_limit),
        sweep=sweep,
    )
    with terminated_as_by_hand(), shown_progress() as progress:
        outcome = run_strategies(asked, progress)
    _tell(outcome.table, outcome.notes, "WRONG: strategies do not agree on", outcome.wrong)


@app.command()
@guarded
def lsqb(
    scale: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="Of the generated graph; 1 has 4 million nodes and 18 million relationships.",
        ),
    ] = 1.0,
    seed: Seed = 1,
    repetitions: Repetitions = 5,
    timeout: Timeout = 30.0,
    out: Out = "bench-results",
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Run LSQB, nine queries on a generated social network, beside DuckDB and Ladybug."""
    from lab.lsqb import LsqbOptions, run_lsqb

    log_to_standard_error(verbose)
    asked = LsqbOptions(
        scale,
        seed,
        repetitions,
        check_timeout(timeout) or timeout,
        out,
        options.device_arguments(device, memory_limit),
    )
    with terminated_as_by_hand(), shown_progress() as progress:
        outcome = run_lsqb(asked, progress)
    _tell(outcome.table, outcome.notes, "WRONG or without an answer:", outcome.wrong)


@app.command("scale-table")
@guarded
def scale_table(
    devices: Annotated[
        str, typer.Option(metavar="LIST", help="As for gpugda --devices: 0,1 or 0:0,0:1.")
    ],
    counts: Annotated[
        str, typer.Option(metavar="N,N", help="Numbers of devices; the first is compared with.")
    ] = "1,2",
    scale: Annotated[
        int, typer.Option(metavar="N", help="Power of two of the nodes of the R-MAT graph.")
    ] = 18,
    cycle_scale: Annotated[
        int, typer.Option(metavar="N", help="The same of the graph for pentagons.")
    ] = 14,
    degree: Annotated[int, typer.Option(metavar="N", help="Relationships per node.")] = 16,
    walks: Annotated[
        float, typer.Option(metavar="X", help="Scale of the graph for 12 nodes with labels.")
    ] = 0.1,
    only: Annotated[
        list[str] | None, typer.Option(metavar="QUERY", help="Only this one. Repeatable.")
    ] = None,
    repetitions: Repetitions = 5,
    always: Annotated[
        bool,
        typer.Option(help="Divide every pattern, or only those for which it pays."),
    ] = True,
    seed: Seed = 1,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="JSON for lab.scale_model.")
    ] = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Run queries on one, two and more devices of this machine, and compare their answers."""
    from lab.scale_table import ScaleOptions, run_scale
    from lab.scale_table import scale_table as table_of

    log_to_standard_error(verbose)
    asked = ScaleOptions(
        [each.strip() for each in devices.split(",")],
        [int(each) for each in counts.split(",")],
        scale,
        cycle_scale,
        degree,
        walks,
        only or (),
        repetitions,
        always,
        seed,
        memory_limit,
    )
    outcome = run_scale(asked, say)
    if out is not None:
        outcome.save(Path(out))
    _tell(table_of(outcome), [], "WRONG:", outcome.wrong)


@app.command("scale-model")
@guarded
def scale_model(
    fit: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSON of scale-table; else usual costs.")
    ] = None,
    power: Annotated[
        float, typer.Option(metavar="X", help="Work of a seed: this power of its degree.")
    ] = 1.5,
    sizes: Annotated[
        str, typer.Option(metavar="N,N", help="Numbers of relationships.")
    ] = "1e9,1e10,1e11,1e12",
    places: Annotated[
        str, typer.Option(metavar="N,N", help="Numbers of devices or workers.")
    ] = "1,10,100,1000",
) -> None:
    """Model the seconds of a query on many places, up to 10^12 relationships on 1,000."""
    from lab.scale_model import Costs, fitted, loaded_lines, model_table

    costs = Costs() if fit is None else fitted(loaded_lines(Path(fit)))
    each = f"{costs.task:.3g} s a task, {costs.byte:.3g} s a byte"
    say(f"beside the work: {costs.fixed:.3g} s, {each}")
    asked = [float(each) for each in sizes.split(",")], [int(each) for each in places.split(",")]
    sys.stdout.write(model_table(costs, power, *asked))


@app.command()
@guarded
def estimates(
    timeout: Timeout = 60.0,
    processor_time: Annotated[
        bool,
        typer.Option(help="Measure processor time: for a CPU device that others disturb."),
    ] = False,
    verbose: options.Verbose = 0,
) -> None:
    """Compare estimated rows and seconds of queries with several clauses with measured ones."""
    from lab.estimates import estimated, estimates_table

    log_to_standard_error(verbose)
    with terminated_as_by_hand():
        for line in estimates_table(estimated(timeout, processor_time=processor_time)):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


@app.command()
@guarded
def ablations(
    uri: Annotated[
        str | None,
        typer.Option("--uri", "-a", metavar="ADDRESS", help="The database, or another source."),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="An embedded graph, as of gpugda bench, without a server."
        ),
    ] = None,
    load: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="WRITES this graph into the database first, if that is empty or holds it already; "
            "then property indexes are compared, too.",
        ),
    ] = None,
    per_size: Annotated[
        int, typer.Option(metavar="N", min=1, help="Query graphs of each size and density.")
    ] = 30,
    sizes: Annotated[str, typer.Option(metavar="N-N", help="Query nodes.")] = "2-6",
    seed: Seed = 1,
    timeout: Timeout = 30.0,
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Measure single parts: refinement, prefix sums, subsets, Neo4j's property indexes."""
    from gpugda.bench.graphs import graph_source, graphs_folder
    from gpugda.bench.options import BenchOptions, parse_sizes
    from lab.ablations import ablations_table, measure_ablations

    log_to_standard_error(verbose)
    if graph is not None and (uri is not None or load is not None):
        raise typer.BadParameter("--graph is an embedded graph, without a server and --load.")
    asked = BenchOptions(
        parse_sizes(sizes),
        per_size,
        seed=seed,
        timeout=check_timeout(timeout) or timeout,
        exports=1,
        load=load,
        connect=options.device_arguments(device, memory_limit),
    )
    source = (
        options.make_source(options.SourceOptions(uri))
        if graph is None
        else graph_source(graph, graphs_folder(None))
    )
    with terminated_as_by_hand(), shown_progress() as progress:
        found = measure_ablations(source, asked, progress)
    sys.stdout.write("\n".join([*ablations_table(found), ""]))


@app.command()
@guarded
def clients(
    address: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS",
            help="Of a Neo4j without authentication, for these tests alone: they EMPTY it.",
        ),
    ],
    client: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="neomodel, langchain-neo4j. Repeatable; default: all."),
    ] = None,
) -> None:
    """Run the tests of public clients with Neo4j's driver, then with an accelerated one."""
    from lab.clients import CLIENTS, compare_client

    lost: list[str] = []
    for name in client or CLIENTS:
        if name not in CLIENTS:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(CLIENTS)}")
        with TemporaryDirectory(prefix="gpugda-clients-") as folder:
            plain, accelerated = compare_client(CLIENTS[name], address, Path(folder))
        say(f"{name}: {len(plain.passed)} tests pass, accelerated {len(accelerated.passed)}")
        lost += [f"{name} {test}" for test in plain.lost(accelerated)]
    _tell("", [], "WRONG: pass with Neo4j's driver only:", lost)


def _tell(table: str, notes: list[str], what: str, wrong: list[str]) -> None:
    sys.stdout.write(table)
    for note in notes:
        say(note)
    if wrong:
        say(f"{what} {', '.join(wrong)}")
        raise typer.Exit(_WRONG)


if __name__ == "__main__":
    app(prog_name="python -m lab")
