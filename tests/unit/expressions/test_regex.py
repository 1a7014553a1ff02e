import pytest

from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.regex.classes import complement, either_case, union
from gpugda.expressions.regex.matching import matches


@pytest.mark.slow
def test_a_pattern_of_exponential_time_is_stopped():
    with pytest.raises(UnsupportedQueryError, match="takes too long"):
        matches("a" * 40 + "!", "(?:(a|aa)(?=.*))+" + "(?:a|aa)+" * 8 + "b?" * 3 + "$")


@pytest.mark.parametrize("pattern", ["(" * 60 + ")" * 60, "a" * 20_000, "[", "(?u)a", "a{9999999}"])
def test_syntax_that_may_differ_from_java_is_refused(pattern):
    with pytest.raises(UnsupportedQueryError) as caught:
        matches("a", pattern)
    assert caught.value.construct.startswith("=~") or "such a long" in str(caught.value)


def test_sets_of_characters():
    digits, letters = ((48, 57),), ((97, 99),)
    assert union(letters, digits, ((58, 60),)) == ((48, 60), (97, 99))
    assert complement(complement(digits)) == digits
    assert complement(()) == ((0, 0x10FFFF),)
    assert either_case(letters) == ((65, 67), (97, 99))


def test_classes_are_of_ascii_and_lines_end_as_in_java():
    assert matches("é", r"\w") is False
    assert matches("\x85", ".") is False
    assert matches("\x1c", r"\s") is False
