from __future__ import annotations

import pytest
from graphs import make_graph
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from gpugda.cli.completion import ShellCompleter
from gpugda.cli.terminal import Terminal, is_complete


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("RETURN 1;", True),
        ("RETURN 1; // done", True),
        ("RETURN 1", False),
        ("RETURN ';", False),
        ("RETURN 1; RETURN", False),
        ("/* open", False),
        (":status", True),
        (":explain RETURN 1", False),
        (":explain RETURN 1;", True),
        ("", True),
    ],
)
def test_enter_runs_complete_statements(text, complete):
    assert is_complete(text) == complete


@pytest.fixture
def typed():
    with create_pipe_input() as keys:
        terminal = Terminal(InMemoryHistory(), keys, DummyOutput())

        def read(text):
            keys.send_text(text)
            return terminal.read("> ")

        yield read


def test_a_statement_may_have_several_lines(typed):
    assert typed("MATCH (n)\rRETURN ';'\r;\r") == "MATCH (n)\nRETURN ';'\n;"


def test_the_arrow_key_recalls_the_last_statement(typed):
    assert typed("RETURN\r1;\r") == "RETURN\n1;"
    assert typed("\x1b[A\x1b[A\r") == "RETURN\n1;"


def test_ctrl_c_discards_the_text(typed):
    with pytest.raises(KeyboardInterrupt):
        typed("RETURN 'a\x03")
    assert typed("RETURN 1;\r") == "RETURN 1;"


def test_ctrl_d_ends_the_session(typed):
    with pytest.raises(EOFError):
        typed("\x04")


COMPLETED = {
    ":st": [":status"],
    "MAT": ["MATCH"],
    "match (n:Pers": ["Person"],
    "match (n:Person|": ["Person", "`Two words`"],
    "match ()-[:KN": ["KNOWS"],
    "match ()-[r:KNOWS]->(n:Two": ["`Two words`"],
    "return n.na": ["name"],
    "return n.": ["name", "since"],
    "return toUpp": ["toUpper("],
    "return 'x' ": [],
}


@pytest.mark.parametrize("text", COMPLETED)
def test_tab_completes_names_of_the_graph_and_of_the_language(text):
    nodes = [("Person", {"name": "a"}), ("Two words", {})]
    graph = make_graph(nodes, [(0, "KNOWS", 1, {"since": 1})])
    completer = ShellCompleter([":status", ":help"], lambda: graph)
    found = completer.get_completions(Document(text), CompleteEvent())
    assert [each.text for each in found] == COMPLETED[text]


def test_without_a_graph_tab_completes_the_language_alone():
    completer = ShellCompleter([], lambda: None)
    assert not list(completer.get_completions(Document("match (n:P"), CompleteEvent()))
