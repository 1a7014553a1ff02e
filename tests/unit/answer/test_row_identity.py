"""When two values of a result are the same for a user."""

import neo4j.graph
import neo4j.spatial
import neo4j.time
import pytest

from gpugda.answer.watching import row_identity

GRAPH = neo4j.graph.Graph()


def node(number, *labels, **properties):
    return neo4j.graph.Node(GRAPH, f"4:db:{number}", number, labels, properties)


def relationship(number, start, end, kind, **properties):
    made = GRAPH.relationship_type(kind)(GRAPH, f"5:db:{number}", number, properties)
    made._start_node, made._end_node = start, end
    return made


def path(*relationships):
    return neo4j.graph.Path(relationships[0].start_node, *relationships)


A, B = node(0, "A"), node(1, "B")
# Pairs of different values, and each is the same as itself.
DIFFERENT = [
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    ("1", 1),
    (None, "None"),
    ([1], ["1"]),
    ([1, [2]], [[1], 2]),
    ({"a": 1}, {"a": 1.0}),
    ({"a": 1}, [("a", 1)]),
    (b"a", "a"),
    (neo4j.spatial.CartesianPoint((1.0, 2.0)), neo4j.spatial.WGS84Point((1.0, 2.0))),
    (neo4j.spatial.CartesianPoint((1.0, 2.0)), [1.0, 2.0]),
    (neo4j.time.Duration(months=1), neo4j.time.Duration(days=1)),
    (neo4j.time.Duration(days=1), [0, 1, 0, 0]),
    (neo4j.time.Date(2020, 1, 1), neo4j.time.DateTime(2020, 1, 1)),
    (neo4j.time.Time(1, 2, 3, 1), neo4j.time.Time(1, 2, 3, 2)),
    (A, B),
    (node(0, "A"), node(0, "A", "B")),
    (node(0, "A"), node(0, "A", x=1)),
    # A new relationship may have the id of a deleted one.
    (relationship(0, A, B, "R"), relationship(0, A, B, "S")),
    (relationship(0, A, B, "R"), relationship(0, B, A, "R")),
    (relationship(0, A, B, "R"), relationship(0, A, B, "R", w=1)),
    (path(relationship(0, A, B, "R")), path(relationship(1, A, B, "R"))),
]


@pytest.mark.parametrize("pair", DIFFERENT)
def test_different_values_have_different_identities(pair):
    first, second = map(row_identity, pair)
    assert first != second
    assert len({first, second, *map(row_identity, pair)}) == 2


def test_nan_is_the_same_as_itself():
    assert row_identity([float("nan")]) == row_identity([float("nan")])


def test_the_order_of_keys_and_labels_does_not_count():
    assert row_identity({"a": 1, "b": 2}) == row_identity({"b": 2, "a": 1})
    assert row_identity(node(0, "A", "B", x=1, y=2)) == row_identity(node(0, "B", "A", y=2, x=1))
