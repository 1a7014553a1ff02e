"""Functions of any value, of entities and of paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherTypeError
from gpugda.expressions.checks import type_error
from gpugda.expressions.functions.registry import Function, signature
from gpugda.expressions.kinds import kind_of_value
from gpugda.values import Path, equals

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.expressions.context import Context, EntityAccess

__all__ = ["FUNCTIONS", "entity_access"]


def _coalesce(*given: Any) -> Any:
    return next((each for each in given if each is not None), None)


def _null_if(first: Any, second: Any) -> Any:
    return None if equals(first, second) is True else first


# ------------------------------------------------------------------ entities
def entity_access(context: Context) -> EntityAccess:
    """The access to entities.

    Raises:
        CypherTypeError: The context has none, so no value can be an entity of the graph.
    """
    if context.entities is None:
        raise CypherTypeError("there is no graph to read nodes and relationships from")
    return context.entities


_KINDS = {
    "node": frozenset(("node",)),
    "relationship": frozenset(("relationship",)),
    "entity": frozenset(("node", "relationship")),
}


def _of_entity(
    name: str, kind: str, result: str, read: Callable[[EntityAccess, Any], Any]
) -> Function:
    wanted = "a node or a relationship" if kind == "entity" else f"a {kind}"

    def evaluated(context: Context, given: Any) -> Any:
        if kind_of_value(given) not in _KINDS[kind]:
            raise type_error(f"{name}()", wanted, given)
        return read(entity_access(context), given)

    return Function(name, signature(f"{kind} map -> {result}"), evaluated, contextual=True)


def _properties(context: Context, given: Any) -> dict[str, Any]:
    kind = kind_of_value(given)
    if kind == "map":
        return dict(given)
    if kind in _KINDS["entity"]:
        return dict(entity_access(context).properties(given))
    raise type_error("properties()", "a node, a relationship or a map", given)


def _keys(context: Context, given: Any) -> list[str]:
    kind = kind_of_value(given)
    if kind == "map":
        return sorted(given)
    if kind in _KINDS["entity"]:
        return list(entity_access(context).properties(given))
    raise type_error("keys()", "a node, a relationship or a map", given)


# ------------------------------------------------------------------ paths
def _of_path(name: str, result: str, read: Callable[[Path], Any]) -> Function:
    def evaluated(given: Any) -> Any:
        if not isinstance(given, Path):
            raise type_error(f"{name}()", "a path", given)
        return read(given)

    return Function(name, signature(f"path -> {result}"), evaluated)


FUNCTIONS: tuple[Function, ...] = (
    Function("coalesce", signature("any -> any", repeat=True), _coalesce, null_in_null_out=False),
    Function("nullIf", signature("any, any -> any"), _null_if, null_in_null_out=False),
    Function("properties", signature("entity map -> map"), _properties, contextual=True),
    Function("keys", signature("entity map -> list"), _keys, contextual=True),
    _of_entity("id", "entity", "integer", lambda graph, entity: graph.id(entity)),
    _of_entity("elementId", "entity", "string", lambda graph, entity: graph.element_id(entity)),
    _of_entity("labels", "node", "list", lambda graph, entity: list(graph.labels(entity))),
    _of_entity("type", "relationship", "string", lambda graph, entity: graph.type(entity)),
    _of_entity("startNode", "relationship", "node", lambda graph, entity: graph.start(entity)),
    _of_entity("endNode", "relationship", "node", lambda graph, entity: graph.end(entity)),
    _of_path("nodes", "list", lambda path: list(path.nodes)),
    _of_path("relationships", "list", lambda path: list(path.relationships)),
    _of_path("length", "integer", lambda path: len(path.relationships)),
)
