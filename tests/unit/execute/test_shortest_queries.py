"""Queries with shortestPath and allShortestPaths, with the answers of Neo4j 5.26."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gpugda
from gpugda.errors import CypherExecutionError, CypherSyntaxError, UnsupportedQueryError
from gpugda.values import Entity

NAMES = "abcdex"
RELATIONSHIPS = [
    ("a", "R", "b", "ab", 1),
    ("a", "R", "b", "ab2", 2),
    ("a", "R", "c", "ac", 1),
    ("b", "S", "d", "bd", 3),
    ("c", "R", "c", "cc", 1),
    ("c", "R", "d", "cd", 2),
    ("d", "R", "e", "de", 1),
    ("e", "R", "a", "ea", 5),
]
"""In the order of a data graph."""

ENDS = "MATCH (a {name: 'a'}), (d {name: 'd'}) "


@pytest.fixture(scope="module")
def accelerator() -> Iterator[Any]:
    nodes = {
        "id": list(NAMES),
        "labels": [["N"]] * len(NAMES),
        "name": list(NAMES),
        "k": [1, 2, 3, 4, 5, None],
    }
    source, kind, target, name, weight = zip(*RELATIONSHIPS, strict=True)
    relationships = {
        "source": source,
        "target": target,
        "type": kind,
        "name": name,
        "w": weight,
    }
    columns = {key: list(values) for key, values in relationships.items()}
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=columns)) as made:
        yield made


def _shown(value: Any) -> Any:
    """Entities by name; paths by their relationships' names, or by their only node."""
    if isinstance(value, Entity):
        return NAMES[value.index] if value.is_node else RELATIONSHIPS[value.index][3]
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if hasattr(value, "relationships"):
        return [_shown(each) for each in value.relationships] or [_shown(value.nodes[0])]
    return value["name"] if hasattr(value, "element_id") else value


def _rows(accelerator: Any, query: str) -> list[Any]:
    found = accelerator.run(query, engine="gpu")
    return sorted(([_shown(value) for value in record.values()] for record in found), key=repr)


CASES = {
    "MATCH p = allShortestPaths((a {name: 'a'})-[*]->(d {name: 'd'})) RETURN p": [
        [["ab", "bd"]],
        [["ab2", "bd"]],
        [["ac", "cd"]],
    ],
    "MATCH p = allShortestPaths((a {name: 'a'})-[*]-(d {name: 'd'})) RETURN p": [
        [["ab", "bd"]],
        [["ab2", "bd"]],
        [["ac", "cd"]],
        [["ea", "de"]],
    ],
    "MATCH p = allShortestPaths((a {name: 'a'})-[*..1]->(d {name: 'd'})) RETURN p": [],
    "MATCH p = allShortestPaths((a {name: 'a'})-[:R*]->(d {name: 'd'})) RETURN p": [[["ac", "cd"]]],
    "MATCH p = shortestPath((a {name: 'a'})-[*0..]->(b {name: 'a'})) RETURN p": [[["a"]]],
    "MATCH p = allShortestPaths((a {name: 'a'})-[r]->(d {name: 'b'})) RETURN r": [
        [["ab"]],
        [["ab2"]],
    ],
    f"{ENDS} MATCH p = shortestPath((a)-[r*]->(d)) WHERE all(x IN r WHERE x.w < 3) RETURN p": [
        [["ac", "cd"]]
    ],
    f"{ENDS} MATCH p = shortestPath((a)-[*1..0]->(d)) RETURN p": [],
    f"{ENDS} OPTIONAL MATCH p = shortestPath((d)<-[:S*]-(a)) RETURN p": [[None]],
    f"{ENDS} RETURN shortestPath((d)<-[:S*]-(a)) AS p": [[None]],
    f"{ENDS} RETURN allShortestPaths((d)<-[:S*]-(a)) AS p": [[[]]],
    f"{ENDS} RETURN shortestPath((d:Other)<-[:R*]-(a {{name: 'b'}})) AS p": [[["cd", "ac"]]],
    f"{ENDS} RETURN shortestPath((a)-[*0..]->(a)) AS p": [[["a"]]],
    f"{ENDS} WITH a, null AS d RETURN allShortestPaths((d)<-[:S*]-(a)) AS p": [[None]],
    f"{ENDS} WITH a, null AS d OPTIONAL MATCH p = shortestPath((d)<-[*]-(a)) RETURN p": [[None]],
    f"{ENDS} MATCH p = shortestPath((a)-[*]-(d)) WHERE none(x IN nodes(p) WHERE x.name = 'a')"
    " RETURN p": [],
    f"{ENDS} MATCH p = allShortestPaths((a)-[*]-(d)) WHERE none(x IN nodes(p) WHERE x.name = 'e')"
    " RETURN p": [[["ab", "bd"]], [["ab2", "bd"]], [["ac", "cd"]]],
    f"{ENDS} MATCH p = shortestPath((a)-[*]->(d)) WHERE all(x IN nodes(p) WHERE x.none < 3)"
    " RETURN p": [],
    f"{ENDS} MATCH p = shortestPath((a)-[r:R*]->(d)), (a)-[x]->() RETURN p, x.name": [
        [["ac", "cd"], "ab"],
        [["ac", "cd"], "ab2"],
        [["ac", "cd"], "ac"],
    ],
    "MATCH (a)-[:R]->(b) MATCH p = allShortestPaths((a)-[*..3]-(b)) WHERE a <> b"
    " RETURN a.name, b.name, count(*)": [
        ["a", "b", 4],
        ["a", "c", 1],
        ["c", "d", 1],
        ["d", "e", 1],
        ["e", "a", 1],
    ],
    "MATCH shortestPath((a {name: 'a'})-[*]->(d {name: 'd'})) RETURN a.name": [["a"]],
}


@pytest.mark.parametrize("query", CASES)
def test_shortest_path_queries_give_their_rows(accelerator: Any, query: str) -> None:
    assert _rows(accelerator, query) == CASES[query]


def test_conditions_on_the_path_are_part_of_the_search(accelerator: Any) -> None:
    """The search continues with longer paths, which may visit a node twice."""
    not_those = "NOT e IN r AND NOT f IN r"
    given = (
        f"{ENDS} MATCH ()-[e {{name: 'bd'}}]->() WITH a, d, e"
        " MATCH (c {name: 'c'})-[f {name: 'cd'}]->() WITH a, d, e, f "
    )
    every = f"{given} MATCH p = allShortestPaths((a)-[r*]->(d)) WHERE {not_those} RETURN p"
    assert _rows(accelerator, every) == []
    loop = f"{ENDS} MATCH ()-[e {{name: 'cc'}}]->() WITH a, d, e"
    every = f"{loop} MATCH p = allShortestPaths((a)-[r*]->(d)) WHERE e IN r RETURN p"
    assert _rows(accelerator, every) == [[["ac", "cc", "cd"]]]
    one = f"{loop} MATCH p = shortestPath((a)-[r*]->(d)) WHERE e IN r RETURN p"
    assert _rows(accelerator, one) == [[["ac", "cc", "cd"]]]
    bounded = f"{loop} MATCH p = shortestPath((a)-[r*..2]->(d)) WHERE e IN r RETURN p"
    assert _rows(accelerator, bounded) == []


@pytest.mark.parametrize(
    "query",
    [
        "MATCH p = shortestPath((a {name: 'a'})-[*]->(b {name: 'a'})) RETURN p",
        "MATCH p = shortestPath((a {name: 'a'})-[*]->(b)) RETURN p",
        "MATCH p = shortestPath((a)-[*0..3]->(a)) RETURN p",
        f"{ENDS} RETURN shortestPath((a)-[*]->(a)) AS p",
    ],
)
def test_one_node_as_both_ends_is_an_error(accelerator: Any, query: str) -> None:
    with pytest.raises(CypherExecutionError, match="begin and end at the same node"):
        _rows(accelerator, query)


@pytest.mark.parametrize(
    "path",
    ["[*2..]", "[{w: 1}]", "[r:R WHERE r.w > 0]", "[:R]->+(x)--"],
)
def test_unsupported_shortest_path_queries_are_refused(accelerator: Any, path: str) -> None:
    with pytest.raises(CypherSyntaxError):
        _rows(accelerator, f"{ENDS} MATCH p = shortestPath((a)-{path}->(d)) RETURN p")


def test_a_condition_on_two_shortest_paths_is_refused(accelerator: Any) -> None:
    paths = "p = shortestPath((a)-[*]-(d)), q = shortestPath((a)-[*]-(e))"
    for engine in ("gpu", "reference"):
        with pytest.raises(UnsupportedQueryError, match="two shortest paths"):
            accelerator.run(f"{ENDS}, (e) MATCH {paths} WHERE p <> q RETURN p", engine=engine)
