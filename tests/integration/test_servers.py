"""The test servers themselves."""

import pytest


def test_each_version_answers(each_server):
    each_server.load(["CREATE (:A {x: 1})-[:R]->(:B)", "MATCH (a:A) CREATE (a)-[:S]->(a)"])
    assert each_server.run("MATCH (a:A)-[r]->(b) RETURN count(r)")[0][0] == 2
    each_server.wipe()
    assert each_server.run("MATCH (n) RETURN count(n)")[0][0] == 0


def test_the_older_server_has_version_5(server):
    assert server.version.startswith("5.")


def test_the_current_server_has_a_current_version(neo4j_2026):
    assert int(neo4j_2026.version.split(".")[0]) >= 2026


def test_a_graph_is_written_to_a_server_unchanged(each_server):
    nodes = [(("A", "Odd label"), {"x": 1}), ((), {})]
    kinds = ["R", "S", "R", "T", "S"]
    ids = each_server.create(nodes, [(0, kind, i % 2, {"i": i}) for i, kind in enumerate(kinds)])
    found = each_server.run("MATCH (a)-[r]->(b) RETURN id(a), type(r), id(b) ORDER BY r.i")
    expected = [[ids[0], kind, ids[i % 2]] for i, kind in enumerate(kinds)]
    assert [record.values() for record in found] == expected
    labels = each_server.run("MATCH (n) WHERE n.x = 1 RETURN labels(n)")[0][0]
    assert set(labels) == {"A", "Odd label"}


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_restarted_server_keeps_its_data(own_server, end):
    own_server.start()
    own_server.load("CREATE (:Kept)")
    getattr(own_server, end)()
    own_server.start()
    assert own_server.run("MATCH (n:Kept) RETURN count(n)")[0][0] == 1
