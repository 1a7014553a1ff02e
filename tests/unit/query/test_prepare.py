"""From text to analysed query, and the cache."""

import pytest

from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.query.check.queries import check_query
from gpugda.query.prepare import check_compiles, prepare


def test_a_repeated_text_is_prepared_once():
    text = "MATCH (only:ThisTest) RETURN only"
    assert prepare(text) is prepare(text)
    assert prepare(text + " ") is not prepare(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("MATCH (a RETURN a", CypherSyntaxError),
        ("MATCH (a) RETURN b", CypherSyntaxError),
        ("CALL db.labels() YIELD label RETURN label", UnsupportedQueryError),
    ],
)
def test_errors_are_raised_again(text, error):
    for _ in range(2):
        with pytest.raises(error) as caught:
            prepare(text)
        assert caught.value.line == 1


def test_a_refused_text_is_parsed_once_and_each_error_is_new(monkeypatch):
    text = "LOAD CSV FROM 'only.that.test' AS row RETURN row"
    with pytest.raises(UnsupportedQueryError) as first:
        prepare(text)
    monkeypatch.setattr("gpugda.query.prepare.parse", None)
    with pytest.raises(UnsupportedQueryError) as second:
        prepare(text)
    assert first.value is not second.value
    assert str(first.value) == str(second.value)
    assert vars(first.value) == vars(second.value)
    assert second.value.construct == "LOAD CSV"


def test_a_text_is_checked_once_per_version(monkeypatch):
    checked = []

    def noted(tree, version):
        checked.append(version)
        check_query(tree, version)

    statement = prepare("MATCH (a) LET only_here = a RETURN only_here")
    monkeypatch.setattr("gpugda.query.prepare.check_query", noted)
    raised = []
    for _ in range(2):
        check_compiles(statement, 25)
        with pytest.raises(CypherSyntaxError) as caught:
            check_compiles(statement, 5)
        raised.append(caught.value)
    assert checked == [25, 5]
    assert str(raised[0]) == str(raised[1])
    assert raised[0] is not raised[1]
