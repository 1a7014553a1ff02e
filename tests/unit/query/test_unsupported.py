import pytest

from gpugda.errors import UnsupportedQueryError
from gpugda.query.prepare import prepare


@pytest.mark.parametrize(
    ("text", "construct", "at"),
    [
        ("CALL db.labels() YIELD label RETURN label", "CALL of a procedure", "CALL db.labels"),
        ("CREATE (a)", "CREATE", "CREATE"),
        ("MATCH (a) SET a.x = toUpper(a.y) RETURN a", "SET", "SET"),
        ("MATCH (a) DETACH DELETE a", "DETACH DELETE", "DETACH DELETE"),
        ("SHOW INDEXES", "SHOW INDEXES", "SHOW INDEXES"),
        ("MATCH (a) CREATE (b) WITH a LOAD CSV FROM 'x' AS row RETURN a", "CREATE", "CREATE"),
        ("LOAD CSV FROM 'x' AS row RETURN row", "LOAD CSV", "LOAD CSV"),
    ],
)
def test_what_is_more_than_reading_is_named_with_its_place(text, construct, at):
    with pytest.raises(UnsupportedQueryError) as caught:
        prepare(text)
    assert caught.value.construct == construct
    assert caught.value.message == f"{construct} is not supported by this engine"
    assert caught.value.span.start == text.index(at)


def test_the_message_shows_the_place():
    with pytest.raises(UnsupportedQueryError) as caught:
        prepare("MATCH (a)\nSET a.x = 1\nRETURN a")
    assert str(caught.value) == (
        "SET is not supported by this engine (line 2, column 1)\n  SET a.x = 1\n  ^^^^^^^^^^^"
    )
