"""Selected paths are searched once for rows that are equal in all columns read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpugda
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.aggregation.equal_rows import EqualRows
from gpugda.execute.batch import Batch
from gpugda.execute.operators import select_paths
from gpugda.expressions.operands import Constant

NODE = st.integers(0, 3)
PATTERN = "SHORTEST 2 GROUPS (a)-[r]->*()-[s]->{1,2}(b)"


def _graph(edges: list[tuple[int, int]]) -> Any:
    nodes = {"id": list(range(4)), "k": list(range(4))}
    sources, targets = [a for a, _ in edges], [b for _, b in edges]
    columns = {"source": sources, "target": targets, "type": ["R"] * len(edges)}
    return gpugda.connect(gpugda.graph(nodes=nodes, relationships=columns))


def _rows(accelerator: Any, query: str) -> Counter[str]:
    return Counter(map(repr, accelerator.run(query, engine="gpu").data()))


@given(st.lists(st.tuples(NODE, NODE), min_size=1, max_size=6))
def test_equal_rows_get_the_paths_of_one_search(edges: list[tuple[int, int]]) -> None:
    read = "RETURN id(a), id(b), [e IN r | id(e)], [e IN s | id(e)]"
    with _graph(edges) as accelerator:
        once = _rows(accelerator, f"MATCH (a), (b) MATCH {PATTERN} {read}")
        query = f"UNWIND [1, 2, 3] AS i MATCH (a), (b) MATCH {PATTERN} {read}"
        assert _rows(accelerator, query) == Counter({row: 3 * n for row, n in once.items()})
        query = f"UNWIND [0, 0, 2] AS i MATCH (a), (b) MATCH {PATTERN} WHERE b.k >= i {read}"
        few = _rows(accelerator, f"MATCH (a), (b) MATCH {PATTERN} WHERE b.k >= 2 {read}")
        assert _rows(accelerator, query) == once + once + few


@pytest.mark.parametrize(
    ("condition", "searched"),
    [("", 1), ("WHERE b.k >= i % 2", 2), ("WHERE b.k + rand() >= 0", 6)],
)
def test_each_different_row_is_searched_once(
    condition: str, searched: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def numbered(batch: Batch, *arguments: Any) -> Batch:
        asked.append(batch.row_count)
        return plain(batch, *arguments)

    plain = select_paths.numbered
    monkeypatch.setattr(select_paths, "numbered", numbered)
    query = f"""
        UNWIND [1, 1, 1, 2, 2, 2] AS i MATCH (a {{k: 0}}), (b {{k: 1}})
        MATCH p = {PATTERN} {condition} RETURN length(p)"""
    with _graph([(0, 1), (1, 1)]) as accelerator:
        assert len(accelerator.run(query, engine="gpu").data()) == 18
    assert asked == [searched]


def test_rows_are_equal_only_bit_by_bit() -> None:
    valid = np.array([True, True, False, False, True, True])
    numbers = np.array([0.0, -0.0, 1.0, 2.0, np.nan, np.nan])
    batch = Batch(
        6,
        {
            "x": Column(ColumnKind.FLOAT, numbers, valid),
            "n": Column(ColumnKind.NODE, np.array([7, 7, 7, 7, 0, 0], dtype=np.uint32)),
            "c": Constant(1),
        },
    )
    equal = EqualRows(batch, ("n", "x", "c"))
    groups = [equal.rows_of(np.array([i]))[1].tolist() for i in range(len(equal.firsts))]
    assert sorted(groups) == [[0], [1], [2, 3], [4, 5]]
    assert EqualRows(batch, ()).firsts.tolist() == [0]
