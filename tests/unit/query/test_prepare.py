"""Text to analysed query, and its cache."""

import pytest

from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.query.prepare import prepare


def test_the_same_text_is_prepared_once():
    text = "MATCH (only:ThisTest) RETURN only"
    assert prepare(text) is prepare(text)
    assert prepare(text + " ") is not prepare(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("MATCH (a RETURN a", CypherSyntaxError),
        ("MATCH (a) RETURN b", CypherSyntaxError),
        ("OPTIONAL MATCH (a) RETURN a", UnsupportedQueryError),
    ],
)
def test_errors_are_raised_again(text, error):
    for _ in range(2):
        with pytest.raises(error) as caught:
            prepare(text)
        assert caught.value.line == 1
