import neo4j.time
import pytest

import gpugda
from gpugda.errors import ConfigurationError, SourceError

ladybug = pytest.importorskip("ladybug", reason="Ladybug is not installed")

MADE = [
    "CREATE NODE TABLE Person(name STRING, age INT64, born DATE, PRIMARY KEY(name))",
    "CREATE NODE TABLE `The City`(id INT64, PRIMARY KEY(id))",
    "CREATE REL TABLE LIVES(FROM Person TO `The City`, FROM Person TO Person, since INT64)",
    "CREATE (:Person {name: 'Ann', age: 3, born: date('2001-02-03')})"
    "-[:LIVES {since: 4}]->(:`The City` {id: 1})",
    "MATCH (a:Person) CREATE (a)-[:LIVES]->(:Person {name: 'Bob'})",
]
TEXT = "MATCH (a:Person)-[r:LIVES]->(b) RETURN a.name, a.age, r.since, labels(b), b.id, b.name"


@pytest.fixture
def made(tmp_path):
    database = ladybug.Database(str(tmp_path / "db"))
    connection = ladybug.Connection(database)
    for text in MADE:
        connection.execute(text)
    yield database, connection, tmp_path / "db"
    connection.close()
    database.close()


def test_tables_of_a_database_become_a_graph(made):
    database, connection, path = made
    wanted = [["Ann", 3, 4, ["The City"], 1, None], ["Ann", 3, None, ["Person"], None, "Bob"]]
    for source in (connection, database):
        accelerator = gpugda.connect(source)
        assert sorted(accelerator.run(TEXT, engine="reference").values(), key=str) == wanted
        born = accelerator.run("MATCH (n:Person) RETURN n.born", engine="reference").value()
        assert born == [neo4j.time.Date(2001, 2, 3), None]
    connection.close()
    database.close()
    accelerator = gpugda.connect(f"ladybug:{path}")
    assert sorted(accelerator.run(TEXT, engine="reference").values(), key=str) == wanted


def test_a_missing_database_is_refused(tmp_path):
    with pytest.raises(SourceError, match="there is no such database"):
        gpugda.connect(f"ladybug:{tmp_path / 'none'}")


def test_columns_of_unsupported_types_are_refused(made):
    connection = made[1]
    connection.execute("CREATE NODE TABLE Bad(id INT64, m MAP(STRING, INT64), PRIMARY KEY(id))")
    connection.execute("CREATE (:Bad {id: 1, m: map(['a'], [1])})")
    with pytest.raises(SourceError, match="column 'm'"):
        gpugda.connect(connection)


def test_other_objects_are_refused():
    with pytest.raises(ConfigurationError, match="a NetworkX graph, a Ladybug connection"):
        gpugda.connect(object())
