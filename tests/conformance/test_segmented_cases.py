"""Every case of `cases/` on the device, with few relationships in memory.

Either three relationships at a time, or only those that connect candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from case_files import Case, all_cases, one_in, source_of
from named_values import named

import gpugda
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.registry import DEFAULT_STRATEGY, STRATEGIES
from gpugda.thresholds import SegmentLimits
from strategies import rows_key

pytestmark = [pytest.mark.device, pytest.mark.slow]


class Segmented(ExtendStrategy):
    """Streams every graph in parts."""

    segments = SegmentLimits(reduces=False, max_entries=3, rows_bytes=1 << 10)

    def __init__(self, device_graph: DeviceGraph, **options: Any) -> None:
        decides = replace(device_graph.context.profile.thresholds, segments=self.segments)
        super().__init__(device_graph, **{"thresholds": decides} | options)


class Reduced(Segmented):
    """Keeps the part of every graph that joins can use."""

    segments = SegmentLimits(reduces_leaves=True, max_entries=3, rows_bytes=1 << 10)


@pytest.fixture(scope="module", params=[Segmented, Reduced])
def accelerators(request: pytest.FixtureRequest) -> Iterator[dict[int, Any]]:
    """One accelerator per graph, created when its first case runs."""
    made: dict[int, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STRATEGIES, DEFAULT_STRATEGY, request.param)
        yield made
        for accelerator in made.values():
            accelerator.close()


@pytest.mark.parametrize("case", one_in(3, [each for each in all_cases() if each.has_rows], fast=1))
def test_case(case: Case, accelerators: dict[int, Any]) -> None:
    if id(case.graph) not in accelerators:
        accelerators[id(case.graph)] = gpugda.connect(source_of(case.graph))
    result = accelerators[id(case.graph)].run(case.query, case.parameters, engine="gpu")
    assert tuple(result.keys()) == case.columns or case.row_count is not None
    rows = [[named(value) for value in record.values()] for record in result]
    if case.row_count is not None:
        assert len(rows) == case.row_count
        return
    assert rows_key(rows, merges=case.merges) == rows_key(case.rows, merges=case.merges)
    if case.ordered:
        found = [rows_key([row], merges=case.merges) for row in rows]
        assert found == [rows_key([row], merges=case.merges) for row in case.rows]
