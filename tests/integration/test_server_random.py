"""Random graphs and queries on a live Neo4j: device, native and reference return the same rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import neo4j
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from neo4j_servers import Server
from random_scopes import Texts, refusal, refusal_of_server

import gpugda
from gpugda.errors import QueryError
from strategies import QueryCase, assert_same_answer, multigraphs, query_texts

GRAPHS_AND_QUERIES = st.tuples(multigraphs(), st.lists(query_texts(), min_size=2, max_size=5))
# Loading a graph takes Neo4j several commits, and planning each new text 20 ms and more.
FEWER = settings(
    max_examples=max(10, settings().max_examples // 6),
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def connections():
    made: dict[str, Any] = {}
    yield made
    for accelerator in made.values():
        accelerator.close()


@FEWER
@given(example=GRAPHS_AND_QUERIES)
def test_neo4j_device_and_reference_agree_on_random_queries(
    each_server: Server, connections: dict[str, Any], example: Any
) -> None:
    (nodes, relationships), cases = example
    each_server.create(nodes, relationships)
    accelerator = _connected(each_server, connections)
    for case in cases:
        native = _answer(accelerator, case.text, case, "native")
        event("native error" if isinstance(native, Exception) else f"rows: {bool(native[1])}")
        for engine in ("gpu", "reference"):
            _compare(accelerator, case, _answer(accelerator, case.text, case, engine), native)


def _connected(server: Server, connections: dict[str, Any]) -> Any:
    if server.uri in connections:
        connections[server.uri].refresh()
    else:
        connections[server.uri] = gpugda.connect(server.uri, auth=server.auth, cache=False)
    return connections[server.uri]


def _compare(accelerator: Any, case: QueryCase, found: Any, native: Any) -> None:
    if isinstance(native, Exception) or isinstance(found, Exception):
        assert isinstance(native, Exception), (case.text, found)
        assert isinstance(found, Exception), (case.text, native)
        return
    assert found[0] == native[0], case.text
    all_rows = partial(_rows, accelerator, case)
    assert_same_answer(case, found[1], native[1], all_rows)


def _rows(accelerator: Any, case: QueryCase) -> list[list[Any]]:
    rows: list[list[Any]] = _answer(accelerator, case.all_rows, case, "native")[1]
    return rows


def _answer(accelerator: Any, text: str, case: QueryCase, engine: str) -> Any:
    """Columns and rows, or the error."""
    try:
        result = accelerator.run(text, case.parameters, engine=engine)
    except (QueryError, neo4j.exceptions.Neo4jError) as error:
        return error
    rows = [[_plain(value) for value in record.values()] for record in result]
    return tuple(result.keys()), rows


def _plain(value: Any) -> Any:
    """Nodes and relationships by id, labels and properties."""
    if isinstance(value, neo4j.graph.Entity):
        kind = value.type if isinstance(value, neo4j.graph.Relationship) else sorted(value.labels)
        return [value.element_id, kind, dict(value)]
    return value


def test_what_neo4j_refuses_to_compile_is_refused(server: Server) -> None:
    texts = Texts(seed=7)
    with server.driver.session() as session:
        for text in (texts.text() for _ in range(200)):
            theirs = refusal_of_server(session, f"CYPHER 5 {text}")
            assert theirs is None or refusal(f"CYPHER 5 {text}", 5) is not None, text
