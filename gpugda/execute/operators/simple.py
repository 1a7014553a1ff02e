"""Operators without computation: one row, argument, no rows, union."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.batch import Batch
from gpugda.execute.operator import Operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.context import ExecutionContext

__all__ = ["Argument", "Empty", "Union", "Unit"]


class Unit(Operator):
    """Returns one row without columns."""

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        yield Batch(1, {})

    def describe(self) -> str:
        """Describes the operator."""
        return "one row"


class Argument(Operator):
    """Returns the rows of the operator around a subquery."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        assert context.argument is not None
        yield context.argument

    def describe(self) -> str:
        """Describes the operator."""
        return "argument rows"


class Empty(Operator):
    """Returns no rows, after it has read all input rows."""

    def __init__(self, child: Operator) -> None:
        self.children = (child,)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        for batch in self.children[0].batches(context):
            yield batch.take(np.arange(0)).only(())

    def describe(self) -> str:
        """Describes the operator."""
        return "no rows"


class Union(Operator):
    """Returns the rows of all inputs, one input after the other.

    Args:
        children: The inputs.
        weighted: True if rows may have weights.
    """

    def __init__(self, children: tuple[Operator, ...], *, weighted: bool = False) -> None:
        self.children = children
        self.weighted = weighted
        # An input may keep columns that nobody reads, and that the others left out.
        kept = frozenset(children[0].columns).intersection(*(each.columns for each in children))
        self.columns = tuple(name for name in children[0].columns if name in kept)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        for child in self.children:
            for batch in child.batches(context):
                yield (batch if self.weighted else batch.expanded()).only(self.columns)

    def describe(self) -> str:
        """Describes the number of inputs."""
        return f"union of {len(self.children)}"
