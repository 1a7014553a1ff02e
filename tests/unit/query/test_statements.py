from __future__ import annotations

import random

import pytest

from gpugda.query.statements import Entry, EntryReader


def entries(*chunks):
    reader = EntryReader()
    return [each for chunk in chunks for each in reader.feed(chunk)] + list(reader.finish())


def texts(*chunks):
    return [entry.text for entry in entries(*chunks)]


@pytest.mark.parametrize(
    "statement",
    [
        "RETURN ';'",
        'RETURN ";"',
        r"RETURN 'it\'s; so'",
        r'RETURN "\";"',
        "RETURN 1 AS `a;b`",
        "MATCH (n:`x``;y`) RETURN n",
        "RETURN 1 // one; two\n + 1",
        "RETURN /* ; ' \" ` */ 1",
        "RETURN '/*' + \";*/\"",
        "RETURN '//;'",
        "RETURN 'one\n;\ntwo'",
        "RETURN \"'\" + ';' + '\"'",
        "RETURN 4 / 2",
        "RETURN $`a;b`, {`:x`: ':param'}",
    ],
)
def test_a_semicolon_inside_quotes_or_comments_ends_no_statement(statement):
    assert texts(f"{statement};RETURN 2;") == [statement, "RETURN 2"]
    assert texts(*f"{statement};\nRETURN 2;\n".splitlines(keepends=True)) == [statement, "RETURN 2"]


def test_statements_know_their_line():
    text = "\n\nRETURN 1;\n\n// two\nRETURN\n2; RETURN 3;\n:param x => 1\nRETURN\n'a\nb';RETURN 5"
    expected = [
        Entry("RETURN 1", 3),
        Entry("// two\nRETURN\n2", 5),
        Entry("RETURN 3", 7),
        Entry(":param x => 1", 8),
        Entry("RETURN\n'a\nb'", 9),
        Entry("RETURN 5", 11),
    ]
    assert entries(text) == expected
    assert entries(*text.splitlines(keepends=True)) == expected


def test_commands_end_at_the_line_end():
    text = ":params\n:param x => 'a;b'\n // now\n  :engine gpu;\nMATCH (n)\n:Not a command;\r\n"
    assert texts(text + ":exit\r\n") == [
        ":params",
        ":param x => 'a;b'",
        ":engine gpu",
        "MATCH (n)\n:Not a command",
        ":exit",
    ]


def test_explain_ends_as_its_statement_does():
    assert texts(":explain MATCH (a)\n// ;\nRETURN ';';\n:explained\nRETURN 1;") == [
        ":explain MATCH (a)\n// ;\nRETURN ';'",
        ":explained",
        "RETURN 1",
    ]


@pytest.mark.parametrize("text", ["", ";", " ;;\n; ", "// only;", "/* a */;\n// b\n", "\n"])
def test_empty_texts_have_no_statements(text):
    assert texts(text) == []


@pytest.mark.parametrize(
    "text", ["RETURN 'a;", 'RETURN "a;', "RETURN `a;", "RETURN 1 /* ;", ":explain RETURN 1", "/* ;"]
)
def test_an_unfinished_statement_is_pending(text):
    reader = EntryReader()
    assert not list(reader.feed(text))
    assert reader.is_within
    assert [entry.text for entry in reader.finish()] == [text]


def test_nothing_is_pending_after_the_end():
    reader = EntryReader()
    assert len(list(reader.feed("RETURN 1; // done\n"))) == 1
    assert not reader.is_within


def test_reading_by_lines_equals_reading_at_once():
    pieces = [
        "RETURN 1",
        ";",
        "\n",
        "'",
        '"',
        "`",
        "/*",
        "*/",
        "//",
        ":param x",
        ":explain a",
        " ",
        "\\",
    ]
    choose = random.Random(1)
    for _ in range(3000):
        text = "".join(choose.choices(pieces, k=choose.randint(1, 14)))
        assert entries(*text.splitlines(keepends=True)) == entries(text), text


@pytest.mark.slow
def test_a_long_script_takes_linear_time():
    lines = ["// a comment\n"] * 50_000 + ["RETURN [\n", *["1,\n"] * 50_000, "1];\n"]
    assert len(entries(*lines)) == 1
