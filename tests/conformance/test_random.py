"""Random queries on random graphs: the device answers what the reference answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from forced_ways import BRANCHES, LEAVES, PARTS, WEIGHED
from hypothesis import event, given
from hypothesis import strategies as st
from strategies import QueryCase, assert_same_answer, multigraphs, query_texts

import gpugda
from gpugda.errors import QueryError
from gpugda.match.registry import STRATEGIES

GRAPHS_AND_QUERIES = st.tuples(multigraphs(), st.lists(query_texts(), min_size=1, max_size=4))

_TINY = {
    **dict.fromkeys(("_FIRST_WINDOW", "_LARGEST_WINDOW", "_LARGEST_LAST_WINDOW"), 3),
    "_FIRST_COUNT_WINDOW": {True: 3, False: 2},
    "_FIRST_WEIGHED": {True: 2, False: 3},
    "_FEW": 0,
}


def _of_execute(way: dict[str, Any]) -> dict[str, Any]:
    return {f"match.{place}": value for place, value in way.items()}


# What a small graph is never thought to be worth, by the module that thinks so.
WAYS: dict[str, dict[str, Any]] = {
    "leaves multiplied, nodes weighed": _of_execute(LEAVES | WEIGHED),
    "branches counted": _of_execute(BRANCHES),
    "terms added up": _of_execute(BRANCHES | PARTS),
    "pairs measured": {"match.extend.join._FEW": 0},
    "tiny windows": {f"match.extend.join.{name}": size for name, size in _TINY.items()},
    "indexes": {
        "data.bucket_index._SCANS": 0,
        "data.bucket_index._FEWEST_ROWS": 0,
        "match.candidates.indexed_nodes._FEW": 1,
    },
    "groups sorted": {"match.extend.groups._MOST_TUPLES": 0},
    "neighbours explored": {"match.extend.strategy.pays_exploring": lambda *_, **_more: True},
    "bitmaps of degrees": {
        "device.graph.node_bitmaps._FEWEST_LOOKS": 0,
        "device.graph.node_bitmaps._SHARE_OF_NODES": 0.0,
    },
}


@given(GRAPHS_AND_QUERIES, st.sets(st.sampled_from(sorted(WAYS))))
def test_device_equals_reference(example: tuple[Any, list[QueryCase]], ways: set[str]) -> None:
    (nodes, relationships), texts = example
    cases = [case for text in texts for case in _with_other_parameters(text)]
    with (
        pytest.MonkeyPatch.context() as patch,
        gpugda.connect(_source(nodes, relationships)) as accelerator,
    ):
        for way in ways:
            for place, value in WAYS[way].items():
                patch.setattr(f"gpugda.{place}", value)
        for case in cases:
            expected = _answer(accelerator, case, engine="reference")
            for strategy in STRATEGIES:
                found = _answer(accelerator, case, engine="gpu", strategy=strategy)
                _compare(accelerator, case, found, expected)


def _with_other_parameters(case: QueryCase) -> Iterator[QueryCase]:
    """The case, and what is asked of the plan, and of what is kept with it, by other values."""
    yield case
    if "$" in case.text and not case.is_window:
        yield replace(case, parameters=case.parameters | {"one": 2, "text": "ab", "numbers": [3]})


def _compare(accelerator: Any, case: QueryCase, found: Any, expected: Any) -> None:
    if isinstance(expected, type) or isinstance(found, type):
        assert found is expected, case.text
        event(f"both raise {expected}")
        return
    assert found[0] == expected[0], case.text
    event("rows" if expected[1] else "no rows")
    assert_same_answer(case, found[1], expected[1], partial(_rows, accelerator, case, "reference"))


def _answer(accelerator: Any, case: QueryCase, **how: str) -> Any:
    """Columns and rows, or the class of the error."""
    try:
        result = accelerator.run(case.text, case.parameters, **how)
    except QueryError as error:
        return type(error)
    rows = [[_plain(value) for value in record.values()] for record in result]
    return tuple(result.keys()), rows


def _rows(accelerator: Any, case: QueryCase, engine: str) -> list[list[Any]]:
    result = accelerator.run(case.all_rows, case.parameters, engine=engine)
    return [[_plain(value) for value in record.values()] for record in result]


def _plain(value: Any) -> Any:
    return value.element_id if hasattr(value, "element_id") else value


def _source(nodes: Any, relationships: Any) -> Any:
    node_rows = [
        {"id": index, "labels": list(labels), **properties}
        for index, (labels, properties) in enumerate(nodes)
    ]
    relationship_rows = [
        {"source": source, "type": kind, "target": target, **properties}
        for source, kind, target, properties in relationships
    ]
    return gpugda.graph(
        nodes=_table(node_rows) or {"id": []}, relationships=_table(relationship_rows) or None
    )


def _table(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key) for row in rows] for key in keys}
