"""Where paths of variable length start: at the end of which the fewest nodes are expected."""

import pytest

from gpugda.plan import logical
from gpugda.plan.building.build import build_query
from gpugda.plan.logical import children_of
from gpugda.query.check.queries import check_query
from gpugda.query.parser import parse


def start_of(pattern):
    checked = parse(f"MATCH {pattern} RETURN 1")
    check_query(checked)
    trees = [build_query(checked).tree]
    for tree in trees:
        if isinstance(tree, logical.Expand):
            return tree.start
        trees += children_of(tree)
    raise AssertionError("no expansion")


@pytest.mark.parametrize(
    ("pattern", "start"),
    [
        ("(a:A)-[*]->(b:B {name: $name})", "b"),
        ("(a:A)-[*]->(b:B {name: 'x'}) WHERE a.flag", "b"),
        ("(a:A {flag: true})-[*]->(b:B {name: 'x'}) WHERE a.size > 2", "b"),
        ("(a:A {flag: true})-[*]->(b:B {flag: false}) WHERE a.size > 2", "a"),
        ("(a:A {name: 'y'})-[*]->(b:B {name: 'x'}) WHERE a.size > 2", "a"),
        ("(a:A)-[*]->(b:B) WHERE 'x' = b.name AND a.flag AND a.size > 2", "b"),
        ("(a:A)-[*]->(b:B) WHERE a.flag", "a"),
        ("(a:A {name: 'y'})-[*]->(b)-->(c:C)-->(d:D {name: 'x'})", "a"),
    ],
)
def test_paths_start_where_a_property_equals_a_value(pattern, start):
    assert start_of(pattern) == start
