"""Graphs with server ids give the same answers as without, except for the ids themselves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from case_files import Case, CaseGraph, all_cases, one_in
from hypothesis import event, given
from hypothesis import strategies as st
from named_values import named
from server_ids import PREFIXES, ListedSource, random_node_ids, random_relationship_ids

import gpugda
from gpugda.data.values.property_store import PropertyNotReadError
from gpugda.errors import InternalError, QueryError, UnsupportedQueryError
from strategies import QueryCase, assert_same_answer, multigraphs, query_texts, rows_key

ENGINES = ("reference", "gpu")
CASES = [case for case in all_cases() if case.has_rows and "id(" not in case.query.lower()]
EXAMPLES = st.tuples(
    multigraphs(), st.lists(query_texts(), min_size=1, max_size=3), st.integers(0, 2**16)
)


# ------------------------------------------------------------------ the cases
@pytest.fixture(scope="module")
def accelerators() -> Iterator[dict[int, Any]]:
    """One accelerator per graph, created when its first case runs."""
    made: dict[int, Any] = {}
    yield made
    for accelerator in made.values():
        accelerator.close()


def _connected(graph: CaseGraph) -> Any:
    nodes, relationships = _lists(graph)
    ids = random_relationship_ids(relationships, 1, in_index_order=False)
    return gpugda.connect(ListedSource(nodes, relationships, random_node_ids(len(nodes), 1), ids))


def _lists(graph: CaseGraph) -> tuple[list[Any], list[Any]]:
    names = list(graph.nodes)
    nodes = [
        (labels, {**properties, "id": name}) for name, (labels, properties) in graph.nodes.items()
    ]
    relationships = [
        (names.index(start), kind, names.index(end), {**properties, "case_name": name})
        for name, (start, kind, end, properties) in graph.relationships.items()
    ]
    return nodes, relationships


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", one_in(3, CASES, fast=3))
def test_case(case: Case, engine: str, accelerators: dict[int, Any]) -> None:
    if id(case.graph) not in accelerators:
        accelerators[id(case.graph)] = _connected(case.graph)
    try:
        result = accelerators[id(case.graph)].run(case.query, case.parameters, engine=engine)
    except UnsupportedQueryError as refusal:
        if engine == "gpu" and refusal.construct == "a dynamic label or type":
            pytest.skip(f"the device refuses {refusal.construct}")
        raise
    columns = tuple(result.keys())
    rows = [[named(value) for value in record.values()] for record in result]
    if case.row_count is not None:
        assert len(rows) == case.row_count
        return
    assert columns == case.columns
    assert rows_key(rows, merges=case.merges) == rows_key(case.rows, merges=case.merges)
    if case.ordered:
        found = [rows_key([row], merges=case.merges) for row in rows]
        assert found == [rows_key([row], merges=case.merges) for row in case.rows]


# ------------------------------------------------------------------ random graphs and queries
@given(EXAMPLES, st.booleans())
def test_random_queries_use_the_servers_ids(example: Any, in_index_order: bool) -> None:
    (nodes, relationships), cases, seed = example
    node_ids = random_node_ids(len(nodes), seed)
    ids = random_relationship_ids(relationships, seed, in_index_order=in_index_order)
    known = _indexes(node_ids, ids, relationships)
    with (
        gpugda.connect(ListedSource(nodes, relationships)) as plain,
        gpugda.connect(ListedSource(nodes, relationships, node_ids, ids)) as server,
    ):
        for case in cases:
            found = [_answer(server, case, engine, known) for engine in ENGINES]
            _compare(server, case, found[1], found[0], known)
            if in_index_order or not case.uses_ids:
                _compare(plain, case, found[0], _answer(plain, case, "reference", {}), {})


def _indexes(node_ids: list[int], ids: list[int], relationships: list[Any]) -> dict[str, str]:
    """Maps the server's element ids to those of an embedded graph."""
    types = list(dict.fromkeys(kind for _, kind, _, _ in relationships))
    keys = [(source, types.index(kind), target) for source, kind, target, _ in relationships]
    order = sorted(range(len(ids)), key=keys.__getitem__)
    known = {f"{PREFIXES.node}{number}": f"n{index}" for index, number in enumerate(node_ids)}
    return known | {
        f"{PREFIXES.relationship}{ids[place]}": f"r{index}" for index, place in enumerate(order)
    }


def _compare(accelerator: Any, case: QueryCase, found: Any, expected: Any, known: Any) -> None:
    if isinstance(expected, type) or isinstance(found, type):
        assert found is expected, case.text
        return
    assert found[0] == expected[0], case.text
    event("rows" if expected[1] else "no rows")
    rows = partial(_rows, accelerator, case.all_rows, case.parameters, "reference", known)
    assert_same_answer(case, found[1], expected[1], lambda: rows()[1])


def _answer(accelerator: Any, case: QueryCase, engine: str, known: dict[str, str]) -> Any:
    """Columns and rows, or the class of the error."""
    try:
        return _rows(accelerator, case.text, case.parameters, engine, known)
    except QueryError as error:
        return type(error)


def _rows(
    accelerator: Any, text: str, parameters: Any, engine: str, known: dict[str, str]
) -> tuple[tuple[str, ...], list[list[Any]]]:
    result = accelerator.run(text, parameters, engine=engine)
    rows = [[_plain(value, known) for value in record.values()] for record in result]
    return tuple(result.keys()), rows


def _plain(value: Any, known: dict[str, str]) -> Any:
    if hasattr(value, "element_id"):
        return known.get(value.element_id, value.element_id)
    return value


# ------------------------------------------------------------------ properties not loaded
@given(EXAMPLES)
def test_an_unread_property_raises_and_is_never_null(example: Any) -> None:
    (nodes, relationships), cases, seed = example
    node_ids = random_node_ids(len(nodes), seed)
    ids = random_relationship_ids(relationships, seed, in_index_order=False)
    partial_source = ListedSource(nodes, relationships, node_ids, ids, complete=False)
    with (
        gpugda.connect(ListedSource(nodes, relationships, node_ids, ids)) as complete,
        gpugda.connect(partial_source) as server,
    ):
        for case in cases:
            expected = _answer(complete, case, "reference", {})
            for engine in ENGINES:
                try:
                    found = _answer(server, case, engine, {})
                except (PropertyNotReadError, InternalError) as error:
                    if not isinstance(error.__cause__ or error, PropertyNotReadError):
                        raise
                    event("raises")
                    continue
                event("needs no property")
                _compare(complete, case, found, expected, {})
