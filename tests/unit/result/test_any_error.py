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
def test_gpugda_error_catches_our_errors_and_the_drivers(error):
    with pytest.raises(gpugda.Error) as caught:
        raise error
    assert caught.value is error


def test_other_errors_are_not_caught():
    assert not issubclass(ValueError, gpugda.Error)
