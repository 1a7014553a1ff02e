"""Every case of `cases/` on an embedded graph, on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from case_files import Case, all_cases, in_turn, one_in, source_of
from gpugda_strategies.pbe.options import PbeOptions
from named_values import named

import gpugda
from gpugda import errors
from gpugda.match.registry import DEFAULT_STRATEGY, STRATEGIES
from strategies import rows_key

ENGINES = ["reference", *STRATEGIES]
"""The reference, and the device with each strategy."""


# ------------------------------------------------------------------ running a case
def run_case(
    case: Case, engine: str, accelerators: dict[int, Any]
) -> tuple[tuple[str, ...], list[list[Any]]]:
    """Columns and rows; nodes and relationships by their names in the case."""
    if id(case.graph) not in accelerators:
        accelerators[id(case.graph)] = gpugda.connect(source_of(case.graph))
    how = {"engine": "gpu", "strategy": engine} if engine in STRATEGIES else {"engine": engine}
    result = accelerators[id(case.graph)].run(case.query, case.parameters, **how)
    columns = tuple(result.keys())
    return columns, [[named(value) for value in record.values()] for record in result]


@pytest.fixture(scope="module")
def accelerators() -> Iterator[dict[int, Any]]:
    """One accelerator per graph, created when its first case runs."""
    made: dict[int, Any] = {}
    yield made
    for accelerator in made.values():
        accelerator.close()


@pytest.fixture(scope="module")
def partitioned() -> Iterator[dict[int, Any]]:
    """The same, with each graph partitioned by ``pbe``."""
    made: dict[int, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpugda_strategies.pbe.strategy._DEFAULT_OPTIONS", PbeOptions(partitions=3))
        yield made
        for accelerator in made.values():
            accelerator.close()


@pytest.mark.parametrize(
    ("case", "engine"),
    in_turn(all_cases(), ENGINES, always=["reference", DEFAULT_STRATEGY], ci=3, fast=3),
)
def test_case(case: Case, engine: str, accelerators: dict[int, Any]) -> None:
    check_case(case, engine, accelerators)


@pytest.mark.parametrize("case", all_cases())
def test_case_walked_on_the_host(case: Case, walks: None, accelerators: dict[int, Any]) -> None:
    check_case(case, DEFAULT_STRATEGY, accelerators)


@pytest.mark.parametrize("case", one_in(8, all_cases(), fast=6))
def test_case_in_partitions(case: Case, partitioned: dict[int, Any]) -> None:
    check_case(case, "pbe", partitioned)


def check_case(case: Case, engine: str, accelerators: dict[int, Any]) -> None:
    if case.error:
        with pytest.raises(getattr(errors, case.error)) as raised:
            run_case(case, engine, accelerators)
        assert case.message in str(raised.value)
        return
    if case.native and engine != "reference":
        with pytest.raises(errors.UnsupportedQueryError, match=case.native):
            run_case(case, engine, accelerators)
        return
    columns, rows = run_case(case, engine, accelerators)
    if case.row_count is not None:
        assert len(rows) == case.row_count
        return
    assert columns == case.columns
    assert rows_key(rows, merges=case.merges) == rows_key(case.rows, merges=case.merges)
    if case.ordered:
        found = [rows_key([row], merges=case.merges) for row in rows]
        assert found == [rows_key([row], merges=case.merges) for row in case.rows]


def test_names_are_unique() -> None:
    names = [(case.topic, case.name) for case in all_cases()]
    assert len(names) == len(set(names)) > 120
