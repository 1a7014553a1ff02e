"""What would become of a query, found out without a graph and without a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.errors import CypherSyntaxError, QueryError, UnsupportedQueryError
from gpugda.execute.operators.pattern import PatternOperator
from gpugda.execute.pipeline import make_pipeline
from gpugda.query.parser import tree_of
from gpugda.query.prepare import prepare
from gpugda.query.statement import statement_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpugda.execute.operator import Operator

__all__ = ["Outlook", "outlook"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """Where a query would run.

    Attributes:
        device: The patterns that the device would match, a line each.
        host: What would be done on columns of the host, a line each.
        error: Why it would not run on the device, with the place of the first construct that is
            not answered there; None where it would.
        mode: ``EXPLAIN`` or ``PROFILE``, which a server answers itself; else empty.
    """

    device: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    error: QueryError | None = None
    mode: str = ""

    @property
    def engine(self) -> str:
        """``device``, ``Neo4j``, or ``nobody`` where it is no query."""
        if isinstance(self.error, CypherSyntaxError):
            return "nobody"
        return "Neo4j" if self.error is not None or self.mode else "device"

    @property
    def construct(self) -> str:
        """The first construct that is not answered on the device; else empty."""
        error = self.error
        return error.construct if isinstance(error, UnsupportedQueryError) else ""


def outlook(text: str) -> Outlook:
    """Reads a query, and lowers it to operators as a run would."""
    try:
        query = prepare(text)
        if query.mode is not None:
            return Outlook(mode=query.mode)
        root = make_pipeline(statement_of(tree_of(text))).root
    except QueryError as error:
        return Outlook(error=error)
    operators = list(_operators(root))
    on_device = [each for each in operators if isinstance(each, PatternOperator)]
    others = [each for each in operators if each not in on_device and each.children]
    return Outlook(_described(on_device), _described(others))


def _operators(operator: Operator) -> Iterator[Operator]:
    """Inputs before what reads them."""
    for child in operator.children:
        yield from _operators(child)
    yield operator


def _described(operators: Iterable[Operator]) -> tuple[str, ...]:
    return tuple(each.describe() for each in operators)
