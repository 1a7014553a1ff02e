"""The documentation's notebook that needs a server."""

import re

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed")

from example_notebooks import run_notebook, shown

pytestmark = [pytest.mark.neo4j, pytest.mark.filterwarnings("default")]


@pytest.mark.slow
def test_the_application_notebook_runs(server, tmp_path, monkeypatch):
    server.load(["UNWIND [1, 2, 3] AS i CREATE (:A {i: i})"])
    server.run("MATCH (a:A), (b:A) WHERE b.i = a.i % 3 + 1 CREATE (a)-[:R]->(b)")
    monkeypatch.setenv("NEO4J_URI", server.uri)
    user, password = server.auth or ("neo4j", "")
    monkeypatch.setenv("NEO4J_USERNAME", user)
    monkeypatch.setenv("NEO4J_PASSWORD", password)
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path))
    cells = run_notebook("application", tmp_path)
    assert shown(cells[0]).strip() == "True"
    assert re.fullmatch(
        r"first: 3 paths in .* ms\s+again: 3 paths in .* ms", shown(cells[1]).strip()
    )
    assert shown(cells[2]).strip() == "3 r ['triangles']"
    assert "passed through" in shown(cells[3])
    assert "CypherSyntaxError" in shown(cells[4])
