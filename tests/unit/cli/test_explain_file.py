"""``gpugda explain FILE.cypher``: a report on the queries of a file."""

from __future__ import annotations

import pytest

from gpugda.cli.explain_file import names_file

QUERIES = """\
// counted on the device
MATCH (a:P)-[:R]->(b) RETURN count(*);

MATCH (a)-[:R]->(b)
WITH a, count(b) AS c ORDER BY c DESC LIMIT 3
RETURN a.n, c;
:param x => 1
MATCH (a)
CALL db.labels() YIELD label
RETURN label;
MATCH (a RETURN a;
MATCH (a) WHERE EXISTS { MATCH (a)-[:$('R')*]->(c) } RETURN a;
PROFILE MATCH (a) RETURN a
"""

REPORT = """\
{0}:2: device: MATCH (a:P)-[:R]->(b) RETURN count(*)
  device   MATCH (a:P)-[:R]->(b)
  columns  aggregate count(*)
  columns  project count(*)
{0}:4: device: MATCH (a)-[:R]->(b) WITH a, count(b) AS c ORDER BY c DESC LIMIT 3 RETUR…
  device   MATCH (a)-[:R]->(b)
  columns  aggregate count(*) by a
  columns  project a, count(*) AS c
  columns  sort by c DESC
  columns  limit 3
  columns  project a.n, c
{0}:8: Neo4j: MATCH (a) CALL db.labels() YIELD label RETURN label
  {0}:9:1: CALL of a procedure
{0}:11: no query: MATCH (a RETURN a
"""


def test_each_query_of_a_file_is_explained(gpugda_command, tmp_path, monkeypatch):
    monkeypatch.delenv("GPUGDA_SOURCE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.cypher").write_text(QUERIES, "utf-8")
    said = gpugda_command("explain", "queries.cypher")
    assert said.exit_code == 1
    assert said.stdout.startswith(REPORT.format("queries.cypher"))
    assert (
        "queries.cypher:12:35: a dynamic type of a relationship of varying length\n" in said.stdout
    )
    assert "  PROFILE shows Neo4j's own plan\n" in said.stdout
    assert said.stdout.endswith(
        "6 queries: 2 on the device, 3 left to Neo4j, 1 that Neo4j would refuse to compile\n"
    )


def test_a_file_whose_queries_compile_is_no_error(gpugda_command, tmp_path):
    (tmp_path / "q.cypher").write_text("MATCH (n) RETURN n; CREATE (n)")
    assert gpugda_command("explain", str(tmp_path / "q.cypher")).exit_code == 0


def test_a_missing_file_is_an_error(gpugda_command):
    assert gpugda_command("explain", "nowhere.cypher").exit_code != 0


@pytest.mark.parametrize(
    ("query", "is_file"),
    [("q.cypher", True), ("Q.CQL", True), ("MATCH (n) RETURN n.cypher", False), (None, False)],
)
def test_an_argument_that_names_a_file_is_recognised(query, is_file):
    assert names_file(query) is is_file


def test_rules_are_shown_for_each_query_on_the_device(gpugda_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.cypher").write_text(QUERIES, "utf-8")
    said = gpugda_command("explain", "--rules", "queries.cypher").stdout
    assert said.count("  as built:\n") == 2
    assert "  after count_rows:\n" in said
