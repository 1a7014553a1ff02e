import math

import pytest

from gpugda.errors import CypherSyntaxError
from gpugda.query.lexer import number_value, string_value
from gpugda.types import Span


def number(piece, *, negative=False):
    return number_value(piece, piece, Span(0, len(piece)), negative=negative)


def string(piece):
    return string_value(piece, piece, 0)


@pytest.mark.parametrize(
    ("piece", "value"),
    [
        ("0", 0),
        ("42", 42),
        ("1_000_000", 1_000_000),
        ("0xFF", 255),
        ("0x_ff", 255),
        ("0x1_f", 31),
        ("0o17", 15),
        ("9223372036854775807", 2**63 - 1),
        ("0x7FFFFFFFFFFFFFFF", 2**63 - 1),
    ],
)
def test_integers(piece, value):
    assert number(piece) == value
    assert isinstance(number(piece), int)


@pytest.mark.parametrize(
    ("piece", "value"),
    [
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.0e-9", 1e-9),
        ("1E+3", 1000.0),
        ("01e2", 100.0),
        ("1_0.5_0", 10.5),
        ("1.0f", 1.0),
        ("1.5D", 1.5),
        ("1e-400", 0.0),
    ],
)
def test_floats(piece, value):
    assert number(piece) == value
    assert isinstance(number(piece), float)


def test_the_smallest_integer_has_no_positive_counterpart():
    assert number("9223372036854775808", negative=True) == -(2**63)
    assert number("0x8000000000000000", negative=True) == -(2**63)
    with pytest.raises(CypherSyntaxError, match="integer is too large"):
        number("9223372036854775808")


def test_negative_zero_keeps_its_sign():
    assert math.copysign(1, number("0.0", negative=True)) == -1


@pytest.mark.parametrize("piece", ["1" * 5000, "0x" + "F" * 17, "9223372036854775809"])
def test_integers_beyond_64_bits_are_refused(piece):
    with pytest.raises(CypherSyntaxError, match="integer is too large"):
        number(piece, negative=True)


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        ("017", "write 0o17"),
        ("0XFF", "write the prefix in lower case, 0x"),
        ("1__0", "not a number"),
        ("1_", "not a number"),
        ("0_1", "not a number"),
        ("0x", "not a number"),
        ("0x_", "not a number"),
        ("1e", "not a number"),
        ("1f", "starts with a digit"),
        ("1.5fx", "not a number"),
        ("08", "not a number"),
        ("1e400", "floating point number is too large"),
    ],
)
def test_malformed_numbers_are_refused_as_in_neo4j(piece, said):
    with pytest.raises(CypherSyntaxError, match=said):
        number(piece)


@pytest.mark.parametrize(
    ("piece", "value"),
    [
        ("''", ""),
        ('"a\'b"', "a'b"),
        (r"'\' \" \\ \n \t \b \r \f'", "' \" \\ \n \t \b \r \f"),
        (r"'\u0041\u00e9'", "Aé"),
        (r"'\uD83D\uDE00'", "\U0001f600"),
        (r"'\q \/ \` \0'", r"\q \/ \` \0"),  # no escapes in Neo4j: the backslash stays
        (r"'\U0001F600'", r"\U0001F600"),
        (r"'\\u0041'", r"\u0041"),
        (r"'\\\u0041'", "\\A"),
    ],
)
def test_strings(piece, value):
    assert string(piece) == value


@pytest.mark.parametrize(
    ("piece", "start", "said"),
    [
        (r"'ab\u12'", 3, "four hexadecimal digits"),
        (r"'\u00G1'", 1, "four hexadecimal digits"),
        (r"'\uD83D'", 1, "half of a surrogate pair"),
        (r"'\uDE00\uD83D'", 1, "half of a surrogate pair"),
        (r"'a\u0027b'", 2, "write quotes and backslashes as"),
        (r"'\u005c'", 1, "write quotes and backslashes as"),
    ],
)
def test_escapes_without_a_clear_meaning_are_refused(piece, start, said):
    with pytest.raises(CypherSyntaxError, match=said) as caught:
        string(piece)
    assert caught.value.span.start == start
