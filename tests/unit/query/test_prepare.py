"""From text to checked query, and the cache. What is accepted was checked on Neo4j 5.26."""

import pytest

from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.query.check.queries import check_query
from gpugda.query.prepare import check_compiles, prepare


def test_a_repeated_text_is_prepared_once():
    text = "MATCH (only:ThisTest) RETURN only"
    assert prepare(text) is prepare(text)
    assert prepare(text + " ") is not prepare(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("MATCH (a RETURN a", CypherSyntaxError),
        ("MATCH (a) RETURN b", CypherSyntaxError),
        ("CALL db.labels() YIELD label RETURN label", UnsupportedQueryError),
    ],
)
def test_errors_are_raised_again(text, error):
    for _ in range(2):
        with pytest.raises(error) as caught:
            prepare(text)
        assert caught.value.line == 1


def test_a_refused_text_is_parsed_once_and_each_error_is_new(monkeypatch):
    text = "LOAD CSV FROM 'only.that.test' AS row RETURN row"
    with pytest.raises(UnsupportedQueryError) as first:
        prepare(text)
    monkeypatch.setattr("gpugda.query.prepare.parse", None)
    with pytest.raises(UnsupportedQueryError) as second:
        prepare(text)
    assert first.value is not second.value
    assert str(first.value) == str(second.value)
    assert vars(first.value) == vars(second.value)
    assert second.value.construct == "LOAD CSV"


def test_a_text_is_checked_once_per_version(monkeypatch):
    checked = []

    def noted(tree, version):
        checked.append(version)
        check_query(tree, version)

    statement = prepare("MATCH (a) LET only_here = a RETURN only_here")
    monkeypatch.setattr("gpugda.query.prepare.check_query", noted)
    raised = []
    for _ in range(2):
        check_compiles(statement, 25)
        with pytest.raises(CypherSyntaxError) as caught:
            check_compiles(statement, 5)
        raised.append(caught.value)
    assert checked == [25, 5]
    assert str(raised[0]) == str(raised[1])
    assert raised[0] is not raised[1]


PASSES = [
    "MATCH (a {x: b.x}), (b) RETURN a",
    "MATCH (a WHERE a.x = b.x), (b) RETURN a",
    "MATCH (a)-[r {w: a.x} WHERE b.x = r.w]->(b) RETURN a",
    "MATCH (b) MATCH (a WHERE a.x = b.x) RETURN a",
    "MATCH (a {x: a.x}) RETURN a",
    "MATCH (a) WHERE null RETURN a",
    "MATCH (a) WHERE a.x RETURN a",
    "MATCH (a) WHERE $p RETURN a",
    "MATCH (a) WHERE $p.x RETURN a",
    "MATCH (a) WHERE 'a' IN null OR 'a' IN a.x OR 'a' IN $p RETURN a",
    "MATCH (a) WHERE 1 STARTS WITH 'a' OR a CONTAINS 'x' OR labels(a) ENDS WITH 1 RETURN a",
    "MATCH (a), (b) WHERE a < b OR a < 1 OR 'x' < 1 OR [] < 1 OR {} = 1 OR 1 = 2 = 3 RETURN a",
    "MATCH (a)-[r]->() WHERE a = r OR a = 1 OR r:R|S RETURN a",
    "MATCH (a) WHERE type(null) = 'x' OR id(null) = 1 OR (null).x = 1 OR (null):A RETURN a",
    "MATCH (a) RETURN labels(null), ID(a), COUNT(a), count(1), count(null), count($p)",
    "MATCH (a) WHERE (a:A) = true RETURN a",
    "MATCH (a) RETURN a LIMIT $p",
    "MATCH (a) RETURN a SKIP $m.x LIMIT $m.y",
    "MATCH (a) RETURN count(*) > 1, $p = count(*), [count(*), 1]",
    "MATCH (a) RETURN a.x = 'x', count(*) ORDER BY a.x = 'x'",
    "MATCH (a) RETURN a.x AS x, count(*) AS c ORDER BY x, c, a.x, count(*), x = 1, c > 1, $p, 1",
    "MATCH (a) RETURN count(a) AS count ORDER BY count",
    "MATCH (a) RETURN DISTINCT a ORDER BY a.name, a:A, id(a)",
    "MATCH (a) RETURN a AS b, count(*) ORDER BY a.name, b.name, count(*) > a.x",
    "CYPHER 25 MATCH (a) RETURN id(a)",
]


@pytest.mark.parametrize("text", PASSES)
def test_correct_queries_are_accepted(text):
    assert prepare(text).text == text


def test_parameters_are_collected():
    text = (
        "MATCH (a {x: $one}) WHERE a.y IN [$two] RETURN $three ORDER BY $four SKIP $five LIMIT $six"
    )
    assert prepare(text).parameters == {"one", "two", "three", "four", "five", "six"}


def test_mode_and_version():
    query = prepare("CYPHER 25 EXPLAIN MATCH (a) RETURN a")
    assert (query.mode, query.version) == ("EXPLAIN", 25)


@pytest.mark.parametrize("mode", ["DIFFERENT RELATIONSHIPS", "DIFFERENT RELATIONSHIP BINDINGS"])
def test_match_modes_are_refused_in_cypher_5(mode):
    text = f"MATCH {mode} (a)-->(b) RETURN a"
    with pytest.raises(CypherSyntaxError, match="is Cypher 25, and this query is Cypher 5"):
        prepare(f"CYPHER 5 {text}")
    check_compiles(prepare(text), 25)
    with pytest.raises(CypherSyntaxError, match="is Cypher 25, and this query is Cypher 5"):
        check_compiles(prepare(text), 5)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("MATCH (a)-->(b) RETURN a, count(*)", True),
        ("MATCH (a) WITH a ORDER BY a.x LIMIT 1 RETURN sum(a.y)", True),
        ("MATCH DIFFERENT RELATIONSHIPS (a)-->(b) RETURN a", False),
        ("MATCH (a) RETURN vector(a.x, 1, INTEGER) AS v", False),
        ("LET x = 1 RETURN x", False),
        ("MATCH (a) RETURN COUNT { (a)-->() } AS n", False),
        ("CALL () { RETURN 1 AS x } RETURN x", False),
    ],
)
def test_texts_without_a_construct_of_a_version_are_checked_once(text, same):
    assert prepare(text).is_of_all_versions == same
