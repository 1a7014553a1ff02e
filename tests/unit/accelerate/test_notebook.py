from __future__ import annotations

import threading
import warnings

import neo4j
import pytest

import gpugda
from gpugda.result.result import Result

pytest.importorskip("IPython", reason="IPython is not installed")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # IPython's own imports
    from IPython.core.error import UsageError
    from IPython.core.interactiveshell import InteractiveShell

from gpugda.accelerate.notebook import (
    NotebookProgress,
    load_ipython_extension,
    unload_ipython_extension,
)


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.delenv("GPUGDA_SOURCE", raising=False)
    made = InteractiveShell()
    load_ipython_extension(made)
    yield made
    unload_ipython_extension(made)
    made.history_manager.end_session()


@pytest.fixture
def people(monkeypatch):
    """The accelerators that the notebook connected to, each with its source and options."""
    graph = gpugda.graph(nodes={"id": [1, 2], "name": ["Ann", "Bo"]})
    accelerators = []

    def connect(source, progress, **options):
        assert callable(progress.advance)
        accelerators.append((gpugda.Accelerator(graph), source, options))
        return accelerators[-1][0]

    monkeypatch.setattr("gpugda.api.connect", connect)
    yield accelerators
    for accelerator, _, _ in accelerators:
        accelerator.close()


def test_a_cell_takes_parameters_from_notebook_variables(shell, people):
    shell.user_ns.update(wanted="Bo", unused=object())
    shell.run_line_magic("gpugda_connect", "'bolt://somewhere' -d people")
    assert people[0][1:] == ("bolt://somewhere", {"database": "people"})
    cell = "MATCH (n) WHERE n.name = $wanted RETURN n.id AS id // $unused"
    result = shell.run_cell_magic("cypher", "-o found -e reference", cell)
    assert isinstance(result, Result)
    assert shell.user_ns["found"] is result
    html = result._repr_html_()
    assert "<td>2</td>" in html
    assert "engine reference" in html


def test_a_line_magic_runs_a_query(shell, people):
    shell.run_line_magic("gpugda_connect", "x")
    people[0][0].run = lambda text, values, **options: (text, options["engine"])
    assert shell.run_line_magic("cypher", "RETURN -1") == ("RETURN -1", "auto")


def test_connecting_again_closes_the_first(shell, people):
    shell.run_line_magic("gpugda_connect", "x")
    shell.run_line_magic("gpugda_connect", "y")
    assert [each[0].closed for each in people] == [True, False]
    unload_ipython_extension(shell)
    assert people[1][0].closed


def test_the_password_is_asked_for_if_only_a_user_is_given(shell, people, monkeypatch):
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)
    monkeypatch.setattr("gpugda.accelerate.notebook.getpass", lambda prompt: "secret")
    shell.run_line_magic("gpugda_connect", "x -u ann")
    assert people[0][2]["auth"] == ("ann", "secret")


@pytest.mark.parametrize(
    ("magic", "line", "message"),
    [
        ("gpugda_connect", "", "No data source is configured"),
        ("gpugda_connect", "--wrong", "unrecognized arguments"),
        ("gpugda_connect", "'", "quotation"),
        ("cypher", "RETURN 1", "No data source is configured"),
    ],
)
def test_usage_errors_are_one_sentence(shell, magic, line, message):
    with pytest.raises(UsageError, match=message):
        shell.run_line_magic(magic, line)


# ------------------------------------------------------------------ cells that run as typed text
INJECTION = "nobody' OR 'a' = 'a"


@pytest.mark.parametrize("value", ["Bo", INJECTION, "'; MATCH (n) //", "{wanted}", 1, ["Bo"], None])
def test_values_of_a_line_are_parameters_and_never_text(shell, people, value):
    shell.user_ns["wanted"] = value
    shell.run_line_magic("gpugda_connect", "x")
    done = shell.run_cell(
        "%cypher MATCH (n) WHERE n.name = $wanted OR n.name = '$wanted' RETURN count(*) AS n"
    )
    assert done.result.single()["n"] == (1 if value == "Bo" else 0)
    done = shell.run_cell("found = %cypher MATCH (n {name: $wanted}) RETURN count(*) AS n")
    assert done.success
    assert shell.user_ns["found"].single()["n"] == (1 if value == "Bo" else 0)


def test_braces_in_a_line_are_not_expanded(shell, people):
    shell.user_ns.update(name="Bo", n=7)
    shell.run_line_magic("gpugda_connect", "x")
    done = shell.run_cell("%cypher MATCH (n {name: 'Ann'}) RETURN '{n} $n {{n}} $$n' AS text")
    assert done.result.values() == [["{n} $n {{n}} $$n"]]


def test_a_line_in_a_function_reads_local_variables(shell, people):
    shell.run_line_magic("gpugda_connect", "x")
    shell.run_cell(
        "def one(wanted):\n    found = %cypher MATCH (n {name: $wanted}) RETURN n.id AS id\n"
        "    return found\n"
        "found = one('Bo').value()"
    )
    assert shell.user_ns["found"] == [2]


def test_the_source_may_be_a_variable_with_an_object(shell, people):
    graph = gpugda.graph(nodes={"id": [1, 2, 3]})
    shell.user_ns.update(mine=graph, user="ann", database="people")
    shell.run_cell("%gpugda_connect mine")
    shell.run_cell("%gpugda_connect $mine -d {database}")
    assert [(source, options) for _, source, options in people] == [
        (graph, {}),
        (graph, {"database": "people"}),
    ]


def test_a_given_accelerator_is_used_and_left_open(shell):
    with gpugda.connect(gpugda.graph(nodes={"id": [1, 2, 3]})) as mine:
        shell.user_ns["mine"] = mine
        assert shell.run_line_magic("gpugda_connect", "mine") is mine
        assert shell.run_line_magic("gpugda_connect", "mine") is mine
        done = shell.run_cell("%cypher MATCH (n) RETURN count(*) AS n")
        assert done.result.values() == [[3]]
        unload_ipython_extension(shell)
        assert not mine.closed
        with pytest.raises(UsageError, match="not for it"):
            shell.run_line_magic("gpugda_connect", "mine -d other")
    with pytest.raises(UsageError, match="closed"):
        shell.run_line_magic("gpugda_connect", "mine")


def test_a_name_of_both_a_variable_and_a_file_is_refused(shell, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").touch()
    shell.user_ns["mine"] = object()
    with pytest.raises(UsageError, match=r"\$mine or \./mine"):
        shell.run_line_magic("gpugda_connect", "mine")
    with pytest.raises(UsageError, match="no variable 'yours'"):
        shell.run_line_magic("gpugda_connect", "$yours")


@pytest.mark.parametrize("source", ["/no/such/folder", "number", "bolt://127.0.0.1:1"])
def test_a_failed_connection_keeps_the_previous_one(shell, capsys, source):
    shell.user_ns.update(mine=gpugda.graph(nodes={"id": [1, 2, 3]}), number=7)
    shell.run_line_magic("gpugda_connect", "mine")
    assert not shell.run_cell(f"%gpugda_connect {source}").success
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count("\n") <= 2
    assert shell.run_line_magic("cypher", "MATCH (n) RETURN count(*) AS n").values() == [[3]]
    unload_ipython_extension(shell)


def test_a_syntax_error_shows_its_message_and_caret(shell, people, capsys):
    shell.run_line_magic("gpugda_connect", "x")
    capsys.readouterr()
    for cell in ("%cypher MATCH (n RETURN n", "%%cypher\nMATCH (n RETURN n"):
        assert not shell.run_cell(cell).success
        shown = capsys.readouterr()
        lines = (shown.out + shown.err).rstrip().splitlines()
        assert lines[0].startswith("UsageError: ")
        assert lines[-2].strip() == "MATCH (n RETURN n"
        assert lines[-1].strip() == "^" * len(lines[-1].strip())
        assert len(lines) == 3


def test_a_driver_error_shows_its_message_only(shell, people, capsys):
    shell.run_line_magic("gpugda_connect", "x")

    def run(*_, **__):
        raise neo4j.exceptions.ServiceUnavailable("the server is gone")

    people[0][0].run = run
    capsys.readouterr()
    shell.run_cell("%cypher RETURN 1")
    assert capsys.readouterr().err == "UsageError: the server is gone\n"


def test_a_time_limit_may_be_a_variable(shell, people):
    shell.run_line_magic("gpugda_connect", "x")
    people[0][0].run = lambda text, values, **options: options["timeout"]
    shell.user_ns["limit"] = 2.5
    assert shell.run_cell_magic("cypher", "--timeout $limit", "RETURN 1") == 2.5
    with pytest.raises(UsageError, match="unrecognized"):
        shell.run_cell_magic("cypher", "--time 3", "RETURN 1")


# ------------------------------------------------------------------ drawings and progress
PAIR = "MATCH (a)-[r]->(b) RETURN a, r, b"


@pytest.fixture
def pairs(shell):
    nodes = {
        "id": ["x", "y"],
        "labels": ["Person", "City"],
        "name": ["Ann", "Bern"],
        "age": [7, None],
    }
    relationships = {"source": ["x"], "target": ["y"], "type": ["LIVES_IN"]}
    with gpugda.connect(gpugda.graph(nodes, relationships)) as mine:
        shell.user_ns["mine"] = mine
        shell.run_line_magic("gpugda_connect", "mine")
        yield mine


def test_graph_results_are_drawn(shell, pairs):
    pytest.importorskip("neo4j_viz", reason="neo4j-viz is not installed")
    drawn = shell.run_cell_magic("cypher", "--graph -o kept", PAIR).data
    assert "LIVES_IN" in drawn
    assert "Bern" in drawn
    html = shell.display_formatter.format(pairs.run(PAIR).graph())[0]["text/html"]
    assert "LIVES_IN" in html
    assert isinstance(shell.user_ns["kept"], Result)
    unload_ipython_extension(shell)
    assert "text/html" not in shell.display_formatter.format(pairs.run(PAIR).graph())[0]


def test_drawn_nodes_are_captioned_by_name_and_sized_on_request(shell, pairs):
    pytest.importorskip("neo4j_viz", reason="neo4j-viz is not installed")
    drawn = str(shell.run_cell_magic("cypher", "--graph", PAIR).data)
    assert '"caption":"Ann"' in drawn.replace('": "', '":"').replace('\\"', '"')
    drawn = str(shell.run_cell_magic("cypher", "--graph --caption id --size age", PAIR).data)
    assert '"caption":"x"' in drawn.replace('": "', '":"').replace('\\"', '"')
    with pytest.raises(UsageError, match=r"no node has a fitting property 'zip' for its caption"):
        shell.run_cell_magic("cypher", "--graph --caption zip", PAIR)
    with pytest.raises(UsageError, match=r"'name' for its size; there are age, id, name"):
        shell.run_cell_magic("cypher", "--graph --size name", PAIR)


def test_results_that_cannot_be_drawn_are_refused_with_a_reason(shell, pairs, monkeypatch):
    with pytest.raises(UsageError, match="no nodes to draw"):
        shell.run_cell_magic("cypher", "--graph", "MATCH (a) RETURN a.name AS n")
    monkeypatch.setattr("gpugda.accelerate.notebook.MAX_NODES", 1)
    with pytest.raises(UsageError, match="2 nodes, and at most 1 are drawn"):
        shell.run_cell_magic("cypher", "--graph", PAIR)
    monkeypatch.setattr("gpugda.accelerate.notebook.is_possible", lambda: False)
    with pytest.raises(UsageError, match=r"pip install gpugda\[notebook\]"):
        shell.run_cell_magic("cypher", "--graph", PAIR)
    assert "text/html" not in shell.display_formatter.format(pairs.run(PAIR).graph())[0]


class Handle:
    def __init__(self):
        self.lines = []

    def __call__(self, text):
        self.lines.append(text)
        return self

    def update(self, line):
        self.lines.append(repr(line))


def test_progress_is_one_line_that_is_cleared_at_the_end():
    now, handle = [0.0], Handle()
    progress = NotebookProgress(handle, lambda: now[0])
    progress.phase("reading nodes", 100)  # before a cell waits: not shown
    with progress.shown():
        progress.phase("reading nodes", 100)
        progress.advance(10)
        now[0] = 1.0
        progress.advance(15)
        progress.advance(15)
        now[0] = 2.0
        progress.phase("joining")
        other = threading.Thread(target=progress.phase, args=("in the background",))
        other.start()
        other.join()
        now[0] = 3.0
        progress.advance(2_000)
    progress.advance(1)
    assert handle.lines == ["reading nodes: 25% of 100", "joining", "joining: 2,000", ""]


def test_quick_work_shows_no_progress():
    handle = Handle()
    progress = NotebookProgress(handle, lambda: 0.0)
    with progress.shown():
        progress.phase("reading nodes", 100)
        progress.advance(100)
    assert handle.lines == []


def test_progress_is_printed_in_the_notebook(shell, monkeypatch, capsys):
    monkeypatch.setattr("gpugda.accelerate.notebook._DELAY_SECONDS", 0.0)
    shell.user_ns["graph"] = gpugda.graph(nodes={"id": [1, 2]})
    shell.run_cell("%gpugda_connect graph")
    assert "nodes" in capsys.readouterr().out
    unload_ipython_extension(shell)
