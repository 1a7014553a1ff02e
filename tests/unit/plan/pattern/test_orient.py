import pytest
from graphs import make_graph

from gpugda.plan.bind import bind
from gpugda.plan.pattern.orient import orient
from gpugda.plan.pattern.symmetry import interchangeable
from tests.one_pattern import query_of

TRIANGLE = "(a)--(b)--(c)--(a)"


def graph(loops=()):
    relationships = [(0, "R", 1, {}), (1, "S", 2, {}), (2, "R", 0, {})]
    relationships += [(0, kind, 0, {}) for kind in loops]
    return make_graph([("A", {"x": 1}), ("A:B", {}), ("B", {})], relationships)


def bound(pattern, where="", loops=()):
    return bind(query_of(f"MATCH {pattern} {where} RETURN count(*)"), graph(loops))


def names(found, positions):
    return "".join(found.nodes[position].name for position in positions)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    {
        TRIANGLE: "abc",
        "(a)--(b)--(c)--(a), (a)--(d), (b)--(d), (c)--(d)": "abcd",
        "(a)--(b)--(c)--(d)--(a)": "",
        "(b)--(c), (a)--(b), (a)--(c), (d)--(b), (d)--(c)": "bc",
        "(a)--(b)--(c)--(a), (a)--(x), (b)--(y), (c)--(z)": "abc",
        "(a)--(b)--(c)--(a), (a)--(x), (b)--(y)": "",
        "(a)--(b)--(c)--(a), (c)--(x)": "ab",
        "(a:A)--(b:A)--(c:B)--(a)": "ab",
        "(a:A)--(b:B)--(c)--(a)": "",
        "(a)-[:R]-(b)-[:S]-(c)-[:S]-(a)": "ab",
        "(a)-[:R]-(b)-[:R]-(c)-[:S]-(a)": "ac",
        "(a)-->(b)-->(c)-->(a)": "",
        "(a)--(b)-->(c)<--(a)": "ab",
        "(a)--(b)--(c)": "",
        "(a)--(b)": "",
        "(a)--(b), (a)--(b)": "",
        "(a)--(b)--(c)--(a), (a)--(a)": "bc",
        "(a {x: 1})--(b {x: 1})--(c)--(a)": "ab",
        "(a {x: 1})--(b {x: 2})--(c)--(a)": "",
        "(a)--(b)--(c)--(a), (d)--(e)--(f)--(d)": "abc",
    }.items(),
)
def test_interchangeable_nodes_are_found(pattern, expected):
    found = bound(pattern)
    assert names(found, interchangeable(found)) == expected


def test_a_large_query_counts_as_asymmetric():
    around = [f"(v{i})--(v{(i + 1) % 17})" for i in range(17)]
    assert interchangeable(bound(", ".join(around))) == ()


def test_the_search_for_symmetries_is_bounded():
    leaves = ", ".join(f"(a)--(l{i}), (b)--(m{i}), (c)--(n{i})" for i in range(4))
    found = bound(f"(a)--(b)--(c)--(a), {leaves}")
    assert names(found, interchangeable(found)) == "abc"


@pytest.mark.parametrize(
    ("pattern", "multiplicity"),
    {
        TRIANGLE: 6,
        "(b)--(c), (a)--(b), (a)--(c), (d)--(b), (d)--(c)": 2,
        "(a)--(b)--(c)--(a), (d)--(e)--(f)--(d)": 36,
        "(a)--(b)--(c)--(a), (a)--(d)--(e)--(a)": 4,
    }.items(),
)
def test_each_set_of_nodes_is_counted_in_one_order(pattern, multiplicity):
    found = orient(bound(pattern), (0, 0))
    assert found.multiplicity == multiplicity
    turned = [each for each in found.query.graph.relationships if each.directed]
    assert turned
    assert all(each.source < each.target for each in turned)
    assert {frozenset((each.source, each.target)) for each in turned} <= {
        frozenset((one, other)) for nodes in found.sets for one in nodes for other in nodes
    }


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("(a)--(b)--(c)--(a), (a)-->(d)", ""),
        ("(a)-[{x: 1}]-(b)--(c)--(a)", ""),
        (TRIANGLE, "WHERE a.x < b.x"),
        (TRIANGLE, "WHERE a <> c"),
        (TRIANGLE, "WHERE a.x = b.x"),
        ("(a:Nowhere)--(b:Nowhere)--(a)", ""),
        # An exchange of a and b would ask that t and v differ.
        ("(a)-[s]-(c)-[t]-(b)--(a) MATCH (a)-[u]-(d)-[v]-(b)", "WHERE s <> u"),
    ],
)
def test_patterns_that_an_order_would_change_are_kept(pattern, where):
    assert orient(bound(pattern, where), (0, 0)) is None


def test_loops_that_may_match_prevent_orientation():
    assert orient(bound(TRIANGLE, loops=["R"]), (1, 0)) is None
    assert orient(bound("(a)-[:S]-(b)-[:S]-(c)-[:S]-(a)", loops=["R"]), (1, 0)).multiplicity == 6


@pytest.mark.parametrize(
    ("pattern", "grouped", "sets", "places", "multiplicity"),
    [
        (TRIANGLE, "a", ["abc"], ["a", "b", "c"], 2),
        (TRIANGLE, "ab", [], [], 0),
        (f"{TRIANGLE}, (c)--(d)", "d", ["ab"], ["d"], 2),
        (f"{TRIANGLE}, (c)--(d)", "c", ["ab"], ["c"], 2),
        (f"{TRIANGLE}, (c)--(d)", "a", [], [], 0),
        ("(b)--(c), (a)--(b), (a)--(c), (d)--(b), (d)--(c)", "ad", ["bc"], ["ad"], 2),
        (f"{TRIANGLE}, (a)--(d), (b)--(d), (c)--(d)", "ad", ["abc"], ["ad", "bd", "cd"], 2),
        (f"{TRIANGLE}, (a)--(d), (d)--(e)--(f)--(d)", "b", ["ef"], ["b"], 2),
        (f"{TRIANGLE}, (d)--(e)--(f)--(d), (a)--(x)--(d)", "x", ["bc", "ef"], ["x"], 4),
    ],
)
def test_grouped_nodes_are_exchanged_only_among_themselves(
    pattern, grouped, sets, places, multiplicity
):
    found = bound(pattern)
    position = {node.name: node.position for node in found.nodes}
    turned = orient(found, (0, 0), tuple(sorted(position[each] for each in grouped)))
    if not sets:
        assert turned is None
        return
    assert [names(found, each) for each in turned.sets] == sets
    assert [names(found, each) for each in turned.places] == places
    assert turned.multiplicity == multiplicity
