"""Options shared by several commands."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from dataclasses import dataclass, field, replace
from getpass import getpass
from glob import glob
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpugda import types
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ArrayDelimiter",
    "Database",
    "Decimals",
    "Delimiter",
    "Device",
    "Engine",
    "Freshness",
    "Graph",
    "LimitDisplay",
    "MemoryLimit",
    "NodeFiles",
    "Parameters",
    "Password",
    "Planner",
    "Profile",
    "Query",
    "QueryFile",
    "Quote",
    "RelationshipFiles",
    "ServerOptions",
    "Source",
    "SourceOptions",
    "Strategy",
    "Summary",
    "Timeout",
    "Username",
    "Verbose",
    "complete_format",
    "device_arguments",
    "make_source",
    "takes_source",
]

_SOURCE = "Where the graph comes from"


def _one_of(*values: str) -> Callable[[str], list[str]]:
    """Completes a value, when Tab is pressed after an option."""
    return lambda incomplete: [each for each in values if each.startswith(incomplete)]


def _sources(incomplete: str) -> list[str]:
    """Completes an address: those that are always there, and files."""
    known = ("sample:wordnet", "bolt://localhost:7687", "neo4j://localhost:7687")
    files = [f"{path}/" if os.path.isdir(path) else path for path in sorted(glob(f"{incomplete}*"))]
    return [*(each for each in known if each.startswith(incomplete)), *files]


complete_format = _one_of("auto", "plain", "csv", "json", "jsonl", "arrow", "parquet")


Source = Annotated[
    str | None,
    typer.Option(
        "--source",
        "--uri",
        "-a",
        "--address",
        metavar="ADDRESS",
        autocompletion=_sources,
        help="bolt://HOST:PORT or neo4j://…, sample:NAME, a snapshot, GraphML, edges.csv "
        "(.parquet, .txt, .mtx), or a folder or zip of tables or import CSV. Default: the "
        "environment variable GPUGDA_SOURCE, else NEO4J_URI.",
        rich_help_panel=_SOURCE,
    ),
]
Graph = Annotated[
    str | None,
    typer.Argument(metavar="SOURCE", help="The same as --source.", autocompletion=_sources),
]
Username = Annotated[
    str | None,
    typer.Option(
        "--username",
        "-u",
        metavar="NAME",
        help="User of the server. Default: NEO4J_USERNAME.",
        rich_help_panel=_SOURCE,
    ),
]
Password = Annotated[
    str | None,
    typer.Option(
        "--password",
        "-p",
        metavar="PASSWORD",
        help="Of the user; others may see it here, so better NEO4J_PASSWORD, or be asked for it.",
        rich_help_panel=_SOURCE,
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        "-d",
        metavar="NAME",
        help="Of the server. Default: NEO4J_DATABASE, else the user's home database.",
        rich_help_panel=_SOURCE,
    ),
]
Freshness = Annotated[
    str,
    typer.Option(
        metavar="POLICY",
        autocompletion=_one_of("strict", "max_age=5s", "manual"),
        help="How old an accelerated answer may be: strict, max_age=5s, or manual.",
        rich_help_panel=_SOURCE,
    ),
]
Planner = Annotated[
    types.Planner,
    typer.Option(
        metavar="RULE",
        help="Who judges which engine is faster: cost or density.",
        rich_help_panel=_SOURCE,
    ),
]
NodeFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--nodes",
        metavar="[LABELS=]FILES",
        help="Files of nodes: Person=people.csv (or .parquet), with a column id, or as for "
        "neo4j-admin database import: Person=header.csv,people.csv. Repeatable.",
        rich_help_panel=_SOURCE,
    ),
]
RelationshipFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--relationships",
        metavar="[TYPE=]FILES",
        help="Files of relationships: KNOWS=knows.csv, with columns source and target. Repeatable.",
        rich_help_panel=_SOURCE,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="C",
        help="Between CSV fields; TAB for a tab. Default: a comma, or that of the first line.",
        rich_help_panel=_SOURCE,
    ),
]
ArrayDelimiter = Annotated[
    str, typer.Option(metavar="C", help="Between the items of an array.", rich_help_panel=_SOURCE)
]
Quote = Annotated[
    str, typer.Option(metavar="C", help="Around CSV fields that need it.", rich_help_panel=_SOURCE)
]
Decimals = Annotated[
    types.Decimals,
    typer.Option(
        metavar="RULE",
        autocompletion=_one_of("exact", "float"),
        help="Columns of decimal numbers in Parquet and Arrow files of --nodes and "
        "--relationships: exact (they have to be integers), or float (the nearest floats).",
        rich_help_panel=_SOURCE,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        "--devices",
        metavar="DEVICE",
        autocompletion=_one_of("gpu", "cpu", "all"),
        help="gpu, cpu, a part of a name, or a number of 'gpugda devices'; several share long "
        "queries: all, or 0,1. Default: GPUGDA_DEVICES, GPUGDA_DEVICE, else the best.",
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="Memory to use on the device, such as 2GiB. Default: 80 % of it."
    ),
]
Verbose = Annotated[
    int,
    typer.Option("--verbose", "-v", count=True, help="Log what happens; twice: with tracebacks."),
]
Query = Annotated[
    str | None,
    typer.Argument(
        metavar="QUERY", help="Cypher. Without it, it is read from --file or standard input."
    ),
]
QueryFile = Annotated[
    str | None,
    typer.Option("--file", "-f", metavar="FILE", help="File with the query; - is standard input."),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-P",
        metavar="NAME=VALUE",
        help="A query parameter: -P 'n=1', -P 'name => \"Ann\"', or several as a map: "
        "-P '{a: 1, b: [2, 3]}', or of a file: -P @parameters.json. Repeatable.",
    ),
]
Engine = Annotated[
    types.Engine,
    typer.Option(
        metavar="ENGINE",
        help="auto, gpu (the OpenCL device, also where it is a CPU), native (the server), or "
        "reference.",
    ),
]
Strategy = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How the device joins: extend, gpsm, gsi, sgsi, pbe or stwig.",
        autocompletion=_one_of("extend", "gpsm", "gsi", "sgsi", "pbe", "stwig"),
    ),
]
Timeout = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Give the query up after so long.")
]
LimitDisplay = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Most rows of a table on the terminal; 0 for all."),
]
Summary = Annotated[
    bool,
    typer.Option(
        "--summary", help="Print engine, reason and the time of each stage on standard error."
    ),
]


Profile = Annotated[
    bool,
    typer.Option(
        "--profile", help="Print what each operator did, with rows and times, on standard error."
    ),
]


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Values of the options for the source."""

    address: str | None
    nodes: tuple[str, ...] = ()
    relationships: tuple[str, ...] = ()
    delimiter: str | None = None
    array_delimiter: str = ";"
    quote: str = '"'
    decimals: types.Decimals = "exact"
    server: ServerOptions = field(default_factory=lambda: ServerOptions())

    def named(self, argument: str | None) -> SourceOptions:
        """These, with the address from the command's argument if that was given.

        Raises:
            ConfigurationError: There are two addresses.
        """
        if argument is None:
            return self
        if self.address is not None:
            raise ConfigurationError("Give the source once: as argument, or with --source.")
        return replace(self, address=argument)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Values of the options for a database server."""

    username: str | None = None
    password: str | None = None
    database: str | None = None
    freshness: str = "strict"
    planner: types.Planner = "cost"

    def connect_arguments(self) -> dict[str, Any]:
        """Arguments for `gpugda.connect`, without options that were not given.

        Raises:
            ConfigurationError: There is a password but no user name.
        """
        given: dict[str, Any] = {"freshness": self.freshness, "planner": self.planner}
        if self.database is not None:
            given["database"] = self.database
        if self.username is not None:
            given["auth"] = (self.username, self.secret())
        elif self.password is not None:
            given["auth"] = (os.environ.get("NEO4J_USERNAME") or "neo4j", self.password)
        return given

    def secret(self) -> str:
        """The password from the option, the environment or the terminal.

        Raises:
            ConfigurationError: There is no password and no terminal to ask for it.
        """
        if self.password is not None:
            return self.password
        if "NEO4J_PASSWORD" in os.environ:
            return os.environ["NEO4J_PASSWORD"]
        if not sys.stdin.isatty():
            raise ConfigurationError(
                "--username needs a password: --password, or the variable NEO4J_PASSWORD."
            )
        return getpass(f"Password of {self.username}: ")


def device_arguments(device: str | None, memory_limit: str | None) -> dict[str, Any]:
    """Arguments of `gpugda.connect` for the device, or for several."""
    given: dict[str, Any] = {}
    if device is not None and (device == "all" or "," in device):
        given["devices"] = device
    elif device is not None:
        given["device"] = int(device) if device.isdigit() else device
    if memory_limit is not None:
        given["memory_limit"] = memory_limit
    return given


def _source_options(
    source: Source = None,
    username: Username = None,
    password: Password = None,
    database: Database = None,
    freshness: Freshness = "strict",
    planner: Planner = "cost",
    nodes: NodeFiles = None,
    relationships: RelationshipFiles = None,
    delimiter: Delimiter = None,
    array_delimiter: ArrayDelimiter = ";",
    quote: Quote = '"',
    decimals: Decimals = "exact",
) -> SourceOptions:
    return SourceOptions(
        source,
        tuple(nodes or ()),
        tuple(relationships or ()),
        delimiter,
        array_delimiter,
        quote,
        decimals,
        ServerOptions(username, password, database, freshness, planner),
    )


def takes_source(command: Callable[..., None]) -> Callable[..., None]:
    """Decorates a command: replaces its parameter ``source`` by all options of a source."""
    group = inspect.signature(_source_options, eval_str=True).parameters
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(**values: Any) -> None:
        given = {name: values.pop(name) for name in group}
        command(source=_source_options(**given), **values)

    shown: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        shown.extend(group.values() if name == "source" else [parameter])
    # Keyword-only, as a parameter without a default may follow parameters with one.
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in shown]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def make_source(options: SourceOptions) -> object:
    """The source argument for `gpugda.connect`.

    Raises:
        ConfigurationError: There is no source, there are two, or the files cannot be read.
    """
    from gpugda.sources import adapter, with_decimals

    if not options.nodes and not options.relationships:
        address = _address(options.address)
        return address if options.decimals == "exact" else with_decimals(address, options.decimals)
    if options.address:
        raise ConfigurationError("Give either --source or --nodes and --relationships, not both.")
    return adapter("groups")(
        _file_groups(options.nodes, "--nodes"),
        _file_groups(options.relationships, "--relationships"),
        delimiter=options.delimiter,
        array_delimiter=options.array_delimiter,
        quote=options.quote,
        decimals=options.decimals,
    )


def _address(address: str | None) -> str:
    if address is None:
        from gpugda.config import default_source

        return default_source()
    return address


def _file_groups(arguments: tuple[str, ...], option: str) -> dict[str, str]:
    groups: dict[str, str] = {}
    for argument in arguments:
        name, equals, files = argument.partition("=") if "=" in argument else ("", "", argument)
        name = name.strip().lstrip(":")
        if not files.strip(" ,") or (equals and not name):
            raise ConfigurationError(
                f"{option} {argument!r} makes no sense; write {option} NAME=FILE,FILE or "
                f"{option} FILE."
            )
        if name in groups:
            raise ConfigurationError(
                f"{option} {name or 'without a name'} is given twice; list its files once, with "
                "commas between them and the one with the header first."
            )
        groups[name] = files
    return groups
