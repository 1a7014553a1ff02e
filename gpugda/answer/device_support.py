"""Predicts which engine would run a query, without a graph and without a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.errors import CypherSyntaxError, QueryError, UnsupportedQueryError
from gpugda.execute.operators.match import PatternOperator
from gpugda.execute.pipeline import make_pipeline
from gpugda.query.prepare import prepare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpugda.execute.operator import Operator

__all__ = ["DeviceSupport", "device_support"]


@dataclass(frozen=True, slots=True)
class DeviceSupport:
    """Where a query would run.

    Attributes:
        device: The patterns that the device would match, one line each.
        host: The operators that would run on columns in host memory, one line each.
        error: Why the query would not run on the device, with the place of the first unsupported
            construct; None if it would run there.
        mode: ``EXPLAIN`` or ``PROFILE``, which the server answers itself; else empty.
    """

    device: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    error: QueryError | None = None
    mode: str = ""

    @property
    def engine(self) -> str:
        """``device``, ``Neo4j``, or ``nobody`` if the text is no query."""
        if isinstance(self.error, CypherSyntaxError):
            return "nobody"
        return "Neo4j" if self.error is not None or self.mode else "device"

    @property
    def construct(self) -> str:
        """The first construct that the device does not support; else empty."""
        error = self.error
        return error.construct if isinstance(error, UnsupportedQueryError) else ""


def device_support(text: str) -> DeviceSupport:
    """Parses a query and lowers it to operators like a run would."""
    try:
        query = prepare(text)
        if query.mode is not None:
            return DeviceSupport(mode=query.mode)
        root = make_pipeline(query).root
    except QueryError as error:
        return DeviceSupport(error=error)
    operators = list(_operators(root))
    on_device = [each for each in operators if isinstance(each, PatternOperator)]
    others = [each for each in operators if each not in on_device and each.children]
    return DeviceSupport(_described(on_device), _described(others))


def _operators(operator: Operator) -> Iterator[Operator]:
    """Yields the operators, each after its inputs."""
    for child in operator.children:
        yield from _operators(child)
    yield operator


def _described(operators: Iterable[Operator]) -> tuple[str, ...]:
    return tuple(each.describe() for each in operators)
