from __future__ import annotations

import pytest
from soon import ends_in

import gpugda
from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.schema.procedures import PROCEDURES

NODES = {
    "id": [1, 2, 3],
    "labels": [["P", "Q"], ["P"], []],
    "x": [1, None, 2.5],
    "l": [[1, 2], None, None],
}
RELATIONSHIPS = {"source": [1, 2], "target": [2, 2], "type": ["R", "S"], "w": [0.5, None]}
ROWS = {
    "CALL db.labels()": [["P"], ["Q"]],
    "CALL db.labels": [["P"], ["Q"]],
    "CALL db.labels() YIELD *": [["P"], ["Q"]],
    "CALL db.labels() YIELD label AS l WHERE l <> 'P'": [["Q"]],
    "CALL db.labels() YIELD label AS l WHERE l <> 'P' RETURN l, 1 AS y": [["Q", 1]],
    "MATCH (n:P) CALL db.labels() YIELD label RETURN label, count(*) ORDER BY label": [
        ["P", 2],
        ["Q", 2],
    ],
    "CALL db.labels() YIELD label RETURN label UNION CALL db.relationshipTypes() "
    "YIELD relationshipType AS label RETURN label": [["P"], ["Q"], ["R"], ["S"]],
    "CALL db.relationshipTypes()": [["R"], ["S"]],
    "CALL db.propertyKeys()": [["id"], ["l"], ["w"], ["x"]],
    "call DB.SCHEMA.relTypeProperties()": [
        [":`R`", "w", ["Double"], True],
        [":`S`", None, None, False],
    ],
    "CALL db.schema.nodeTypeProperties() YIELD nodeType, propertyName, propertyTypes, mandatory "
    "WHERE propertyName <> 'id'": [
        [":`P`:`Q`", "l", ["LongArray"], True],
        [":`P`:`Q`", "x", ["Long"], True],
        ["", "x", ["Double"], True],
    ],
    "CALL db.schema.visualization() YIELD nodes RETURN [n IN nodes | n.name]": [[["P", "Q"]]],
    "SHOW FUNCTIONS WHERE name = 'abs'": [
        ["abs", "Scalar", "abs(FLOAT | INTEGER) :: FLOAT | INTEGER"]
    ],
    "CALL dbms.components() YIELD name, versions": [["Neo4j Kernel", ["5.26.0"]]],
    "CALL db.ping()": [[True]],
    "SHOW DATABASES YIELD name AS n, home ORDER BY home LIMIT 1": [["system", False]],
    "SHOW HOME DATABASE YIELD name RETURN count(name), collect(name)": [[1, ["neo4j"]]],
    "SHOW INDEXES": [],
    "SHOW DATABASES YIELD name WHERE name='neo4j' ;\n": [["neo4j"]],
    "SHOW HOME DATABASE YIELD name AS `a, b`, access ORDER BY `a, b`;": [["neo4j", "read-only"]],
    "SHOW HOME DATABASE YIELD name WHERE name <> 'it\\'s LIMIT'": [["neo4j"]],
    "SHOW INDEX YIELD * WHERE name = 'RETURN'": [],
    "SHOW PROCEDURES YIELD name WHERE name STARTS WITH 'db.schema.r'": [
        ["db.schema.relTypeProperties"]
    ],
    "SHOW CURRENT USER": [],
    "show function yield name, aggregating where name = 'count' return *": [[True, "count"]],
}


@pytest.fixture(scope="module")
def accelerator():
    with gpugda.connect(gpugda.graph(nodes=NODES, relationships=RELATIONSHIPS)) as opened:
        yield opened


@pytest.mark.parametrize("engine", ["gpu", "reference"])
@pytest.mark.parametrize("text", ROWS)
def test_rows(accelerator, text, engine):
    assert accelerator.run(text, engine=engine).values() == ROWS[text]


def test_the_same_text_describes_the_graph_of_now():
    class Growing:
        name = "growing"
        labels = ("A",)

        def read(self, progress):
            return gpugda.graph(
                nodes={"id": list(range(len(self.labels))), "labels": list(self.labels)}
            ).read(progress)

    source = Growing()
    with gpugda.connect(source) as opened:
        assert opened.run("CALL db.labels()").values() == [["A"]]
        source.labels = ("A", "B")
        opened.refresh()
        assert opened.run("CALL db.labels()").values() == [["A"], ["B"]]


def test_columns_are_those_of_neo4j(accelerator):
    for name, procedure in PROCEDURES.items():
        text = f"CALL {name}()" if "." in name else name
        assert accelerator.run(text).keys() == procedure.columns[: procedure.shown]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CALL db.labels() YIELD nope", "Unknown procedure output: `nope`"),
        ("CALL db.labels(1)", "too many arguments"),
        ("MATCH (n) CALL db.labels() RETURN count(*)", "naming results implicitly"),
    ],
)
def test_calls_that_neo4j_refuses(accelerator, text, message):
    with pytest.raises(CypherSyntaxError, match=message):
        accelerator.run(text)


def test_other_procedures_are_unsupported(accelerator):
    with pytest.raises(UnsupportedQueryError, match="CALL of a procedure"):
        accelerator.run("CALL dbms.queryJmx('*:*')")
    with pytest.raises(UnsupportedQueryError, match="SHOW USERS"):
        accelerator.run("SHOW USERS")


@pytest.mark.parametrize("many", [" ", "a ", "a", "ORDER ", ";"])
def test_a_long_command_is_read_in_linear_time(accelerator, many):
    with ends_in(10), pytest.raises((CypherSyntaxError, UnsupportedQueryError)):
        accelerator.run(f"SHOW DATABASES YIELD name{many * 20_000} x")


def test_explain(accelerator):
    assert "label" in str(accelerator.explain("CALL db.labels()"))
    assert accelerator.run("EXPLAIN CALL db.labels()").values() == []
