from contextlib import contextmanager
from types import SimpleNamespace

import neo4j
import pytest
from gpugda_adapters.bolt_address import parse_address
from gpugda_adapters.bolt_server import accepts_cypher_5, greet, read_facts
from neo4j.exceptions import Neo4jError

from gpugda.errors import SourceError

BOOKMARK = "FB:kcwQz4exibD+QJiDXZJJPZvn9wOQ"
DATABASE_ID = "cf87b189-b0fe-4098-835d-92493d9be7f7"
SEES_ALL = [
    {
        "access": "GRANTED",
        "action": "match",
        "resource": "all_properties",
        "graph": "*",
        "segment": segment,
    }
    for segment in ("NODE(*)", "RELATIONSHIP(*)")
]


def components(version, edition):
    return [
        {"name": "Cypher", "versions": ["5", "25"], "edition": ""},
        {"name": "Neo4j Kernel", "versions": [version], "edition": edition},
    ]


class Server:
    """Answers by the start of the text; an unknown text is an error."""

    def __init__(self, agent="Neo4j/5.26.0", bookmark=BOOKMARK, **answers):
        self.agent = agent
        self.bookmark = bookmark
        self.answers = {
            "CALL dbms.components": components("5.26.0", "community"),
            "SHOW DATABASES": [{"name": "films", "type": "standard"}],
            "SHOW CURRENT USER": [],
        }
        self.answers.update(answers)
        self.asked = []

    @contextmanager
    def session(self, *, impersonate=True):
        yield SimpleNamespace(
            run=lambda text, parameters=None: self.run(text, parameters, impersonate),
            last_bookmarks=lambda: neo4j.Bookmarks.from_raw_values(
                [self.bookmark] if self.bookmark else []
            ),
        )

    def run(self, text, parameters, impersonate):
        self.asked.append((text, parameters, impersonate))
        if text == "RETURN 1 AS one":
            address = ("db.example", 7687)
            server = SimpleNamespace(agent=self.agent, address=address, protocol_version=(5, 8))
            return SimpleNamespace(consume=lambda: SimpleNamespace(server=server, database="films"))
        for start, rows in self.answers.items():
            if text.startswith(start) and rows is not None:
                return [SimpleNamespace(data=lambda row=row: row) for row in rows]
        raise Neo4jError._hydrate_neo4j(
            code="Neo.ClientError.Statement.SyntaxError", message="unknown"
        )

    def facts(self, address="bolt://db.example", impersonated=""):
        greeting = greet(self.session)
        return read_facts(self.session, greeting, parse_address(address), impersonated)


def enterprise(**answers):
    return Server(
        **{
            "CALL dbms.components": components("5.26.0", "enterprise"),
            "SHOW CURRENT USER": [{"user": "ann"}],
            "SHOW USER PRIVILEGES": SEES_ALL,
            **answers,
        }
    )


def databases(**columns):
    return {"SHOW DATABASES": [{"name": "films", "type": "standard", **columns}]}


def test_facts_of_a_community_server():
    found = Server().facts()
    assert (found.product, found.version, found.edition) == ("Neo4j", "5.26.0", "community")
    assert (found.database, found.database_id) == ("films", DATABASE_ID)
    assert (found.user, found.impersonated_user, found.default_cypher) == ("", "", 5)
    assert found.has_bookmarks
    assert found.sees_everything
    assert not found.clustered
    assert found.address == "bolt://db.example:7687"


def test_the_greeting_names_agent_and_address():
    found = greet(Server().session)
    assert found.host_port == "db.example:7687"
    assert found.protocol == (5, 8)
    assert found.version.transaction == 3


def test_the_default_cypher_version_is_read():
    assert Server(**databases(defaultLanguage="CYPHER 25")).facts().default_cypher == 25
    assert Server(**databases(defaultLanguage="CYPHER 5")).facts().default_cypher == 5
    assert Server(**databases(defaultLanguage=None)).facts().default_cypher == 5


def test_the_default_cypher_version_is_probed_if_databases_are_hidden():
    hidden = {"SHOW DATABASES": []}
    assert Server(**hidden).facts().default_cypher == 5
    assert Server(**hidden, LET=[{"one": 1}]).facts().default_cypher == 25
    assert Server(**{"SHOW DATABASES": None}, LET=[{"one": 1}]).facts().default_cypher == 25


def test_acceptance_of_the_cypher_5_prefix_is_probed():
    assert not accepts_cypher_5(Server().session)
    assert accepts_cypher_5(Server(**{"CYPHER 5": [{"one": 1}]}).session)


@pytest.mark.parametrize("version", ["4.4.38", "3.5.0"])
def test_versions_before_5_are_refused(version):
    with pytest.raises(SourceError, match=f"Neo4j {version}, but 5.0"):
        Server(f"Neo4j/{version}", **{"CALL dbms.components": None}).facts()


@pytest.mark.parametrize("version", ["5.0.0", "5.27-aura", "2026.08.1"])
def test_versions_from_5_on_are_accepted(version):
    assert Server(**{"CALL dbms.components": components(version, "community")}).facts().version == (
        version
    )


def test_a_compatible_product_is_named():
    agent = "Neo4j/v5.11.0 compatible graph database server - Memgraph"
    found = Server(agent, None, **{"CALL dbms.components": None, "SHOW CURRENT USER": None}).facts()
    assert found.product == "Memgraph"
    assert not found.has_bookmarks
    assert found.database_id == ""
    assert found.sees_everything


def test_an_unknown_agent_is_not_taken_for_neo4j():
    assert Server("Foo/1.2", None, **{"CALL dbms.components": None}).facts().product == "Foo"
    assert Server("", None).facts().product == "unknown"


def test_an_enterprise_user_with_all_grants_sees_everything():
    server = enterprise()
    found = server.facts(impersonated="joe")
    assert found.sees_everything
    assert (found.user, found.impersonated_user) == ("ann", "joe")
    # The logged-in user is asked without impersonation, privileges with it.
    assert ("SHOW CURRENT USER", {}, False) in server.asked
    assert ("SHOW USER PRIVILEGES", {}, True) in server.asked


def test_an_enterprise_server_without_authentication_shows_everything():
    assert (
        enterprise(**{"SHOW CURRENT USER": [], "SHOW USER PRIVILEGES": []}).facts().sees_everything
    )


@pytest.mark.parametrize("privileges", [None, [], SEES_ALL[:1]])
def test_an_enterprise_user_with_few_grants_is_restricted(privileges):
    found = enterprise(**{"SHOW USER PRIVILEGES": privileges}).facts()
    assert not found.sees_everything
    assert found.restriction


def test_an_unknown_edition_or_user_is_restricted():
    unknown = {"SHOW USER PRIVILEGES": None}
    assert not enterprise(**unknown, **{"CALL dbms.components": None}).facts().sees_everything
    assert not enterprise(**unknown, **{"SHOW CURRENT USER": None}).facts().sees_everything


def test_a_composite_database_is_refused():
    found = enterprise(**{"SHOW DATABASES": [{"name": "films", "type": "composite"}]}).facts()
    assert "composite" in found.restriction


def test_a_cluster_is_recognised():
    one = {"currentPrimariesCount": 1, "currentSecondariesCount": 0}
    more = {"currentPrimariesCount": 1, "currentSecondariesCount": 2}
    for address in ("bolt://h", "neo4j://h"):
        assert not enterprise(**databases(**one)).facts(address).clustered
        assert enterprise(**databases(**more)).facts(address).clustered
        rows = [{"name": "films", "address": str(i), **one} for i in range(3)]
        assert enterprise(**{"SHOW DATABASES": rows}).facts(address).clustered
        assert not Server(**databases(**one)).facts(address).clustered


@pytest.mark.parametrize("hidden", [None, [], [{"name": "films"}]])
def test_hidden_databases_are_a_cluster_only_for_routing_addresses(hidden):
    assert enterprise(**{"SHOW DATABASES": hidden}).facts("neo4j://h").clustered
    assert not enterprise(**{"SHOW DATABASES": hidden}).facts("bolt://h").clustered
