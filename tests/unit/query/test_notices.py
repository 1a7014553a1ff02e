import pytest

from gpugda.query.notices import notices_of


def described(text):
    return [(each.code, each.span.place(text), _end(each.description)) for each in notices_of(text)]


def _end(description):
    return description.rpartition("(")[2].rstrip(")") if "identifier" in description else ""


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("MATCH (a)-->(b), (b)-->(c) RETURN a", []),
        ("MATCH (a) MATCH (b) RETURN a", []),
        ("MATCH (a), (b) RETURN a", ["b"]),
        ("MATCH (a), (b), (c) WHERE a.i = b.i RETURN a", ["b", "c"]),
        ("MATCH (a), (b)-->(c) RETURN a", ["b, c"]),
        ("MATCH (c)-->(d), (a), (b) , (d)-->(e) RETURN a", ["a", "b"]),
        ("MATCH (b), (c), (a)-->(b), (c)-->(a), (d) RETURN a", ["d"]),
        ("MATCH (), () RETURN count(*)", [""]),
    ],
)
def test_disconnected_patterns_give_a_notice(text, identifiers):
    found = described(text)
    assert [each[0] for each in found] == ["CartesianProduct"] * len(identifiers)
    assert [each[2] for each in found] == identifiers


def test_a_notice_writes_the_pattern_as_neo4j():
    text = (
        "MATCH  p=(a:Person {i:1})<-[:R*2]-( ),\n(b WHERE b.i=1)-[r :S|T {x:$y}]->(:A&!B)--() "
        "RETURN a"
    )
    (notice,) = notices_of(text)
    assert (
        "'p = (a:Person {i: 1})<-[:R*2..2]-(), (b WHERE b.i = 1)-[r:S|T {x: $y}]->(:A&!B)--()'"
        in notice.status
    )
    assert "(identifier is: (b))" in notice.description


def test_notices_have_their_places():
    text = "MATCH (a)\nMATCH (b)-[r]->(c), (d)-[r]->(e) WHERE Id(a) = 1 AND id(b) = 2 RETURN a"
    assert [(each.code, each.span.place(text)) for each in notices_of(text)] == [
        ("CartesianProduct", (2, 1)),
        ("RepeatedRelationshipReference", (2, 12)),
        ("FeatureDeprecationWarning", (2, 40)),
        ("FeatureDeprecationWarning", (2, 54)),
    ]


def test_a_malformed_query_gives_no_notices():
    assert notices_of("MATCH (a RETURN") == ()
