"""Cypher in notebooks: ``%load_ext gpugda``, ``%gpugda_connect`` and ``%%cypher``."""

from __future__ import annotations

import os
import re
import shlex
import threading
import time
import warnings
from argparse import ArgumentParser, Namespace
from contextlib import contextmanager
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from neo4j.graph import Graph

import gpugda.api
from gpugda.accelerator import Accelerator
from gpugda.config import default_source
from gpugda.errors import ConfigurationError
from gpugda.query.reads import parameter_names
from gpugda.result.any_error import Error
from gpugda.values import is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from neo4j.graph import Node


__all__ = [
    "MAX_NODES",
    "Arguments",
    "NotebookCypher",
    "NotebookProgress",
    "drawing",
    "html_of",
    "is_possible",
    "load_ipython_extension",
    "refuse",
    "source_named",
    "unload_ipython_extension",
    "words_of",
]

_VARIABLE = re.compile(r"\$([^\W\d]\w*)|\{\s*([^\W\d]\w*)\s*\}")


class Arguments(ArgumentParser):
    """A parser that does not exit the notebook on errors, and accepts no abbreviated options."""

    def __init__(self, name: str) -> None:
        super().__init__(name, add_help=False, allow_abbrev=False)

    def read(self, words: list[Any]) -> Namespace:
        """Parses words that may be objects; argparse gets placeholders for objects."""
        objects = {f"\0{place}": word for place, word in enumerate(words)}
        texts = [_typed(word, f"\0{place}") for place, word in enumerate(words)]
        given = self.parse_args(texts)
        for name, value in vars(given).items():
            if isinstance(value, str):
                setattr(given, name, objects.get(value, value))
        return given

    def error(self, message: str) -> NoReturn:
        """Ends the magic with one sentence about the error."""
        refuse(f"{message}; see %{self.prog}?")


def refuse(reason: object) -> NoReturn:
    """Ends a magic with a message that IPython shows without a traceback."""
    from IPython.core.error import UsageError

    cause = reason if isinstance(reason, BaseException) else None
    raise UsageError(str(reason)) from cause


def words_of(line: str, variables: Mapping[str, Any]) -> list[Any]:
    """Splits a line like a shell; words that name a variable become its value."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        refuse(f"{error}: {line}")
    return [_value(word, variables) for word in words]


def source_named(word: Any, variables: Mapping[str, Any]) -> Any:
    """The source that a word names: the variable of that name, else the word itself."""
    if not isinstance(word, str) or not word.isidentifier() or word not in variables:
        return word
    if Path(word).exists():
        refuse(f"{word!r} is a variable and a file: write ${word} or ./{word}.")
    return variables[word]


def _typed(word: Any, stand_in: str) -> str:
    """The text of a word as a user would type it; the placeholder for an object."""
    return str(word) if isinstance(word, str | int | float) else stand_in


def _value(word: str, variables: Mapping[str, Any]) -> Any:
    match = _VARIABLE.fullmatch(word)
    if match is None:
        return word
    name = match[1] or match[2]
    if name not in variables:
        refuse(f"there is no variable {name!r} in this notebook.")
    return variables[name]


_NAMES = ("name", "title", "label", "displayName", "username", "email", "key", "id")
"""Properties that name a node, the first one that it has."""
_RADIUS = (12, 48)

MAX_NODES = 1000
"""Maximum number of nodes; a browser draws more only slowly, and the drawing is unreadable."""


def is_possible() -> bool:
    """True if neo4j-viz is installed."""
    from importlib.util import find_spec

    return find_spec("neo4j_viz") is not None


def drawing(graph: Graph, caption: str | None = None, size: str | None = None) -> Any:
    """Returns the graph as an IPython display object, with a colour per label and a legend.

    Args:
        graph: Nodes and relationships.
        caption: The property that names nodes; by default the first of the usual ones (``name``,
            ``title``, …, ``id``) that a node has, else its labels.
        size: A numeric property that gives the nodes' sizes; by default all are alike.

    Raises:
        ConfigurationError: neo4j-viz is not installed, the graph is empty or too large, or no node
            has the property of ``caption``, or a number as that of ``size``.
    """
    if not is_possible():
        raise ConfigurationError(
            "drawing a graph needs neo4j-viz, which is not installed: pip install gpugda[notebook]"
        )
    if not graph.nodes:
        raise ConfigurationError(
            "the result holds no nodes to draw: return nodes and relationships, as in "
            "MATCH (a)-[r]->(b) RETURN a, r, b."
        )
    if len(graph.nodes) > MAX_NODES:
        raise ConfigurationError(
            f"the result holds {len(graph.nodes):,} nodes, and at most {MAX_NODES:,} are drawn: "
            "give the query a LIMIT."
        )
    _refuse_missing(graph, caption, "caption", lambda value: True)
    _refuse_missing(graph, size, "size", is_number)
    from neo4j_viz.neo4j import from_neo4j

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they concern neo4j-viz and its imports, not the user
        shown = from_neo4j(graph)
        shown.show_legend()
        names = {node.element_id: _caption(node, caption) for node in graph.nodes}
        for node in shown.nodes:  # the colours follow the labels, which were the captions
            node.caption = names.get(str(node.id), node.caption)
        if size is not None:
            numbers = {node.element_id: node.get(size) for node in graph.nodes}
            known = {each: value for each, value in numbers.items() if is_number(value)}
            least = min(known.values())
            sizes = {node.id: known.get(str(node.id), least) for node in shown.nodes}
            shown.resize_nodes(sizes=sizes, node_radius_min_max=_RADIUS)
        return shown.render()


def _caption(node: Node, name: str | None) -> str:
    """The value that names a node; its labels if it has none."""
    names = _NAMES if name is None else (name,)
    found = (node[each] for each in names if isinstance(node.get(each), str | int | float))
    return str(next(found, None) or ":".join(node.labels) or node.element_id)


def _refuse_missing(
    graph: Graph, name: str | None, option: str, fits: Callable[[Any], bool]
) -> None:
    if name is not None and not any(name in node and fits(node[name]) for node in graph.nodes):
        known = sorted({key for node in graph.nodes for key in node})
        raise ConfigurationError(
            f"no node has a fitting property {name!r} for its {option}; there are "
            f"{', '.join(known) or 'none'}."
        )


def html_of(graph: Graph) -> str | None:
    """The drawing for IPython's formatter, None if the graph cannot be drawn."""
    try:
        return str(drawing(graph).data)
    except ConfigurationError:
        return None


_DELAY_SECONDS = 0.5
"""Seconds of work before the line appears."""

_PAUSE = 0.2
"""Minimum seconds between two changes of the line."""


class NotebookProgress:
    """A `gpugda.ports.Progress` that shows a line about the thread that is in a `shown` block.

    Background work, and work outside such a block, is not shown.

    Args:
        display: Shows a text and returns a handle with ``update``; IPython's by default.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        display: Callable[[str], Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._display = display or _display
        self._clock = clock
        self._thread: int | None = None
        self._handle: Any = None
        self._name, self._done = "", 0
        self._total: int | None = None
        self._next_at = 0.0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Shows the progress of this thread's work in the block."""
        self._thread, self._handle = threading.get_ident(), None
        self._next_at = self._clock() + _DELAY_SECONDS
        try:
            yield
        finally:
            self._thread = None
            if self._handle is not None:
                self._handle.update(_Line(""))

    def phase(self, name: str, total: int | None = None) -> None:
        """See `Progress`."""
        if self._is_watched():
            self._name, self._done, self._total = name, 0, total
            self._show()

    def advance(self, amount: int) -> None:
        """See `Progress`."""
        if self._is_watched():
            self._done += amount
            self._show()

    def _is_watched(self) -> bool:
        return threading.get_ident() == self._thread

    def _show(self) -> None:
        now = self._clock()
        if now < self._next_at:
            return
        self._next_at = now + _PAUSE
        text = self._name
        if self._total:
            text += f": {min(1.0, self._done / self._total):.0%} of {self._total:,}"
        elif self._done:
            text += f": {self._done:,}"
        if self._handle is None:
            self._handle = self._display(text)
        else:
            self._handle.update(_Line(text))


class _Line:
    """A text that notebooks show in small print."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from html import escape

        return f"<small>{escape(self.text)}</small>"


def _display(text: str) -> Any:
    from IPython import display

    show: Callable[..., Any] = display.display
    return show(_Line(text), display_id=True)


_KEPT = "_gpugda_notebook"


def load_ipython_extension(shell: Any) -> None:
    """Registers the magics; called by ``%load_ext gpugda``."""
    from IPython.core.magic import needs_local_scope, no_var_expand

    notebook = NotebookCypher(shell)
    setattr(shell, _KEPT, notebook)
    # Otherwise IPython replaces $name and {name} in the line by their printed values.
    for function in (NotebookCypher.connect, NotebookCypher.cypher):
        no_var_expand(needs_local_scope(function))
    _format_graphs(shell, html_of)
    shell.register_magic_function(notebook.connect, "line", "gpugda_connect")
    shell.register_magic_function(notebook.cypher, "line_cell", "cypher")


def unload_ipython_extension(shell: Any) -> None:
    """Closes the connection; called by ``%unload_ext gpugda``."""
    _format_graphs(shell, None)
    notebook = getattr(shell, _KEPT, None)
    if notebook is not None:
        notebook.close()


def _format_graphs(shell: Any, html_of: Callable[[Any], str | None] | None) -> None:
    """Makes IPython draw a result's graph as a cell's last value if neo4j-viz is installed."""
    formatter = shell.display_formatter.formatters["text/html"]
    if html_of is not None:
        formatter.for_type(Graph, html_of)
    elif Graph in formatter:
        formatter.pop(Graph)


class NotebookCypher:
    """The connection of a notebook, and the magics that use it.

    Args:
        shell: IPython's shell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._accelerator: Accelerator | None = None
        self._is_ours = False
        self._progress = NotebookProgress()

    def connect(self, line: str, local_ns: Mapping[str, Any] | None = None) -> Accelerator:
        """Connects this notebook to a database or graph.

        %gpugda_connect [-u USER] [-d DATABASE] [--freshness POLICY] [SOURCE]

        SOURCE is bolt://…, neo4j://…, sample:wordnet, a file, or a variable of the notebook: a
        neo4j.Driver, an Accelerator, or what gpugda.graph(…) gives. Default: GPUGDA_SOURCE or
        NEO4J_URI. $name stands for a variable in every place. The password is NEO4J_PASSWORD, or is
        asked for where a user is given. If it fails, the connection that there was is kept.
        """
        variables = self._variables(local_ns)
        given = _CONNECT.read(words_of(line, variables))
        source = source_named(given.source, variables)
        if isinstance(source, Accelerator):
            self._use(self._checked(source, given), is_ours=False)
            return source
        try:
            made = self._connected(default_source() if source is None else source, given)
        except Error as error:
            refuse(error)
        self._use(made, is_ours=True)
        return made

    def cypher(
        self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None
    ) -> Any:
        """Runs Cypher; ``$name`` is the notebook's variable of that name.

        %%cypher [-o NAME] [-e ENGINE] [--timeout SECONDS] [--graph [--caption KEY] [--size KEY]]
        MATCH …

        -o keeps the result in a variable; -e is auto, gpu, native or reference; --graph draws nodes
        and relationships instead of a table (gpugda[notebook]), captioned by the property --caption
        and sized by --size. EXPLAIN and PROFILE show the plan. ``%cypher MATCH …`` runs one line.
        Values of variables are parameters: they never become part of the text.
        """
        variables = self._variables(local_ns)
        text = line if cell is None else cell
        given = _CYPHER.read([] if cell is None else words_of(line, variables))
        named = parameter_names(text) or ()
        values = {name: variables[name] for name in named if name in variables}
        run = gpugda.api.run if self._accelerator is None else self._accelerator.run
        try:
            with self._progress.shown():
                result = run(text, values, engine=given.engine, timeout=given.timeout)
            if given.output:
                self._shell.user_ns[given.output] = result
            if not given.graph:
                return result
            return drawing(result.graph(), given.caption, given.size)
        except Error as error:
            refuse(error)

    def close(self) -> None:
        """Ends the connection; an accelerator that the user's code made stays open."""
        if self._accelerator is not None and self._is_ours:
            self._accelerator.close()
        self._accelerator = None

    # ------------------------------------------------------------------ inside
    def _connected(self, source: Any, given: Namespace) -> Accelerator:
        with self._progress.shown():
            return gpugda.api.connect(source, progress=self._progress, **_options(given))

    def _variables(self, local_ns: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Variables of the notebook, and of the function that contains a line magic."""
        return {**self._shell.user_ns, **(local_ns or {})}

    def _use(self, accelerator: Accelerator, *, is_ours: bool) -> None:
        if accelerator is self._accelerator:
            return
        self.close()
        self._accelerator, self._is_ours = accelerator, is_ours

    def _checked(self, accelerator: Accelerator, given: Namespace) -> Accelerator:
        if given.user or given.database or given.freshness:
            refuse("an Accelerator is connected already: -u, -d and --freshness are not for it.")
        if accelerator.closed:
            refuse("this Accelerator is closed; connect again.")
        return accelerator


def _options(given: Namespace) -> dict[str, Any]:
    options: dict[str, Any] = {"database": given.database, "freshness": given.freshness}
    if given.user:
        options["auth"] = (given.user, _password(given.user))
    return {name: value for name, value in options.items() if value is not None}


def _password(user: str) -> str:
    return os.environ.get("NEO4J_PASSWORD") or getpass(f"Password of {user}: ")


_CONNECT = Arguments("gpugda_connect")
_CONNECT.add_argument("source", nargs="?")
_CONNECT.add_argument("-u", "--user")
_CONNECT.add_argument("-d", "--database")
_CONNECT.add_argument("--freshness")

_CYPHER = Arguments("cypher")
_CYPHER.add_argument("-o", "--output")
_CYPHER.add_argument("-e", "--engine", default="auto")
_CYPHER.add_argument("--timeout", type=float)
_CYPHER.add_argument("--graph", action="store_true")
_CYPHER.add_argument("--caption")
_CYPHER.add_argument("--size")
