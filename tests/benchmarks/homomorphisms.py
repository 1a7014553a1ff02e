"""Counts homomorphisms by variable elimination over sparse matrices.

A pattern is a sum of products: over all values of its variables, a weight per variable times a
matrix entry per joined pair. Three rules reduce it, the cheapest first (Dechter, Bucket
elimination, 1999; Díaz, Serna and Thilikos, Counting H-colorings of partial k-trees, 2002):

- A variable with one neighbour is eliminated by a matrix-vector product, one with two neighbours
  by a matrix product, masked by the matrix that joins these neighbours, if there is one.
- If an elimination needs too many products at once, one variable's values are split into slices.
- If each variable has three neighbours, as in a 4-clique, two are fused into one whose values are
  the entries of the matrix between them.

Numbers are unsigned 64-bit and wrap around: sums and products are exact modulo 2^64.
"""

from __future__ import annotations

import time
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Rule = Callable[..., None]
    Costs = Callable[..., np.ndarray]

MODULUS = 2**64
PIECE = 20_000_000
"""Maximum number of products at once: each takes 16 bytes with its place."""


class TooLongError(Exception):
    """The deadline has passed."""


class Pattern:
    """A pattern that is built by `variable` and `step`, then counted once.

    Args:
        dtype: uint64 for counts modulo 2^64, float64 for their magnitude.
    """

    def __init__(self, dtype: type[np.generic] = np.uint64) -> None:
        self._dtype = dtype
        self._weights: dict[Any, np.ndarray] = {}
        self._matrices: dict[tuple[Any, Any], csr_array] = {}
        """By the variables of rows and columns; some pairs are stored in both orders."""
        self._sliced: Any = None

    def variable(self, name: Any, weights: np.ndarray) -> None:
        self._weights[name] = weights.astype(self._dtype)

    def step(self, x: Any, y: Any, rows: np.ndarray, columns: np.ndarray) -> None:
        """Joins two variables by the pairs of values ``rows[i]``, ``columns[i]``."""
        shape = len(self._weights[x]), len(self._weights[y])
        if x == y:
            bent = np.bincount(rows[rows == columns], minlength=shape[0])
            self._weights[x] = self._weights[x] * bent.astype(self._dtype)
        else:
            ones = np.ones(len(rows), self._dtype)
            self._join(x, y, csr_array((ones, (rows, columns)), shape=shape))

    def count(self, deadline: float) -> int | float:
        """The count as a Python number, to be taken modulo 2^64.

        Raises:
            TooLongError: `time.process_time` exceeds the deadline.
        """
        factor = 1
        while self._weights:
            if time.process_time() > deadline:
                raise TooLongError
            if not all(each.any() for each in self._weights.values()):
                return 0
            lone = min(self._weights, key=lambda each: len(self._neighbours(each)))
            degree = len(self._neighbours(lone))
            if degree == 0:
                factor *= self._weights.pop(lone).sum().item()
            elif degree == 1:
                self._sum_leaf(lone)
            else:
                apply, costs_of, names = self._cheapest(degree)
                costs = costs_of(*names)
                if costs.sum() > PIECE and len(costs) > 1:
                    pieces = self._pieces(names[0], costs)
                    return factor * sum(each.count(deadline) for each in pieces)
                apply(*names)
        return factor

    # -------------------------------------------------------------- the rules
    def _cheapest(self, degree: int) -> tuple[Rule, Costs, tuple[Any, ...]]:
        """The rule with the fewest products, the function that counts these, and its variables.

        The sliced variable is kept until three are left, and is split again before others.
        """
        names = sorted(self._weights, key=self._whole)
        if degree > 2:
            joined = [
                each for each in combinations(names, 2) if each[1] in self._neighbours(each[0])
            ]
            fused = min(joined, key=lambda each: self._fusing_costs(*each).sum())
            return self._fuse, self._fusing_costs, fused
        between = [
            (ends[0], name, ends[1])
            for name in self._weights
            if len(ends := sorted(self._neighbours(name), key=self._whole)) == 2
        ]
        if len(names) > 3:
            between = [each for each in between if self._whole(each[1])] or between

        def products(way: tuple[Any, ...]) -> int:
            return int(self._lengths(*way[1::-1]) @ self._lengths(*way[1:]))

        return self._sum_between, self._products, min(between, key=products)

    def _whole(self, name: Any) -> bool:
        """False (for the sliced variable) sorts before True."""
        return name != self._sliced

    def _sum_leaf(self, name: Any) -> None:
        (other,) = self._neighbours(name)
        found = self._matrix(other, name) @ self._weights[name]
        self._weights[other] = self._weights[other] * found
        self._drop(name)

    def _sum_between(self, x: Any, name: Any, y: Any) -> None:
        left, right = self._matrix(x, name), self._matrix(name, y)
        weighted = left.data * self._weights[name][left.indices]
        product = csr_array((weighted, left.indices, left.indptr), left.shape) @ right
        self._drop(name)
        self._join(x, y, product)

    def _products(self, x: Any, name: Any, y: Any) -> np.ndarray:
        return _row_sums(self._matrix(x, name), self._lengths(name, y))

    def _fuse(self, x: Any, y: Any) -> None:
        matrix, joined = self._matrix(x, y), (x, y)
        places = {x: np.repeat(np.arange(matrix.shape[0]), self._lengths(x, y)), y: matrix.indices}
        weights = matrix.data * self._weights[x][places[x]] * self._weights[y][places[y]]
        parts = [
            (other, self._matrix(name, other)[places[name]])
            for name in joined
            for other in self._neighbours(name)
            if other not in joined
        ]
        if self._sliced in joined:
            self._sliced = joined
        for name in joined:
            self._drop(name)
        self._weights[joined] = weights
        for other, part in parts:
            self._join(joined, other, part)

    def _fusing_costs(self, x: Any, y: Any) -> np.ndarray:
        of_x = sum(self._lengths(x, each) for each in self._neighbours(x) if each != y)
        of_y = sum(self._lengths(y, each) for each in self._neighbours(y) if each != x)
        return _row_sums(self._matrix(x, y), of_y) + self._lengths(x, y) * of_x

    def _pieces(self, name: Any, costs: np.ndarray) -> Iterator[Pattern]:
        """Copies of the pattern with slices of a variable's values; slices cost about the same."""
        # Values are grouped by the middles of their costs. The first and the last middle are more
        # than half of the costs apart, so no slice has all values.
        numbers = (np.cumsum(costs) - costs / 2) // (PIECE // 2)
        cuts = np.flatnonzero(np.diff(numbers)) + 1
        for first, last in pairwise([0, *cuts.tolist(), len(costs)]):
            piece = Pattern(self._dtype)
            piece._sliced = name
            piece._weights = self._weights | {name: self._weights[name][first:last]}
            piece._matrices = {at: each for at, each in self._matrices.items() if name not in at}
            for other in self._neighbours(name):
                piece._matrices[name, other] = self._matrix(name, other)[first:last]
            yield piece

    # -------------------------------------------------------------- joined variables
    def _neighbours(self, name: Any) -> list[Any]:
        others = (x if y == name else y for x, y in self._matrices if name in (x, y))
        return list(dict.fromkeys(others))

    def _matrix(self, x: Any, y: Any) -> csr_array:
        if (x, y) not in self._matrices:
            self._matrices[x, y] = self._matrices[y, x].T.tocsr()
        return self._matrices[x, y]

    def _lengths(self, x: Any, y: Any) -> np.ndarray:
        """Per value of ``x``: the number of values of ``y`` that it is joined with."""
        if (x, y) in self._matrices:
            return np.diff(self._matrices[x, y].indptr).astype(np.int64)
        return np.bincount(self._matrices[y, x].indices, minlength=len(self._weights[x]))

    def _join(self, x: Any, y: Any, matrix: csr_array) -> None:
        if (x, y) in self._matrices or (y, x) in self._matrices:
            matrix = self._matrix(x, y).multiply(matrix).tocsr()
        self._matrices[x, y] = matrix
        self._matrices.pop((y, x), None)

    def _drop(self, name: Any) -> None:
        del self._weights[name]
        self._matrices = {at: each for at, each in self._matrices.items() if name not in at}


def _row_sums(matrix: csr_array, values: np.ndarray) -> np.ndarray:
    """Per row, the sum of its columns' values, in integers that do not wrap."""
    sums = np.concatenate([[0], np.cumsum(values[matrix.indices])])
    return sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]]
