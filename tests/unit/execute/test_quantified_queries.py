"""Quantified paths and path selectors, against all trails one by one."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from every_trail import trails_from
from hypothesis import given, settings
from hypothesis import strategies as st

import gpugda
from gpugda.errors import UnsupportedQueryError

NODES = 4
NODE = st.integers(0, NODES - 1)
EDGES = st.lists(st.tuples(NODE, NODE), min_size=1, max_size=6)
ARROWS = {"->": "-[r]->", "<-": "<-[r]-", "-": "-[r]-"}


def _accelerator(edges: list[tuple[int, int]]) -> Any:
    nodes = {"id": [str(i) for i in range(NODES)], "k": list(range(NODES))}
    columns = {
        "source": [str(a) for a, _ in edges],
        "target": [str(b) for _, b in edges],
        "type": ["R"] * len(edges),
        "w": list(range(len(edges))),
    }
    return gpugda.connect(gpugda.graph(nodes=nodes, relationships=columns))


def _rows(accelerator: Any, query: str) -> Counter[Any]:
    found = accelerator.run(query, engine="gpu")
    return Counter(tuple(map(_frozen, each.values())) for each in found)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _trails(edges: Any, direction: str, longest: int | None = None) -> list[Any]:
    return [
        (start, end, walked)
        for start in range(NODES)
        for end, walked in trails_from(edges, start, direction, longest)
    ]


def _nodes(edges: Any, start: int, walked: Any) -> list[int]:
    nodes = [start]
    for index in walked:
        source, target = edges[index]
        nodes.append(target if nodes[-1] == source else source)
    return nodes


FEW = max(15, settings().max_examples // 10)
"""Number of examples; each runs several queries."""


@settings(max_examples=FEW, deadline=None)
@given(EDGES, st.sampled_from(list(ARROWS)))
def test_group_variables_are_lists(edges: Any, direction: str) -> None:
    """Read through aggregates of lists: nodes by their k, relationships by their w."""
    pattern = f"(a)((x){ARROWS[direction]}(y) WHERE x.k <= y.k + 1){{0,3}}(b)"
    with _accelerator(edges) as accelerator:
        found = _rows(accelerator, f"MATCH {pattern} RETURN a.k, b.k, x, r, y")
    shown = Counter(
        (a, b, *(tuple(each[key] for each in many) for key, many in zip("kwk", lists, strict=True)))
        for (a, b, *lists), count in found.items()
        for _ in range(count)
    )
    wanted: Counter[Any] = Counter()
    for start, end, walked in _trails(edges, direction, 3):
        nodes = _nodes(edges, start, walked)
        if all(one <= two + 1 for one, two in pairwise(nodes)):
            wanted[start, end, tuple(nodes[:-1]), walked, tuple(nodes[1:])] += 1
    assert shown == wanted


@settings(max_examples=FEW, deadline=None)
@given(
    EDGES,
    st.sampled_from(list(ARROWS)),
    st.sampled_from(["+", "*", "{2,}", "{1,3}"]),
    st.integers(1, 3),
)
def test_selectors_choose_the_right_paths(
    edges: Any, direction: str, quantifier: str, most: int
) -> None:
    fewest, longest = {"+": (1, None), "*": (0, None), "{2,}": (2, None), "{1,3}": (1, 3)}[
        quantifier
    ]
    by_pair: dict[Any, list[Any]] = {}
    for start, end, walked in _trails(edges, direction, longest):
        if len(walked) >= fewest:
            by_pair.setdefault((start, end), []).append(walked)
    pattern = f"(a){ARROWS[direction]}{quantifier}(b)"
    with _accelerator(edges) as accelerator:
        groups = _rows(accelerator, f"MATCH SHORTEST {most} GROUPS {pattern} RETURN a.k, b.k, r")
        every = _rows(accelerator, f"MATCH ALL SHORTEST {pattern} RETURN a.k, b.k, r")
        some = _rows(accelerator, f"MATCH SHORTEST {most} {pattern} RETURN a.k, b.k, r")
        one = _rows(accelerator, f"MATCH ANY {pattern} RETURN a.k, b.k, count(*)")
    assert _walks(groups) == _best(by_pair, most)
    assert _walks(every) == _best(by_pair, 1)
    assert one == Counter({(*pair, 1): 1 for pair in by_pair})
    lengths = Counter((a, b, len(walked)) for a, b, walked in _walks(some).elements())
    assert lengths == Counter(
        (*pair, length)
        for pair, walks in by_pair.items()
        for length in sorted(map(len, walks))[:most]
    )
    assert not _walks(some) - Counter((*pair, w) for pair, walks in by_pair.items() for w in walks)


def _walks(rows: Counter[Any]) -> Counter[Any]:
    return Counter(
        (a, b, tuple(each["w"] for each in many))
        for (a, b, many), count in rows.items()
        for _ in range(count)
    )


def _best(by_pair: dict[Any, list[Any]], groups: int) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for pair, walks in by_pair.items():
        lengths = sorted(set(map(len, walks)))[:groups]
        found.update((*pair, walked) for walked in walks if len(walked) in lengths)
    return found


CHAIN = [(0, 1), (0, 1), (1, 2), (2, 3), (3, 0)]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("MATCH (a {k: 0})((x)-[r]->(y)){2} RETURN count(*)", [(2,)]),
        ("MATCH ((x)-[r]->(y)){4} RETURN count(*)", [(5 + 3,)]),
        (
            "MATCH (a {k: 0})((x)-->(y)){1,2}((z)-->(w)){2}(b) RETURN b.k, count(*)",
            [(3, 2), (0, 2)],
        ),
        (
            "MATCH (a {k: 0})-[e]->(m)((x)-[r]->(y))*(b {k: 0}) RETURN e.w, count(*)",
            [(0, 1), (1, 1)],
        ),
        ("MATCH (a {k: 0})((x)-[r]->(y)){1}(b), (a)-[t]->(c) RETURN count(*)", [(2,)]),
        ("MATCH ((a {k: 0})-[r]->(b) WHERE r.w > 0) RETURN b.k", [(1,)]),
        ("MATCH (a {k: 0})((:N)-->())+(b) RETURN count(*)", [(0,)]),
        ("MATCH (a {k: 0}) RETURN EXISTS { (a)((x)-->(y))+(a) } AS e", [(True,)]),
        ("MATCH (a {k: 0}) OPTIONAL MATCH ANY SHORTEST (a)-[r:S]->+(b {k: 3}) RETURN r", [(None,)]),
        ("MATCH (a {k: 0})-[r WHERE r.w <> 1]->{1,2}(b) RETURN count(*)", [(2,)]),
    ],
)
def test_quantified_queries_give_their_rows(query: str, rows: Any) -> None:
    with _accelerator(CHAIN) as accelerator:
        assert _rows(accelerator, query) == Counter(rows)


@pytest.mark.parametrize(
    ("query", "construct"),
    [
        ("MATCH (a)((x)-->(y)-->(x)){1,2}(b) RETURN a", "occurs twice"),
        ("MATCH (a)((x)-->(y) WHERE rand() < 1)+(b) RETURN b", "chance"),
        ("UNWIND ['R'] AS t MATCH (a)-[:$(t)*]->(b) RETURN b", "a dynamic type"),
        ("MATCH (a)-[:$('R')*]->(b) RETURN b", "a dynamic type"),
        ("WITH [] AS r MATCH (a)-[r*0..]->(b) RETURN b", "that may be empty"),
        (
            "CYPHER 25 MATCH REPEATABLE ELEMENTS (a)-[r*1..2]->(b), (c)-[r*1..2]->(d) RETURN b",
            "twice in a clause with REPEATABLE ELEMENTS",
        ),
        ("MATCH (a)((x)-->(y) WHERE x.k AND true)+(b) RETURN count(*)", "fails for some"),
    ],
)
def test_unsupported_quantified_queries_are_refused(query: str, construct: str) -> None:
    with _accelerator(CHAIN) as accelerator, pytest.raises(UnsupportedQueryError, match=construct):
        _rows(accelerator, query)


def test_a_subquery_in_a_quantified_relationship_is_evaluated_for_each() -> None:
    """The subquery must be evaluated per relationship, not over all relationships of the path."""
    source = gpugda.graph(
        nodes={"id": ["a", "b"], "labels": [["N"], ["N"]]},
        relationships={"source": ["a", "b"], "target": ["b", "a"], "type": ["R", "S"]},
    )
    text = "MATCH (a)-[r WHERE EXISTS { ()-[q:S]->() WHERE q = r }]->{1,2}(b) RETURN a"
    with gpugda.connect(source) as accelerator:
        for engine in ("gpu", "reference"):
            assert len(accelerator.run(text, engine=engine).values()) == 1


def test_a_selector_chooses_among_paths_of_a_bound_list() -> None:
    """Each of the two parallel relationships is the only path that its row's list allows."""
    text = "MATCH (a {k: 0})-[r*1]->(b) MATCH ANY SHORTEST (c)-[r*1..2]->(d) RETURN r, d.k"
    with _accelerator(CHAIN) as accelerator:
        for engine in ("gpu", "reference"):
            found = accelerator.run(text, engine=engine)
            assert sorted((r[0]["w"], k) for r, k in found.values()) == [(0, 1), (1, 1)]
