import pytest

from gpugda.errors import CypherSyntaxError
from gpugda.expressions import functions
from gpugda.expressions.context import Context
from gpugda.expressions.functions.registry import signature
from gpugda.expressions.kinds import kinds


def test_names_are_found_in_any_case():
    assert functions.find_function("ISNAN") is functions.find_function("isNaN")
    assert functions.find_function("no.such") is None


def test_a_null_argument_gives_null():
    assert functions.find_function("abs")(Context(), [None]) is None


def test_the_number_of_arguments_is_checked():
    with pytest.raises(CypherSyntaxError, match=r"abs\(\).*takes 1 argument, not 2"):
        functions.find_function("abs")(Context(), [1, 2])


def test_a_signature_refuses_wrong_argument_types():
    wanted = signature("string, integer -> string", 1)
    assert wanted.refusal([kinds("string")]) is None
    assert wanted.refusal([None, frozenset()]) is None
    assert "argument 1 must be string, not integer" in wanted.refusal([kinds("integer")])
    assert "1 to 2 arguments" in wanted.refusal([])


def test_an_integer_is_accepted_for_a_float():
    assert signature("float -> float").refusal([kinds("integer")]) is None


def test_an_unknown_kind_of_argument_is_an_internal_error():
    with pytest.raises(ValueError, match="unknown kinds"):
        signature("text -> string")


def test_the_list_of_functions_is_sorted_and_distinct():
    names = [each.name.lower() for each in functions.listed()]
    assert names == sorted(set(names))
