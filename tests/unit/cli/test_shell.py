from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from neo4j.exceptions import ClientError, ServiceUnavailable

from gpugda.cli.options import ServerOptions, SourceOptions
from gpugda.cli.run import OutputOptions, QueryOptions
from gpugda.cli.script import Left
from gpugda.cli.shell import ShellSession, converse
from gpugda.errors import CypherSyntaxError, QueryTimeoutError, SourceError
from gpugda.query.statements import Entry
from gpugda.types import Span

SHELL = ("shell", "-a", "sample:wordnet")
ROWS = 'n, name\n1, "Ann"\n2, NULL\n'


class Typist:
    """A fake user, who types texts, presses Ctrl-C for an error, and Ctrl-D at the end."""

    def __init__(self, *texts):
        self.texts = list(texts)

    def read(self, prompt):
        if not self.texts:
            raise EOFError
        text = self.texts.pop(0)
        if isinstance(text, BaseException):
            raise text
        return text


@pytest.fixture
def session(accelerator):
    made = ShellSession(SourceOptions("bolt://host"), QueryOptions(None), OutputOptions())
    made.open()
    return made


def failing(accelerator, *errors):
    """Makes calls fail with the errors in turn. None stands for a call that succeeds."""
    waiting = list(errors)
    run = accelerator.run

    def fail(*arguments, **options):
        accelerator.error = waiting.pop(0) if waiting else None
        return run(*arguments, **options)

    accelerator.run = fail


# ------------------------------------------------------------------ standard input
def test_statements_of_standard_input_run_in_order(accelerator, gpugda_command):
    asked = []
    run = accelerator.run
    accelerator.run = lambda text, *rest, **more: (asked.append(text), run(text, *rest, **more))[1]
    outcome = gpugda_command(*SHELL, input="RETURN ';';\n:param x => 1\nRETURN\n  $x; RETURN 3")
    assert outcome.exit_code == 0
    assert outcome.stdout == ROWS * 3
    assert outcome.stderr == ""
    assert asked == ["RETURN ';'", "RETURN\n  $x", "RETURN 3"]
    assert accelerator.ran[1] == {"x": 1}
    assert accelerator.closed


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (CypherSyntaxError("no", "RETURN x", Span(7, 8)), 1, "  RETURN x\n         ^"),
        (SourceError("gone"), 3, "gone"),
        (QueryTimeoutError("too slow"), 5, "too slow"),
        (KeyboardInterrupt(), 130, "cancelled"),
        (
            ClientError._basic_hydrate(
                neo4j_code="Neo.ClientError.Statement.SyntaxError", message="no such thing"
            ),
            1,
            "no such thing (Neo.ClientError.Statement.SyntaxError)",
        ),
        (ServiceUnavailable("the server left"), 3, "the server left"),
    ],
)
def test_the_first_error_ends_a_script(accelerator, gpugda_command, error, code, message):
    failing(accelerator, None, error)
    outcome = gpugda_command(*SHELL, input="RETURN 1;\n\nRETURN\n 2;\nRETURN 3;")
    assert outcome.exit_code == code
    assert outcome.stdout == ROWS
    assert message in outcome.stderr
    assert "in line 3 of standard input:" in outcome.stderr
    assert accelerator.ran[0] == "RETURN\n 2"
    assert accelerator.closed


def test_a_wrong_command_ends_a_script(accelerator, gpugda_command):
    outcome = gpugda_command(*SHELL, input=":begin\nRETURN 1;")
    assert outcome.exit_code == 2
    assert ":begin is no command" in outcome.stderr
    assert accelerator.ran is None


def test_exit_ends_a_script(accelerator, gpugda_command):
    outcome = gpugda_command(*SHELL, input="RETURN 1;\n:exit\nRETURN 2;")
    assert outcome.exit_code == 0
    assert outcome.stdout == ROWS


def test_a_file_runs_with_the_given_options(accelerator, gpugda_command, tmp_path):
    file = tmp_path / "queries.cypher"
    file.write_text("RETURN $a;\nRETURN 2;\n", encoding="utf-8-sig")
    options = ("-P", "a=1", "--engine", "gpu", "--timeout", "3", "--format", "csv", "--device", "1")
    outcome = gpugda_command(*SHELL, "-f", str(file), *options)
    assert outcome.stdout == "n,name\n1,Ann\n2,\n" * 2
    assert accelerator.ran == (
        "RETURN 2",
        {"a": 1},
        {"engine": "gpu", "strategy": None, "timeout": 3.0},
    )
    assert accelerator.connected[1]["device"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-f", "missing.cypher"), "missing.cypher"),
        (("--format", "arrow"), "gpugda run --format arrow"),
        (("-P", "x"), "name=value"),
    ],
)
def test_wrong_arguments_are_refused(accelerator, gpugda_command, arguments, message):
    outcome = gpugda_command(*SHELL, *arguments, input="")
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert accelerator.connected is None


def test_standard_input_that_is_not_utf8_is_refused(accelerator, gpugda_command):
    outcome = gpugda_command(*SHELL, input=b"RETURN 1;\nRETURN '\xff';\n")
    assert outcome.exit_code == 2
    assert "standard input is not UTF-8" in outcome.stderr


# ------------------------------------------------------------------ an interactive session
def test_errors_and_ctrl_c_do_not_end_a_session(accelerator, session, capsys):
    failing(accelerator, CypherSyntaxError("no", "RETURN x", Span(7, 8)), KeyboardInterrupt())
    typist = Typist(
        "RETURN x; RETURN 'never';",
        KeyboardInterrupt(),
        "RETURN 2;",
        ":nonsense",
        "",
        "RETURN 3; RETURN 4;",
    )
    converse(session, typist)
    shown = capsys.readouterr()
    assert shown.out == ROWS * 2
    assert "  RETURN x\n         ^" in shown.err
    assert "cancelled" in shown.err
    assert ":nonsense is no command" in shown.err
    assert accelerator.ran[0] == "RETURN 4"


def test_an_internal_error_is_shown_and_does_not_end_a_session(accelerator, session, caplog):
    failing(accelerator, ZeroDivisionError("a fault"))
    converse(session, Typist("RETURN 1;", "RETURN 2;"))
    assert "a fault" in caplog.text
    assert accelerator.ran[0] == "RETURN 2"


def test_a_closed_output_ends_a_session(accelerator, session):
    failing(accelerator, BrokenPipeError())
    with pytest.raises(BrokenPipeError):
        converse(session, Typist("RETURN 1;", "RETURN 2;"))


def test_exit_ends_a_session(session):
    with pytest.raises(Left):
        converse(session, Typist(":exit", AssertionError()))


# ------------------------------------------------------------------ commands
def command(session, text):
    session.run(Entry(text, 1))


def test_parameters_are_set_listed_and_cleared(accelerator, session, capsys):
    command(session, ":param a => 1")
    command(session, ":param {b: 'x', `c d`: [1.5, null]}")
    command(session, ":PARAM a=2")
    command(session, ":params")
    assert capsys.readouterr().out == 'a => 2\nb => "x"\nc d => [1.5, NULL]\n'
    session.run(Entry("RETURN $a", 1))
    assert accelerator.ran[1] == {"a": 2, "b": "x", "c d": [1.5, None]}
    command(session, ":param clear")
    command(session, ":param")
    session.run(Entry("RETURN 1", 1))
    assert accelerator.ran[1] == {}


def test_engine_chooses_the_engine(accelerator, session, capsys):
    command(session, ":engine native")
    command(session, ":engine")
    assert capsys.readouterr().out == "native\n"
    session.run(Entry("RETURN 1", 1))
    assert accelerator.ran[2]["engine"] == "native"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (":engine fast", "auto, gpu, native, reference"),
        (":timing perhaps", "on, off"),
        (":param x", ":param 'x' is no parameter"),
        (":param x => foo(1)", "is no value"),
        (":use", "name of a database"),
        (":source", "name of a file"),
        (":source missing.cypher", "missing.cypher"),
        (":commit", "no command"),
    ],
)
def test_wrong_commands_change_nothing(accelerator, session, capsys, text, message):
    converse(session, Typist(text, "RETURN 1;"))
    assert message in capsys.readouterr().err
    assert accelerator.ran == (
        "RETURN 1",
        {},
        {"engine": "auto", "strategy": None, "timeout": None},
    )


def test_timing_shows_the_summary(session, capsys):
    for text, shown in ((":timing on", True), (":timing off", False), (":timing", True)):
        command(session, text)
        session.run(Entry("RETURN 1", 1))
        assert ("engine reference" in capsys.readouterr().err) == shown


def test_explain_status_refresh_and_help_print_their_output(accelerator, session, capsys):
    command(session, ":explain MATCH (n)\nRETURN n")
    command(session, ":status")
    command(session, ":refresh")
    command(session, ":help")
    shown = capsys.readouterr().out
    assert shown.startswith("the plan of MATCH (n)\nRETURN n\n")
    assert "1,234" in shown
    assert accelerator.refreshed == 1
    named = set(re.findall(r"^(:\w+)", shown, re.MULTILINE))
    assert named >= {":help", ":exit", ":param", ":params", ":engine", ":explain", ":use"}
    assert named >= {":status", ":refresh", ":timing", ":source"}


def test_use_keeps_the_database_if_another_cannot_be_opened(accelerator, session, monkeypatch):
    command(session, ":use `other`")
    assert accelerator.connected[1]["database"] == "other"
    assert accelerator.closed
    accelerator.closed = False
    monkeypatch.setattr(sys.modules["gpugda.api"], "connect", failed_to_connect)
    converse(session, Typist(":use third", "RETURN 1;"))
    assert not accelerator.closed
    assert accelerator.ran[0] == "RETURN 1"


def failed_to_connect(*arguments, **options):
    raise SourceError("no such database")


def test_use_needs_a_server(accelerator, capsys):
    session = ShellSession(SourceOptions("sample:wordnet"), QueryOptions(None), OutputOptions())
    session.open()
    converse(session, Typist(":use other"))
    assert "one graph" in capsys.readouterr().err


def test_the_password_is_asked_for_once(accelerator, monkeypatch):
    asked = []
    monkeypatch.setattr(ServerOptions, "secret", lambda self: self.password or ask(asked))
    source = SourceOptions("bolt://host", server=ServerOptions(username="ann"))
    session = ShellSession(source, QueryOptions(None), OutputOptions())
    session.open()
    command(session, ":use other")
    assert accelerator.connected[1]["auth"] == ("ann", "secret")
    assert len(asked) == 1


def ask(asked):
    asked.append(True)
    return "secret"


def test_source_runs_a_file_up_to_its_first_error(accelerator, session, capsys, tmp_path):
    file = tmp_path / "my queries.cypher"
    file.write_text(":param x => 5\nRETURN 1;\nRETURN 2;\nRETURN 3;\n")
    failing(accelerator, None, SourceError("gone"))
    converse(session, Typist(f":source {file}", "RETURN $x;"))
    shown = capsys.readouterr()
    assert shown.out == ROWS * 2
    assert f"in line 3 of {file}:\ngpugda: gone" in shown.err
    assert accelerator.ran[:2] == ("RETURN $x", {"x": 5})


def test_a_file_that_runs_itself_is_refused(accelerator, session, capsys, tmp_path):
    file = tmp_path / "a.cypher"
    file.write_text(f":source {file}\n")
    converse(session, Typist(f":source {file}"))
    assert "being run already" in capsys.readouterr().err


# ------------------------------------------------------------------ on a terminal
def read_until(terminal, pattern, seconds=60.0):
    """The output of the terminal up to the pattern."""
    text, ends = "", time.monotonic() + seconds
    while time.monotonic() < ends:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                text += os.read(terminal, 65_536).decode(errors="replace")
            except OSError:  # the terminal is closed
                break
            if re.search(pattern, text):
                time.sleep(0.5)  # the prompt is drawn before the terminal reads single keys
                return text
    raise AssertionError(f"no {pattern!r} in {text[-500:]!r}")


def press_until_it_ends(terminal, key, process, seconds=60.0):
    ends = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < ends:
        os.write(terminal, key)
        time.sleep(0.5)


@pytest.fixture
def shell_on_a_terminal(tmp_path):
    ours, theirs = pty.openpty()
    state = {"XDG_STATE_HOME": str(tmp_path), "TERM": "dumb", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-m", "gpugda", "shell", "-a", "sample:wordnet", "--device", "cpu"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, **state},
    )
    os.close(theirs)
    yield process, ours
    process.kill()
    process.wait()
    os.close(ours)


LONG = (
    b"MATCH (a)--(b)--(c)--(d)--(e)--(f)--(g)--(h) "
    b"WHERE a.name < h.name AND b.name < g.name AND c.name < f.name RETURN count(*);"
)


@pytest.mark.slow
def test_ctrl_c_stops_only_the_running_query(shell_on_a_terminal):
    process, terminal = shell_on_a_terminal
    read_until(terminal, r"gpugda> ")
    os.write(terminal, LONG + b"\r")
    read_until(terminal, r"count\(\*\);\s*\n")  # the query was entered
    time.sleep(3.0)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    # Other tests measure how soon a query ends.
    read_until(terminal, r"cancelled[\s\S]*gpugda> ")
    os.write(terminal, b"MATCH (w:Word {name: 'dog'})-[:HAS_SENSE]->(s) RETURN count(*) AS n;\r")
    assert re.search(r"8\s+│", read_until(terminal, r"1 row in [\s\S]*gpugda> "))
    press_until_it_ends(terminal, b"\x04", process)
    assert process.returncode == 0
