from __future__ import annotations

import threading

import numpy as np
import pytest

from gpugda.data import threads
from gpugda.data.threads import beside, in_threads_ahead, written_in_threads


@pytest.fixture(params=[1, 3])
def cores(request, monkeypatch):
    monkeypatch.setattr(threads, "core_count", lambda: request.param)
    return request.param


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_results_come_in_order(cores, count):
    assert list(in_threads_ahead(lambda part: part * part, range(count))) == [
        part * part for part in range(count)
    ]


def test_few_results_wait_and_none_is_computed_after_the_reader_stops(cores):
    started = []
    results = in_threads_ahead(started.append, range(1_000))
    next(results)
    results.close()
    assert len(started) <= 2 * cores + 2
    assert not [each for each in threading.enumerate() if "gpugda-ahead" in each.name]


def test_an_error_reaches_the_reader_in_its_place(cores):
    results = in_threads_ahead(lambda part: 6 // (3 - part), range(6))
    assert [next(results) for _ in range(3)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(results)


@pytest.mark.parametrize("size", [0, 1 << 30])
def test_work_beside_gives_its_result_or_error(cores, size):
    ran_in = []
    result = beside(lambda: ran_in.append(threading.current_thread()) or 7, size)
    assert result() == 7
    assert (ran_in[0] is threading.current_thread()) == (cores == 1 or size == 0)
    with pytest.raises(ZeroDivisionError):
        beside(lambda: 1 // 0, size)()


@pytest.mark.parametrize("shape", [0, 5, (3, 0), (3, 7)])
def test_arrays_are_written_by_all_cores(cores, monkeypatch, shape):
    monkeypatch.setattr(threads, "_WRITTEN", 2)
    found = written_in_threads(shape, np.uint16)
    assert found.dtype == np.uint16
    assert np.array_equal(found, np.zeros(shape))
