"""Thresholds below which a query is not worth a way of counting: by way, those that always take it.

Places are those of `gpugda.match`. Small graphs would else only ever be joined.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

NOTHING_AT_ONCE: dict[str, Any] = {
    "extend.join.ExtendWindows.count_all": lambda windows, *, at_once: (
        None if at_once else setattr(windows, "counted", sum(windows.counts()))
    )
}
NOTHING_TRIED: dict[str, Any] = NOTHING_AT_ONCE | {"run.Run.tried": lambda *_: None}
THOUGHT: dict[str, Any] = NOTHING_TRIED | {"extend.counting.weighed._WORTH_A_THOUGHT": -math.inf}
LEAVES: dict[str, Any] = NOTHING_TRIED | {"extend.counting.search._LEAST_GROWTH": 0}
WEIGHED: dict[str, Any] = THOUGHT | {"extend.counting.weighed._BENEFIT_OF_DOUBT": math.inf}
BRANCHES: dict[str, Any] = THOUGHT | {
    "extend.counting.branches._WORTH_SPLITTING": -math.inf,
    "extend.counting.branches._LEAST_GAIN": math.inf,
}
PAIRED_BRANCHES: dict[str, Any] = BRANCHES | {
    "extend.counting.branches.WORTH_PAIRING": -math.inf,
    "extend.counting.search.WORTH_PAIRING": -math.inf,
    "extend.counting.search._LEAST_GAIN": math.inf,
}
PARTS: dict[str, Any] = THOUGHT | {
    "extend.counting.search._WORTH_PARTS": -math.inf,
    "extend.counting.search._LEAST_GAIN_OF_PARTS": math.inf,
}


def force(patch: pytest.MonkeyPatch, *ways: dict[str, Any]) -> None:
    """Takes these ways until the patch is undone."""
    for way in ways:
        for place, value in way.items():
            patch.setattr(f"gpugda.match.{place}", value)
