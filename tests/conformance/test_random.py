"""Random queries on random graphs: the device's answers equal the reference's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from forced_plans import DEGREES, PARTS, ROWS, TABLES, variant, windows_of
from gpugda_strategies.pbe.options import PbeOptions
from gpugda_strategies.sgsi.options import SgsiOptions
from hypothesis import event, given, settings
from hypothesis import strategies as st

import gpugda
from gpugda.errors import QueryError
from gpugda.match.registry import STRATEGIES
from strategies import QueryCase, assert_same_answer, examples, multigraphs, query_texts

GRAPHS_AND_QUERIES = st.tuples(multigraphs(), st.lists(query_texts(), min_size=1, max_size=4))

# Thresholds that small graphs never reach: of count plans, limits of joins, …
FORMS: dict[str, dict[str, Any]] = {
    "degrees and rows": DEGREES | ROWS,
    "tables": TABLES,
    "terms added up": TABLES | PARTS,
}
JOINS: dict[str, dict[str, Any]] = {
    "pairs measured": {"few_rows": 0},
    "tiny windows": windows_of(3),
    "groups sorted": {"max_tuple_groups": 0},
}
CANDIDATES: dict[str, dict[str, Any]] = {"neighbours explored": {"explores": True}}
# … and constants of other rooms.
PLACES: dict[str, dict[str, Any]] = {
    "indexes": {
        "gpugda.match.candidates.indexed_nodes._SCANS": 0,
        "gpugda.match.candidates.indexed_nodes._MIN_ROWS": 0,
        "gpugda.match.candidates.indexed_nodes._FEW": 1,
    },
    "bitmaps of degrees": {
        "gpugda.device.graph.node_bitmaps._MIN_LOOKS": 0,
        "gpugda.device.graph.node_bitmaps._SHARE_OF_NODES": 0.0,
    },
    "segments": {
        "gpugda_strategies.sgsi.strategy._DEFAULT_OPTIONS": SgsiOptions(
            segment_entries=3, rows=3, places=4
        ),
        "gpugda_strategies.sgsi.windows._MAX_BYTES": 24,
    },
    "partitions": {"gpugda_strategies.pbe.strategy._DEFAULT_OPTIONS": PbeOptions(partitions=3)},
}
VARIANTS = sorted({*FORMS, *JOINS, *CANDIDATES, *PLACES})


def _chosen(names: set[str], table: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {key: value for name in sorted(names & {*table}) for key, value in table[name].items()}


@settings(max_examples=examples(320))
@given(GRAPHS_AND_QUERIES, st.sets(st.sampled_from(VARIANTS)))
def test_the_device_equals_the_reference(
    example: tuple[Any, list[QueryCase]], names: set[str]
) -> None:
    (nodes, relationships), texts = example
    cases = [case for text in texts for case in _with_other_parameters(text)]
    with (
        pytest.MonkeyPatch.context() as patch,
        gpugda.connect(_source(nodes, relationships)) as accelerator,
    ):
        for place, value in _chosen(names, PLACES).items():
            patch.setattr(place, value)
        extend = variant(
            _chosen(names, FORMS),
            join=_chosen(names, JOINS),
            candidates=_chosen(names, CANDIDATES),
        )
        patch.setitem(STRATEGIES, extend.name, extend)
        for case in cases:
            expected = _answer(accelerator, case, engine="reference")
            for strategy in STRATEGIES:
                found = _answer(accelerator, case, engine="gpu", strategy=strategy)
                _compare(accelerator, case, found, expected)


def _with_other_parameters(case: QueryCase) -> Iterator[QueryCase]:
    """The case with other parameter values, to test the plan and its caches."""
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
