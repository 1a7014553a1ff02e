"""The rules of the optimizer: their order, the schema of what they leave, and `explain`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import gpugda
from gpugda.errors import QueryError
from gpugda.plan import logical, rules
from gpugda.plan.building.build import build_query
from gpugda.plan.facts import Facts, Wanted
from gpugda.plan.logical import children_of, columns_of
from gpugda.plan.optimizer import RULES, optimise
from gpugda.plan.rules.project_nothing import project_nothing
from gpugda.query import ast
from gpugda.query.check.queries import check_query
from gpugda.query.parser import parse
from gpugda.query.shapes import variable_names
from gpugda.query.walk import walk
from tests.case_files import all_cases

_WITH_OWN_SCOPE = (
    ast.Subquery,
    ast.PatternExpression,
    ast.PatternComprehension,
    ast.ShortestPathExpression,
)


def test_each_rule_is_a_file_of_its_name():
    files = sorted(each.stem for each in Path(rules.__path__[0]).glob("[!_]*.py"))
    assert sorted(rule.__name__ for rule in RULES) == files


def trees():
    """The logical trees of all conformance cases, each once, and of one count as a condition."""
    counted = "MATCH (a) WHERE COUNT { (a)-->() } > 0 RETURN a"
    for text in dict.fromkeys([counted, *(case.query for case in all_cases())]):
        try:
            tree = parse(text)
            check_query(tree, 25)
            yield text, build_query(tree)
        except QueryError:
            continue


def expressions_of(value):
    """Expressions in a field of an operator, without those that have scopes of their own."""
    if isinstance(value, ast.Expression):
        if not any(isinstance(part, _WITH_OWN_SCOPE) for part in walk(value)):
            yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from expressions_of(getattr(item, "expression", item))


def check_schema(tree):
    """Every variable that an operator reads is a column of its input."""
    below = children_of(tree)
    if isinstance(tree, logical.Filter | logical.Project | logical.Unwind | logical.Aggregate):
        columns = frozenset(columns_of(tree.input))
        for field in fields(tree):
            for expression in expressions_of(getattr(tree, field.name)):
                assert variable_names(expression) <= columns, (tree, expression)
    if isinstance(tree, logical.BindPath):
        assert columns_of(tree.input), tree
        assert {tree.start, *tree.steps} <= frozenset(columns_of(tree.input)), tree
    for each in below:
        check_schema(each)


def test_the_schema_holds_after_each_rule():
    changed = {(rule, wanted): 0 for rule in RULES for wanted in Wanted}
    for text, built in trees():
        check_schema(built.tree)
        for wanted in Wanted:

            def check(rule, tree, text=text, built=built, wanted=wanted):
                changed[rule, wanted] += 1
                check_schema(tree)
                if wanted is Wanted.ROWS:
                    assert frozenset(columns_of(tree)) >= frozenset(built.columns), text

            optimise(built.tree, Facts(wanted), check)
    unused = [(rule, wanted) for (rule, wanted), count in changed.items() if not count]
    assert unused == [(project_nothing, Wanted.ROWS)]


def test_explain_shows_the_tree_after_each_rule_that_changed_it():
    text = (
        "MATCH p = (a:A)-[:R*1..3]->(b) WHERE COUNT { (b)<--() } > 0"
        " WITH b, p, 1 / b.y AS q RETURN b, count(p)"
    )
    source = gpugda.graph({"A": {"id": [1, 2], "y": [1, 2]}}, {"R": {"source": [1], "target": [2]}})
    with gpugda.connect(source) as accelerator:
        plain, shown = (str(accelerator.explain(text, rules=each)) for each in (False, True))
        counted = str(accelerator.explain("MATCH (a:A) RETURN count(a)", rules=True))
    assert shown.startswith(plain)
    titles = [line for line in shown.splitlines() if line.startswith(("as built", "after "))]
    assert titles == [
        "as built:",
        "after count_as_exists:",
        "after count_rows:",
        "after keep_errors:",
    ]
    before, after = shown.split("after count_as_exists:")
    assert "Filter  predicates=[COUNT { MATCH (b)<--() } > 0]" in before
    assert "Filter  predicates=[EXISTS { MATCH (b)<--() }]" in after
    assert "\0" not in shown
    assert counted.endswith(
        "after count_rows:\n"
        "  Project  columns=[aggregate_0 AS count(a)]\n"
        "    Aggregate  keys=[], aggregates=[count(*)], always=True\n"
        "      Match  MATCH (a:A)\n"
        "        Unit"
    )
