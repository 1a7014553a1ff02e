"""Parameters that a case's JSON cannot express, on every engine."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from neo4j.spatial import CartesianPoint
from neo4j.time import Date, DateTime, Duration

import gpugda
from gpugda.errors import CypherTypeError, QueryError


class Who(str, enum.Enum):  # noqa: UP042 # the idiom whose str() is not its text
    ANN = "ann"


POINTS = [CartesianPoint((0.0, 1.0)), CartesianPoint((-0.0, 1.0))]


@pytest.fixture(scope="module")
def graph() -> Iterator[Any]:
    nodes = {"id": [0, 1], "p": POINTS, "name": [Who.ANN, "bob"], "d": [pd.Timedelta("1D"), None]}
    accelerator = gpugda.connect(gpugda.graph(nodes=nodes))
    yield accelerator
    accelerator.close()


@pytest.fixture(params=["reference", "gpu"])
def values(request: pytest.FixtureRequest, graph: Any) -> Any:
    def run(query: str, **parameters: Any) -> list[list[Any]]:
        result = graph.run(query, parameters, engine=request.param)
        return [list(record.values()) for record in result]

    return run


def test_durations_and_points_are_not_taken_for_lists(values: Any) -> None:
    for value in (Duration(months=1, seconds=2), POINTS[0]):
        found = values("MATCH (n {id: 0}) RETURN $p, $p = [$p]", p=value)
        assert found == [[value, False]]
        assert type(found[0][0]) is type(value)


def test_zones_of_zoneinfo_are_accepted(values: Any) -> None:
    moment = DateTime(2024, 10, 27, 2, 30, 0, 123456789, tzinfo=ZoneInfo("Europe/Berlin"))
    ((found, equal),) = values("MATCH (n {id: 0}) RETURN $p, $p = $p", p=moment)
    assert found.iso_format() == "2024-10-27T02:30:00.123456789+02:00"
    assert equal is True


def test_zeros_of_different_sign_in_points_differ(values: Any) -> None:
    assert len(values("MATCH (n) RETURN DISTINCT n.p")) == 2
    assert len(values("MATCH (n), (m) WHERE n.p = m.p RETURN n, m")) == 2
    assert len(values("MATCH (n) WHERE n.p = $p RETURN n", p=POINTS[1])) == 1


@pytest.mark.parametrize("value", [Date(2020, 1, 1), Duration(days=1), POINTS[0]])
@pytest.mark.parametrize("condition", ["$p", "NOT $p", "false AND $p", "id($p) = 1"])
def test_parameters_that_neo4j_refuses_are_refused_before_the_query(
    values: Any, value: Any, condition: str
) -> None:
    with pytest.raises(CypherTypeError, match="Type mismatch for parameter 'p'"):
        values(f"MATCH (n:None) WHERE {condition} RETURN n", p=value)


def test_types_of_parameters_that_are_known_while_compiling(values: Any) -> None:
    for value in (Date(2020, 1, 1), Duration(days=1), POINTS[0]):
        for expression in ("tail($p)", "$p[0..1]", "[x IN $p WHERE true]", "toUpper($p)", "-$p"):
            with pytest.raises(CypherTypeError, match="Type mismatch for parameter 'p'"):
                values(f"MATCH (n:None) RETURN {expression}", p=value)
    assert values("RETURN $p['x'], $p.y, $b[0..1]", p=POINTS[0], b=b"ab") == [[0.0, 1.0, [97]]]


@pytest.mark.parametrize(
    ("query", "value", "expected"),
    [
        ("MATCH (n {name: $p}) RETURN n.id", Who.ANN, [[0]]),
        ("MATCH (n) WHERE n.name IN $p RETURN n.id", [Who.ANN], [[0]]),
        ("MATCH (n) WHERE n.name = $p.ann RETURN n.id", {Who.ANN: Who.ANN}, [[0]]),
        ("MATCH (n) WHERE n.d = $p RETURN toString(n.d)", pd.Timedelta("1D"), [["PT24H"]]),
        (
            "MATCH (n {id: 0}) RETURN toString($p)",
            np.datetime64("2020-01-02"),
            [["2020-01-02T00:00:00"]],
        ),
        ("MATCH (n) WHERE n.id IN $p.ids RETURN n.id", pd.DataFrame({"ids": [1, 5]}), [[1]]),
        ("MATCH (n) WHERE n.id IN $p RETURN n.id", np.array([1.0, 5.0]), [[1]]),
    ],
)
def test_values_mean_what_the_driver_sends(
    values: Any, query: str, value: Any, expected: list[list[Any]]
) -> None:
    assert values(query, p=value) == expected


@pytest.mark.parametrize(
    "value", [{1}, memoryview(b"ab"), np.timedelta64(1, "D"), np.array(1), range(3)]
)
@pytest.mark.parametrize("query", ["MATCH (n) RETURN $p", "MATCH (n) RETURN n.id"])
def test_values_that_are_not_sent_are_refused_even_if_unused(
    values: Any, query: str, value: Any
) -> None:
    with pytest.raises(CypherTypeError, match=r"the parameter \$p cannot be used"):
        values(query, p=value)


BYTES = {"b": b"\x01\xfe", "same": bytearray(b"\x01\xfe"), "other": b"\x01\x03"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("RETURN $b, [$b], {k: $b}", [[b"\x01\xfe", [b"\x01\xfe"], {"k": b"\x01\xfe"}]]),
        ("RETURN $b = $same, $b = $other, $b < $other, $b = [1, -2]", [[True, False, True, True]]),
        (
            "RETURN $b IN [$same], $b IN [[1, -2]], $b IN [1], $b = 'ab'",
            [[True, True, False, False]],
        ),
        ("RETURN size($b), $b[1], $b + $other, $b[0..1]", [[2, -2, [1, -2, 1, 3], [1]]]),
        ("RETURN valueType($b), $b STARTS WITH 'a'", [["LIST<INTEGER NOT NULL> NOT NULL", None]]),
        ("RETURN coalesce(null, $b), $b AND true, NOT $b", [[b"\x01\xfe", b"\x01\xfe", False]]),
        ("UNWIND $b AS x RETURN x", [[1], [-2]]),
        ("UNWIND [$b, $same, $other] AS x RETURN DISTINCT x", [[b"\x01\xfe"], [b"\x01\x03"]]),
        (
            "UNWIND [$other, 1, 'a', $b] AS x RETURN x ORDER BY x",
            [[b"\x01\xfe"], [b"\x01\x03"], ["a"], [1]],
        ),
        (
            "UNWIND [$b, $other, $same] AS x RETURN max(x), collect(DISTINCT x)",
            [[b"\x01\x03", [b"\x01\xfe", b"\x01\x03"]]],
        ),
        ("MATCH (n {id: 0}) WHERE n.id <> $b AND NOT n.id IN [$b] RETURN $b", [[b"\x01\xfe"]]),
        ("MATCH (n) WHERE n.id = $b RETURN n", []),
    ],
)
def test_bytes_are_lists_of_integers_until_they_are_returned(
    values: Any, query: str, expected: list[list[Any]]
) -> None:
    assert values(query, **BYTES) == expected


def test_bytes_are_no_number_of_rows_and_no_key(values: Any) -> None:
    for query in ("MATCH (n) RETURN n LIMIT $b", "MATCH (n) RETURN n[$b]", "RETURN toString($b)"):
        with pytest.raises(QueryError):
            values(query, **BYTES)
