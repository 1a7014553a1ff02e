"""An MCP server over one accelerator: its schema, and read-only queries with limits.

Only queries that this package has parsed as reading run, so that no text of a model can write: what
it cannot parse is refused here, although a database might answer it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from gpugda.errors import UnsupportedQueryError
from gpugda.query.prepare import prepare
from gpugda.result.any_error import Error
from gpugda.result.text import json_value

if TYPE_CHECKING:
    from gpugda.accelerator import Accelerator

__all__ = ["Limits", "make_server"]

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
_INSTRUCTIONS = """\
A property graph that is queried with Cypher, read-only. Call schema first: it lists labels,
relationship types, what they connect, and properties. Then call query with one reading statement;
pass values as parameters, and end it with LIMIT. estimate tells how many rows a query would give.
"""
_PROMPT = """\
Answer this question about the graph: {question}

1. Call `schema` and choose labels, types and properties by their exact names.
2. Write one reading Cypher statement, such as
   `MATCH (a:Person)-[:KNOWS]->(b:Person) WHERE a.name = $name RETURN b.name LIMIT 20` or
   `MATCH (a:Person)-[:KNOWS]->(b) RETURN a.name, count(b) AS n ORDER BY n DESC LIMIT 10`.
3. If it may be large, call `estimate` first. Then call `query`, with values as parameters.
4. Say what the rows mean, and show the statement.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may take.

    Attributes:
        rows: Rows that are returned; the answer says if there are more.
        seconds: Time until it is given up.
        characters: Length of the answer's rows as JSON text.
    """

    rows: int = 100
    seconds: float = 30.0
    characters: int = 50_000


def make_server(accelerator: Accelerator, limits: Limits | None = None) -> MCPServer:
    """A server with the tools ``schema``, ``query``, ``explain`` and ``estimate``.

    Args:
        accelerator: The graph; it stays open until the caller closes it.
        limits: What one query may take.
    """
    bounds = limits or Limits()
    server = MCPServer("gpugda", instructions=_INSTRUCTIONS, version=version("gpugda"))

    @server.tool(annotations=_READS)
    def schema() -> str:
        """Labels, relationship types, what they connect, and properties with types and ranges."""
        try:
            return str(accelerator.schema)
        except Error as error:
            raise ToolError(str(error)) from error

    @server.tool(annotations=_READS)
    def query(cypher: str, parameters: dict[str, Any] | None = None) -> str:
        """Run one reading Cypher statement.

        The answer is JSON: columns, rows, whether there are more rows, the engine and seconds.
        """
        return _answer(accelerator, cypher, parameters, bounds)

    @server.tool(annotations=_READS)
    def explain(cypher: str) -> str:
        """How a statement would be answered: engine, steps, estimated rows. Runs nothing."""
        try:
            _check_reads(cypher)
            return str(accelerator.explain(cypher))
        except Error as error:
            raise ToolError(str(error)) from error

    @server.tool(annotations=_READS)
    def estimate(cypher: str) -> str:
        """Expected rows, bytes on the device and seconds of a statement. Runs nothing."""
        try:
            _check_reads(cypher)
            expected = accelerator.estimate(cypher)
        except Error as error:
            raise ToolError(str(error)) from error
        rows = None if math.isnan(expected.rows) else expected.rows
        return json.dumps({"rows": rows, "bytes": expected.bytes, "seconds": expected.seconds})

    @server.prompt()
    def ask(question: str) -> str:
        """Answer a question about the graph with Cypher."""
        return _PROMPT.format(question=question)

    return server


def _check_reads(cypher: str) -> None:
    """Refuses what is not known to read only; procedures that describe the graph are known."""
    from gpugda.schema.procedures import calls_known_procedures

    try:
        prepare(cypher)
    except UnsupportedQueryError:
        if not calls_known_procedures(cypher):
            raise


def _answer(
    accelerator: Accelerator, cypher: str, parameters: dict[str, Any] | None, limits: Limits
) -> str:
    try:
        _check_reads(cypher)
        result = accelerator.run(cypher, parameters, timeout=limits.seconds)
        names, total = list(result.keys()), result.summary.rows
        rows, size = list[list[Any]](), 0
        for block in result.plain_blocks():
            for row in block[: limits.rows - len(rows)]:
                shown = [json_value(value) for value in row]
                size += len(json.dumps(shown, ensure_ascii=False))
                if size > limits.characters:
                    break
                rows.append(shown)
            if size > limits.characters or len(rows) == limits.rows:
                break
        summary = result.consume()
    except Error as error:
        raise ToolError(str(error)) from error
    answer: dict[str, Any] = {"columns": names, "rows": rows, "row_count": total}
    if len(rows) < total:
        answer["remark"] = f"only {len(rows)} of {total} rows are shown; aggregate or use LIMIT"
    answer |= {
        "engine": summary.engine,
        "seconds": round(summary.timings.get("total", 0.0), 6),
        "warnings": list(summary.warnings),
    }
    return json.dumps(answer, ensure_ascii=False)
