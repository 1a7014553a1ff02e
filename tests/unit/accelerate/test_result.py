"""Accelerated results compared with the driver's results of the same rows."""

import inspect

import neo4j
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.accelerate.result import AcceleratedResult
from gpugda.result.result import Result
from gpugda.result.summary import Summary

VALUES = [
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=True),
    st.booleans(),
    st.text(max_size=3),
    st.lists(st.integers(0, 3), max_size=2),
    st.just(neo4j.time.Date(2020, 1, 2)),
    st.just(neo4j.spatial.CartesianPoint((1.0, 2.0))),
]


class DriverRows:
    """The parts of a driver's result that `to_df` uses."""

    def __init__(self, names, rows):
        self._keys, self._rows = names, rows

    def values(self):
        return self._rows

    def __iter__(self):
        return (neo4j.Record(zip(self._keys, row, strict=True)) for row in self._rows)


def result_of(names, rows):
    made = Result.from_rows(names, rows, None, Summary("gpu", rows=len(rows)))
    return AcceleratedResult.of(made)


@st.composite
def tables(draw):
    height = draw(st.integers(0, 4))
    columns = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(VALUES))
        nulls = draw(st.sampled_from([kind, kind | st.none(), st.none(), st.one_of(VALUES)]))
        columns.append(draw(st.lists(nulls, min_size=height, max_size=height)))
    return [list(row) for row in zip(*columns, strict=True)], len(columns)


@pytest.mark.slow
@given(tables(), st.booleans(), st.booleans())
def test_data_frames_equal_those_of_the_driver(table, expand, parse_dates):
    rows, width = table
    names = ["a", "b.c", "d\\"][:width]
    to_df = inspect.unwrap(neo4j.Result.to_df)
    try:
        expected = to_df(DriverRows(names, rows), expand, parse_dates)
    except Exception as error:
        with pytest.raises(type(error)):
            result_of(names, rows).to_df(expand, parse_dates)
        return
    pd.testing.assert_frame_equal(result_of(names, rows).to_df(expand, parse_dates), expected)


def test_a_data_frame_holds_only_unread_rows():
    result = result_of(["n"], [[1], [2], [3]])
    result.fetch(1)
    assert result.to_df()["n"].tolist() == [2, 3]
    assert result.to_df().shape == (0, 1)


def test_results_are_instances_of_the_drivers_classes():
    result = result_of(["n"], [[1]])
    assert isinstance(result, neo4j.Result)
    assert isinstance(result, Result)
    summary = result.consume()
    assert isinstance(summary, neo4j.ResultSummary)
    assert (summary.engine, summary.query_type, result.keys()) == ("gpu", "r", ["n"])
    assert {"engine", "headline", "counters"} <= set(dir(summary))
    with pytest.raises(AttributeError, match="no_such"):
        summary.no_such  # noqa: B018 - the access is the test
