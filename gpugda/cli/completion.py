"""Tab in the shell: keywords, functions, commands, and the names of the opened graph."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion

from gpugda.expressions.functions import listed
from gpugda.query.lexer import KEYWORDS
from gpugda.query.render import name_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from gpugda.data.data_graph import DataGraph

__all__ = ["ShellCompleter"]

_WORD = re.compile(r"(?P<sign>[:|&!.]?)\s*`?(?P<word>[^\W\d][\w.]*|)\Z")
_COMMAND = re.compile(r"\s*(?P<word>:\w*)\Z")
_TYPE = re.compile(r"\[[^\])]*\Z")
"""Text that ends within a relationship's brackets."""


class ShellCompleter(Completer):
    """Completes the word before the cursor by what stands before it.

    Args:
        commands: The shell's own commands.
        graph: Returns the opened graph; None if none has been read.
    """

    def __init__(self, commands: Iterable[str], graph: Callable[[], DataGraph | None]) -> None:
        self._commands = sorted(commands)
        self._graph = graph
        self._words = sorted(KEYWORDS), [f"{each.name}(" for each in listed()]

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """The completions, those of the graph before those of the language."""
        before = document.text_before_cursor
        command = _COMMAND.fullmatch(before)
        if command is not None:
            yield from _starting(self._commands, command["word"])
            return
        found = _WORD.search(before)
        if found is None:
            return
        word, sign = found["word"], found["sign"]
        graph = self._graph()
        if sign or "." in word:
            if graph is not None:
                names = _names(graph, sign, within=_TYPE.search(before) is not None)
                yield from _starting(sorted(map(name_text, names)), word.rpartition(".")[2])
        elif word:
            keywords, functions = self._words
            lower = word[0].islower()
            yield from _starting([each.lower() if lower else each for each in keywords], word)
            yield from _starting(functions, word)


def _names(graph: DataGraph, sign: str, *, within: bool) -> Iterable[str]:
    """The property keys, types or labels that can follow a sign."""
    if sign in ("", "."):
        return {*graph.node_properties.columns, *graph.relationship_properties.columns}
    return graph.types.names if within else graph.labels.names


def _starting(names: Iterable[str], word: str) -> Iterator[Completion]:
    folded = word.casefold()
    for name in names:
        if name.lstrip("`").casefold().startswith(folded):
            yield Completion(name, -len(word))
