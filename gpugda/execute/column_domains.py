"""What columns are expected to hold: distinct values, nodes, lengths of lists."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.plan.cardinality import selectivity
from gpugda.query import ast
from gpugda.query.query_graph import AggregateReference, KeyReference
from gpugda.query.shapes import variable_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.physical import Physical
    from gpugda.plan.plan import BoundQuery

__all__ = ["Domain", "Domains", "Sized", "draws"]

_UNKNOWN_LENGTH: Final = 5.0
"""Elements of a list of unknown length."""
_SAMPLE: Final = 4096
_ABOVE: Final = (ast.ComparisonOperator.GREATER, ast.ComparisonOperator.GREATER_EQUAL)


@dataclass(frozen=True, slots=True)
class Domain:
    """What a column holds.

    Args:
        distinct: Expected number of distinct values.
        is_entity: True for nodes and relationships.
        place: For a node of a pattern: the bound pattern and its position there.
        ends: For a node where paths end: per node, paths that end there.
        length: For a list: its expected length.
    """

    distinct: float
    is_entity: bool = False
    place: tuple[BoundQuery, int] | None = None
    ends: NDArray[np.float64] | None = None
    length: float | None = None


@dataclass(frozen=True, slots=True)
class Sized:
    """The expected output of an operator, with the domains of its columns."""

    physical: Physical
    domains: Mapping[str, Domain] = field(default_factory=dict[str, Domain])

    @property
    def rows(self) -> float:
        """Expected rows."""
        return self.physical.rows

    @property
    def found(self) -> float:
        """Expected rows, equal ones counted apart."""
        return self.physical.found

    def domain(self, name: str) -> Domain:
        """What a column holds; by default a different value in each row."""
        return self.domains.get(name) or Domain(self.rows)


def draws(rows: float, kinds: float) -> float:
    """Expected distinct values among rows that are drawn from so many values."""
    if kinds <= 0.0 or rows <= 0.0:
        return 0.0
    return min(rows, kinds * -math.expm1(-rows / kinds))


class Domains:
    """Estimates the values of expressions over the columns of an operator's output.

    Args:
        graph: The data graph.
        sizes: Sizes of the parameters.
    """

    def __init__(self, graph: DataGraph, sizes: Mapping[str, int]) -> None:
        self._graph = graph
        self._sizes = sizes

    def share_of(self, predicates: Iterable[ast.Expression], *, of_nodes: bool) -> float:
        """Share of nodes, or relationships, for which conditions hold."""
        statistics = self._graph.statistics
        counts = statistics.distinct_counts if of_nodes else statistics.relationship_distinct_counts
        total = statistics.node_count if of_nodes else statistics.relationship_count
        return math.prod(selectivity(each, counts, total) for each in predicates)

    def selectivity(self, predicate: ast.Expression, below: Sized) -> float:
        """Share of the rows for which a condition holds."""
        match predicate:
            case ast.Comparison(operands=(left, right), operators=(ast.ComparisonOperator.EQUAL,)):
                kinds = max(self._values(left, below), self._values(right, below))
                return 1.0 / max(kinds, 1.0)
            case ast.Comparison(operands=(left, right), operators=(operator,)):
                mean, most = self._counted(left, below), self.bound(right)
                if operator in _ABOVE and mean is not None and most:
                    return min(1.0, (mean / most) ** 2)
        return self.share_of((predicate,), of_nodes=True)

    def _counted(self, expression: ast.Expression, below: Sized) -> float | None:
        """Mean of a count per group, or of the size of a list; None for anything else."""
        match expression:
            case ast.FunctionCall(name=name, arguments=(inside,)) if name.lower() == "size":
                expression = inside
        return self.of(expression, below).length

    def _values(self, expression: ast.Expression, below: Sized) -> float:
        """Number of distinct values of an expression."""
        return self.of(expression, below).distinct

    def of(self, expression: ast.Expression, below: Sized) -> Domain:
        """What an expression gives."""
        statistics = self._graph.statistics
        match expression:
            case ast.Variable(name=name):
                return below.domain(name)
            case ast.Property(subject=ast.Variable(name=name), key=key):
                return Domain(min(below.domain(name).distinct, self._kinds_of(key)))
            case ast.Literal() | ast.Parameter():
                return Domain(1.0)
            case ast.FunctionCall(name=name) if name.lower() in ("labels", "type"):
                return Domain(min(below.rows, 1.0 + len(statistics.type_counts)), length=1.0)
            case ast.ListLiteral(items=items):
                return Domain(below.rows, length=float(len(items)))
            case KeyReference(position=place):
                return below.domain(f"\0key{place}")
            case AggregateReference(position=place):
                return below.domain(f"\0aggregate{place}")
        names = variable_names(expression) & below.domains.keys()
        kinds = math.prod(below.domain(each).distinct for each in names)
        return Domain(min(max(below.rows, 1.0), kinds))

    def _kinds_of(self, key: str) -> float:
        """Number of values of a property of nodes; infinite if unknown."""
        counted = self._graph.statistics.distinct_counts.get(key)
        if counted is not None:
            return max(1.0, float(counted))
        column = self._graph.node_properties.columns.get(key)
        if column is None or column.values.dtype == object:
            return math.inf
        step = max(1, len(column.values) // _SAMPLE)
        sample = column.values[::step][:_SAMPLE]
        kinds = len(np.unique(sample))
        return kinds if kinds < len(sample) / 2 else math.inf

    def combinations(self, keys: Iterable[ast.Expression], below: Sized) -> float:
        """Number of distinct tuples; those that read one variable are at most its values."""
        by_name: dict[frozenset[str], float] = {}
        for key in keys:
            names = frozenset(variable_names(key) & below.domains.keys())
            by_name[names] = by_name.get(names, 1.0) * max(1.0, self._values(key, below))
        total = 1.0
        for names, kinds in by_name.items():
            total *= (
                min(kinds, math.prod(below.domain(each).distinct for each in names) or 1.0)
                if names
                else kinds
            )
        return total

    def length(self, elements: ast.Expression, below: Sized) -> float:
        """Expected length of a list."""
        match elements:
            case ast.ListLiteral(items=items):
                return float(len(items))
            case ast.Parameter(name=name):
                return float(self._sizes.get(name, _UNKNOWN_LENGTH))
            case ast.Variable(name=name):
                length = below.domain(name).length
                return _UNKNOWN_LENGTH if length is None else max(length, 1.0)
            case ast.FunctionCall(name=name, arguments=arguments) if name.lower() == "range":
                bounds = [self.bound(each) for each in arguments[:2]]
                if None not in bounds:
                    return max(0.0, float(bounds[1] or 0) - float(bounds[0] or 0) + 1.0)
            case ast.FunctionCall(name=name, arguments=(inside, *_)) if name.lower() in (
                "nodes",
                "relationships",
                "keys",
            ):
                return self.length(inside, below)
        return _UNKNOWN_LENGTH

    def bound(self, number: ast.Expression | None) -> float | None:
        """The value of a number that is written, or is a parameter; None for others."""
        match number:
            case ast.Literal(value=int(value)):
                return float(value)
            case ast.Parameter(name=name) if name in self._sizes:
                return float(self._sizes[name])
        return None
