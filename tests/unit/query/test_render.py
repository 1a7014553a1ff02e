"""A rendered tree parses to the same tree, for any tree."""

from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from made_trees import bodies, expressions

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.parser import parse
from gpugda.query.render import WRITERS, expression_text, query_text
from gpugda.query.walk import walk
from strategies import examples

QUERIES = [
    line
    for name in ("accepted.txt", "oracle_refuses.txt")
    for line in (Path(__file__).parent / "corpus" / name).read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(expressions())
def test_a_rendered_expression_is_parsed_back(tree):
    text = expression_text(tree)
    (item,) = parse(f"RETURN {text} AS x").parts[0].clauses[0].projection.items
    assert item.expression == tree


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(bodies())
def test_a_rendered_query_is_parsed_back(tree):
    text = query_text(tree)
    assert parse(text).body == tree


def named(node):
    """The tree with every column's name as its alias, as the columns' texts may differ."""
    if isinstance(node, tuple):
        return tuple(map(named, node))
    if not is_dataclass(node) or not isinstance(node, ast.Node):
        return node
    parts = {f.name: named(getattr(node, f.name)) for f in fields(node) if f.name != "span"}
    if isinstance(node, ast.ReturnItem):
        parts["alias"] = node.name
    return replace(node, **parts)


def writes(query):
    return any(isinstance(node, ast.OtherClause | ast.Transactions) for node in walk(query))


@pytest.mark.parametrize("text", QUERIES)
def test_a_rendered_text_is_parsed_back(text):
    query = parse(text)
    if writes(query):
        with pytest.raises(KeyError):
            query_text(query)
        return
    written = query_text(query)
    again = parse(written)
    assert named(again.body) == named(query.body)
    assert (again.version, again.options, again.mode) == (
        query.version,
        query.options,
        query.mode,
    )
    assert query_text(again) == written


def test_every_kind_of_node_is_rendered():
    kinds = {kind for kind in vars(ast).values() if isinstance(kind, type)}
    kinds = {kind for kind in kinds if issubclass(kind, ast.Node) and not kind.__subclasses__()}
    assert kinds - set(WRITERS) == {
        ast.OtherClause,
        ast.Transactions,
        ast.CaseAlternative,  # its defaults depend on its CASE
    }


def test_expressions_too_deep_to_render_are_not_parsed_either():
    deep = "(" * 200 + "1" + ")" * 200
    with pytest.raises(UnsupportedQueryError, match="nesting of more than"):
        parse(f"RETURN {deep}")
