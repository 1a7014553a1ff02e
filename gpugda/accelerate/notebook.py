"""Cypher in notebooks: ``%load_ext gpugda``, ``%gpugda_connect`` and ``%%cypher``."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser
from getpass import getpass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import gpugda.api
from gpugda.config import default_source
from gpugda.errors import CypherSyntaxError, GpugdaError
from gpugda.query.lexer import tokenise

if TYPE_CHECKING:
    from gpugda.accelerator import Accelerator
    from gpugda.result.result import Result

__all__ = ["NotebookCypher", "load_ipython_extension", "parameters_in", "unload_ipython_extension"]

_KEPT = "_gpugda_notebook"


def load_ipython_extension(shell: Any) -> None:
    """Registers the magics; called by ``%load_ext gpugda``."""
    notebook = NotebookCypher(shell)
    setattr(shell, _KEPT, notebook)
    shell.register_magic_function(notebook.connect, "line", "gpugda_connect")
    shell.register_magic_function(notebook.cypher, "line_cell", "cypher")


def unload_ipython_extension(shell: Any) -> None:
    """Closes the connection; called by ``%unload_ext gpugda``."""
    notebook = getattr(shell, _KEPT, None)
    if notebook is not None:
        notebook.close()


class NotebookCypher:
    """The connection of a notebook, and the magics that use it.

    Args:
        shell: IPython's shell.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._accelerator: Accelerator | None = None

    def connect(self, line: str) -> Accelerator:
        """Connects this notebook to a database or graph.

        %gpugda_connect [-u USER] [-d DATABASE] [--freshness POLICY] [SOURCE]

        SOURCE is bolt://…, neo4j://…, sample:wordnet or a file, default GPUGDA_SOURCE or NEO4J_URI.
        The password is NEO4J_PASSWORD, or is asked for where a user is given.
        """
        given = _CONNECT.parse_args(_words(line))
        options: dict[str, Any] = {"freshness": given.freshness}
        if given.user:
            options["auth"] = (given.user, _password(given.user))
        if given.database:
            options["database"] = given.database
        self.close()
        try:
            source = given.source or default_source()
            self._accelerator = gpugda.api.connect(source, **options)
        except GpugdaError as error:
            _refuse(error)
        return self._accelerator

    def cypher(self, line: str, cell: str | None = None) -> Result:
        """Runs Cypher; ``$name`` is the notebook's variable of that name.

        %%cypher [-o NAME] [-e ENGINE] [--timeout SECONDS]
        MATCH …

        -o keeps the result in a variable; -e is auto, gpu, native or reference. ``%cypher MATCH …``
        runs one line.
        """
        text = line if cell is None else cell
        given = _CYPHER.parse_args([] if cell is None else _words(line))
        variables = self._shell.user_ns
        values = {name: variables[name] for name in parameters_in(text) if name in variables}
        run = gpugda.api.run if self._accelerator is None else self._accelerator.run
        try:
            result = run(text, values, engine=given.engine, timeout=given.timeout)
        except GpugdaError as error:
            _refuse(error)
        if given.output:
            variables[given.output] = result
        return result

    def close(self) -> None:
        """Ends the connection."""
        if self._accelerator is not None:
            self._accelerator.close()
            self._accelerator = None


def parameters_in(text: str) -> list[str]:
    """Names of the parameters of a query, each once; none where it is no Cypher."""
    try:
        tokens = tokenise(text)
    except CypherSyntaxError:
        return []  # whoever runs it says what is wrong
    return list(dict.fromkeys(after[1] for before, after in pairwise(tokens) if before[0] == "$"))


# ------------------------------------------------------------------ inside
class _Arguments(ArgumentParser):
    """A parser that does not end the notebook."""

    def error(self, message: str) -> NoReturn:
        _refuse(f"{message}; see %{self.prog}?")


def _refuse(reason: object) -> NoReturn:
    from IPython.core.error import UsageError  # shown without a traceback

    raise UsageError(str(reason)) from None


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        _refuse(error)


def _password(user: str) -> str:
    return os.environ.get("NEO4J_PASSWORD") or getpass(f"Password of {user}: ")


_CONNECT = _Arguments("gpugda_connect", add_help=False)
_CONNECT.add_argument("source", nargs="?")
_CONNECT.add_argument("-u", "--user")
_CONNECT.add_argument("-d", "--database")
_CONNECT.add_argument("--freshness", default="strict")

_CYPHER = _Arguments("cypher", add_help=False)
_CYPHER.add_argument("-o", "--output")
_CYPHER.add_argument("-e", "--engine", default="auto")
_CYPHER.add_argument("--timeout", type=float)
