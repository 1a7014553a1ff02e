"""Patterns divided between two devices: which, how, and what happens when a device fails."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from divided_runs import divide_all, two_devices
from soon import GENEROUS_SECONDS, ends_in

import gpugda
from gpugda.deadline import check_time
from gpugda.errors import ConfigurationError, DeviceError, MemoryLimitError, QueryTimeoutError
from gpugda.match import exchange
from gpugda.match.count import vectors
from gpugda.match.embeddings import StrategyReport
from gpugda.match.exchange import Division, ExchangeLimits, Times, by_work
from gpugda.match.several_devices import DevicePlace, DevicePlaces

COUNT = "MATCH (a:A)-->(b)-->(c:A) RETURN count(*)"
ROWS = "MATCH (a:A)-->(b)-->(c:A) RETURN a.id, b.id, c.id"


def source():
    random = np.random.default_rng(5)
    labels = [["A"], ["A", "B"], []] * 20
    links = {"source": random.integers(60, size=400), "target": random.integers(60, size=400)}
    return gpugda.graph({"id": np.arange(60), "labels": labels}, links | {"type": ["R"] * 400})


@pytest.fixture(scope="module")
def expected():
    with gpugda.connect(source()) as one:
        return {text: sorted(one.run(text, engine="reference").values()) for text in (COUNT, ROWS)}


@pytest.fixture
def connect(monkeypatch):
    """Opens the graph on two devices; all patterns are divided between them."""
    opened = []

    def made(**settings):
        divide_all(monkeypatch, **settings)
        opened.append(gpugda.connect(source()))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


@pytest.fixture
def second(monkeypatch):
    """Replaces what the second device does; returns the names of the places that ran tasks."""
    run, ran = DevicePlace.run, []

    def replaced(do):
        def instead(place, task, graph, report):
            ran.append(place.name)
            if place.name == ran[0]:
                return run(place, task, graph, report)
            return do(lambda: run(place, task, graph, report))

        first = two_devices()[0]
        ran.append(f"device {first}")
        monkeypatch.setattr(DevicePlace, "run", instead)
        return ran

    return replaced


def values(accelerator, text, **how):
    result = accelerator.run(text, **how)
    return sorted(result.values()), result.summary


# ------------------------------------------------------------------ what is divided, and how
def test_seeds_are_divided_by_work():
    seeds, work = np.arange(10, 16), np.array([1, 1, 6, 4, 1, 1])
    parts = by_work(seeds, work, 2)
    assert sorted(np.concatenate(parts).tolist()) == seeds.tolist()
    assert [int(work[each - 10].sum()) for each in parts] == [7, 7]
    assert [each.tolist() for each in by_work(seeds[:1], work[:1], 4)] == [[10]]
    even = by_work(np.arange(1000), np.ones(1000, dtype=np.int64), 8)
    assert all(100 < len(each) < 150 for each in even)


def test_hubs_are_dealt_out_to_the_parts_with_least_work():
    work = np.r_[np.full(1000, 3), 4000, 2000, 1000, 900]
    parts = by_work(np.arange(1004), work, 3)
    assert sorted(np.concatenate(parts).tolist()) == list(range(1004))
    loads = [int(work[each].sum()) for each in parts]
    assert max(loads) < 1.2 * sum(loads) / 3 + 1000


@pytest.mark.parametrize(("seconds", "parts"), [(0.1, 1), (0.3, 2), (0.5, 4), (1.0, 8), (60.0, 8)])
def test_tasks_are_not_too_short(seconds, parts):
    assert ExchangeLimits().parts_for(Times(seconds)) == parts
    assert ExchangeLimits().parts_for(Times(seconds), 1) == 1


@pytest.mark.parametrize(
    ("seconds", "best"),
    [({1: 4, 2: 3, 4: 2, 8: 1}, 8), ({1: 1, 2: 2, 4: 3, 8: 4}, 1), ({1: 3, 2: 2, 4: 1, 8: 2}, 4)],
)
def test_the_best_number_of_tasks_is_found(seconds, best):
    times, tried = Times(0.3), []
    for _ in range(10):
        tried.append(ExchangeLimits().parts_for(times))
        times.note(seconds[tried[-1]], tried[-1])
    assert tried[0] == 2
    assert tried[-2:] == [best, best]
    assert ExchangeLimits(parts=2).parts_for(Times(60.0)) == 2


def test_long_patterns_are_divided():
    assert ExchangeLimits().divides(Times(5.0))
    assert not ExchangeLimits().divides(Times(0.01))
    assert ExchangeLimits(min_seconds=0).divides(Times(0.0))


def decided(times, alone, divided, runs=8):
    """What is chosen, run after run, given the seconds of both forms."""
    found = []
    for _ in range(runs):
        is_divided = ExchangeLimits().divides(times)
        found.append(is_divided)
        if is_divided:
            times.note(divided, ExchangeLimits().parts_for(times))
        else:
            times.note(alone, 0)
    return found


def test_a_pattern_that_was_taken_for_long_ends_on_one_device():
    assert decided(Times(5.0), alone=0.01, divided=0.05)[-4:] == [False] * 4


def test_a_pattern_that_was_taken_for_short_ends_on_both():
    assert decided(Times(0.001), alone=0.4, divided=0.25)[-4:] == [True] * 4
    assert decided(Times(0.001), alone=8.0, divided=4.5) == [False] * 2 + [True] * 6


def test_a_first_run_that_compiles_says_nothing():
    times = Times(0.001)
    times.note(20.0, 0)
    assert decided(times, alone=0.005, divided=0.04) == [False] * 8


def test_runs_before_all_places_are_ready_do_not_count():
    times = Times(0.3)
    for places, seconds in ((1, 9.0), (1, 8.0), (2, 0.2)):
        times.took_part(places)
        times.note(seconds, ExchangeLimits().parts_for(times))
    assert times.least_divided == 0.2
    assert [each.count for each in times.divided.values()] == [1]
    times.took_part(1)  # a place is busy elsewhere
    assert times.divided


def test_a_long_pattern_is_not_tried_on_one_device():
    assert decided(Times(30.0), alone=9.0, divided=5.0) == [True] * 8


# ------------------------------------------------------------------ runs
@pytest.mark.device
@pytest.mark.parametrize("text", [COUNT, ROWS])
def test_both_devices_take_part(connect, expected, text):
    accelerator = connect(parts=4)
    ends = time.monotonic() + 120
    while time.monotonic() < ends:  # until the second one is open
        found, summary = values(accelerator, text)
        assert found == expected[text]
        (said,) = (each for each in summary.steps if each.startswith("exchange: seeds of (a) in "))
        if all(f"device {each}: " in said for each in two_devices()):
            break
        time.sleep(0.2)
    else:
        pytest.fail(said)
    assert not summary.warnings


@pytest.mark.device
def test_plans_show_the_exchange(connect, monkeypatch):
    accelerator = connect()
    names = " and ".join(f"device {each}" for each in two_devices())
    found = accelerator.explain(COUNT)
    (node,) = (each for _, each in found.operators.lines() if each.what.startswith("exchange"))
    assert node.what == f"exchange seeds of (a) between {names}"
    assert [each.what.split()[0] for each in node.children] == ["MATCH"]
    assert node.what in str(found)
    assert node.what in str(accelerator.run(f"EXPLAIN {COUNT}").summary)
    monkeypatch.setattr(exchange, "LIMITS", ExchangeLimits())
    with gpugda.connect(source()) as other:
        assert "exchange" not in str(other.explain(COUNT))


@pytest.mark.device
def test_short_patterns_stay_on_one_device(connect, expected):
    accelerator = connect(min_seconds=100.0)
    found, summary = values(accelerator, COUNT)
    assert found == expected[COUNT]
    assert not [each for each in summary.steps if each.startswith("exchange")]


@pytest.mark.device
def test_few_rows_come_from_one_device(connect):
    result = connect().run(f"{ROWS} LIMIT 2")
    assert len(result.values()) == 2
    assert not [each for each in result.summary.steps if each.startswith("exchange")]


CYCLES = "MATCH (a)-->(b)-->(c)-->(d)-->(a) RETURN count(*)"


@pytest.fixture
def by_vectors(monkeypatch):
    """Patterns without labels are counted by vectors, however few rows a join would have."""
    monkeypatch.setattr(vectors, "_MIN_ROWS", {"lists": 0.0, "marks": 0.0})
    monkeypatch.setattr(vectors, "_MIN_GAIN", 0.0)


@pytest.mark.device
def test_counts_by_vectors_are_divided_by_pinned_nodes(connect, by_vectors):
    accelerator = connect()
    expected = accelerator.run(CYCLES, engine="reference").values()
    found, summary = values(accelerator, CYCLES)
    assert found == expected
    said = "exchange: pinned nodes of a pattern of 4 nodes in 4 tasks; device"
    assert said in "\n".join(map(str, summary.steps))


@pytest.mark.slow
@pytest.mark.device
def test_devices_without_room_for_vectors_count_in_another_way(connect, by_vectors, monkeypatch):
    accelerator = connect()
    expected = accelerator.run(CYCLES, engine="reference").values()
    monkeypatch.setattr(vectors, "totals_of", lambda *_: None)
    found, summary = values(accelerator, CYCLES)
    assert found == expected
    assert "pinned" not in str(summary)


# ------------------------------------------------------------------ faults
@pytest.mark.device
@pytest.mark.parametrize("text", [COUNT, ROWS])
def test_a_device_that_fails_in_a_task_is_left_out(connect, expected, text, second):
    def fail(run):
        run()
        raise DeviceError("it was lost")

    accelerator, ran = connect(), second(fail)
    found, summary = values(accelerator, text)
    _first, lost = two_devices()
    while f"device {lost}" not in ran[1:]:  # it may have been too late for the first query
        found, summary = values(accelerator, text)
    assert found == expected[text]
    deadline = time.monotonic() + 120
    while not summary.warnings and time.monotonic() < deadline:
        found, summary = values(accelerator, text)
    assert found == expected[text]
    assert summary.warnings == (f"device {lost} is not used any more: it was lost",)
    count = len(ran)
    assert values(accelerator, text)[0] == expected[text]
    assert f"device {lost}" not in ran[count:]


@pytest.mark.device
def test_a_device_without_memory_is_left_out_of_one_query(connect, expected, second):
    failing = [True]

    def fail(run):
        if failing:
            raise MemoryLimitError("it is full")
        return run()

    accelerator, _ = connect(), second(fail)
    found, summary = values(accelerator, ROWS)
    assert found == expected[ROWS]
    assert not summary.warnings
    assert "was left out: it is full" in str(summary)
    failing.clear()
    assert values(accelerator, ROWS)[0] == expected[ROWS]


@pytest.mark.device
def test_all_devices_fail(connect, monkeypatch):
    def fail(place, task, graph, report):
        raise DeviceError("it was lost")

    accelerator = connect()
    monkeypatch.setattr(DevicePlace, "run", fail)
    with pytest.raises(DeviceError, match="it was lost"):
        accelerator.run(COUNT)


@pytest.mark.device
def test_a_device_that_takes_long_to_open_is_not_waited_for(connect, expected, second):
    stopped = threading.Event()

    def wait(run):
        try:
            while True:
                time.sleep(0.01)
                check_time()
        finally:
            stopped.set()

    accelerator, _ = connect(), second(wait)
    with ends_in(60):
        assert values(accelerator, ROWS)[0] == expected[ROWS]
    assert stopped.wait(60)


@pytest.mark.device
def test_time_limits_stop_all_devices(connect, monkeypatch):
    running, ended = threading.Semaphore(0), threading.Semaphore(0)

    def wait(place, task, graph, report):
        running.release()
        try:
            while True:
                time.sleep(0.01)
                check_time()
        finally:
            ended.release()

    accelerator = connect()
    accelerator.run(COUNT)  # the first device is open, and the query is planned
    monkeypatch.setattr(DevicePlace, "run", wait)
    with pytest.raises(QueryTimeoutError):
        accelerator.run(COUNT, timeout=3)
    assert running.acquire(timeout=60)
    assert ended.acquire(timeout=60)


@pytest.mark.device
def test_other_faults_are_raised(connect, monkeypatch):
    def fail(place, task, graph, report):
        raise ZeroDivisionError("a fault of gpugda")

    accelerator = connect()
    monkeypatch.setattr(DevicePlace, "run", fail)
    with pytest.raises(gpugda.errors.InternalError, match="a fault of gpugda"):
        accelerator.run(COUNT)


# ------------------------------------------------------------------ settings
def test_one_device_or_several(monkeypatch):
    with pytest.raises(ConfigurationError, match="not both"):
        gpugda.connect(source(), device=0, devices="all")
    with pytest.raises(ConfigurationError, match="devices is"):
        gpugda.connect(source(), devices=3)


@pytest.mark.device
def test_all_devices_of_the_best_kind(expected):
    with gpugda.connect(source(), devices="all") as accelerator:
        assert values(accelerator, COUNT)[0] == expected[COUNT]


@pytest.mark.slow
@pytest.mark.device
def test_one_device_loads_nothing_of_this():
    program = """
import sys, gpugda
gpugda.connect("sample:wordnet").run("MATCH (a:Word)-->(b) RETURN count(*)").values()
print([name for name in sys.modules if "exchange" in name or "several_devices" in name])
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


# ------------------------------------------------------------------ places that start for others
class FakePlace:
    """Answers with the number of its name, or fails."""

    def __init__(self, name, error=None):
        self.name, self.error = name, error

    def run(self, task, graph, report):
        if self.error is not None:
            raise self.error
        return ord(self.name)


def answered(places):
    running = places.run(Division([None] * 3, None, "", StrategyReport(), soon_over()))
    return list(map(chr, running.answers()))


def soon_over():
    return time.monotonic() + GENEROUS_SECONDS


def test_places_that_all_start_for_another_query_answer_if_there_is_no_other():
    first, second, third = map(FakePlace, "abc")
    places = DevicePlaces([first, second, third], failed={"a": "lost"}, starting={"b", "c"})
    assert set(answered(places)) <= {"b", "c"}


def test_a_place_that_starts_for_another_query_takes_over_if_the_first_one_fails():
    places = DevicePlaces([FakePlace("a", DeviceError("lost")), FakePlace("b")], starting={"b"})
    assert answered(places) == ["b"] * 3


def test_all_places_failing_is_an_error():
    lost = DeviceError("lost")
    places = DevicePlaces([FakePlace("a", lost), FakePlace("b", lost)], starting={"b"})
    with pytest.raises(DeviceError, match="lost"):
        answered(places)
