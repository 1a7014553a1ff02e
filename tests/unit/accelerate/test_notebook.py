from __future__ import annotations

import warnings

import pytest

import gpugda
from gpugda.result.result import Result

pytest.importorskip("IPython", reason="IPython is not installed")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # IPython's own imports
    from IPython.core.error import UsageError
    from IPython.core.interactiveshell import InteractiveShell

from gpugda.accelerate.notebook import (
    load_ipython_extension,
    parameters_in,
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
    """What the notebook connects to."""
    graph = gpugda.graph(nodes={"id": [1, 2], "name": ["Ann", "Bo"]})
    accelerators = []

    def connect(source, **options):
        accelerators.append((gpugda.Accelerator(graph), source, options))
        return accelerators[-1][0]

    monkeypatch.setattr("gpugda.api.connect", connect)
    yield accelerators
    for accelerator, _, _ in accelerators:
        accelerator.close()


def test_a_cell_runs_with_the_notebooks_variables(shell, people):
    shell.user_ns.update(wanted="Bo", unused=object())
    shell.run_line_magic("gpugda_connect", "'bolt://somewhere' -d people")
    assert people[0][1:] == ("bolt://somewhere", {"freshness": "strict", "database": "people"})
    cell = "MATCH (n) WHERE n.name = $wanted RETURN n.id AS id // $unused"
    result = shell.run_cell_magic("cypher", "-o found -e reference", cell)
    assert isinstance(result, Result)
    assert shell.user_ns["found"] is result
    html = result._repr_html_()
    assert "<td>2</td>" in html
    assert "engine reference" in html


def test_a_line_runs(shell, people):
    shell.run_line_magic("gpugda_connect", "x")
    people[0][0].run = lambda text, values, **options: (text, options["engine"])
    assert shell.run_line_magic("cypher", "RETURN -1") == ("RETURN -1", "auto")


def test_connecting_again_closes_the_first(shell, people):
    shell.run_line_magic("gpugda_connect", "x")
    shell.run_line_magic("gpugda_connect", "y")
    assert [each[0].closed for each in people] == [True, False]
    unload_ipython_extension(shell)
    assert people[1][0].closed


def test_the_password_is_asked_for(shell, people, monkeypatch):
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
def test_mistakes_are_told_in_a_sentence(shell, magic, line, message):
    with pytest.raises(UsageError, match=message):
        shell.run_line_magic(magic, line)


def test_parameters():
    text = "MATCH (n {a: $x, b: $`y z`}) WHERE '$no' = $1 AND $x > 0 RETURN n /* $no */"
    assert parameters_in(text) == ["x", "y z", "1"]
    assert parameters_in("RETURN 'open $x") == []
