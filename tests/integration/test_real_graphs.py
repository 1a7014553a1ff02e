"""The main use on real graphs: the device's rows equal the reference's."""

import pytest
from answers import answer, comparable
from gpugda_adapters.pajek import read_pajek

import gpugda


def slow(query):
    """Marks a query that takes the reference seconds."""
    return pytest.param(query, marks=pytest.mark.slow)


DR_WHO = [
    "MATCH (a:Character)-[r:COMPANION_OF]->(b:Character) RETURN a, r, b",
    "MATCH (a:Actor)-[:PLAYED]->(c:Character)-[:COMES_FROM]->(p:Planet) RETURN a.name, c.name, p.name",
    "MATCH (a:Character)-[:ENEMY_OF]-(b)-[:ALLY_OF]-(c) RETURN a, b, c",
    "MATCH (a)-[:LOVES]->(b)-[:APPEARED_IN]->(e:Episode)<-[:APPEARED_IN]-(a) RETURN a, b, count(*)",
    "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)",
    slow("MATCH (a)-->(b), (a)-->(c), (b)--(c) WHERE a <> b AND b <> c RETURN count(*)"),
    "MATCH (a:Character)-[:APPEARED_IN]->(e:Episode) WHERE e.title STARTS WITH 'The' RETURN e.title, count(a) AS n "
    "ORDER BY n DESC, e.title LIMIT 7",
    "MATCH (n) WHERE n:!%|Thing RETURN labels(n), count(*)",
    "MATCH (a:Species)<-[:IS_A]-(b) MATCH (b)-[:APPEARED_IN]->(e) RETURN DISTINCT a.name ORDER BY a.name SKIP 2 LIMIT 9",
]

YEAST = [
    "MATCH (a:T)-[:INTERACTS]-(b:M)-[:INTERACTS]-(c:U) RETURN a.name, b.name, c.name",
    slow("MATCH (a)--(b)--(c)--(a) RETURN count(*)"),
    "MATCH (a:T)--(b:T), (b)--(c:T), (c)--(a) RETURN a, b, c",
    "MATCH (a)-[r]-(a) RETURN a.name ORDER BY a.name LIMIT 20",
    "MATCH (a:D)--(b:D)--(c:D)--(d:D)--(a) RETURN count(*)",
]

WORDNET = [
    "MATCH (w:Word {name: 'dog'})-[:HAS_SENSE]->(s:Noun)-[:HYPERNYM]->(h)-[:HYPERNYM]->(g) RETURN w, s, h, g",
    "MATCH (a:NounAnimal)-[:HYPERNYM]->(b)-[:MEMBER_HOLONYM|PART_HOLONYM]->(c) RETURN a.name, b.name, c.name",
    "MATCH (w:Word)-[r:HAS_SENSE]->(s:Verb) WHERE w.name ENDS WITH 'ize' AND r.sense > 0 RETURN w.name, s.name, r.sense",
    "MATCH (a:Adjective)-[:ANTONYM]-(b) RETURN count(*)",
]


def compare(accelerator, query):
    device = accelerator.run(query, engine="gpu")
    reference = accelerator.run(query, engine="reference")
    assert device.keys() == reference.keys()
    ours, right = device.values(), reference.values()
    assert answer(ours) == answer(right)
    if "ORDER BY" in query:
        assert [list(map(comparable, row)) for row in ours] == [
            list(map(comparable, row)) for row in right
        ]
    assert right, "a query that finds nothing proves little"


@pytest.fixture(scope="module")
def dr_who(shared_data):
    with gpugda.connect(shared_data / "drwho" / "drwho.graphml.xz") as accelerator:
        yield accelerator


@pytest.fixture(scope="module")
def yeast(shared_data):
    nodes, relationships = read_pajek(shared_data / "yeast-ppi" / "Yeast.zip")
    with gpugda.connect(gpugda.graph(nodes, relationships)) as accelerator:
        yield accelerator


@pytest.fixture(scope="module")
def wordnet():
    with gpugda.connect("sample:wordnet") as accelerator:
        yield accelerator


@pytest.mark.parametrize("query", DR_WHO)
def test_doctor_who_counts_equal_neo4js(dr_who, query):
    compare(dr_who, query)


@pytest.mark.parametrize("query", YEAST)
def test_yeast_counts_equal_neo4js(yeast, query):
    compare(yeast, query)


@pytest.mark.slow  # 120,000 nodes
@pytest.mark.parametrize("query", WORDNET)
def test_wordnet_counts_equal_neo4js(wordnet, query):
    compare(wordnet, query)
