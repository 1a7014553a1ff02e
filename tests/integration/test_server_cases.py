"""Every conformance case on a live Neo4j: device, native and reference return the same rows.

Each case runs on one of the two versions, chosen by its name; on both if thorough.
"""

from __future__ import annotations

from typing import Any

import neo4j
import pytest
from case_files import Case, CaseGraph, all_cases, one_in, turn
from named_values import named
from neo4j_servers import Server

import gpugda
from gpugda.errors import GpugdaError
from strategies import is_thorough, rows_key

OURS = ("gpu", "reference")
OTHERWISE_IN_2026 = (
    "an error that AND hides on the left",
    "aggregates of nothing",
    "map projections of dates",
)
ERRORS_OF_2026 = {
    "an error of a constant that no row reaches",
    "false wins over an error",
    "true wins over an error",
}
"""2026 evaluates an operand and raises its error here; 5.26 and gpugda skip the operand.

Which versions and places are affected depends on the order in which operands are evaluated, not on
the Cypher version: it raises with a property as operand, but not in a list of conditions of WHERE.
"""


class Loaded:
    """A connection, and the graph that its server currently holds."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.accelerator: Any = None
        self.graph: CaseGraph | None = None

    def show(self, graph: CaseGraph) -> Any:
        if self.graph is not graph:
            self.server.create(*_rows(graph))
            self.graph = graph
            if self.accelerator is None:
                self.accelerator = gpugda.connect(
                    self.server.uri, auth=self.server.auth, cache=False
                )
            else:
                self.accelerator.refresh()
        return self.accelerator


@pytest.fixture(scope="module")
def connections():
    made: dict[str, Loaded] = {}
    yield made
    for loaded in made.values():
        if loaded.accelerator is not None:
            loaded.accelerator.close()


def _rows(graph: CaseGraph) -> tuple[list[Any], list[Any]]:
    places = {name: place for place, name in enumerate(graph.nodes)}
    nodes = [(labels, {**each, "id": name}) for name, (labels, each) in graph.nodes.items()]
    relationships = [
        (places[source], kind, places[target], {**each, "case_name": name})
        for name, (source, kind, target, each) in graph.relationships.items()
    ]
    return nodes, relationships


def _answer(accelerator: Any, case: Case, engine: str) -> tuple[tuple[str, ...], list[list[Any]]]:
    result = accelerator.run(case.query, case.parameters, engine=engine)
    rows = [[named(value) for value in record.values()] for record in result]
    assert result.summary.engine == engine
    return tuple(result.keys()), rows


def _versions(case: Case) -> tuple[str, ...]:
    versions = ("2026",) if _is_newer(case) else ("5.26", "2026")
    return versions if is_thorough() else (versions[turn(case, len(versions))],)


def _is_newer(case: Case) -> bool:
    """5.26 knows no Cypher 25."""
    return case.topic == "cypher_25" or case.query.startswith("CYPHER 25")


ON_VERSIONS = [
    pytest.param(*parameter.values, version, id=f"{version}-{parameter.id}", marks=parameter.marks)
    for parameter in one_in(1, all_cases(), fast=12)  # their rows are Neo4j's already
    for version in _versions(parameter.values[0])
]


@pytest.mark.parametrize(("case", "each_server"), ON_VERSIONS, indirect=["each_server"])
def test_neo4j_device_and_reference_agree_on_cases(
    case: Case, each_server: Server, connections: dict[str, Loaded]
) -> None:
    if case.name in OTHERWISE_IN_2026 and not each_server.version.startswith("5."):
        pytest.skip("Neo4j 2026.08 answers otherwise than 5.26, whose answer is ours")
    loaded = connections.setdefault(each_server.uri, Loaded(each_server))
    accelerator = loaded.show(case.graph)
    try:
        columns, expected = _answer(accelerator, case, "native")
    except neo4j.exceptions.Neo4jError:
        if case.name in ERRORS_OF_2026 and not each_server.version.startswith("5."):
            for engine in OURS:
                assert_rows(case, _answer(accelerator, case, engine)[1])
            return
        for engine in OURS:
            with pytest.raises((GpugdaError, neo4j.exceptions.Neo4jError)):
                _answer(accelerator, case, engine)
        return
    for engine in OURS:
        # Outside the subset: the server answers, the device declines.
        if case.error or (case.native and engine == "gpu"):
            with pytest.raises(GpugdaError):
                _answer(accelerator, case, engine)
            continue
        assert_same(case, _answer(accelerator, case, engine), (columns, expected))


def assert_same(case: Case, found: Any, native: Any) -> None:
    assert found[0] == native[0]
    if case.row_count is not None:
        assert len(found[1]) == len(native[1]) == case.row_count
        return
    assert_rows(case, native[1])
    assert_rows(case, found[1])
    if case.ordered:  # in this server's order: its ids differ from the case's order
        ours, theirs = (
            [rows_key([row], merges=case.merges) for row in rows] for rows in (found[1], native[1])
        )
        assert ours == theirs


def assert_rows(case: Case, rows: list[list[Any]]) -> None:
    assert rows_key(rows, merges=case.merges) == rows_key(case.rows, merges=case.merges)
