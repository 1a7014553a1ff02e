"""Every case with strategy `sgsi` with minimal memory and segments of a few entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from case_files import Case, all_cases, in_turn, source_of
from gpugda_strategies.sgsi import strategy as sgsi
from gpugda_strategies.sgsi.options import SgsiOptions
from named_values import named

import gpugda
from strategies import rows_key

pytestmark = pytest.mark.slow

CASES = [case for case in all_cases() if case.has_rows]
TINY = {
    "hardly any memory": (40_000, SgsiOptions()),
    "segments of one entry": (None, SgsiOptions(segment_entries=1, rows=2, segment_nodes=32)),
    "few places": (60_000, SgsiOptions(segment_entries=5, rows=3, places=4, bucket_words=3)),
}


@pytest.fixture(scope="module")
def accelerators() -> Iterator[dict[Any, Any]]:
    """By graph and limit, created when the first case runs."""
    made: dict[Any, Any] = {}
    yield made
    for accelerator in made.values():
        accelerator.close()


@pytest.mark.parametrize(("case", "how"), in_turn(CASES, [*TINY], ci=6, fast=1))
def test_case(
    case: Case, how: str, accelerators: dict[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, options = TINY[how]
    monkeypatch.setattr(sgsi, "_DEFAULT_OPTIONS", options)
    key = id(case.graph), how
    if key not in accelerators:
        accelerators[key] = gpugda.connect(source_of(case.graph), memory_limit=limit)
    result = accelerators[key].run(case.query, case.parameters, engine="gpu", strategy="sgsi")
    rows = [[named(value) for value in record.values()] for record in result]
    if case.row_count is not None:
        assert len(rows) == case.row_count
    else:
        assert rows_key(rows, merges=case.merges) == rows_key(case.rows, merges=case.merges)
