"""Derived environments: over list elements, or over a subset of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from gpugda.expressions.operands import Operand, as_column, take

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.values.columns import Column
    from gpugda.expressions.environment import Environment

__all__ = ["inner_environment"]


def inner_environment(
    environment: Environment, rows: NDArray[Any], added: Mapping[str, Operand]
) -> Environment:
    """An environment over some of the rows, in any order and number.

    Args:
        environment: The outer environment.
        rows: Positions of outer rows.
        added: Variables of the new rows; they shadow outer ones.
    """
    return replace(
        environment,
        row_count=len(rows),
        variables=_Variables(environment.variables, rows, added),
        keys=_Operands(environment.keys, rows),
        aggregates=_Operands(environment.aggregates, rows),
        outputs=_Operands(environment.outputs, rows),
        everything=False,
    )


class _Variables(Mapping[str, "Column"]):
    """Columns by name; outer ones are gathered at first access."""

    def __init__(
        self, outside: Mapping[str, Column], rows: NDArray[Any], added: Mapping[str, Operand]
    ) -> None:
        self._outside = outside
        self._rows = rows
        self._made = {name: as_column(operand, len(rows)) for name, operand in added.items()}

    def __getitem__(self, name: str) -> Column:
        if name not in self._made:
            self._made[name] = self._outside[name].take(self._rows)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._made or name in self._outside

    def __iter__(self) -> Iterator[str]:
        yield from self._outside
        yield from (name for name in self._made if name not in self._outside)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Operands(Sequence[Operand]):
    """Operands by position, gathered at each access."""

    def __init__(self, outside: Sequence[Operand], rows: NDArray[Any]) -> None:
        self._outside = outside
        self._rows = rows

    @overload
    def __getitem__(self, position: int) -> Operand: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[Operand]: ...
    def __getitem__(self, position: int | slice) -> Operand | Sequence[Operand]:
        if isinstance(position, slice):
            return [take(each, self._rows) for each in self._outside[position]]
        return take(self._outside[position], self._rows)

    def __len__(self) -> int:
        return len(self._outside)
