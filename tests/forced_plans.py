"""Thresholds that make small graphs use a given count plan; by default they are only joined."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpugda.device.context import DeviceContext
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.thresholds import Thresholds

NOT_AT_ONCE: dict[str, Any] = {"joins_first": False}
NOTHING_TRIED: dict[str, Any] = NOT_AT_ONCE | {"max_first_seconds": 0.0}
SEARCHED: dict[str, Any] = NOTHING_TRIED | {"search_rows": 0, "search_pairs": 0, "row_pairs": 0}
DEGREES: dict[str, Any] = NOTHING_TRIED | {"cyclic_growth": 0}
ROWS: dict[str, Any] = SEARCHED | {"row_uncertainty": math.inf}
TABLES: dict[str, Any] = SEARCHED | {"table_pairs": 0, "table_gain": math.inf}
PAIRED_TABLES: dict[str, Any] = TABLES | {"pair_pairs": 0, "pair_gain": math.inf}
PARTS: dict[str, Any] = SEARCHED | {"part_pairs": 0, "part_gain": math.inf}

TINY_WINDOWS = (
    "first_window",
    "first_count_window",
    "first_counted_rows",
    "largest_window",
    "largest_last_window",
)


def windows_of(rows: int) -> dict[str, int]:
    """Limits that keep every window at most this many rows."""
    return dict.fromkeys(TINY_WINDOWS, rows) | {"few_rows": 0}


def thresholds(
    context: DeviceContext,
    *forms: Mapping[str, Any],
    join: Mapping[str, Any] | None = None,
    candidates: Mapping[str, Any] | None = None,
) -> Thresholds:
    """The device's thresholds, changed for these forms and by other limits of joins and filters."""
    found = context.profile.thresholds
    changes = {name: value for form in forms for name, value in form.items()}
    return Thresholds(
        replace(found.count, **changes),
        replace(found.join, **(join or {})),
        replace(found.filter, **(candidates or {})),
    )


def variant(*forms: Mapping[str, Any], **limits: Mapping[str, Any]) -> type[ExtendStrategy]:
    """A subclass of the strategy with other `thresholds`, to be registered in its place."""

    class Variant(ExtendStrategy):
        def __init__(self, device_graph: DeviceGraph, **options: Any) -> None:
            decides = thresholds(device_graph.context, *forms, **limits)
            super().__init__(device_graph, **{"thresholds": decides} | options)

    return Variant
