"""The commands and their options; what they do is in the modules beside this one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gpugda.cli import options
from gpugda.cli.bench import bench
from gpugda.cli.failures import guarded
from gpugda.cli.logs import log_to_standard_error

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
app.command()(bench)


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
    log_to_standard_error(verbose)
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
    log_to_standard_error(verbose)
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
    log_to_standard_error(verbose)
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
    log_to_standard_error(verbose)
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
    log_to_standard_error(verbose)
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
    log_to_standard_error(verbose)
    if calibrate:
        from gpugda.cli.calibrate import print_rates

        server = options.ServerOptions(username, password, database)
        print_rates(options.SourceOptions(source, server=server), device)
        return
    from gpugda.cli.doctor import print_diagnosis

    print_diagnosis()


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
    log_to_standard_error(verbose)
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
    log_to_standard_error(verbose)
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
