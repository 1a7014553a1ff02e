"""Cypher in notebooks: ``%load_ext gpugda``, ``%gpugda_connect`` and ``%%cypher``."""

from __future__ import annotations

import os
from getpass import getpass
from typing import TYPE_CHECKING, Any

from neo4j.graph import Graph

import gpugda.api
from gpugda.accelerate import notebook_graph
from gpugda.accelerate.notebook_progress import NotebookProgress
from gpugda.accelerate.notebook_words import Arguments, refuse, source_named, words_of
from gpugda.accelerator import Accelerator
from gpugda.config import default_source
from gpugda.query.reads import parameter_names
from gpugda.result.any_error import Error

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Mapping

__all__ = ["NotebookCypher", "load_ipython_extension", "unload_ipython_extension"]

_KEPT = "_gpugda_notebook"


def load_ipython_extension(shell: Any) -> None:
    """Registers the magics; called by ``%load_ext gpugda``."""
    from IPython.core.magic import needs_local_scope, no_var_expand

    notebook = NotebookCypher(shell)
    setattr(shell, _KEPT, notebook)
    # Otherwise IPython replaces $name and {name} in the line by their printed values.
    for function in (NotebookCypher.connect, NotebookCypher.cypher):
        no_var_expand(needs_local_scope(function))
    _format_graphs(shell, notebook_graph.html_of)
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
            return notebook_graph.drawing(result.graph(), given.caption, given.size)
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
