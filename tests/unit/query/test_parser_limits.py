import contextlib
import time

import pytest

from gpugda.errors import CypherSyntaxError, GpugdaError, UnsupportedQueryError
from gpugda.query.cursor import MAXIMUM_NESTING
from gpugda.query.parser import parse
from gpugda.query.statement import statement_of
from gpugda.query.walk import walk

NESTED = {
    "parentheses": ("RETURN ", "(", "1", ")", ""),
    "lists": ("RETURN ", "[", "1", "]", ""),
    "maps": ("RETURN ", "{a: ", "1", "}", ""),
    "calls": ("RETURN ", "f(", "1", ")", ""),
    "subscripts": ("RETURN ", "a[", "1", "]", ""),
    "CASE": ("RETURN ", "CASE WHEN 1 THEN ", "1", " END", ""),
    "NOT": ("RETURN ", "NOT ", "true", "", ""),
    "groups": ("MATCH ", "(", "(a)-->(b)", ")", " RETURN 1"),
    "label groups": ("MATCH (a:", "(", "A", ")", ") RETURN 1"),
    "label negations": ("MATCH (a:", "!", "A", "", ") RETURN 1"),
    "types": ("RETURN a :: ", "LIST<", "INTEGER", ">", ""),
    "subqueries": ("", "CALL () { ", "RETURN 1 AS x", " } RETURN x", ""),
    "EXISTS": ("RETURN ", "EXISTS { MATCH (a) WHERE ", "true", " }", ""),
    "comprehensions": ("RETURN ", "[x IN ", "1", " | 1]", ""),
    "lists that begin like comprehensions": ("RETURN ", "[x IN ", "1", ", 2]", ""),
    "comprehensions without an end": ("RETURN ", "[x IN ", "1", "", ""),
    "paths": ("RETURN ", "(a {x: ", "1", "})--(b)", ""),
    "maps that begin like paths": ("RETURN ", "(a {x: ", "1", "})-[b]", ""),
    "paths without an end": ("RETURN ", "(a {x: ", "1", "", ""),
    "pattern comprehensions": ("RETURN ", "[(a)--(b) WHERE ", "1", " | 1]", ""),
}


def nested(shape, depth):
    before, opening, inner, closing, after = NESTED[shape]
    return before + opening * depth + inner + closing * depth + after


@pytest.mark.parametrize("shape", NESTED)
def test_deep_nesting_is_refused_with_a_reason(shape):
    begun = time.thread_time()
    with pytest.raises(UnsupportedQueryError, match="nesting of more than"):
        parse(nested(shape, 5000))
    # Parsing twice at each level would take 2^depth steps, not seconds.
    for depth in (20, MAXIMUM_NESTING - 2):
        with contextlib.suppress(CypherSyntaxError, UnsupportedQueryError):
            parse(nested(shape, depth))
    assert time.thread_time() - begun < 5


@pytest.mark.parametrize("shape", [s for s in NESTED if "without an end" not in s])
def test_twenty_levels_are_parsed(shape):
    tree = parse(nested(shape, 20))
    assert hash(tree) == hash(parse(nested(shape, 20)))


def test_the_error_names_the_limit():
    parse(nested("parentheses", MAXIMUM_NESTING))
    with pytest.raises(UnsupportedQueryError, match=f"more than {MAXIMUM_NESTING} levels"):
        parse(nested("parentheses", MAXIMUM_NESTING + 1))


def test_a_caller_deep_in_its_own_stack_is_told_so():
    def down(levels):
        return parse(nested("parentheses", 90)) if levels == 0 else down(levels - 1)

    refused = 0
    for levels in range(0, 950, 25):
        try:
            down(levels)
        except UnsupportedQueryError as error:
            refused += "nesting" in error.message
        except RecursionError:  # the caller's own: parse was not reached, or only just
            assert levels > 900
    assert refused


MANY = 10_000
LONG = {
    "AND": "MATCH (n) WHERE " + " AND ".join(["n.x = 1"] * MANY) + " RETURN n",
    "OR": "MATCH (n) WHERE " + " OR ".join(["n.x = 1"] * MANY) + " RETURN n",
    "list": "MATCH (n) WHERE n.x IN [" + ", ".join(["1"] * MANY) + "] RETURN n",
    "comparison": "MATCH (n) WHERE " + " < ".join(["n.x"] * MANY) + " RETURN n",
    "hops": "MATCH ()" + "-->()" * MANY + " RETURN 1",
    "patterns": "MATCH " + ", ".join(["()"] * MANY) + " RETURN 1",
    "clauses": "MATCH () " * MANY + "RETURN 1",
    "labels": "MATCH (n:" + "|".join(["A"] * MANY) + ") RETURN 1",
    "items": "MATCH (n) RETURN " + ", ".join(f"n.x{i}" for i in range(MANY)),
}


@pytest.mark.parametrize("shape", LONG)
def test_long_flat_queries_are_supported(shape):
    query = parse(LONG[shape])
    statement_of(query)
    assert sum(1 for _ in walk(query)) > MANY
    assert hash(query) == hash(parse(LONG[shape]))


@pytest.mark.parametrize("text", ["RETURN 1" + " + 1" * MANY, "RETURN a" + ".b" * MANY])
def test_long_left_associative_chains_are_parsed(text):
    with pytest.raises(GpugdaError, match="not supported"):
        statement_of(parse(text))


def twelve_relationships():
    labels = ("Person", "City", "Company", "Post")
    hops = ", ".join(
        f"(n{i}:{labels[i % 4]} {{x: {i}}})-[r{i}:KNOWS|LIKES]->(n{i + 1}:{labels[(i + 1) % 4]})"
        for i in range(12)
    )
    distinct = " AND ".join(f"n{i} <> n{i + 2}" for i in range(8))
    return (
        f"MATCH {hops} WHERE n0.name = 'Alice' AND n3.age > $age AND NOT n4.x IN [1, 2, 3]"
        f" AND {distinct} RETURN n0.name AS a, count(*) AS c ORDER BY c DESC LIMIT 10"
    )


def test_twelve_relationships_take_at_most_two_milliseconds():
    text = twelve_relationships()
    seconds = []
    for _ in range(100):
        begun = time.thread_time()
        statement_of(parse(text))
        seconds.append(time.thread_time() - begun)
    assert min(seconds) < 0.002
