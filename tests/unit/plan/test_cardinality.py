"""Selectivities of predicates and label programs."""

import pytest
from graphs import make_graph

from gpugda.plan.cardinality import label_share, selectivity
from gpugda.plan.label_programs import label_program
from tests.one_pattern import query_of

DISTINCT = {"x": 4, "unknown": None}


@pytest.mark.parametrize(
    ("predicate", "share"),
    [
        ("n.x = 1", 0.25),
        ("1 = n.x", 0.25),
        ("n.x <> 1", 0.75),
        ("n.x IN [1, 2]", 0.5),
        ("n.x IN [1, 2, 3, 4, 5]", 1),
        ("NOT n.x = 1", 0.75),
        ("n.x = 1 OR n.x = 2", 0.4375),
        ("n.nowhere = 1", 0),
        ("n.nowhere < 1", 0),
        ("n.nowhere IS NULL", 1),
        ("n.nowhere IS NOT NULL", 0),
        ("n.nowhere STARTS WITH 'a'", 0),
        ("id(n) = 3", 0.01),
    ],
)
def test_selectivity_of_predicates(predicate, share):
    (found,) = query_of(f"MATCH (n) WHERE {predicate} RETURN n").graph.predicates
    assert selectivity(found, DISTINCT, 100) == pytest.approx(share)


@pytest.mark.parametrize(
    "predicate",
    [
        "n.unknown = 1",
        "n.x < 1",
        "n.x STARTS WITH 'a'",
        "n.x",
        "$p",
        "n.x IS NULL",
        "n.x = n.unknown",
    ],
)
def test_unknown_selectivities_are_between_0_and_1(predicate):
    (found,) = query_of(f"MATCH (n) WHERE {predicate} RETURN n").graph.predicates
    assert 0 < selectivity(found, DISTINCT, 100) < 1


@pytest.mark.parametrize(
    ("labels", "share"),
    [("A", 0.5), ("!A", 0.5), ("A&B", 0.125), ("A|B", 0.625), ("%", 0.75), ("!X", 1), ("X", 0)],
)
def test_the_share_of_nodes_with_labels(labels, share):
    data = make_graph([("A", {}), ("A", {}), ("B", {}), ("", {})])
    (node,) = query_of(f"MATCH (n:{labels}) RETURN n").graph.nodes
    program = label_program(node.labels, data.labels)
    assert label_share(program, data.statistics) == pytest.approx(share)
