"""Random conditions on paths: the device's rows equal the reference's."""

from __future__ import annotations

import pytest
from made_path_queries import KINDS
from path_runs import compare_paths

_QUERIES = 40


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2, 3))])
def test_the_device_gives_the_rows_of_the_reference(seed: int, kind: str) -> None:
    findings = compare_paths(seed, _QUERIES, kind)
    assert not findings.differences, "\n".join(findings.differences)
    assert len(findings.errors) <= _QUERIES // 10, findings.errors
    assert findings.answered > _QUERIES // 2, findings.refused
    assert findings.rows > _QUERIES // 2
