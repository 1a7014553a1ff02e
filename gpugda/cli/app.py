"""The commands and their options; what they do is in the modules beside this one."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gpugda.cli import options
from gpugda.cli.failures import guarded, say

if TYPE_CHECKING:
    from gpugda.cli.formats import Format

__all__ = ["app"]

app = typer.Typer(
    help="Cypher MATCH made fast: pattern queries on an OpenCL device, with Neo4j's answers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="Start with: gpugda demo",
)
snapshot = typer.Typer(
    help="Save a graph as a folder that opens at once, or look at one.", no_args_is_help=True
)
app.add_typer(snapshot, name="snapshot")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"gpugda {version('gpugda')}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and exit.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
) -> None:
    """Cypher MATCH made fast: pattern queries on an OpenCL device, with Neo4j's answers."""


@app.command()
@guarded
def run(
    query: options.Query = None,
    source: options.Source = None,
    username: options.Username = None,
    password: options.Password = None,
    database: options.Database = None,
    freshness: options.Freshness = "strict",
    planner: options.Planner = "cost",
    nodes: options.NodeFiles = None,
    relationships: options.RelationshipFiles = None,
    delimiter: options.Delimiter = ",",
    array_delimiter: options.ArrayDelimiter = ";",
    quote: options.Quote = '"',
    parameters: options.Parameters = None,
    file: options.QueryFile = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="auto (a table on a terminal, else plain), plain, json (a line a row), csv, "
            "or arrow (an IPC stream).",
        ),
    ] = "auto",
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the rows to a file.")
    ] = None,
    limit_display: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Most rows of a table on the terminal; 0 for all."),
    ] = 1000,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary", help="Print engine, reason and the time of each stage on standard error."
        ),
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE",
            help="auto, gpu (the OpenCL device, also where it is a CPU), native (the server), or "
            "reference.",
        ),
    ] = "auto",
    strategy: Annotated[
        str | None, typer.Option(metavar="NAME", help="How the device joins.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Give the query up after so long.")
    ] = None,
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Run a query and print its rows."""
    _log(verbose)
    from gpugda.cli.run import OutputOptions, QueryOptions, run_query

    run_query(
        _source(
            source,
            nodes,
            relationships,
            delimiter,
            array_delimiter,
            quote,
            options.ServerOptions(username, password, database, freshness, planner),
        ),
        QueryOptions(query, file, tuple(parameters or ()), engine, strategy, timeout),
        OutputOptions(_format(form), output, limit_display, summary),
        device,
        memory_limit,
    )


@app.command()
@guarded
def explain(
    query: options.Query = None,
    source: options.Source = None,
    username: options.Username = None,
    password: options.Password = None,
    database: options.Database = None,
    freshness: options.Freshness = "strict",
    planner: options.Planner = "cost",
    nodes: options.NodeFiles = None,
    relationships: options.RelationshipFiles = None,
    delimiter: options.Delimiter = ",",
    array_delimiter: options.ArrayDelimiter = ";",
    quote: options.Quote = '"',
    file: options.QueryFile = None,
    strategy: Annotated[
        str | None, typer.Option(metavar="NAME", help="How the device joins.")
    ] = None,
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Print how a query would be answered: steps, estimates, reasons."""
    _log(verbose)
    from gpugda.cli.run import QueryOptions, explain_query

    explain_query(
        _source(
            source,
            nodes,
            relationships,
            delimiter,
            array_delimiter,
            quote,
            options.ServerOptions(username, password, database, freshness, planner),
        ),
        QueryOptions(query, file, strategy=strategy),
        device,
        memory_limit,
    )


@app.command()
@guarded
def demo(
    engine: Annotated[str, typer.Option(metavar="ENGINE", help="auto, gpu or reference.")] = "auto",
    device: options.Device = None,
    verbose: options.Verbose = 0,
) -> None:
    """Run some queries on WordNet, which comes with the package."""
    _log(verbose)
    from gpugda.cli.demo import run_demo

    run_demo(engine, device)


@app.command()
@guarded
def status(
    source: options.Source = None,
    username: options.Username = None,
    password: options.Password = None,
    database: options.Database = None,
    freshness: options.Freshness = "strict",
    planner: options.Planner = "cost",
    nodes: options.NodeFiles = None,
    relationships: options.RelationshipFiles = None,
    delimiter: options.Delimiter = ",",
    array_delimiter: options.ArrayDelimiter = ";",
    quote: options.Quote = '"',
    device: options.Device = None,
    verbose: options.Verbose = 0,
) -> None:
    """Open a source and print its size, its age and the memory it takes."""
    _log(verbose)
    from gpugda.cli.status import print_status

    print_status(
        _source(
            source,
            nodes,
            relationships,
            delimiter,
            array_delimiter,
            quote,
            options.ServerOptions(username, password, database, freshness, planner),
        ),
        device,
    )


@app.command()
@guarded
def devices(verbose: options.Verbose = 0) -> None:
    """List the OpenCL devices, by the numbers that --device takes."""
    _log(verbose)
    from gpugda.cli.devices import print_devices

    print_devices()


@app.command()
@guarded
def doctor(
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Measure the device, and the server if one is named, and keep the rates.",
        ),
    ] = False,
    source: options.Source = None,
    username: options.Username = None,
    password: options.Password = None,
    database: options.Database = None,
    device: options.Device = None,
    verbose: options.Verbose = 0,
) -> None:
    """Say what is installed, found and missing, and how to mend it."""
    _log(verbose)
    if calibrate:
        from gpugda.cli.calibrate import print_rates

        server = options.ServerOptions(username, password, database)
        print_rates(options.SourceOptions(source, server=server), device)
        return
    from gpugda.cli.doctor import print_diagnosis

    print_diagnosis()


@app.command()
@guarded
def bench(
    source: options.Source = None,
    username: options.Username = None,
    password: options.Password = None,
    database: options.Database = None,
    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            metavar="GRAPH",
            help="Put a graph into the database, which must be empty: drwho, yeast or "
            "recommendations (see --graphs), or the address of any embedded source.",
        ),
    ] = None,
    graphs: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where the named graphs are. Default: GPUGDA_GRAPHS."),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Compare your own queries, separated by semicolons."),
    ] = None,
    params: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSON object of their parameters.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the report goes.")
    ] = "gpugda-bench",
    sizes: Annotated[str, typer.Option(metavar="FROM-TO", help="Numbers of query nodes.")] = "2-6",
    count: Annotated[
        int, typer.Option(metavar="N", min=1, help="Query graphs of each size and density.")
    ] = 30,
    repetitions: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of a known text.")] = 3,
    rows: Annotated[bool, typer.Option("--rows", help="Return rows as well as counts.")] = False,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Per run.")] = 30.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the query graphs.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Measure little, for a look.")] = False,
    with_ablations: Annotated[
        bool,
        typer.Option("--ablations", help="Also the device with one thing changed, with --load."),
    ] = False,
    device: options.Device = None,
    verbose: options.Verbose = 0,
) -> None:
    """Compare the device with Neo4j: random query graphs, or your own queries."""
    _log(verbose)
    from gpugda.bench.experiment import Options
    from gpugda.cli.bench import BenchOptions, run_bench

    forms = ("count", "rows") if rows else ("count",)
    server = options.ServerOptions(username, password, database)
    run_bench(
        options.SourceOptions(source, server=server),
        BenchOptions(
            load,
            graphs,
            queries,
            params,
            output,
            quick,
            with_ablations,
            Options(_range(sizes), count, repetitions, timeout, seed, forms),
        ),
        device,
    )


@snapshot.command("save")
@guarded
def snapshot_save(
    path: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER", help="The folder to write; an older snapshot is replaced."
        ),
    ],
    source: options.Source = None,
    username: options.Username = None,
    password: options.Password = None,
    database: options.Database = None,
    freshness: options.Freshness = "strict",
    planner: options.Planner = "cost",
    nodes: options.NodeFiles = None,
    relationships: options.RelationshipFiles = None,
    delimiter: options.Delimiter = ",",
    array_delimiter: options.ArrayDelimiter = ";",
    quote: options.Quote = '"',
    compression: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="lz4 or zstd. Default: none, so that it can be opened without a copy.",
        ),
    ] = None,
    verbose: options.Verbose = 0,
) -> None:
    """Read a source and save it."""
    _log(verbose)
    from gpugda.cli.snapshot import save

    save(
        _source(
            source,
            nodes,
            relationships,
            delimiter,
            array_delimiter,
            quote,
            options.ServerOptions(username, password, database, freshness, planner),
        ),
        path,
        compression,
    )


@snapshot.command("info")
@guarded
def snapshot_info(
    path: Annotated[str, typer.Argument(metavar="FOLDER", help="A saved snapshot.")],
    verbose: options.Verbose = 0,
) -> None:
    """Print what a saved snapshot holds."""
    _log(verbose)
    from gpugda.cli.snapshot import print_info

    print_info(path)


def _source(
    address: str | None,
    nodes: list[str] | None,
    relationships: list[str] | None,
    delimiter: str,
    array_delimiter: str,
    quote: str,
    server: options.ServerOptions,
) -> options.SourceOptions:
    return options.SourceOptions(
        address,
        tuple(nodes or ()),
        tuple(relationships or ()),
        delimiter,
        array_delimiter,
        quote,
        server,
    )


def _range(text: str) -> tuple[int, ...]:
    """The numbers of ``2-6``, or of ``4`` alone."""
    from gpugda.errors import ConfigurationError

    first, _, last = text.partition("-")
    try:
        numbers = tuple(range(int(first), int(last or first) + 1))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] < 1:
        raise ConfigurationError(f"--sizes is {text!r}; give numbers such as 2-6.")
    return numbers


def _format(text: str) -> Format:
    from gpugda.cli.formats import Format
    from gpugda.errors import ConfigurationError

    try:
        return Format(text.lower())
    except ValueError:
        known = ", ".join(Format)
        raise ConfigurationError(f"--format is {text!r}; it can be {known}.") from None


def _log(verbose: int) -> None:
    """Sends the library's log to standard error."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logger = logging.getLogger("gpugda")
    logger.setLevel(level)
    # Why the very first query waits is worth a line, asked for or not.
    logging.getLogger("gpugda.device").setLevel(min(level, logging.INFO))
    if not logger.handlers:
        logger.addHandler(_StandardError())


class _StandardError(logging.Handler):
    """Writes to the standard error of the moment, as tests and notebooks replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"{record.levelname.lower()}: {self.format(record)}")
