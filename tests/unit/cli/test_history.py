from __future__ import annotations

import stat

import pytest
from prompt_toolkit.history import InMemoryHistory

from gpugda.cli.terminal import MAX_ENTRIES, FileHistory, open_history
from gpugda.query.statements import is_secret


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.delenv("GPUGDA_CACHE_DIR", raising=False)
    return tmp_path / "a" / "gpugda"


def kept(folder):
    return list(open_history(folder).load_history_strings())


def test_history_is_read_newest_first(state):
    history = open_history(state)
    for text in ("RETURN 1;", "RETURN\n  'ä\\n', \"\u2028\";", ":status"):
        history.append_string(text)
    assert kept(state) == [":status", "RETURN\n  'ä\\n', \"\u2028\";", "RETURN 1;"]


def test_the_history_file_is_private(state):
    open_history(state).append_string("RETURN 1;")
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "shell-history").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text",
    [
        ":param name => 'Ann'",
        "  :PARAMS {a: 1}",
        "RETURN 1;\n:param x => 1",
        "CREATE USER ann SET PASSWORD 'secret';",
        "ALTER CURRENT USER SET\nPassword FROM 'a' TO 'b';",
        "LOAD CSV FROM 'https://ann:secret@example.org/x' AS line RETURN line;",
    ],
)
def test_parameters_and_passwords_are_not_stored(state, text):
    assert is_secret(text)
    history = open_history(state)
    history.append_string(text)
    assert kept(state) == []
    assert list(history.get_strings()) == [text]  # the arrow keys still recall it


def test_queries_that_resemble_secrets_are_stored():
    assert not is_secret("MATCH (n {`:param`: 1}) RETURN 'a@b', n.parameter; :explain RETURN 1;")


def test_blank_lines_are_looked_at_once():
    assert not is_secret("\n" * 200_000 + "RETURN 1")  # minutes, if from each line to the last
    assert is_secret("\n" * 200_000 + " :param x => 1")


def test_no_history_is_stored_if_the_cache_is_off(state, monkeypatch):
    monkeypatch.setenv("GPUGDA_CACHE_DIR", "off")
    history = open_history(state)
    history.append_string("RETURN 1;")
    assert isinstance(history, InMemoryHistory)
    assert not state.exists()


def test_a_folder_that_others_can_read_is_not_used(state, caplog):
    state.mkdir(parents=True)
    state.chmod(0o755)
    open_history(state).append_string("RETURN 1;")
    assert not (state / "shell-history").exists()
    assert "not kept" in caplog.text


def test_a_history_file_that_is_a_link_is_not_used(state, tmp_path, caplog):
    state.mkdir(parents=True, mode=0o700)
    (state / "shell-history").symlink_to(tmp_path / "elsewhere")
    open_history(state).append_string("RETURN 1;")
    assert not (tmp_path / "elsewhere").exists()
    assert "not kept" in caplog.text


def test_the_history_file_is_bounded_and_survives_damage(state):
    history = open_history(state)
    for number in range(2 * MAX_ENTRIES + 1):
        history.store_string(f"RETURN {number};")
    with (state / "shell-history").open("ab") as file:
        file.write(b'"RETURN \xff\n3\n')
    texts = kept(state)
    assert len(texts) == MAX_ENTRIES - 2
    assert texts[0] == f"RETURN {2 * MAX_ENTRIES};"
    assert len((state / "shell-history").read_bytes().splitlines()) == MAX_ENTRIES
    assert isinstance(open_history(state), FileHistory)
