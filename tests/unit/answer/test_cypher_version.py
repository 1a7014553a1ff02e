"""A query that names a version of Cypher which its server does not have."""

import pytest
from fake_server import facts

from gpugda.answer.cypher_version import refuse_unknown_version
from gpugda.errors import UnsupportedQueryError
from gpugda.query.prepare import prepare

SIMPLE = "MATCH (n) RETURN n.name"
STATEMENT = "UNWIND [1, 2] AS x RETURN x"


@pytest.mark.parametrize("text", [SIMPLE, STATEMENT])
@pytest.mark.parametrize("version", ["5.26.0", "5.26-aura", "4.4.1", "2025.05.0"])
def test_cypher_25_is_refused_if_the_server_lacks_it(text, version):
    server = facts(product="Neo4j", version=version)
    with pytest.raises(UnsupportedQueryError, match="does not have Cypher 25") as raised:
        refuse_unknown_version(prepare(f"CYPHER 25 {text}"), server)
    assert raised.value.construct == "CYPHER 25"
    refuse_unknown_version(prepare(f"CYPHER 5 {text}"), server)
    refuse_unknown_version(prepare(text), server)


@pytest.mark.parametrize("version", ["2025.06.0", "2026.08.1", "unknown"])
def test_cypher_25_is_accepted_by_newer_or_unknown_versions(version):
    server = facts(product="Neo4j", version=version)
    refuse_unknown_version(prepare(f"CYPHER 25 {SIMPLE}"), server)


def test_cypher_25_is_accepted_for_other_products():
    refuse_unknown_version(prepare(f"CYPHER 25 {SIMPLE}"), facts(product="Fake", version="1.0"))


AGGREGATE = "MATCH (n) RETURN COUNT { MATCH (n)-->(m) WITH count(m) AS c RETURN c } AS k"
IN_ORDER = "MATCH (n) RETURN COLLECT { MATCH (n)-->(m) RETURN count(m) AS c ORDER BY c } AS k"
ROWS = "MATCH (n) RETURN COUNT { MATCH (n)-->(m) WITH m RETURN count(m) AS c } AS k"


@pytest.mark.parametrize("text", [AGGREGATE, IN_ORDER])
def test_groups_of_subqueries_are_refused_if_the_version_of_the_database_decides(text):
    newer, older = (facts(default_cypher=version) for version in (25, 5))
    with pytest.raises(UnsupportedQueryError, match="begin with CYPHER 25"):
        refuse_unknown_version(prepare(text), newer)
    refuse_unknown_version(prepare(text), older)
    for version in (5, 25):
        refuse_unknown_version(prepare(f"CYPHER {version} {text}"), newer)
    refuse_unknown_version(prepare(ROWS), newer)
