"""Patterns whose seeds are divided between two devices have the rows of one device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from case_files import Case, all_cases, one_in, source_of
from divided_runs import divide_all, drawn
from hypothesis import event, given, settings
from hypothesis import strategies as st
from language_runs import compare
from named_values import named

import gpugda
from gpugda.errors import QueryError
from strategies import QueryCase, assert_same_answer, examples, multigraphs, query_texts, rows_key

pytestmark = pytest.mark.device


@pytest.fixture(scope="module")
def accelerators() -> Iterator[dict[int, Any]]:
    """One accelerator per graph, created when its first case runs."""
    made: dict[int, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        divide_all(patch)
        yield made
        for accelerator in made.values():
            accelerator.close()


@pytest.mark.parametrize("case", one_in(3, [each for each in all_cases() if each.has_rows], fast=8))
def test_case(case: Case, accelerators: dict[int, Any]) -> None:
    if id(case.graph) not in accelerators:
        accelerators[id(case.graph)] = gpugda.connect(source_of(case.graph))
    result = accelerators[id(case.graph)].run(case.query, case.parameters, engine="gpu")
    rows = [[named(value) for value in record.values()] for record in result]
    if case.row_count is not None:
        assert len(rows) == case.row_count
        return
    assert rows_key(rows, merges=case.merges) == rows_key(case.rows, merges=case.merges)
    if case.ordered:
        found = [rows_key([row], merges=case.merges) for row in rows]
        assert found == [rows_key([row], merges=case.merges) for row in case.rows]


@pytest.mark.parametrize(
    "seed", [40, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(41, 44))]
)
def test_random_queries_have_the_rows_of_the_reference(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    divide_all(monkeypatch, divide=drawn(seed))
    findings = compare(seed, 60)
    assert not findings.differences, "\n".join(findings.differences)
    assert findings.answered > 30


@pytest.mark.slow
@settings(max_examples=examples(160))
@given(multigraphs(), st.lists(query_texts(), min_size=1, max_size=4), st.integers(0, 2**32))
def test_every_division_gives_the_same_bag(
    graph: Any, cases: list[QueryCase], division: int
) -> None:
    nodes = [
        {"id": number, "labels": list(labels), **values}
        for number, (labels, values) in enumerate(graph[0])
    ]
    links = [{"source": a, "type": kind, "target": b, **values} for a, kind, b, values in graph[1]]
    source = gpugda.graph(_table(nodes) or {"id": []}, _table(links) or None)
    with pytest.MonkeyPatch.context() as patch, gpugda.connect(source) as one:
        divide_all(patch, divide=drawn(division), parts=4)
        with gpugda.connect(source) as two:
            for case in cases:
                expected = _rows(one, case.text, case, engine="reference")
                for accelerator in (one, two):
                    found = _rows(accelerator, case.text, case, engine="gpu")
                    if isinstance(expected, type) or isinstance(found, type):
                        assert found is expected, case.text
                        continue
                    event("rows" if expected else "no rows")
                    assert_same_answer(
                        case,
                        found,
                        expected,
                        lambda each=case: _rows(one, each.all_rows, each, engine="reference"),
                    )


def _rows(accelerator: Any, text: str, case: QueryCase, **how: str) -> Any:
    """The rows, or the class of the error."""
    try:
        result = accelerator.run(text, case.parameters, **how)
    except QueryError as error:
        return type(error)
    return [[getattr(value, "element_id", value) for value in each.values()] for each in result]


def _table(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key) for row in rows] for key in keys}
