"""Queries of a user's file."""

import pytest

from gpugda.bench.query_file import cases_of_file, read_parameters
from gpugda.errors import ConfigurationError


def cases(tmp_path, text, parameters=None):
    path = tmp_path / "mine.cypher"
    path.write_text(text, encoding="utf-8")
    return cases_of_file(str(path), parameters or {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RETURN 1", ["RETURN 1"]),
        ("RETURN 1;\nRETURN 2;\n", ["RETURN 1", "RETURN 2"]),
        ('RETURN \'a;b\'; RETURN "c;\\";d"', ["RETURN 'a;b'", 'RETURN "c;\\";d"']),
        ("RETURN 1 // one; two\n; RETURN `x;y`", ["RETURN 1 // one; two", "RETURN `x;y`"]),
        ("/* a; b */ RETURN 1; // the end;", ["/* a; b */ RETURN 1"]),
        ("RETURN '// no comment;'; ;;", ["RETURN '// no comment;'"]),
        ("RETURN 'it\\'s; one'", ["RETURN 'it\\'s; one'"]),
        ("RETURN 1; /* never closed; RETURN 2", ["RETURN 1"]),
    ],
)
def test_statements_end_at_semicolons(tmp_path, text, expected):
    assert [case.text("")[: -len("\n// ")] for case in cases(tmp_path, text)] == expected


def test_commands_of_the_shell_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="Line 2 holds :param"):
        cases(tmp_path, "RETURN 1;\n:param x 1\nRETURN $x;")


def test_a_tag_changes_the_text_but_not_the_query(tmp_path):
    (case,) = cases(tmp_path, "MATCH (n) RETURN n // all")
    assert case.text("a") != case.text("b")
    assert case.text("a").startswith("MATCH (n) RETURN n // all\n//")
    assert not case.renames


def test_sizes_limits_and_list_order_are_read_from_the_text(tmp_path):
    text = """MATCH (a)-->(b)-->(c) RETURN a;
    MATCH (a) RETURN a LIMIT 5; MATCH (a) RETURN a ORDER BY a.x SKIP 2 LIMIT 5;
    MATCH (a) RETURN collect(a.x); MATCH (a) RETURN a.limit AS `LIMIT`;
    OPTIONAL MATCH (a) RETURN a LIMIT $n"""
    first, limited, skipped, collected, plain, unknown = cases(tmp_path, text)
    assert (first.node_count, first.relationship_count, first.row_limit) == (3, 2, None)
    assert (limited.row_limit, skipped.row_limit, unknown.row_limit) == (5, 0, 0)
    assert (collected.lists_unordered, limited.lists_unordered) == (True, False)
    assert plain.row_limit is not None  # the word LIMIT occurs, so it is assumed


def test_each_query_gets_the_parameters_that_it_uses(tmp_path):
    text = "MATCH (n) WHERE n.a = $a RETURN n; RETURN $ab, '$a'"
    one, two = cases(tmp_path, text, {"a": 1, "ab": 2})
    assert (one.parameters, two.parameters) == ({"a": 1}, {"ab": 2})


@pytest.mark.parametrize("text", ["CREATE (n)", "MATCH (n) SET n.x = 1", "CALL { MERGE (a) }"])
def test_queries_that_write_are_refused(tmp_path, text):
    with pytest.raises(ConfigurationError, match="only those that read"):
        cases(tmp_path, text)


@pytest.mark.parametrize("text", ["", " ; // nothing\n;"])
def test_a_file_without_a_query_is_refused(tmp_path, text):
    with pytest.raises(ConfigurationError, match="holds no query"):
        cases(tmp_path, text)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read"):
        cases_of_file(str(tmp_path / "absent"), {})
    (tmp_path / "p.json").write_text("[1]")
    with pytest.raises(ConfigurationError, match="one object"):
        read_parameters(str(tmp_path / "p.json"))
    (tmp_path / "p.json").write_text("{")
    with pytest.raises(ConfigurationError, match="not JSON"):
        read_parameters(str(tmp_path / "p.json"))
    assert read_parameters(None) == {}
