from __future__ import annotations

import threading

import pytest
from fake_driver import READ, FakeDevice, FakeDriver

import gpugda
from gpugda.accelerate.accelerators import Accelerators, Later, NeverError
from gpugda.accelerate.driver import AcceleratedDriver
from gpugda.accelerate.gate import Gate, KnownBookmarks, Tally
from gpugda.errors import ConfigurationError


def test_queries_go_to_the_server_while_the_accelerator_opens():
    go, driver, device = threading.Event(), FakeDriver(), FakeDevice()

    def open_slowly(name):
        assert go.wait(30)
        return device

    accelerators = Accelerators(driver, open_slowly, lambda driver: "neo4j")
    accelerated = AcceleratedDriver(driver, Gate(accelerators, strict=True))
    assert accelerated.execute_query(READ) == "server"
    go.set()
    assert accelerated.gpugda.wait(None, 30)
    assert accelerated.execute_query(READ) != "server"
    accelerated.close()
    assert device.closed


def test_an_accelerator_opened_after_closing_is_closed():
    go, device = threading.Event(), FakeDevice()

    def open_slowly(name):
        assert go.wait(30)
        return device

    accelerators = Accelerators(None, open_slowly, lambda driver: "neo4j")
    assert accelerators.get("neo4j") == "the accelerator is being made"
    closing = threading.Thread(target=accelerators.close)
    closing.start()
    go.set()
    closing.join(30)
    assert device.closed
    assert accelerators.get("neo4j") == "the driver is closed"
    assert accelerators.get("other") == "the driver is closed"


def test_a_failed_start_is_tried_again(monkeypatch):
    monkeypatch.setattr("gpugda.accelerate.accelerators._RETRY_SECONDS", 0.0)
    outcomes = iter([OSError("no connection\nmore"), "made"])

    def make():
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    later = Later(make, lambda value: None, "test", "waiting")
    assert later.wait(30) is None
    assert later.reason == "no connection"
    assert later.wait(30) == "made"


def test_a_permanent_failure_is_not_tried_again():
    calls = []

    def make():
        calls.append(1)
        raise NeverError("a cluster")

    later = Later(make, lambda value: None, "test", "waiting")
    later.wait(30)
    later.wait(30)
    assert (later.get(), later.reason, len(calls)) == (None, "a cluster", 1)


def test_waiting_ends_when_nothing_is_loading():
    device = FakeDevice()
    device.status = lambda: {"refreshing": False}
    accelerators = Accelerators(None, lambda name: device, lambda driver: "neo4j")
    assert not accelerators.wait(None, 60)
    assert accelerators.statuses() == {"neo4j": {"refreshing": False}}
    accelerators.close()


def test_a_tally_merges_similar_reasons_and_bounds_them():
    tally = Tally()
    for number in range(100):
        tally.count_passed(f"transaction {number:,} is newer")
    tally.count_accelerated()
    assert tally.passed_through == {"transaction … is newer": 100}
    text = "1 accelerated, 100 passed through (100: transaction … is newer)"
    assert str(tally) == text
    for number in range(100):
        tally.count_passed("x" * number)
    assert len(tally.passed_through) <= 51


def test_the_number_of_known_bookmarks_is_bounded(monkeypatch):
    monkeypatch.setattr("gpugda.accelerate.gate._MAX_BOOKMARKS", 2)
    known = KnownBookmarks()
    known.add(["a", "b"])
    known.add(["a", "c"])
    assert known.all_known(["a", "c"])
    assert not known.all_known(["b"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fresness": "strict"}, "no option fresness"),
        ({"database": "x"}, "no option database"),
        ({"load": "later"}, "load is 'later'"),
        ({"freshness": "maybe"}, "freshness"),
        ({"reader": 1}, "asynchronous"),
    ],
)
def test_wrong_options_are_refused_at_once(options, message):
    with pytest.raises(ConfigurationError, match=message):
        gpugda.accelerate(FakeDriver(), **options)


def test_other_objects_than_drivers_are_refused():
    with pytest.raises(ConfigurationError, match="not a str"):
        gpugda.accelerate("bolt://localhost")


def test_the_package_can_be_called_like_the_function():
    import gpugda.accelerate.entry

    accelerated = gpugda.accelerate(FakeDriver(), device="cpu")
    assert isinstance(accelerated, FakeDriver)
    accelerated.close()
