"""The checks of whole queries against answers of Neo4j 5.26: ``corpus_checks/``."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from made_trees import bodies

from gpugda.errors import CypherSyntaxError
from gpugda.query.check.queries import check_query
from gpugda.query.parser import parse
from gpugda.query.prepare import prepare
from gpugda.query.render import query_text
from gpugda.query.statement import Statement

CORPUS = Path(__file__).parent / "corpus_checks"


def corpus(name):
    lines = (CORPUS / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("text", corpus("compiled.txt"))
def test_queries_that_neo4j_compiles_pass(text):
    check_query(parse(text))


@pytest.mark.parametrize("line", corpus("refused.txt"))
def test_queries_that_neo4j_refuses_are_refused_at_the_same_place(line):
    text, status, column = line.split("\t")
    with pytest.raises(CypherSyntaxError) as caught:
        check_query(parse(text))
    assert (caught.value.gql_status or "-", caught.value.column) == (status, int(column))


@pytest.mark.parametrize("text", corpus("known.txt"))
def test_known_differences(text):
    check_query(parse(text))


# Operators by operand: a row is the left operand, its letters the right ones that compile.
OPERANDS = {
    "b": "true",
    "i": "1",
    "f": "1.5",
    "s": "'a'",
    "l": "[1]",
    "m": "{a: 1}",
    "n": "n",
    "r": "r",
    "p": "p",
    "d": "date()",
    "D": "duration('P1D')",
    "P": "point({x: 1, y: 2})",
}
COMPILED = {
    "+": {
        **dict.fromkeys("bmnrpP", "l"),
        **dict.fromkeys("ifs", "ifsl"),
        "l": "bifslmnrpdDP",
        "d": "lD",
        "D": "ldD",
    },
    "-": {**dict.fromkeys("if", "if"), **dict.fromkeys("dD", "D")},
    "*": {**dict.fromkeys("if", "ifD"), "D": "if"},
    "/": dict.fromkeys("ifD", "if"),
    "%": dict.fromkeys("if", "if"),
    "^": dict.fromkeys("if", "if"),
    "||": {"s": "s", "l": "l"},
    "=~": {"s": "s"},
    "IN": dict.fromkeys(OPERANDS, "l"),
    "AND": {"b": "b"},
    "<": dict.fromkeys(OPERANDS, "".join(OPERANDS)),
    "CONTAINS": dict.fromkeys(OPERANDS, "".join(OPERANDS)),
}


@pytest.mark.parametrize("operator", COMPILED)
def test_operators_accept_the_types_of_neo4j(operator):
    compiled = {}
    for left in OPERANDS:
        for right in OPERANDS:
            value = f"{OPERANDS[left]} {operator} {OPERANDS[right]}"
            try:
                check_query(parse(f"MATCH p = (n)-[r]->() RETURN {value} AS z"))
            except CypherSyntaxError:
                continue
            compiled[left] = compiled.get(left, "") + right
    assert {k: set(v) for k, v in compiled.items()} == {
        k: set(v) for k, v in COMPILED[operator].items()
    }


@pytest.mark.parametrize(
    "text",
    [
        "LET x = 1 LET y = x RETURN y",
        "UNWIND [1, 2] AS x FILTER x > 1 RETURN x",
        "WHEN true THEN RETURN 1 AS x ELSE RETURN 2 AS x",
        "RETURN 1 AS x UNION RETURN 2 AS x NEXT RETURN x + 1 AS y NEXT RETURN y",
        "MATCH (n) RETURN n.x, count(*) GROUP BY n.x",
        "RETURN allReduce(s = 0, x IN [1, 2] | s + x, s < 5) AS z",
    ],
)
def test_cypher_25_is_refused_in_cypher_5_alone(text):
    check_query(parse(text), version=25)
    check_query(parse(f"CYPHER 25 {text}"))
    with pytest.raises(CypherSyntaxError, match="is Cypher 25"):
        check_query(parse(f"CYPHER 5 {text}"), version=25)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("LET x = 1, y = x RETURN y", "Variable `x` not defined"),
        ("RETURN 1 AS x NEXT RETURN y", "Variable `y` not defined"),
        ("WHEN true THEN RETURN 1 AS x ELSE RETURN 2 AS y", "same return column names"),
    ],
)
def test_cypher_25_is_checked(text, said):
    with pytest.raises(CypherSyntaxError, match=said):
        check_query(parse(text), version=25)


def test_queries_that_write_are_left_to_the_server():
    check_query(parse("CREATE (n) RETURN m"))


def test_a_wrong_unsupported_query_is_a_syntax_error():
    assert isinstance(prepare("MATCH (n) WITH n.x AS y RETURN y"), Statement)
    with pytest.raises(CypherSyntaxError, match="Variable `n` not defined"):
        prepare("MATCH (n) WITH n.x AS y RETURN n")


def test_a_sum_of_thousands_of_terms_is_checked():
    check_query(parse("RETURN " + " + ".join(["1"] * 5000) + " AS x"))


def refusal(text):
    try:
        check_query(parse(text), version=25)
    except CypherSyntaxError as error:
        return error
    return None


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(bodies())
def test_any_query_is_checked_or_refused(tree):
    text = query_text(tree)
    error = refusal(text)
    if error is not None:
        assert error.line >= 1
        assert 0 <= error.span.start <= error.span.end <= len(text)
