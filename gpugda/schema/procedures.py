"""Neo4j's procedures and SHOW commands that describe a graph or its server, on embedded graphs.

Tools call some of them when they connect. A call becomes a subquery over a list of maps: ``CALL ()
{ UNWIND [{…}] AS row RETURN row.label AS label }``. So YIELD, WHERE and the clauses after it mean
what they mean after any subquery.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from gpugda.errors import CypherSyntaxError
from gpugda.expressions.functions import Aggregate, listed
from gpugda.expressions.kinds import ANY
from gpugda.query import ast
from gpugda.query.check.queries import check_query
from gpugda.query.parser import parse
from gpugda.query.render import name_text
from gpugda.query.statement import statement_of
from gpugda.query.walk import walk
from gpugda.result.text import format_value
from gpugda.schema.describe import nodes_by_labels, properties_of, relationships_of_type, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.expressions.kinds import Kinds
    from gpugda.query.statement import Statement
    from gpugda.schema.graph_schema import PropertySchema

__all__ = [
    "DATABASE",
    "PROCEDURES",
    "SHOWN_VERSION",
    "Procedure",
    "calls_known_procedures",
    "statement_with_procedures",
]

_SHOW = re.compile(
    r"\s*SHOW\s+(?:ALL\s+|BUILT\s+IN\s+)?(?P<what>FUNCTION|PROCEDURE|INDEX|CONSTRAINT|DATABASE|"
    r"(?:HOME|DEFAULT)\s+DATABASE|CURRENT\s+USER)(?:E?S)?\b\s*+(?P<yield>YIELD\b)?",
    re.IGNORECASE,
)
_REST = re.compile(r"\b(?:ORDER\s++BY|SKIP|OFFSET|LIMIT|WHERE|RETURN)\b", re.IGNORECASE)
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.?)*+'?|"(?:[^"\\]|\\.?)*+"?|`[^`]*+`?""", re.DOTALL)
"""Also up to the text's end, so that no quote is looked for twice."""
_NAME = re.compile(r"(?<![^\s,])[^\s,]++(?=\s*+(?:,|\Z))")
"""The last word of each item of YIELD."""
SHOWN_VERSION = "5.26.0"
"""What tools are told that they talk to: they choose their queries by it."""
DATABASE = "neo4j"
"""Name of an embedded graph's database."""
_ROW = "`a row of the procedure`"
_OLD_TYPES = {
    "INTEGER": "Long",
    "FLOAT": "Double",
    "STRING": "String",
    "BOOLEAN": "Boolean",
    "DATE": "Date",
    "LOCAL TIME": "LocalTime",
    "ZONED TIME": "Time",
    "LOCAL DATETIME": "LocalDateTime",
    "ZONED DATETIME": "DateTime",
    "DURATION": "Duration",
    "POINT": "Point",
}
"""Names of Cypher's types in the columns ``propertyTypes``."""


class Procedure(NamedTuple):
    """A procedure or command.

    Args:
        columns: Its columns.
        rows: Its rows for a graph.
        shown: Number of the first columns that a command has without YIELD.
    """

    columns: tuple[str, ...]
    rows: Callable[[DataGraph], Iterable[tuple[Any, ...]]]
    shown: int | None = None


def calls_known_procedures(text: str) -> bool:
    """True if a text calls these procedures, and is otherwise a reading query.

    Raises:
        CypherSyntaxError: It is not Cypher.
    """
    tree = parse(_as_call(text))
    others = (ast.OtherClause, ast.LoadCsv)
    return not any(
        isinstance(node, others)
        or (isinstance(node, ast.CallProcedure) and node.name.lower() not in PROCEDURES)
        for node in walk(tree)
    )


def statement_with_procedures(text: str, graph: DataGraph) -> Statement | None:
    """The query with the calls of these procedures replaced by their rows.

    Args:
        text: The query.
        graph: The graph that the procedures describe.

    Returns:
        None if the text calls none of them outside a subquery.

    Raises:
        CypherSyntaxError: It is not Cypher, or a call does not fit the procedure.
        UnsupportedQueryError: It has an unsupported construct.
    """
    tree = parse(_as_call(text))
    parts = tuple(_expanded(part, tree, graph) for part in tree.parts)
    if parts == tree.parts:
        return None
    check_query(tree, version=25)
    return statement_of(replace(tree, parts=parts))


def _as_call(text: str) -> str:
    """A command as the call of a procedure of this name; any other text unchanged."""
    show = _SHOW.match(text)
    if show is None:
        return text
    text = text.rstrip().removesuffix(";").rstrip()
    # Quoted texts and names as dots, so that only keywords, commas and blanks outside are found.
    masked = _QUOTED.sub(lambda found: "." * len(found[0]), text)
    start = show.end()
    end = next((found.start() for found in _REST.finditer(masked, start)), len(text))
    items, rest = text[start:end].strip(), text[end:]
    if bool(items) != bool(show["yield"]):
        return text
    name = f"show {' '.join(show['what'].lower().split())}"
    if items in ("", "*"):
        columns = PROCEDURES[name].columns
        items = names = ", ".join(columns if items else columns[: PROCEDURES[name].shown])
    else:
        names = ", ".join(
            text[slice(*found.span())] for found in _NAME.finditer(masked, start, end)
        )
    if not re.search(r"\bRETURN\b", masked[end:], re.IGNORECASE):
        rest = f"{rest} RETURN {names}"
    return f"CALL `{name}`() YIELD {items} WITH {names} {rest}"


def _expanded(part: ast.SingleQuery, tree: ast.Query, graph: DataGraph) -> ast.SingleQuery:
    clauses: list[ast.Clause] = []
    for clause in part.clauses:
        known = isinstance(clause, ast.CallProcedure) and clause.name.lower() in PROCEDURES
        if isinstance(clause, ast.CallProcedure) and known:
            clauses += _subquery(clause, tree, graph, alone=len(part.clauses) == 1)
        else:
            clauses.append(clause)
    return replace(part, clauses=tuple(clauses))


def _subquery(
    clause: ast.CallProcedure, tree: ast.Query, graph: DataGraph, *, alone: bool
) -> list[ast.Clause]:
    procedure = PROCEDURES[clause.name.lower()]
    if clause.arguments:
        message = f"Procedure call provides too many arguments: {clause.name} takes none"
        raise CypherSyntaxError(message, tree.text, clause.span)
    yielded = [(name, name) for name in procedure.columns]
    if clause.items:
        yielded = [(item.column, item.variable.name) for item in clause.items]
    elif not alone:
        message = (
            "Procedure call inside a query does not support naming results implicitly (name "
            "explicitly using `YIELD` instead)"
        )
        raise CypherSyntaxError(message, tree.text, clause.span)
    for name, _ in yielded:
        if name not in procedure.columns:
            message = f"Unknown procedure output: `{name}`; {clause.name} has " + ", ".join(
                procedure.columns
            )
            raise CypherSyntaxError(message, tree.text, clause.span)
    rows = [dict(zip(procedure.columns, row, strict=True)) for row in procedure.rows(graph)]
    columns = ", ".join(f"{_ROW}.{name_text(a)} AS {name_text(b)}" for a, b in yielded)
    after = ", ".join(name_text(b) for _, b in yielded)
    optional = "OPTIONAL " if clause.optional else ""
    body = f"UNWIND {format_value(rows)} AS {_ROW} RETURN {columns}"
    made = parse(f"{optional}CALL () {{ {body} }} WITH * WHERE true RETURN {after}")
    call, kept, returned = made.parts[0].clauses
    found = [call]
    if clause.where is not None and isinstance(kept, ast.With):
        found.append(replace(kept, where=clause.where))
    return [*found, returned] if alone else found


# ------------------------------------------------------------------ the procedures
def _labels(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    used = {label for labels, _ in nodes_by_labels(graph) for label in labels}
    return ((name,) for name in graph.labels.names if name in used)


def _types(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    counts = graph.statistics.type_counts
    return ((name,) for name, count in zip(graph.types.names, counts, strict=True) if count)


def _keys(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    return ((key,) for key in sorted({*graph.node_properties, *graph.relationship_properties}))


def _node_properties(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    for labels, nodes in nodes_by_labels(graph):
        kind = "".join(f":`{label}`" for label in sorted(labels))
        for facts in _facts(properties_of(graph.node_properties, nodes)):
            yield kind, sorted(labels), *facts


def _relationship_properties(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    for type_id, name in enumerate(graph.types.names):
        found = relationships_of_type(graph, type_id)
        if len(found):
            for facts in _facts(properties_of(graph.relationship_properties, found)):
                yield f":`{name}`", *facts


def _facts(properties: Iterator[PropertySchema]) -> Iterator[tuple[Any, ...]]:
    some = False
    for one in properties:
        some = True
        yield one.key, sorted(map(_old_type, one.types)), not one.nulls
    if not some:
        yield None, None, False


def _old_type(name: str) -> str:
    element = name.removeprefix("LIST<").removesuffix(">")
    old = _OLD_TYPES.get(element, element.title())
    return old if element == name else f"{old}Array"


def _visualization(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    """One row of all labels and all pairs that a type connects, as maps: they are no entities."""
    schema = schema_of(graph)
    nodes = [
        {"name": label.name, "indexes": [], "constraints": []}
        for label in sorted(schema.labels, key=lambda each: each.name)
    ]
    relationships = [
        {"name": each.name, "start": one.start, "end": one.end}
        for each in schema.types
        for one in each.connections
        if one.start is not None and one.end is not None
    ]
    yield nodes, relationships


def _functions(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    for each in listed():
        name, found = each.name, each.signature
        arguments = list(map(_shown, found.arguments))
        needed = len(arguments) if found.maximum is None else found.minimum
        shown = [a if place < needed else f"{a} (optional)" for place, a in enumerate(arguments)]
        dots = ", …" if found.maximum is None else ""
        signature = f"{name}({', '.join(shown)}{dots}) :: {_shown(found.result)}"
        aggregating = isinstance(each, Aggregate)
        category = "Aggregating" if aggregating else "Scalar"
        yield name, category, signature, signature, aggregating, "apoc." not in name


def _shown(allowed: Kinds) -> str:
    return "ANY" if allowed == ANY else " | ".join(sorted(allowed)).upper()


def _databases(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    for name, kind, home in ((DATABASE, "standard", True), ("system", "system", False)):
        state = ("online", "online", "", home, home)
        yield name, kind, [], "read-only", "", "primary", False, *state, []


def _home(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    found = next(_databases(graph))
    yield (*found[:10], *found[12:])


def _procedures(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    return ((name, "", "READ", False) for name in sorted(_CALLED))


def _nothing(graph: DataGraph) -> Iterator[tuple[Any, ...]]:
    return iter(())


def _columns(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_DATABASE_COLUMNS = (
    "name type aliases access address role writer requestedStatus currentStatus statusMessage "
)
_CALLED = {
    "db.labels": Procedure(("label",), _labels),
    "db.relationshipTypes": Procedure(("relationshipType",), _types),
    "db.propertyKeys": Procedure(("propertyKey",), _keys),
    "db.schema.nodeTypeProperties": Procedure(
        ("nodeType", "nodeLabels", "propertyName", "propertyTypes", "mandatory"), _node_properties
    ),
    "db.schema.relTypeProperties": Procedure(
        ("relType", "propertyName", "propertyTypes", "mandatory"), _relationship_properties
    ),
    "db.schema.visualization": Procedure(("nodes", "relationships"), _visualization),
    "db.ping": Procedure(("success",), lambda graph: [(True,)]),
    "dbms.components": Procedure(
        ("name", "versions", "edition"),
        lambda graph: [("Neo4j Kernel", [SHOWN_VERSION], "community")],
    ),
    "dbms.clientConfig": Procedure(
        _columns(
            "name description value dynamic defaultValue startupValue explicitlySet validValues"
        ),
        _nothing,
    ),
}
_SHOWN = {
    "function": Procedure(
        _columns("name category description signature aggregating isBuiltIn"), _functions, 3
    ),
    "procedure": Procedure(_columns("name description mode worksOnSystem"), _procedures),
    "index": Procedure(
        _columns(
            "id name state populationPercent type entityType labelsOrTypes properties "
            "indexProvider owningConstraint lastRead readCount "
            "trackedSince options failureMessage createStatement"
        ),
        _nothing,
        12,
    ),
    "constraint": Procedure(
        _columns(
            "id name type entityType labelsOrTypes properties ownedIndex propertyType "
            "options createStatement"
        ),
        _nothing,
        8,
    ),
    "database": Procedure(_columns(_DATABASE_COLUMNS + "default home constituents"), _databases),
    "home database": Procedure(_columns(_DATABASE_COLUMNS + "constituents"), _home),
    "default database": Procedure(_columns(_DATABASE_COLUMNS + "constituents"), _home),
    "current user": Procedure(
        _columns("user roles passwordChangeRequired suspended home"), _nothing
    ),
}
PROCEDURES = {
    **{name.lower(): procedure for name, procedure in _CALLED.items()},
    **{f"show {name}": command for name, command in _SHOWN.items()},
}
