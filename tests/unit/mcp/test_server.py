from __future__ import annotations

import asyncio
import json
import sys

import pytest
from mcp import Client, StdioServerParameters

import gpugda
from gpugda.mcp.server import Limits, make_server

NODES = {"id": [1, 2, 3], "labels": ["P", "P", "Q"], "n": ["a", "b", "c"]}
RELATIONSHIPS = {"source": [1, 2, 1], "target": [2, 3, 3], "type": ["R", "R", "S"]}


@pytest.fixture(scope="module")
def accelerator():
    with gpugda.connect(gpugda.graph(nodes=NODES, relationships=RELATIONSHIPS)) as opened:
        yield opened


def asked(server, tool, **arguments):
    """The text of a tool's answer, and whether it is an error, as a real client receives them."""

    async def ask():
        async with Client(server) as client:
            result = await client.call_tool(tool, arguments)
            return result.content[0].text, bool(result.is_error)

    return asyncio.run(ask())


def test_the_tools_only_read(accelerator):
    async def listed():
        async with Client(make_server(accelerator)) as client:
            tools = (await client.list_tools()).tools
            prompts = (await client.list_prompts()).prompts
            text = await client.get_prompt("ask", {"question": "how many?"})
            return tools, prompts, text.messages[0].content.text

    tools, prompts, text = asyncio.run(listed())
    assert {tool.name for tool in tools} == {"schema", "query", "explain", "estimate"}
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert [prompt.name for prompt in prompts] == ["ask"]
    assert "how many?" in text


def test_a_query_gives_rows_as_json(accelerator):
    text, failed = asked(
        make_server(accelerator),
        "query",
        cypher="MATCH (a:P {n: $n})-[r:R]->(b) RETURN a.n AS a, b",
        parameters={"n": "a"},
    )
    answer = json.loads(text)
    assert not failed
    assert answer["columns"] == ["a", "b"]
    assert answer["rows"][0][0] == "a"
    assert answer["rows"][0][1]["properties"]["n"] == "b"
    assert (answer["row_count"], answer["engine"]) == (1, "gpu")
    assert "remark" not in answer


@pytest.mark.parametrize("limits", [Limits(rows=2), Limits(characters=10)])
def test_long_answers_are_cut_and_say_so(accelerator, limits):
    server = make_server(accelerator, limits)
    text, _ = asked(server, "query", cypher="MATCH (a) RETURN a.n ORDER BY a.n")
    answer = json.loads(text)
    assert answer["rows"] == [["a"], ["b"]]
    assert answer["row_count"] == 3
    assert "2 of 3 rows" in answer["remark"]


@pytest.mark.parametrize(
    "cypher",
    [
        "CREATE (n)",
        "MATCH (n) SET n.x = 1",
        "MATCH (n) DETACH DELETE n",
        "CALL apoc.create.node([], {})",
        "CALL db.createLabel('X')",
        "CALL { CREATE (n) } RETURN 1",
        "CALL db.labels() YIELD label CREATE (n)",
        "LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
        "DROP DATABASE neo4j",
        "SHOW USERS",
        "SHOW FUNCTIONS YIELD name CREATE (n)",
    ],
)
@pytest.mark.parametrize("tool", ["query", "explain", "estimate"])
def test_whatever_may_write_is_refused_before_it_reaches_an_engine(cypher, tool):
    class Untouched:
        """Fails when it is used at all."""

    text, failed = asked(make_server(Untouched()), tool, cypher=cypher)
    assert failed
    assert "not supported" in text or "unexpected" in text


def test_errors_are_told(accelerator):
    text, failed = asked(make_server(accelerator), "query", cypher="MATCH (n RETURN n")
    assert failed
    assert "line 1" in text
    text, failed = asked(make_server(accelerator), "query", cypher="RETURN $x")
    assert failed
    assert "$x" in text


def test_schema_explain_and_estimate(accelerator):
    server = make_server(accelerator)
    assert "(:P)-[:R]->(:Q)" in asked(server, "schema")[0]
    assert "gpu" in asked(server, "explain", cypher="MATCH (a)-->(b) RETURN count(*)")[0]
    expected = json.loads(asked(server, "estimate", cypher="MATCH (a:P) RETURN a")[0])
    assert expected["rows"] == 2
    assert json.loads(asked(server, "query", cypher="CALL db.labels()")[0])["row_count"] == 2


@pytest.mark.slow
def test_the_command_speaks_on_standard_output(tmp_path):
    (tmp_path / "nodes.csv").write_text("id:ID,n,:LABEL\n1,a,P\n2,b,P\n")
    (tmp_path / "relationships.csv").write_text(":START_ID,:END_ID,:TYPE\n1,2,R\n")
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "gpugda", "mcp", "-a", str(tmp_path)]
    )
    text, failed = asked(command, "query", cypher="MATCH (a:P)-[:R]->(b) RETURN b.n")
    assert not failed
    assert json.loads(text)["rows"] == [["b"]]
