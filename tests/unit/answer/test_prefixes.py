"""Versions and options in prefixes of queries that the server may not have, or may refuse."""

import pytest
from fake_server import facts

from gpugda.answer.server_only import refuse_options, refuse_unknown_version
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


@pytest.mark.parametrize("text", [SIMPLE, STATEMENT])
@pytest.mark.parametrize(
    "options",
    [
        "runtime=parallel",
        "runtime=pipelined",
        "runtime=interpreted",
        "operatorEngine=compiled",
        "connectComponentsPlanner=idp",
        "debug=ast",
        "5 runtime=slotted updateStrategy=eager",
    ],
)
def test_options_that_the_server_may_refuse_or_warn_of(text, options):
    with pytest.raises(UnsupportedQueryError, match="is for Neo4j"):
        refuse_options(prepare(f"CYPHER {options} {text}"))


@pytest.mark.parametrize("text", [SIMPLE, STATEMENT])
@pytest.mark.parametrize(
    "options", ["", "5", "RUNTIME=Slotted", "planner=cost replan=force", "planner=dp planner=dp"]
)
def test_options_without_effect_on_answers(text, options):
    refuse_options(prepare(f"CYPHER {options} {text}"))
