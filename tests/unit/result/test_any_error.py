import neo4j.exceptions
import pytest

import gpugda


@pytest.mark.parametrize(
    "error",
    [
        gpugda.CypherSyntaxError("no"),
        gpugda.DeviceError("no"),
        neo4j.exceptions.CypherSyntaxError("no"),
        neo4j.exceptions.ServiceUnavailable("no"),
        neo4j.exceptions.ResultConsumedError(None, "no"),
    ],
)
def test_one_except_catches_both_families(error):
    try:
        raise error
    except gpugda.Error as caught:
        assert caught is error


def test_other_errors_pass():
    with pytest.raises(ValueError, match="mine"):
        try:
            raise ValueError("mine")
        except gpugda.Error:
            pytest.fail("that is nobody's business")
