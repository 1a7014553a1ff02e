from gpugda.query import ast
from gpugda.query.parser import parse
from gpugda.query.walk import walk


def names(text, **options):
    nodes = walk(parse(text), **options)
    return [node.name for node in nodes if isinstance(node, ast.Variable)]


def test_nodes_are_visited_in_the_order_of_the_text():
    text = "MATCH (a {x: b})-[c]->(d WHERE e), (f) WHERE g AND h < i < j RETURN [k, {l: m}], n.o"
    assert names(text) == list("abcdefghijkmn")


def test_queries_of_subqueries_can_be_left_out():
    text = "MATCH (a) WHERE COUNT { MATCH (b) RETURN b } > 1 RETURN c"
    (part,) = parse(text).parts
    found = [n for clause in part.clauses for n in walk(clause, frozenset((ast.SingleQuery,)))]
    assert [n.name for n in found if isinstance(n, ast.Variable)] == ["a", "c"]
    assert names(text) == ["a", "b", "b", "c"]
