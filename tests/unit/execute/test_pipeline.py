"""Queries of several clauses, on a graph small enough to know the rows."""

import pytest

import gpugda
from gpugda.device.devices import list_devices

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

PEOPLE = {
    "id": [1, 2, 3, 4],
    "labels": ["P", "P", "P", "Q"],
    "name": ["Ann", "Bo", "Cy", None],
    "age": [10, 20, 30, 40],
}
KNOWS = {
    "source": [1, 2, 3, 1, 3],
    "target": [2, 3, 1, 3, 4],
    "type": ["K", "K", "K", "L", "K"],
    "w": [1, 2, 3, 4, 5],
}


@pytest.fixture(scope="module")
def people():
    with gpugda.connect(gpugda.graph(nodes=PEOPLE, relationships=KNOWS)) as accelerator:
        yield accelerator


ANSWERS = {
    # one relationship in two clauses, besides paths of varying length
    "MATCH ()-[r:L]-() MATCH (n)-[*0..1]-()-[r]-()-[*0..1]-(m) RETURN count(*)": [[44]],
    # WHERE of WITH DISTINCT and of an aggregation reads output columns
    "MATCH (a) WITH DISTINCT a.name AS n WHERE a.name = 'Bo' RETURN n": [["Bo"]],
    "MATCH (a)-->() WITH a.name AS n, count(*) AS c WHERE count(*) = 1 RETURN n, c": [["Bo", 1]],
    # a bound node, and null
    "OPTIONAL MATCH (a:Nope) MATCH (a) RETURN a": [],
    "MATCH (q:P) OPTIONAL MATCH (q)-[:L]->(a) MATCH (a), (b:Q) RETURN a.age, b.age": [[30, 40]],
    "OPTIONAL MATCH (a:Nope) RETURN EXISTS { (a) }, COUNT { MATCH (a) }": [[False, 0]],
    "OPTIONAL MATCH (a:Nope) OPTIONAL MATCH (a) RETURN a": [[None]],
    # a path between nodes unconnected to those of a shortest path
    "MATCH (a:Q), (b {name: 'Ann'}) MATCH p = shortestPath((a)<-[*]-(b))"
    " MATCH (c)-[:K*..2]->()-[:L]->(c) RETURN length(p), count(*)": [[2, 1]],
    # relationships of one clause that are joined before and after a path differ
    "MATCH (a)-[r:L]-(b), (c)-[s:L]-(d) MATCH (a)-[*1..1]-(x) RETURN count(*)": [[0]],
    # WHERE of WITH reads earlier variables
    "MATCH (a:P) WITH a.name AS n WHERE a.age > 10 AND n < 'Cy' RETURN *": [["Bo"]],
    # two paths, each with one unnamed end
    "MATCH (:Q)<-[*1..2]-(a), ()-[:L*1..1]->(b) RETURN count(*)": [[2]],
    # rows to rows
    "MATCH (a:P) WITH a MATCH (a)-[:K]->(b) RETURN a.name, b.age ORDER BY b.age": [
        ["Cy", 10],
        ["Ann", 20],
        ["Bo", 30],
        ["Cy", 40],
    ],
    "MATCH (a:P)-[:K]->(b) WITH b, count(*) AS c WHERE b.age < 30 MATCH (b)-->(x)"
    " RETURN b.name, c, x.age ORDER BY b.name, x.age": [
        ["Ann", 1, 20],
        ["Ann", 1, 30],
        ["Bo", 1, 30],
    ],
    "MATCH (a:P) WITH a ORDER BY a.age DESC LIMIT 2 MATCH (a)-->(b) RETURN a.age, b.age"
    " ORDER BY a.age, b.age": [[20, 30], [30, 10], [30, 40]],
    "MATCH (a) WITH collect(a) AS all UNWIND all AS x MATCH (x)-[:L]->(y) RETURN x.age, y.age": [
        [10, 30]
    ],
    "MATCH (a)-[r:L]->() WITH r MATCH (x)-[r]->(y) RETURN x.age, y.age": [[10, 30]],
    # OPTIONAL MATCH
    "MATCH (a) OPTIONAL MATCH (a)-[:L]->(b) RETURN a.age, b.age ORDER BY a.age": [
        [10, 30],
        [20, None],
        [30, None],
        [40, None],
    ],
    "MATCH (a) OPTIONAL MATCH (a)-[:K]->(b) RETURN count(*)": [[5]],
    "MATCH (a) OPTIONAL MATCH (a)-[:K]->(b) WHERE b.age > a.age RETURN a.age, count(b)"
    " ORDER BY a.age": [[10, 1], [20, 1], [30, 1], [40, 0]],
    "MATCH (a) OPTIONAL MATCH (a)-->(b:Q) OPTIONAL MATCH (b)<--(c) RETURN a.age, c.name"
    " ORDER BY a.age": [[10, None], [20, None], [30, "Cy"], [40, None]],
    "OPTIONAL MATCH (a:Nobody) RETURN a, count(*)": [[None, 1]],
    # subqueries
    "MATCH (a) WHERE EXISTS { (a)-[:K]->(:Q) } RETURN a.age": [[30]],
    "MATCH (a) WHERE NOT (a)-->() RETURN a.age": [[40]],
    "MATCH (a) RETURN COUNT { (a)-->() } AS d ORDER BY a.age": [[2], [1], [2], [0]],
    "MATCH (a:P) CALL { WITH a MATCH (a)-->(b:Q) RETURN count(b) AS c } RETURN a.age, c"
    " ORDER BY a.age": [[10, 0], [20, 0], [30, 1]],
    "MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN b ORDER BY b.age LIMIT 1 } RETURN a.age, b.age"
    " ORDER BY a.age": [[10, 20], [20, 30], [30, 10]],
    "MATCH (a:P) CALL (a) { MATCH (a)-->(b) WITH count(b) AS c RETURN c, a.age AS own }"
    " RETURN own, c ORDER BY own": [[10, 2], [20, 1], [30, 2]],
    # lists, unions, paths
    "UNWIND [1, 2, 2, null] AS x RETURN DISTINCT x": [[1], [2], [None]],
    "UNWIND [] AS x RETURN count(*), min(x), collect(x)": [[0, None, []]],
    "MATCH (a:P) RETURN a.age AS x UNION MATCH (b) RETURN b.age AS x": [[10], [20], [30], [40]],
    "MATCH (a:Q) RETURN a.age AS x UNION ALL MATCH (b:Q) RETURN b.age AS x": [[40], [40]],
    "MATCH (a {age: 10})-[:K*1..3]->(b) RETURN b.age ORDER BY b.age": [[10], [20], [30], [40]],
    "MATCH (a {age: 10})-[:K*0..1]->(b) RETURN b.age ORDER BY b.age": [[10], [20]],
    "MATCH (a)-[:K*]->(b) RETURN count(*)": [[13]],
    "MATCH (b)<-[:K*2]-(a {age: 10}) RETURN b.age": [[30]],
    "MATCH (a)-[:L]->(c), (a)-[:K*1..3]->(c) RETURN a.age, c.age": [[10, 30]],
    "RETURN 1 AS one": [[1]],
}


@pytest.mark.parametrize("query", ANSWERS)
def test_queries_give_their_rows(people, query):
    assert people.run(query, engine="gpu").values() == ANSWERS[query]


def test_the_summary_lists_the_operators(people):
    query = "MATCH (a:P) WITH a.age AS x ORDER BY x LIMIT 2 RETURN collect(x)"
    summary = people.run(query, engine="gpu").summary
    assert any(line.startswith("aggregate collect(x)") for line in map(str.strip, summary.steps))


def test_a_limit_stops_early(people):
    rows = people.run("UNWIND [1, 2, 3, 4] AS x WITH x LIMIT 2 RETURN x", engine="auto")
    assert rows.values() == [[1], [2]]


def test_a_null_node_of_an_empty_graph_has_no_neighbours():
    with gpugda.connect(gpugda.graph(nodes={"id": []})) as empty:
        query = "OPTIONAL MATCH (a) RETURN NOT (a)--() AS none, COUNT { (a)-->() } AS c"
        assert [record.values() for record in empty.run(query, engine="gpu")] == [[True, 0]]


def test_parameters_of_a_wrong_type_fail_before_there_are_rows(people):
    query = "MATCH (a:Nope) WITH a WHERE a.age IN $ages RETURN a"
    with pytest.raises(gpugda.errors.CypherTypeError, match="ages"):
        people.run(query, {"ages": "many"}, engine="gpu")


def test_a_range_too_long_for_a_list_is_streamed(people):
    query = "MATCH (a:P) WITH a LIMIT 2 UNWIND range(1, 3000001, 2) AS x RETURN count(*), max(x)"
    assert people.run(query, engine="gpu").values() == [[2 * 1_500_001, 3_000_001]]


@pytest.mark.slow
def test_a_time_limit_stops_a_search_of_too_many_paths():
    """A complete graph has far too many trails to enumerate, and their windows stay small."""
    count = 60
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    relationships = {
        "source": [a for a, _ in pairs],
        "target": [b for _, b in pairs],
        "type": ["R"] * len(pairs),
    }
    nodes = {"id": list(range(count))}
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as complete:
        with pytest.raises(gpugda.QueryTimeoutError):
            complete.run("MATCH (a {id: 0})-[*]->(b) RETURN count(*)", engine="gpu", timeout=2)
        rows = complete.run("MATCH (a {id: 0})-[*2..3]->(b) RETURN count(*)", engine="gpu")
        assert rows.values() == [[59 * 59 + 59 * 59 * 59 - 59]]


@pytest.mark.parametrize("terms", [300, 20_000])
def test_too_deep_nesting_is_refused_with_its_place(people, terms):
    with pytest.raises(gpugda.UnsupportedQueryError, match="more than 200 levels") as caught:
        people.run("RETURN " + " + ".join(["1"] * terms), engine="gpu")
    assert caught.value.line == 1


def test_a_sum_of_a_hundred_terms_is_answered(people):
    assert people.run("RETURN " + " + ".join(["1"] * 100), engine="gpu").values() == [[100]]


@pytest.mark.parametrize("clause", ["SKIP", "LIMIT"])
def test_skip_and_limit_may_be_random(people, clause):
    query = f"MATCH (n) WITH n {clause} toInteger(rand() * 9) WITH count(*) AS c RETURN c >= 0"
    assert people.run(query, engine="gpu").values() == [[True]]
