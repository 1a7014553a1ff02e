"""Parameters that a case's JSON cannot express, on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from neo4j.spatial import CartesianPoint
from neo4j.time import Date, DateTime, Duration

import gpugda
from gpugda.errors import CypherTypeError

POINTS = [CartesianPoint((0.0, 1.0)), CartesianPoint((-0.0, 1.0))]


@pytest.fixture(scope="module")
def graph() -> Iterator[Any]:
    accelerator = gpugda.connect(gpugda.graph(nodes={"id": [0, 1], "p": POINTS}))
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
