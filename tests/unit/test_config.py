import pytest

from gpugda.config import (
    Freshness,
    check_timeout,
    default_source,
    parse_bytes,
    parse_freshness,
    requested_device,
    requested_devices,
)
from gpugda.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (None, None),
        (1, 1),
        ("1000", 1000),
        ("256MiB", 256 * 2**20),
        ("2 GB", 2 * 10**9),
        ("1.5gib", 3 * 2**29),
        (" 7k ", 7000),
    ],
)
def test_sizes_are_parsed(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1", 0, "0MiB", True, "1 2", "1PiB", 1.5e3j])
def test_wrong_sizes_are_refused(text):
    with pytest.raises(ConfigurationError, match="memory_limit"):
        parse_bytes(text)


@pytest.mark.parametrize("timeout", [0, -1, "1", True, float("nan")])
def test_wrong_timeouts_are_refused(timeout):
    with pytest.raises(ConfigurationError, match="timeout"):
        check_timeout(timeout)


def test_timeouts_are_parsed():
    assert check_timeout(None) is None
    assert check_timeout(2) == 2.0


def test_freshness_is_parsed():
    assert parse_freshness("strict") == Freshness("strict")
    assert parse_freshness("manual") == Freshness("manual")
    for text, seconds in (("5s", 5), ("0.5h", 1800), ("250ms", 0.25), ("2m", 120)):
        assert parse_freshness(f"max_age={text}") == Freshness("max_age", seconds)
    assert str(parse_freshness("max_age=0.5h")) == "max_age=1800s"
    for bad in ("fresh", "max_age", "max_age=5", "max_age=-1s", "", None):
        with pytest.raises(ConfigurationError, match="freshness"):
            parse_freshness(bad)


def test_the_device_argument_comes_before_the_environment():
    assert requested_device("cpu", {"GPUGDA_DEVICE": "gpu"}) == "cpu"
    assert requested_device(None, {"GPUGDA_DEVICE": "gpu"}) == "gpu"
    assert requested_device(None, {"GPUGDA_DEVICE": "1"}) == 1
    assert requested_device(0, {}) == 0
    assert requested_device(None, {}) is None


def test_several_devices_come_as_a_list_or_as_text():
    assert requested_devices(None, {}) == ()
    assert requested_devices(None, {"GPUGDA_DEVICES": "all"}) == ("all",)
    assert requested_devices([0, "0:1"], {"GPUGDA_DEVICES": "all"}) == (0, "0:1")
    assert requested_devices(" 0, gpu,", {}) == ("0", "gpu")
    for wrong in (3, [None], [0, 1.5], b"01", {"a": 1}, [True], [0, "0"], "0:0, 0:0"):
        with pytest.raises(ConfigurationError, match="devices is"):
            requested_devices(wrong, {})


def test_the_default_source_comes_from_the_environment():
    assert default_source({"GPUGDA_SOURCE": "sample:wordnet"}) == "sample:wordnet"
    assert default_source({"NEO4J_URI": "bolt://h"}) == "bolt://h"
    with pytest.raises(ConfigurationError, match="GPUGDA_SOURCE"):
        default_source({"GPUGDA_SOURCE": " "})
