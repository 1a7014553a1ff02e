"""Vector plans as programs of ``vector_steps.cl`` and ``vector_batches.cl``, with bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.device.launch.query_words import NONE
from gpugda.device.launch.vector_steps import (
    MAX_FACTORS,
    MAX_LISTS,
    MAX_REGISTERS,
    MAX_TERMS,
    ListBase,
    ListUse,
    ProgramShape,
)
from gpugda.device.launch.vector_sums import MAX_SUMS, DirectSums, SummedList

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.plan.counting.quotients import Powers
    from gpugda.plan.counting.vector_plan import NodeWeight, Pull, Vector, VectorPlan

__all__ = ["Bounds", "PulledWeight", "VectorProgram", "encode"]

_START, _PUSH, _PULL, _MAKE, _SUM, _END = range(6)
_OUTGOING, _INCOMING, _BOTH = 1, 2, 3
_REGISTERS_OF_SUM = 4
_MAX_VALUE, _MAX_SUM = 1 << 32, 1 << 64
_BYTE = 1 << 8


class Bounds(NamedTuple):
    """Upper bounds that hold for the lists of a graph.

    Args:
        longest: Entries of a node in both directions.
        entries: Entries of all nodes in both directions.
        between: Relationships between two nodes.
        loops: Self-loops of a node.
        two_paths: Entries of all neighbours of a node, added up over its entries.
    """

    longest: int
    entries: int
    between: int
    loops: int
    two_paths: int


class PulledWeight(NamedTuple):
    """A factor of the weights ``to``: sums over the neighbours of each node.

    Args:
        sides: The lists that are read.
        more: Further powers of multiplicities.
        source: The weights that are summed; None for 1.
        to: The weights that are multiplied.
    """

    sides: int
    more: int
    source: int | None
    to: int


@dataclass(frozen=True, slots=True, eq=False)
class VectorProgram:
    """A program for each pinned node.

    Args:
        words: The instructions, see the kernel.
        shape: Its sizes.
        lists: How the nodes of each list are found.
        steps: Per instruction, its position in the words, and the list whose nodes it reads; None
            for the pinned node itself. Without those of summed lists.
        summed: Lists two steps away whose vector is only summed.
        direct: Lists of neighbours of the pinned node, of whose vector only plain sums are needed.
        coefficients: Per term.
        weights: How many weights per node there are.
        loops: Pairs of a power of the number of self-loops, and the weights multiplied with it.
        pulled: Further factors of the weights, in order.
    """

    words: NDArray[np.uint32]
    shape: ProgramShape
    lists: tuple[ListBase, ...]
    steps: tuple[tuple[int, int | None], ...]
    summed: tuple[SummedList, ...]
    direct: tuple[DirectSums, ...]
    coefficients: tuple[int, ...]
    weights: int
    loops: tuple[tuple[int, int], ...]
    pulled: tuple[PulledWeight, ...]


class _TooLargeError(Exception):
    """A number or the program might be too large for the kernel."""


class _Size(NamedTuple):
    """Upper bounds of a vector.

    Args:
        most: Of its values.
        total: Of their sum.
        pushed: Of the sum of each value times the entries of its node.
    """

    most: int
    total: int
    pushed: int

    def times(self, most: int) -> _Size:
        """Those of a vector whose values are multiplied by at most so much."""
        return _Size(self.most * most, self.total * most, self.pushed * most)


def encode(
    plan: VectorPlan, bounds: Bounds, *, undirected: bool
) -> tuple[VectorProgram, ...] | None:
    """The programs whose counts add up to that of a plan; None if a number might be too large.

    Args:
        plan: The plan.
        bounds: Bounds of the graph.
        undirected: True if lists hold both directions of each relationship.
    """
    try:
        return (_Encoder(bounds, undirected=undirected).program(plan),)
    except _TooLargeError:
        half = len(plan.terms) // 2
    if not half:
        return None
    found: list[VectorProgram] = []
    for terms in (plan.terms[:half], plan.terms[half:]):
        some = encode(replace(plan, terms=terms), bounds, undirected=undirected)
        if some is None:
            return None
        found += some
    return tuple(found)


class _Product(NamedTuple):
    """What is summed: powers of vectors, times the sum of another one over neighbours."""

    factors: tuple[tuple[int, int], ...]
    fused: Pull | None


@dataclass(slots=True)
class _Encoder:
    bounds: Bounds
    undirected: bool = field(kw_only=True)
    words: list[int] = field(default_factory=list)
    steps: list[tuple[int, int | None]] = field(default_factory=list)
    bases: list[ListBase] = field(default_factory=list)
    pulled_lists: int = 0
    lists: list[int] = field(default_factory=list)  # of each vector
    sizes: list[_Size] = field(default_factory=list)  # of each vector
    known: dict[object, int] = field(default_factory=dict)  # vectors
    sums: dict[_Product, list[tuple[int, int]]] = field(default_factory=dict)
    registers: list[int] = field(default_factory=list)  # upper bounds
    known_sums: dict[Vector, int] = field(default_factory=dict)
    weights: dict[NodeWeight, int] = field(default_factory=dict)
    most_of_weights: list[int] = field(default_factory=list)
    loops: list[tuple[int, int]] = field(default_factory=list)
    pulled: list[PulledWeight] = field(default_factory=list)

    def program(self, plan: VectorPlan) -> VectorProgram:
        terms: list[int] = []
        for rooted, _ in plan.terms:
            registers = [self._register(each) for each in rooted.sums]
            _require(len(registers) <= MAX_FACTORS)
            weight = self._weight(rooted.weight)
            unused = [0] * (MAX_FACTORS - len(registers))
            terms += [weight, len(registers), *registers, *unused]
            most = [self._most_of(weight), *(self.registers[each] for each in registers)]
            _require(math.prod(most) < _MAX_SUM)
        _require(len(plan.terms) <= MAX_TERMS and len(self.registers) <= MAX_REGISTERS)
        for product, into in self.sums.items():
            self._encode_sum(product, into)
        count = max(self.lists, default=-1) + 1
        _require(count <= MAX_LISTS)
        numbers = [self.lists[:at].count(each) for at, each in enumerate(self.lists)]
        words = [*self.words, _END, len(plan.terms), *terms, *self.lists, *numbers]
        below_only = all(any(map(_is_below, rooted.sums)) for rooted, _ in plan.terms)
        summed = self._summed_lists()
        direct = self._direct_sums(summed)
        left_out = {each.push for each in summed} | {each.start for each in direct}
        sums = [*(each.sums for each in summed), *(each.sums for each in direct)]
        left_out |= {at for each in sums for at in each}
        steps = [each for each in self.steps if each[0] not in left_out]
        used = {each for at, _ in steps for each in self._lists_of(at)}
        bases = [
            each._replace(vectors=self.lists.count(place), use=self._use_of(place, summed, used))
            for place, each in enumerate(self.bases)
        ]
        shape = ProgramShape(len(self.lists), count, len(plan.terms), below_only, self.pulled_lists)
        return VectorProgram(
            np.array(words, dtype=np.uint32),
            shape,
            tuple(bases),
            tuple(steps),
            summed,
            direct,
            tuple(times for _, times in plan.terms),
            len(self.weights),
            tuple(self.loops),
            tuple(self.pulled),
        )

    # ------------------------------------------------------------------ summed lists
    def _summed_lists(self) -> tuple[SummedList, ...]:
        """Lists two steps away, along each relationship once, whose vector is only summed."""
        of_starts = {self.words[at + 2]: at for at, _ in self.steps if self.words[at] == _START}
        found = []
        for at, source in self.steps:
            if self.words[at] != _PUSH or source not in of_starts:
                continue
            of_list, start = self.words[at + 2], of_starts[source]
            uses = self._uses_of(of_list, at)
            sums = tuple(each for each in uses if self.words[each] == _SUM)
            is_plain = not self.words[at + 6] and not self.words[start + 4]
            has_source = self.words[at + 3] == self.words[start + 1]
            is_summed = len(sums) == len(uses) <= MAX_SUMS and not any(map(self._pulls, sums))
            if is_plain and has_source and is_summed and self.lists.count(of_list) == 1:
                found.append(SummedList(of_list, start, at, sums))
        return tuple(found)

    def _direct_sums(self, summed: tuple[SummedList, ...]) -> tuple[DirectSums, ...]:
        """Lists of the pin's neighbours that need no table: vectors are summed as they are."""
        pushes, found = {each.push for each in summed}, []
        for at, _ in self.steps:
            if self.words[at] != _START or self.words[at + 4]:
                continue
            uses = self._uses_of(self.words[at + 2], at)
            sums = tuple(each for each in uses if each not in pushes)
            if len(sums) <= MAX_SUMS and all(map(self._is_plain, sums)):
                found.append(DirectSums(at, sums))
        return tuple(found)

    def _uses_of(self, of_list: int, made_at: int) -> list[int]:
        """The instructions that read or write a list, but the one that makes it."""
        steps = (at for at, _ in self.steps if at != made_at)
        return [at for at in steps if of_list in self._lists_of(at)]

    def _is_plain(self, at: int) -> bool:
        """True for a sum of one vector itself."""
        words = self.words
        return words[at] == _SUM and words[at + 2 : at + 5 : 2] == [1, 1] and not self._pulls(at)

    def _lists_of(self, at: int) -> list[int]:
        """The lists that an instruction reads or writes."""
        words, what = self.words, self.words[at]
        if what == _SUM:
            pulled = [self.lists[words[self._rest(at) + 1]]] if self._pulls(at) else []
            return [words[at + 1], *pulled]
        if what == _PUSH:
            return [words[at + 2], words[at + 4]]
        return [words[at + 2], *([self.lists[words[at + 3]]] if what == _PULL else [])]

    def _rest(self, at: int) -> int:
        return at + 3 + 2 * self.words[at + 2]

    def _pulls(self, at: int) -> bool:
        return bool(self.words[self._rest(at)])

    @staticmethod
    def _use_of(place: int, summed: tuple[SummedList, ...], used: set[int]) -> ListUse:
        if any(each.list == place for each in summed):
            return ListUse.SUMS
        return ListUse.TABLE if place in used else ListUse.SIZE

    # ------------------------------------------------------------------ vectors
    def _sized(self, most: int, total: int) -> _Size:
        pushed = min(total * self.bounds.longest, most * self.bounds.entries)
        return _Size(most, total, pushed)

    def _new(self, key: object, size: _Size, list_of: int | None = None) -> int:
        _require(size.most < _MAX_VALUE)
        number = len(self.lists)
        self.lists.append(max(self.lists, default=-1) + 1 if list_of is None else list_of)
        self.sizes.append(size)
        self.known[key] = number
        return number

    def _base(self, vector: Vector) -> int:
        key = "base", vector.base
        if key in self.known:
            return self.known[key]
        edge = [*self._edge(vector.powers), int(vector.below)]
        factor = self._factor(vector.powers)
        longest, between = self.bounds.longest, self.bounds.between
        if vector.source is None:
            size = self._sized(between * factor, longest * factor)
            size = size._replace(pushed=min(size.pushed, self.bounds.two_paths * factor))
            number = self._new(key, size)
            self._add_step(None, [_START, number, self.lists[number], *edge])
            self.bases.append(ListBase(None, edge[0], vector.below))
            return number
        source = self._made(vector.source)
        most, total, pushed = self.sizes[source]
        size = self._sized(min(most * longest, total * between) * factor, pushed * factor)
        number = self._new(key, size)
        of_vector = number, self.lists[number], source, self.lists[source]
        self._add_step(self.lists[source], [_PUSH, *of_vector, *edge])
        self.bases.append(ListBase(self.lists[source], edge[0], vector.below))
        return number

    def _pull(self, base: int, pull: Pull) -> int:
        source = self._made(pull.source)
        key = "pull", base, source, pull.powers
        if key not in self.known:
            most = self._most_pulled(pull)
            number = self._new(key, self._sized(most, most * self.bounds.entries), self.lists[base])
            edge = self._edge(pull.powers)
            below = int(pull.source.below)
            self.pulled_lists |= 1 << self.lists[source]
            self._add_step(
                self.lists[number], [_PULL, number, self.lists[number], source, *edge, below]
            )
        return self.known[key]

    def _most_pulled(self, pull: Pull) -> int:
        most, total, _ = self.sizes[self._made(pull.source)]
        bounds = self.bounds
        return min(most * bounds.longest, total * bounds.between) * self._factor(pull.powers)

    def _factors(
        self, vector: Vector, pulls: tuple[Pull, ...]
    ) -> tuple[list[tuple[int, int]], _Size]:
        """The vectors whose product a vector is, with their powers, and bounds of it."""
        base = self._base(vector)
        factors = [(base, vector.exponent)]
        factors += [(self._pull(base, each), each.exponent) for each in pulls]
        size = self.sizes[base]
        more = size.most ** (vector.exponent - 1)
        for number, exponent in factors[1:]:
            more *= self.sizes[number].most ** exponent
        return factors, size.times(more)

    def _made(self, vector: Vector) -> int:
        if vector == vector.base:
            return self._base(vector)
        key = "made", vector
        if key not in self.known:
            factors, size = self._factors(vector, vector.pulls)
            weight = self._weight(vector.weight)
            size = size.times(self._most_of(weight))
            number = self._new(key, size, self.lists[factors[0][0]])
            flat = [each for factor in factors for each in factor]
            own = self.lists[number]
            self._add_step(own, [_MAKE, number, own, len(factors), *flat, weight])
        return self.known[key]

    # ------------------------------------------------------------------ sums
    def _register(self, vector: Vector) -> int:
        if vector not in self.known_sums:
            fused = next((each for each in vector.pulls if each.exponent == 1), None)
            others = tuple(each for each in vector.pulls if each is not fused)
            factors, size = self._factors(vector, others)
            most = size.total * (1 if fused is None else self._most_pulled(fused))
            weight = self._weight(vector.weight)
            most *= self._most_of(weight)
            _require(most < _MAX_SUM)
            number = self.known_sums[vector] = len(self.registers)
            self.registers.append(most)
            self.sums.setdefault(_Product(tuple(factors), fused), []).append((number, weight))
        return self.known_sums[vector]

    def _encode_sum(self, product: _Product, into: list[tuple[int, int]]) -> None:
        factors, fused = product
        flat = [each for factor in factors for each in factor]
        pull = [0, 0, 0, 0, 0]
        if fused is not None:
            edge, source = self._edge(fused.powers), self._made(fused.source)
            self.pulled_lists |= 1 << self.lists[source]
            pull = [1, source, *edge, int(fused.source.below)]
        for first in range(0, len(into), _REGISTERS_OF_SUM):
            some = into[first : first + _REGISTERS_OF_SUM]
            places = [each for pair in some for each in pair]
            list_of = self.lists[factors[0][0]]
            words = [_SUM, list_of, len(factors), *flat, *pull, len(some), *places]
            self._add_step(list_of, words)

    def _add_step(self, list_of: int | None, words: list[int]) -> None:
        self.steps.append((len(self.words), list_of))
        self.words += words

    # ------------------------------------------------------------------ weights
    def _weight(self, weight: NodeWeight | None) -> int:
        if weight is None:
            return NONE
        if weight in self.weights:
            return self.weights[weight]
        sources = [(powers, self._weight(child)) for powers, child in weight.trees]
        number = self.weights[weight] = len(self.weights)
        most = self.bounds.loops**weight.loops
        if weight.loops:
            self.loops.append((weight.loops, number))
        for powers, child in sources:
            most *= self.bounds.longest * self._factor(powers) * self._most_of(child)
            sides, more = self._edge(powers)
            source = None if child == NONE else child
            self.pulled.append(PulledWeight(sides, more, source, number))
        _require(most < _MAX_SUM)
        self.most_of_weights.append(most)
        return number

    def _most_of(self, weight: int) -> int:
        return 1 if weight == NONE else self.most_of_weights[weight]

    # ------------------------------------------------------------------ relationships
    def _factor(self, powers: Powers) -> int:
        """Upper bound of what an entry counts for."""
        return math.prod([self.bounds.between] * (sum(powers) - 1))

    def _edge(self, powers: Powers) -> list[int]:
        """The lists that are read for a relationship, and what each entry is multiplied with."""
        both, on, back = powers
        if self.undirected:
            sides, on, both = _OUTGOING, both - 1, 0
        elif on:
            sides, on = _OUTGOING, on - 1
        elif back:
            sides, back = _INCOMING, back - 1
        else:
            sides, both = _BOTH, both - 1
        _require(max(both, on, back) < _BYTE)
        return [sides, on | back << 8 | both << 16]


def _is_below(vector: Vector) -> bool:
    """True if the vector's sum is 0 for a pinned node without lower neighbours."""
    if vector.source is not None:
        return _is_below(vector.source)
    return vector.below


def _require(holds: bool) -> None:
    if not holds:
        raise _TooLargeError
