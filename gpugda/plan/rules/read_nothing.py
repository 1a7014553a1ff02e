"""Makes ``LIMIT 0`` of a condition that never holds, as Neo4j does: no row below it is computed.

So ``UNWIND [0, 1] AS x WITH 1 / x AS c WHERE 1 = 2 RETURN c`` has no row, and is no error. Like any
``LIMIT 0`` it sorts if ORDER BY is below, as Neo4j makes one step of the two, unless a column is
computed or renamed between them: by a later WITH, or by that of ORDER BY, which does not read it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.plan import logical
from gpugda.query import ast
from gpugda.query.constants import never_holds
from gpugda.query.query_graph import AggregateReference, ColumnReference, KeyReference
from gpugda.query.walk import walk
from gpugda.types import NOWHERE

if TYPE_CHECKING:
    from gpugda.plan.facts import Facts

__all__ = ["read_nothing"]

_PLAIN = (ast.Variable, KeyReference, AggregateReference)
"""Columns for which Neo4j needs no projection above a sort."""


def read_nothing(tree: logical.Logical, facts: Facts) -> logical.Logical:
    """The tree with no rows below each filter, and each pattern, whose condition never holds."""
    tree = logical.with_children(tree, lambda each: read_nothing(each, facts))
    match tree:
        case logical.Slice(input=logical.Project() as own, limit=limit) if limit is not None:
            return replace(tree, apart=_computes(own.input))
        case logical.Filter() if any(map(never_holds, tree.predicates)):
            return _no_rows(tree.input)
        case logical.Match() if any(map(never_holds, tree.graph.predicates)):
            if not isinstance(tree.input, logical.Unit | logical.Argument):
                return replace(tree, input=_no_rows(tree.input))
    return tree


def _no_rows(tree: logical.Logical) -> logical.Logical:
    while isinstance(tree, logical.Filter):
        tree = tree.input
    return logical.Slice(tree, None, ast.Literal(NOWHERE, 0), _computes(tree))


def _computes(tree: logical.Logical) -> bool:
    """True if the last projection that changes something is directly below."""
    while isinstance(tree, logical.Project) and logical.passes_on(tree):
        tree = tree.input
    if isinstance(tree, logical.Sort) and isinstance(tree.input, logical.Project):
        keys = [part for key in tree.keys for part in walk(key.expression)]
        read = {part.position for part in keys if isinstance(part, ColumnReference)}
        columns = enumerate(tree.input.columns)
        return any(at not in read and not isinstance(c.expression, _PLAIN) for at, c in columns)
    return isinstance(tree, logical.Project)
