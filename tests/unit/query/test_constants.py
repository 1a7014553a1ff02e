"""What Neo4j's rewriter computes while it plans."""

import pytest

from gpugda.query.constants import never_holds, number_of
from gpugda.query.parser import parse


def column(text):
    (part,) = parse(f"RETURN {text} AS c").parts
    return part.clauses[-1].projection.items[0].expression


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7.5 % -2", 1.5),
        ("2 ^ 3", 8.0),
        ("-(1 + 1)", -2),
        ("2 * 3 - 0.5", 5.5),
        ("1 / 0", None),
        ("(-8) ^ 0.5", None),
        ("9223372036854775807 + 1", None),
        ("-(-9223372036854775807 - 1)", None),
        ("1 + true", None),
        ("1 + $p", None),
        ("'1'", None),
    ],
)
def test_numbers(text, number):
    found = number_of(column(text))
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("false", True),
        ("1 = 2", True),
        ("1 < 2 < 1", True),
        ("1 < 2 > 1.5", False),
        ("NOT (1 = 1.0 OR x)", True),
        ("x AND 2 > 3", True),
        ("x OR 2 > 3", False),
        ("true XOR NOT false", True),
        ("false XOR x", False),
        ("null", False),
        ("null AND false", True),
        ("1 = null", False),
        ("1 <> 1", False),
        ("1 >= 2", False),
        ("1 = 1", False),
        ("-0.0 < 0", False),  # true in a row, false of doubles
        ("9007199254740993 > 9007199254740992.0", False),
        ("9007199254740993 = 9007199254740992.0", False),
        ("9007199254740993 = 9007199254740992", True),
        ("'a' = 'b'", False),
    ],
)
def test_conditions_that_never_hold(text, expected):
    assert never_holds(column(text)) is expected
