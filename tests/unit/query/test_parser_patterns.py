import pytest

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.ast import Direction
from gpugda.query.ast import SelectorKind as Kind
from gpugda.query.parser import parse
from gpugda.types import Span

S = Span(0, 0)  # spans are not compared


def patterns(text):
    return parse(f"MATCH {text} RETURN 1").parts[0].clauses[0].patterns


def elements(text):
    (pattern,) = patterns(text)
    return pattern.elements


def node(name=None, labels=None, properties=None, where=None):
    variable = None if name is None else ast.Variable(S, name)
    return ast.NodePattern(S, variable, labels, properties, where)


def label(name):
    return ast.LabelName(S, name)


@pytest.mark.parametrize("text", ["(WHERE $p)", "()-[WHERE $p]->()", "(WHERE $p WHERE true)"])
def test_a_parameter_alone_is_a_map_of_a_variable_named_where(text):
    with pytest.raises(CypherSyntaxError, match="cannot be a property map here"):
        patterns(text)


def test_a_node_with_all_parts_is_parsed():
    (found,) = elements("(n:A {x: 1} WHERE n.y)")
    x = ast.MapLiteral(S, (("x", ast.Literal(S, 1)),))
    y = ast.Property(S, ast.Variable(S, "n"), "y")
    assert found == node("n", label("A"), x, y)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("()", node()),
        ("(n)", node("n")),
        ("(:A)", node(None, label("A"))),
        ("(n IS A)", node("n", label("A"))),
        ("(IS IS A)", node("IS", label("A"))),
        ("(IS A)", node(None, label("A"))),
        ("(where)", node("where")),
        ("(WHERE true)", node(None, where=ast.Literal(S, True))),
        ("(WHERE WHERE true)", node("WHERE", where=ast.Literal(S, True))),
        (
            "(WHERE $p IS NULL)",
            node(None, where=ast.Unary(S, ast.UnaryOperator.IS_NULL, ast.Parameter(S, "p"))),
        ),
        ("(`a b`:`C D`)", node("a b", label("C D"))),
        ("(match:Match)", node("match", label("Match"))),
        ("(n:A:B)", node("n", ast.LabelAnd(S, (label("A"), label("B")), True))),
        ("(n:A|B)", node("n", ast.LabelOr(S, (label("A"), label("B"))))),
    ],
)
def test_nodes(text, expected):
    assert elements(text) == (expected,)


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("-->", Direction.OUTGOING),
        ("<--", Direction.INCOMING),
        ("--", Direction.BOTH),
        ("<-->", Direction.BOTH),
        ("-[r]->", Direction.OUTGOING),
        ("<-[r]-", Direction.INCOMING),
        ("-[r]-", Direction.BOTH),
        ("<-[r]->", Direction.BOTH),
        (" - [ r ] - > ", Direction.OUTGOING),
        ("\u2013[r]\u2013\u27e9", Direction.OUTGOING),
    ],
)
def test_directions(text, direction):
    _, relationship, _ = elements(f"(a){text}(b)")
    assert relationship.direction is direction


def relationship(text):
    return elements(f"(a)-[{text}]->(b)")[1]


@pytest.mark.parametrize(
    ("text", "types"),
    [
        (":A", label("A")),
        (":A|B", ast.LabelOr(S, (label("A"), label("B")))),
        (":A|:B", ast.LabelOr(S, (label("A"), label("B")))),
        (":!A", ast.LabelNot(S, label("A"))),
        (":%", ast.LabelWildcard(S)),
        ("IS A", label("A")),
        ("", None),
    ],
)
def test_relationship_types(text, types):
    assert relationship(text).types == types


@pytest.mark.parametrize(
    ("text", "minimum", "maximum"),
    [
        ("*", None, None),
        ("*2", 2, 2),
        ("*1..3", 1, 3),
        ("*..3", None, 3),
        ("*1..", 1, None),
        ("*..", None, None),
        ("r:R* 1 .. 3 {x: 1}", 1, 3),
    ],
)
def test_lengths(text, minimum, maximum):
    assert relationship(text).length == ast.Length(S, minimum, maximum)


def test_a_relationship_with_all_parts_is_parsed():
    found = relationship("r:R {x: $x} WHERE r.y")
    assert found.variable == ast.Variable(S, "r")
    assert found.properties == ast.MapLiteral(S, (("x", ast.Parameter(S, "x")),))
    assert found.where == ast.Property(S, ast.Variable(S, "r"), "y")


@pytest.mark.parametrize(
    ("quantifier", "bounds"),
    [
        ("+", (1, None)),
        ("*", (0, None)),
        ("{2}", (2, 2)),
        ("{1,3}", (1, 3)),
        ("{,3}", (0, 3)),
        ("{1,}", (1, None)),
        ("{,}", (0, None)),
        ("{ 1 , 3 }", (1, 3)),
    ],
)
def test_quantified_relationships_and_groups(quantifier, bounds):
    text = f"MATCH (x) ((a)-->(b) WHERE a.x){quantifier} (y)-[:R]->{quantifier}(z) RETURN 1"
    _, group, _, arrow, _ = parse(text).parts[0].clauses[0].patterns[0].elements
    assert isinstance(group, ast.GroupPattern)
    assert group.quantified
    assert len(group.pattern.elements) == 3
    assert group.where is not None
    assert arrow.quantifier.span.of(text) == quantifier
    assert group.quantifier == arrow.quantifier == ast.Quantifier(S, *bounds)


def test_groups_without_quantifier():
    (group,) = elements("(((a)-->(b)))")
    assert not group.quantified
    assert isinstance(group.pattern.elements[0], ast.GroupPattern)


@pytest.mark.parametrize(
    ("text", "selector", "kind", "count"),
    [
        ("shortestPath((a)-[*]->(b))", "shortestPath", Kind.SHORTEST_PATH, None),
        (
            "allShortestPaths((a)-[*]->(b))",
            "allShortestPaths",
            Kind.ALL_SHORTEST_PATHS,
            None,
        ),
        ("SHORTEST 3 (a)-->+(b)", "SHORTEST 3", Kind.SHORTEST, 3),
        ("all shortest (a)-->+(b)", "ALL SHORTEST", Kind.ALL_SHORTEST, None),
        ("ANY SHORTEST PATH (a)-->+(b)", "ANY SHORTEST PATH", Kind.SHORTEST, 1),
        (
            "SHORTEST 2 PATH GROUPS (a)-->(b)",
            "SHORTEST 2 PATH GROUPS",
            Kind.SHORTEST_GROUPS,
            2,
        ),
        ("SHORTEST GROUP (a)-->+(b)", "SHORTEST GROUP", Kind.SHORTEST_GROUPS, 1),
        (
            "SHORTEST $k PATHS (a)-->+(b)",
            "SHORTEST $K PATHS",
            Kind.SHORTEST,
            ast.Parameter(S, "k"),
        ),
        ("ANY 3 (a)-->+(b)", "ANY 3", Kind.ANY, 3),
        ("ANY (a)-->+(b)", "ANY", Kind.ANY, 1),
        ("ALL PATHS (a)-->(b)", "ALL PATHS", Kind.ALL, None),
    ],
)
def test_selectors(text, selector, kind, count):
    source = f"MATCH p = {text} RETURN 1"
    (pattern,) = parse(source).parts[0].clauses[0].patterns
    assert pattern.selector == ast.Selector(S, kind, count)
    assert pattern.selector.span.of(source).upper() == selector.upper()
    assert pattern.variable == ast.Variable(S, "p")
    assert len(pattern.elements) == 3


def test_words_of_selectors_can_be_names():
    first, second = patterns("all = (a), shortest = (b)")
    assert (first.variable.name, second.variable.name) == ("all", "shortest")


def test_several_patterns():
    first, second = patterns("(a)-->(b)<--(c), (d)")
    assert [type(e).__name__[0] for e in first.elements] == ["N", "R", "N", "R", "N"]
    assert second.elements == (node("d"),)


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("(a)->(b)", ">", "relationships are written"),
        ("(a)-(b)", "(b", "relationships are written"),
        ("(a)-[:R](b)", "(b", "expected '-' after ']'"),
        ("a-->b", "a", "round brackets"),
        ("(a)(b)", "(b", "a relationship is missing"),
        ("(a)((b)-->(c))", "((", "a relationship is missing"),
        ("(a)-->((b)-->(c)){2}", "((", "must lead to a node"),
        ("(n:A:B|C)", "A:", "does not mix"),
        ("(n:A&B:C)", ":C", "do not mix"),
        ("(n:A|:B)", ":B", "not joined with"),
        ("(n IS A:B)", "A:", "or IS in one clause"),
        ("(n:A:B), (m:!C)", "A:", "does not mix"),
        ("(n:A:B)-[:R&S]->()", "A:", "does not mix"),
        ("(n:A:B), (m IS C)", "A:", "does not mix"),
        ("()-[r:A|:B]->()", ":B", "any more"),
        ("()-[:A|:B*]->()", ":B", "any more"),
        ("()-[:A|:B {x: 1}]->()", ":B", "any more"),
        ("()-[:A|:B&C]->()", ":B", "any more"),
        ("()-[:A:B]->()", "A:", "one type"),
        ("()-[r* WHERE r.x]->()", "r.x", "cannot have a WHERE of its own"),
        ("()-[r*0x2]->()", "0x2", "a length"),
        ("(n $p)", "$p", "cannot be a property map"),
        ("()-[r $p]->()", "$p", "cannot be a property map"),
        ("(n:$p)", "p)", "a parameter here is written"),
        ("(n:)", ")", "a label or type name"),
        ("(n {x 1})", "1", "expected ':'"),
        ("(n {x: 1,})", "}", "a property name"),
        ("(n", "(", "never closed"),
    ],
)
def test_malformed_patterns_are_refused_at_their_place(text, at, said):
    source = f"MATCH {text} RETURN 1" if text != "(n" else "MATCH (n"
    with pytest.raises(CypherSyntaxError) as caught:
        parse(source)
    assert said in caught.value.message
    assert caught.value.span.start == source.index(at, 6)


def test_relationship_types_do_not_count_as_mixed_labels():
    parse("MATCH (n:A:B)-[:R|S]->(m) RETURN n")


def test_labels_are_mixed_only_within_one_clause():
    parse("MATCH (n:A:B) MATCH (m:A|B) RETURN n:A|B")
    with pytest.raises(CypherSyntaxError, match="does not mix"):
        parse("MATCH (n:A:B) WHERE n:A|B RETURN n")
    with pytest.raises(CypherSyntaxError, match="does not mix"):
        parse("MATCH (n) RETURN n:A|B, n:A:B")
