"""Sorts and groups of many rows check the deadline between their steps."""

import random
import time

import numpy as np
import pytest

import gpugda
from gpugda.deadline import cancelled_by, working_until
from gpugda.errors import QueryTimeoutError
from gpugda.execute.batch import RowTable, stacked
from gpugda.execute.sorting import order_keys, sorted_places, stable_order, stable_order_of_keys
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.operands import take

COUNT = 5000
NUMBERS = column_of([number * 7919 % 1000003 for number in range(COUNT)])
MIXED = column_of([number if number % 2 else f"t{number}" for number in range(COUNT)])
TABLE = RowTable(COUNT, (NUMBERS, MIXED))


def checks_of(work):
    """How often the work checks the deadline."""
    made = []
    with working_until(time.monotonic() + 1e6), cancelled_by(lambda: bool(made.append(1))):
        work()
    return len(made)


@pytest.mark.parametrize(
    "step",
    [
        lambda: stable_order(NUMBERS.values),
        lambda: order_keys(NUMBERS),
        lambda: take(NUMBERS, np.arange(COUNT)),
        lambda: stacked([TABLE, TABLE]),
    ],
)
def test_a_step_over_all_rows_checks_the_deadline(step):
    assert checks_of(step)
    with working_until(time.monotonic() - 1), pytest.raises(QueryTimeoutError):
        step()


def test_each_key_of_a_sort_is_a_step():
    keys = [NUMBERS.values * (1 << 40), NUMBERS.values[::-1] * (1 << 40)]
    assert checks_of(lambda: stable_order_of_keys(keys)) >= 4


def test_objects_are_sorted_in_runs():
    draw = random.Random(5)
    keys = [draw.randrange(100) for _ in range(1000)]
    for run in (1, 7, 333, 999, 1000, 5000):
        assert sorted_places(keys, run) == sorted(range(1000), key=keys.__getitem__)
        assert checks_of(lambda run=run: sorted_places(keys, run)) == -(-1000 // run) + 1
    assert sorted_places([]) == []


@pytest.mark.parametrize(
    "query",
    [
        "UNWIND $l AS x WITH x ORDER BY x % 977, x RETURN max(x)",
        "UNWIND $l AS x RETURN x % 7 AS k, collect(x) AS c",
        "UNWIND $l AS x RETURN DISTINCT x % 977",
        "UNWIND $l AS x RETURN x % 7 AS k, count(DISTINCT x % 101) AS c",
        "UNWIND $l AS x RETURN x % 7 AS k, percentileDisc(x, 0.5) AS c",
        "UNWIND $l AS x RETURN [x % 7, x] AS k ORDER BY k",
    ],
)
def test_a_query_can_be_ended_at_each_of_its_steps(query):
    """Whichever check finds that the time is up, the query ends there with the error."""
    with gpugda.connect(gpugda.graph({"N": {"id": [1]}})) as graph:

        def run():
            graph.run(query, l=list(range(COUNT)), engine="gpu", timeout=1e6).consume()

        run()
        steps = checks_of(run)
        for last in range(steps // 2, steps):
            made = []
            with (
                working_until(time.monotonic() + 1e6),
                cancelled_by(lambda made=made, last=last: made.append(1) or len(made) > last),
                pytest.raises(QueryTimeoutError),
            ):
                run()
            assert len(made) == last + 1
