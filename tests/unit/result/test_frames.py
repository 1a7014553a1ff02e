from __future__ import annotations

import builtins

import pandas as pd
import pytest
from neo4j.time import Date, DateTime

from gpugda.errors import ConfigurationError
from gpugda.values import Entity


def test_columns_keep_their_types(result_of):
    rows = [[1, 2**60 + 1, 1.5, "a", True], [2, None, None, None, None]]
    frame = result_of(["i", "n", "f", "s", "b"], rows).to_df()
    assert list(frame.columns) == ["i", "n", "f", "s", "b"]
    assert frame["i"].dtype == "int64"
    assert frame["n"][0] == 2**60 + 1
    assert frame["n"].isna().tolist() == [False, True]
    assert frame["f"].dtype == "float64"
    assert frame["s"].isna().tolist() == [False, True]
    assert frame["b"][0] is True


def test_a_data_frame_holds_only_unread_rows(result_of):
    result = result_of(["i"], [[1], [2]])
    next(result)
    assert result.to_df()["i"].tolist() == [2]


def test_an_empty_result_gives_an_empty_data_frame(result_of):
    frame = result_of(["a", "b"], []).to_df()
    assert frame.shape == (0, 2)
    assert result_of(["a.b"], []).to_df(expand=True).columns.tolist() == ["a\\.b"]


def test_nodes_stay_objects(result_of):
    frame = result_of(["n"], [[Entity(True, 0)]]).to_df()
    assert frame["n"][0]["name"] == "Ann"


def test_entities_are_expanded_into_columns(result_of):
    rows = [[Entity(True, 0), Entity(False, 0), [1, {"k.v": 2}]], [Entity(True, 1), None, None]]
    frame = result_of(["n", "r", "l"], rows).to_df(expand=True)
    first = frame.iloc[0]
    assert first["n().element_id"] == "n0"
    assert first["n().labels"] == {"Person", "Boss"}
    assert first["n().prop.tags"] == ["x", "y"]
    assert first["r->.type"] == "KNOWS"
    assert first["r->.start.element_id"] == "n0"
    assert first["r->.end.element_id"] == "n1"
    assert first["r->.prop.since"] == 2001
    assert first["l[].0"] == 1
    assert first["l[].1{}.k\\.v"] == 2
    assert frame.iloc[1]["n().prop.name"] == 'Bob "B"'


def test_expanded_integers_stay_exact(result_of):
    rows = [[[2**60 + 1, 2**60 + 1, 1.5]], [[None, 0.5, None]]]
    frame = result_of(["l"], rows).to_df(expand=True)
    assert frame["l[].0"][0] == frame["l[].1"][0] == 2**60 + 1
    assert frame["l[].0"].isna().tolist() == [False, True]
    assert frame["l[].1"][1] == 0.5
    assert frame["l[].2"].dtype == "float64"


def test_dates_are_parsed_on_request(result_of):
    rows = [[Date(2020, 1, 2), DateTime(2020, 1, 2, 3, 4, 5), "x"], [None, None, "y"]]
    plain = result_of(["d", "t", "s"], rows).to_df()
    assert isinstance(plain["d"][0], Date)
    parsed = result_of(["d", "t", "s"], rows).to_df(parse_dates=True)
    assert parsed["d"][0] == pd.Timestamp(2020, 1, 2)
    assert parsed["t"][0] == pd.Timestamp("2020-01-02T03:04:05")
    assert parsed["t"].isna().tolist() == [False, True]
    assert parsed["s"].tolist() == ["x", "y"]


def test_zoned_dates_keep_the_moment(result_of):
    zoned = DateTime.from_iso_format("2020-01-01T01:00:00+01:00")
    frame = result_of(["t"], [[zoned]]).to_df(parse_dates=True)
    assert frame["t"][0] == pd.Timestamp("2020-01-01T00:00:00Z")


def test_a_missing_pandas_is_reported(result_of, monkeypatch):
    real_import = builtins.__import__

    def no_pandas(name, *arguments, **keywords):
        if name == "pandas":
            raise ImportError(name)
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", no_pandas)
    result = result_of(["i"], [[1]])
    with pytest.raises(ConfigurationError, match=r"pip install gpugda\[pandas\]"):
        result.to_df()
    assert result.values() == [[1]]
