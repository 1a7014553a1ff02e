"""A checked query: its syntax tree and commonly needed facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.check.queries import has_newer
from gpugda.query.shapes import QUERIES
from gpugda.query.walk import children, walk
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Statement", "statement_of"]

_MAX_LEVELS: Final = 200


@value(frozen=True, slots=True)
class Statement:
    """A checked query.

    Args:
        text: The original text.
        tree: Its syntax tree.
        parameters: Names of all parameters in the text.
        calls: Its function calls.
        has_subqueries: True if an expression has a subquery or pattern.
        limit: The final LIMIT, or None.
        uses: The USE clauses, which must name the database that answers.
        is_of_all_versions: True if it certainly compiles in all versions of Cypher, or in none.
    """

    text: str
    tree: ast.Query
    parameters: frozenset[str] = frozenset()
    calls: tuple[ast.FunctionCall, ...] = ()
    has_subqueries: bool = True
    limit: ast.Expression | None = None
    uses: tuple[ast.Use, ...] = ()
    is_of_all_versions: bool = False

    @property
    def mode(self) -> str | None:
        """``EXPLAIN``, ``PROFILE`` or None."""
        return self.tree.mode

    @property
    def version(self) -> int | None:
        """Cypher version in the text's prefix, or None."""
        return self.tree.version

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """The prefix's other options, as written."""
        return self.tree.options


def statement_of(tree: ast.Query, nodes: Sequence[ast.Node] | None = None) -> Statement:
    """Converts a checked query to a statement.

    Args:
        tree: The query.
        nodes: All its nodes, parents before children, if the caller has them.

    Raises:
        UnsupportedQueryError: It writes, calls a procedure or reads a file, or it is nested too
            deeply for recursive traversals.
    """
    nodes = tuple(walk(tree)) if nodes is None else nodes
    kinds = frozenset(map(type, nodes))
    if not kinds.isdisjoint(_UNSUPPORTED):
        _refuse(next(node for node in nodes if type(node) in _UNSUPPORTED), tree)
    if len(nodes) > _MAX_LEVELS and _may_be_deep(nodes):
        _check_depth(tree)
    last = tree.parts[0].clauses[-1]
    limit = last.projection.limit if isinstance(last, ast.Return) and len(tree.parts) == 1 else None
    has_parameters = ast.Parameter in kinds
    return Statement(
        text=tree.text,
        tree=tree,
        parameters=frozenset(
            node.name for node in nodes if has_parameters and isinstance(node, ast.Parameter)
        ),
        calls=tuple(node for node in nodes if isinstance(node, ast.FunctionCall)),
        has_subqueries=any(issubclass(kind, QUERIES) for kind in kinds),
        limit=limit,
        uses=tuple(node for node in nodes if isinstance(node, ast.Use)),
        is_of_all_versions=kinds.isdisjoint(_SCOPED) and not has_newer(nodes),
    )


def _refuse(node: ast.Node, tree: ast.Query) -> NoReturn:
    construct = node.construct if isinstance(node, ast.OtherClause) else _UNSUPPORTED[type(node)]
    message = f"{construct} is not supported by this engine"
    raise UnsupportedQueryError(message, tree.text, node.span, construct=construct)


def _may_be_deep(nodes: Sequence[ast.Node]) -> bool:
    """False if the expressions are too few to be nested deeply: each adds a level or two."""
    nested = sum(isinstance(n, ast.Expression) and type(n) not in _LEAVES for n in nodes)
    return 2 * nested + _MAX_LEVELS // 4 > _MAX_LEVELS


def _check_depth(tree: ast.Query) -> None:
    level: list[ast.Node] = [tree]
    for _ in range(_MAX_LEVELS):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    message = f"an expression of more than {_MAX_LEVELS} levels is not supported by this engine"
    raise UnsupportedQueryError(message, tree.text, level[0].span, construct="a long expression")


_UNSUPPORTED: Final[dict[type[ast.Node], str]] = {
    ast.OtherClause: "",
    ast.CallProcedure: "CALL of a procedure",
    ast.LoadCsv: "LOAD CSV",
}
_LEAVES: Final = (ast.Variable, ast.Literal, ast.Parameter)
_SCOPED: Final = frozenset[type[ast.Node]](
    (ast.ExistsSubquery, ast.CountSubquery, ast.CollectSubquery, ast.CallSubquery)
)
"""The versions differ in the scopes of these."""
