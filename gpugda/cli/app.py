"""The commands and their options; the other modules of this package implement them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gpugda.cli import options
from gpugda.cli.bench import bench
from gpugda.cli.failures import guarded, log_to_standard_error

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
plugin = typer.Typer(
    help="The plugin for Neo4j: faster exports, and changes are followed.", no_args_is_help=True
)
app.add_typer(plugin, name="plugin")
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
@options.takes_source
def run(
    source: options.SourceOptions,
    query: options.Query = None,
    parameters: options.Parameters = None,
    file: options.QueryFile = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            autocompletion=options.complete_format,
            help="auto (a table on a terminal; by a file's name; else plain), plain, csv, json (an "
            "array), jsonl (a line a row), arrow, or parquet.",
        ),
    ] = "auto",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the rows to a file: .csv, .json, .jsonl, .arrow, .parquet, or other text.",
        ),
    ] = None,
    limit_display: options.LimitDisplay = 40,
    summary: options.Summary = False,
    profile: options.Profile = False,
    engine: options.Engine = "auto",
    strategy: options.Strategy = None,
    timeout: options.Timeout = None,
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Run a query and print its rows."""
    log_to_standard_error(verbose)
    from gpugda.cli.run import OutputOptions, QueryOptions, run_query

    run_query(
        source,
        QueryOptions(query, file, tuple(parameters or ()), engine, strategy, timeout),
        OutputOptions(_format(form), output, limit_display, summary, profile),
        device,
        memory_limit,
    )


@app.command()
@guarded
@options.takes_source
def explain(
    source: options.SourceOptions,
    query: options.Query = None,
    file: options.QueryFile = None,
    strategy: options.Strategy = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Also show what each rule did to the logical tree.")
    ] = False,
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Print how a query would be answered: steps, estimates, reasons.

    FILE.cypher in the query's place: where each query of the file would run, without any source.
    """
    log_to_standard_error(verbose)
    from gpugda.cli.explain_file import explain_file, names_file

    if query is not None and names_file(query):
        explain_file(query, rules=rules)
        return
    from gpugda.cli.run import QueryOptions, explain_query

    explain_query(
        source,
        QueryOptions(query, file, strategy=strategy),
        device,
        memory_limit,
        rules=rules,
    )


@app.command()
@guarded
@options.takes_source
def shell(
    source: options.SourceOptions,
    parameters: options.Parameters = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file", "-f", metavar="FILE", help="Run the statements of a file, and leave."
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            autocompletion=options.complete_format,
            help="auto (a table on a terminal, else plain), plain, csv, json (an array), or jsonl "
            "(a line a row).",
        ),
    ] = "auto",
    limit_display: options.LimitDisplay = 40,
    summary: options.Summary = False,
    engine: options.Engine = "auto",
    strategy: options.Strategy = None,
    timeout: options.Timeout = None,
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Type statements and see their rows; or run those of a file or of standard input."""
    log_to_standard_error(verbose)
    from gpugda.cli.run import OutputOptions, QueryOptions
    from gpugda.cli.shell import run_shell

    run_shell(
        source,
        QueryOptions(None, file, tuple(parameters or ()), engine, strategy, timeout),
        OutputOptions(_format(form), None, limit_display, summary),
        device,
        memory_limit,
    )


@app.command()
@guarded
@options.takes_source
def serve(
    source: options.SourceOptions,
    graph: options.Graph = None,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="The port for Bolt; a path: a Unix socket.")
    ] = "localhost:7687",
    http: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="A port for a page, the Query API and metrics."),
    ] = None,
    advertise: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where neo4j:// finds this server from outside."),
    ] = None,
    tls_cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificate (PEM), for bolt+s://.")
    ] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Its private key.")] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="A page that may connect. Repeatable."),
    ] = None,
    max_connections: Annotated[
        int, typer.Option(metavar="N", min=1, help="Further clients are refused.")
    ] = 1000,
    max_queries: Annotated[int, typer.Option(metavar="N", min=1, help="Further queries wait.")] = 8,
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Accelerate the reads of all clients of a Neo4j, or serve a graph, over Bolt."""
    log_to_standard_error(verbose)
    from gpugda.cli.serve import ServeOptions, serve_graph

    serve_graph(
        source.named(graph),
        ServeOptions(
            listen,
            http,
            advertise,
            tls_cert,
            tls_key,
            tuple(origin or ()),
            max_connections,
            max_queries,
        ),
        device,
        memory_limit,
    )


@app.command()
@guarded
def demo(
    engine: options.Engine = "auto",
    device: options.Device = None,
    verbose: options.Verbose = 0,
) -> None:
    """Run some queries on WordNet, which comes with the package."""
    log_to_standard_error(verbose)
    from gpugda.cli.demo import run_demo

    run_demo(engine, device)


@app.command()
@guarded
@options.takes_source
def status(
    source: options.SourceOptions,
    graph: options.Graph = None,
    device: options.Device = None,
    verbose: options.Verbose = 0,
) -> None:
    """Open a source and print its size, its age and the memory it takes."""
    log_to_standard_error(verbose)
    from gpugda.cli.snapshot import print_status

    print_status(source.named(graph), device)


@app.command()
@guarded
@options.takes_source
def schema(
    source: options.SourceOptions,
    graph: options.Graph = None,
    device: options.Device = None,
    verbose: options.Verbose = 0,
) -> None:
    """Print what a graph holds: labels, types, what they connect, and properties."""
    log_to_standard_error(verbose)
    from gpugda.cli.run import open_accelerator

    with open_accelerator(source.named(graph), device) as accelerator:
        sys.stdout.write(f"{accelerator.schema}\n")


@app.command()
@guarded
@options.takes_source
def mcp(
    source: options.SourceOptions,
    graph: options.Graph = None,
    rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="Rows that the answer to one query shows.")
    ] = 100,
    timeout: Annotated[
        float, typer.Option(min=0.001, metavar="SECONDS", help="Time limit of one query.")
    ] = 30.0,
    device: options.Device = None,
    memory_limit: options.MemoryLimit = None,
    verbose: options.Verbose = 0,
) -> None:
    """Serve a graph to language models: an MCP server on standard input and output."""
    log_to_standard_error(verbose)
    from gpugda.cli.serve import serve_tools

    serve_tools(source.named(graph), rows, timeout, device, memory_limit)


@app.command()
@guarded
def devices(verbose: options.Verbose = 0) -> None:
    """List the OpenCL devices, by the numbers that --device takes."""
    log_to_standard_error(verbose)
    from gpugda.cli.devices import print_devices

    print_devices()


@app.command()
@guarded
def cluster() -> None:
    """Print how to start a cluster of Dask whose workers share long queries."""
    sys.stdout.write(_CLUSTER)


_CLUSTER = """\
On one machine, in Python:

    from distributed import LocalCluster
    gpugda.connect(source, cluster=LocalCluster(threads_per_worker=1))

On several, with `pip install 'gpugda[cluster]'` in the same version on each:

    dask scheduler --port 8786                                  # on one machine, here: HOST
    dask worker tcp://HOST:8786 --nthreads 1 --resources GPU=1  # for each GPU of each machine

GPUGDA_DEVICE or CUDA_VISIBLE_DEVICES say which GPU a worker takes. Then:

    GPUGDA_CLUSTER=tcp://HOST:8786 gpugda run -a SNAPSHOT 'MATCH ...'

Workers read a snapshot by its path, if all find it there; otherwise the graph is sent to them.
"""


@app.command()
@guarded
def warmup(device: options.Device = None, verbose: options.Verbose = 0) -> None:
    """Compile the kernels for a device, so that no query has to wait for it. Once for a machine."""
    log_to_standard_error(verbose)
    from gpugda.cli.devices import warm_up

    warm_up(device)


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
        from gpugda.cli.doctor import print_rates

        server = options.ServerOptions(username, password, database)
        print_rates(options.SourceOptions(source, server=server), device)
        return
    from gpugda.cli.doctor import print_diagnosis

    print_diagnosis()


@snapshot.command("save")
@guarded
@options.takes_source
def snapshot_save(
    source: options.SourceOptions,
    path: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER", help="The folder to write; an older snapshot is replaced."
        ),
    ],
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
        source,
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


@plugin.command("install")
@guarded
def plugin_install(
    home: Annotated[
        str,
        typer.Option(
            "--neo4j-home", metavar="DIR", help="Neo4j's home on this machine, with plugins in it."
        ),
    ],
    verbose: options.Verbose = 0,
) -> None:
    """Put the plugin into a Neo4j on this machine."""
    log_to_standard_error(verbose)
    from gpugda.cli.plugin import install_plugin

    install_plugin(home)


@plugin.command("export")
@guarded
def plugin_export(
    path: Annotated[str, typer.Argument(metavar="FILE", help="The jar to write, or a folder.")],
    verbose: options.Verbose = 0,
) -> None:
    """Write the plugin to a file: for containers, Neo4j Desktop and other machines."""
    log_to_standard_error(verbose)
    from gpugda.cli.plugin import export_plugin

    export_plugin(path)


def _format(text: str) -> Format:
    from gpugda.cli.formats import Format
    from gpugda.errors import ConfigurationError

    try:
        return Format(text.lower())
    except ValueError:
        known = ", ".join(Format)
        raise ConfigurationError(f"--format is {text!r}; it can be {known}.") from None
