"""From a node and a type to its run in two loads: the arrays of a CSR as kernels read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.patches.patched import Array

__all__ = ["FEW_RUNS", "CsrArrays", "csr_arrays", "run_starts"]

FEW_RUNS = 16
"""Rows with more runs have them in the table of ranks; as in ``csr.h``."""

_SLOTS_PER_KEY = 1.23
"""Just above 1.222, below which peeling gets stuck."""
_SPARE_SLOTS = 48
_MOST_SEEDS = 1 << 16
_THREE = 3


@dataclass(frozen=True, slots=True, eq=False)
class CsrArrays:
    """What ``csr.h`` names, of one direction; arrays may be patched.

    Args:
        run_ranks: ``uint32``, the table of ranks; None where no row has more than `FEW_RUNS`, and
            where the device searches long rows.
        neighbours: ``uint32[m]``.
        run_offsets: ``uint32[n+1]``; None where there is one type only.
        run_types: ``uint16[runs]`` or ``uint32[runs]``; likewise.
        run_starts: ``uint32[runs+1]``; where there is one type only, ``uint32[n+1]``.
    """

    run_ranks: NDArray[np.uint32] | None
    neighbours: Array
    run_offsets: Array | None
    run_types: Array | None
    run_starts: Array

    def all(self) -> tuple[Array | None, ...]:
        """In the order of ``GRAPH_PARAMETERS``."""
        return (
            self.run_ranks,
            self.neighbours,
            self.run_offsets,
            self.run_types,
            self.run_starts,
        )


def run_starts(csr: Csr, type_count: int) -> NDArray[np.uint32]:
    """Where the runs begin that kernels know: of one type only, each row is a run."""
    return csr.row_offsets if type_count <= 1 else csr.run_starts


def csr_arrays(csr: Csr, type_count: int, *, with_ranks: bool = True) -> CsrArrays:
    """The arrays of one direction of a graph with so many types.

    ``with_ranks``: with the table of ranks, which takes longest to make.
    """
    parts = csr.parts
    if type_count <= 1:
        return CsrArrays(None, parts.neighbours, None, None, parts.row_offsets)
    ranks = _run_ranks(csr) if with_ranks and type_count > FEW_RUNS else None
    return CsrArrays(ranks, parts.neighbours, parts.run_offsets, parts.run_types, parts.run_starts)


def _run_ranks(csr: Csr) -> NDArray[np.uint32] | None:
    """A static function: the exclusive or of three slots of a key is the key's rank.

    After Botelho, Pagh and Ziviani, "Simple and space-efficient minimal perfect hash functions"
    (2007), section 3: keys are peeled off that have a slot to themselves, and get their slots'
    values in the opposite order.
    """
    run_counts = np.diff(csr.run_offsets)
    nodes = np.flatnonzero(run_counts > FEW_RUNS)
    if len(nodes) == 0:
        return None
    counts = run_counts[nodes].astype(np.int64)
    ranks = places_in_runs(counts)
    runs = np.repeat(csr.run_offsets[nodes].astype(np.int64), counts) + ranks
    type_bits = 8 * csr.run_types.dtype.itemsize
    keys = np.repeat(nodes.astype(np.uint64), counts) << np.uint64(type_bits)
    keys |= csr.run_types[runs]
    third = -(-int(len(keys) * _SLOTS_PER_KEY + _SPARE_SLOTS) // _THREE)
    for seed in range(_MOST_SEEDS):
        slots = _slots(keys, third, seed)
        rounds = _peeled(slots, third * _THREE)
        if rounds is not None:
            bits = max(1, int(counts.max() - 1).bit_length())
            values = _values(slots, rounds, ranks, third * _THREE)
            return np.concatenate(
                [np.array([third, bits, seed], dtype=np.uint32), _packed(values, bits)]
            )
    raise AssertionError("no seed spreads the runs over the table of ranks")


def _slots(keys: NDArray[np.uint64], third: int, seed: int) -> NDArray[np.int64]:
    """``int64[keys, 3]``: the slots of each key, as ``rank_of_run`` finds them."""
    first = _mixed(keys + np.uint64(seed << 48))
    second = _mixed(first)
    low = np.uint64(0xFFFFFFFF)
    halves = (first & low, first >> np.uint64(32), second >> np.uint64(32))
    return np.stack(
        [
            (((half * np.uint64(third)) >> np.uint64(32)) + np.uint64(number * third)).astype(
                np.int64
            )
            for number, half in enumerate(halves)
        ],
        axis=1,
    )


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The last steps of splitmix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


_Round = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


def _peeled(slots: NDArray[np.int64], size: int) -> list[_Round] | None:
    """Keys and the slots they had to themselves, round by round; None where some never have one."""
    users = np.bincount(slots.reshape(-1), minlength=size)
    sums = np.zeros(size, dtype=np.int64)  # of the keys of a slot: of one key, that key
    np.add.at(sums, slots.reshape(-1), np.repeat(np.arange(len(slots)), _THREE))
    rounds: list[_Round] = []
    left, alone = len(slots), np.flatnonzero(users == 1)
    while len(alone):
        keys, firsts = np.unique(sums[alone], return_index=True)
        rounds.append((keys, alone[firsts]))
        left -= len(keys)
        touched = slots[keys].reshape(-1)
        np.subtract.at(users, touched, 1)
        np.subtract.at(sums, touched, np.repeat(keys, _THREE))
        touched = np.unique(touched)
        alone = touched[users[touched] == 1]
    return rounds if left == 0 else None


def _values(
    slots: NDArray[np.int64], rounds: list[_Round], ranks: NDArray[np.int64], size: int
) -> NDArray[np.uint32]:
    values = np.zeros(size, dtype=np.uint32)
    for keys, own in reversed(rounds):
        # The own slot is zero still, so it changes nothing here.
        others = values[slots[keys]]
        values[own] = ranks[keys].astype(np.uint32) ^ np.bitwise_xor.reduce(others, axis=1)
    return values


def _packed(values: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    """Values one after the other, lowest bit first; a word more, for reads at the end."""
    single = ((values[:, None] >> np.arange(bits, dtype=np.uint32)) & 1).astype(np.uint8)
    packed = np.packbits(single.reshape(-1), bitorder="little")
    words = np.zeros((-(-len(packed) // 4) + 1) * 4, dtype=np.uint8)
    words[: len(packed)] = packed
    return words.view(np.uint32)
