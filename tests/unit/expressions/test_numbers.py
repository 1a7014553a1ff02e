import math

import pytest

from gpugda.errors import CypherArithmeticError
from gpugda.expressions.numbers import LARGEST, SMALLEST, added, float_text, long, saturated


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.125, "1.23456789125E8"),
        (1234567.5, "1234567.5"),
        (100.25, "100.25"),
        (5e-324, "4.9E-324"),
        (1e23, "1.0E23"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_floats_are_printed_as_by_java(number, text):
    assert float_text(number) == text


def test_integers_beyond_64_bits_are_an_error():
    assert long(LARGEST, "+") == LARGEST
    for exact in (LARGEST + 1, SMALLEST - 1):
        with pytest.raises(CypherArithmeticError, match="long overflow"):
            long(exact, "+")


def test_each_addition_is_rounded_on_any_python_version():
    assert added([0.1] * 10) == 0.9999999999999999
    assert added([0.1, 0.2, 0.3]) == 0.6000000000000001
    assert float_text(added([-0.0])) == "0.0"


def test_a_cast_saturates():
    assert [saturated(x) for x in (1e300, -math.inf, math.nan, -1.9)] == [LARGEST, SMALLEST, 0, -1]
