"""Counts of homomorphisms, and of the products of vector plans, in plain NumPy."""

import numpy as np

from gpugda.plan.counting.vector_plan import Vector


def multiplicities(matrix, powers):
    """Weights of pairs of different nodes."""
    both, on, back = powers
    found = (matrix + matrix.T) ** both * matrix**on * matrix.T**back
    return found * (1 - np.eye(len(matrix), dtype=np.int64))


def homomorphisms(pattern, matrix):
    """The number of homomorphisms of a pattern whose edges are no self-loops."""
    operands = []
    for a, b, powers in pattern.edges:
        operands += [multiplicities(matrix, powers), [a, b]]
    for node, power in enumerate(pattern.loops):
        operands += [matrix.diagonal() ** power, [node]]
    return int(np.einsum(*operands, [], optimize=True))


class Evaluated:
    """The products of a plan, in a graph whose nodes have ranks in the order of their numbers."""

    def __init__(self, matrix):
        self.matrix, self.nodes = matrix, len(matrix)

    def of(self, rooted):
        weights = self.weights(rooted.weight)
        return sum(
            int(weights[pin]) * int(np.prod([self.vector(each, pin).sum() for each in rooted.sums]))
            for pin in range(self.nodes)
        )

    def weights(self, weight):
        found = np.ones(self.nodes, dtype=np.int64)
        if weight is not None:
            found *= self.matrix.diagonal() ** weight.loops
            for powers, child in weight.trees:
                found *= multiplicities(self.matrix, powers) @ self.weights(child)
        return found

    def vector(self, vector, pin):
        edge = multiplicities(self.matrix, vector.powers)
        if vector.source is None:
            found = edge[pin].copy()
        else:
            assert isinstance(vector.source, Vector)
            found = edge.T @ self.vector(vector.source, pin)
        if vector.below:
            found[: pin + 1] = 0
        found **= vector.exponent
        for source, powers, exponent in vector.pulls:
            found *= (multiplicities(self.matrix, powers) @ self.vector(source, pin)) ** exponent
        return found * self.weights(vector.weight)
