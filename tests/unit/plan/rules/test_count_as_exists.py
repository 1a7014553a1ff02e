"""Comparisons of COUNT { … } that only ask for existence."""

import itertools

import pytest

import gpugda
from gpugda.plan.building.build import build_query
from gpugda.plan.facts import Facts
from gpugda.plan.logical import Filter, children_of
from gpugda.plan.rules.count_as_exists import count_as_exists
from gpugda.query import ast
from gpugda.query.parser import parse
from gpugda.query.walk import walk

PATTERN = "(a)-->(b) WHERE b.x > 0"
SIGNS = ["=", "<>", "<", "<=", ">", ">="]


def kinds(where):
    """The kinds of subqueries in a condition, after the rule."""
    tree = count_as_exists(build_query(parse(f"MATCH (a) WHERE {where} RETURN a")).tree, Facts())
    while not isinstance(tree, Filter):
        (tree,) = children_of(tree)
    inner = (each for p in tree.predicates for each in walk(p) if isinstance(each, ast.Subquery))
    return [type(node).__name__ for node in inner]


@pytest.mark.parametrize(
    ("where", "is_read"),
    [
        (f"COUNT {{ {PATTERN} }} > 0", True),
        (f"0 < COUNT {{ {PATTERN} }}", True),
        (f"COUNT {{ {PATTERN} }} >= 1", True),
        (f"1 <= COUNT {{ {PATTERN} }}", True),
        (f"COUNT {{ {PATTERN} }} <> 0", True),
        (f"COUNT {{ {PATTERN} }} = 0", True),
        (f"1 > COUNT {{ {PATTERN} }}", True),
        (f"a.x = 1 AND NOT (COUNT {{ {PATTERN} }} <= 0 OR a.x IS NULL)", True),
        (f"COUNT {{ {PATTERN} }} > 1", False),
        (f"COUNT {{ {PATTERN} }} = 1", False),
        (f"COUNT {{ {PATTERN} }} >= 0", False),
        (f"COUNT {{ {PATTERN} }} > 0.0", False),
        (f"COUNT {{ {PATTERN} }} > null", False),
        (f"0 < COUNT {{ {PATTERN} }} < 3", False),
        (f"COUNT {{ {PATTERN} }} > a.x", False),
    ],
)
def test_which_comparisons_ask_for_existence(where, is_read):
    assert kinds(where) == ["ExistsSubquery" if is_read else "CountSubquery"]


@pytest.mark.slow
@pytest.mark.device
def test_every_comparison_equals_the_reference():
    nodes = {"id": range(5), "x": [0, 1, 1, 2, None]}
    relationships = {"source": [0, 0, 0, 1, 2, 3], "target": [1, 1, 2, 0, 2, 4], "type": ["R"] * 6}
    bodies = [PATTERN, "MATCH (a)-[*]->(b) WHERE b.x = 1 RETURN DISTINCT b.x AS y"]
    with gpugda.connect(gpugda.graph(nodes, relationships)) as accelerator:
        for body, sign, number in itertools.product(bodies, SIGNS, [0, 1, 2]):
            count = f"COUNT {{ {body} }}"
            for where in (f"{count} {sign} {number}", f"{number} {sign} {count}"):
                for text in (
                    f"MATCH (a) WHERE {where} RETURN a.id AS i",
                    f"MATCH (a) WITH a WHERE NOT {where} RETURN a.id AS i",
                ):
                    expected = accelerator.run(text, engine="reference").values()
                    found = accelerator.run(text, engine="gpu").values()
                    assert sorted(found) == sorted(expected), text
