"""Which techniques of PBE are used."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PbeOptions", "pbe_variants"]


@dataclass(frozen=True, slots=True)
class PbeOptions:
    """Techniques that can be switched off, and sizes. The answer is the same with all.

    Args:
        shares: Shared execution: query relationships that an automorphism of the pattern exchanges
            are searched once, and the rows remapped; else each is searched by itself.
        orders: The order with the least expected cost; else query nodes as they were written.
        partitions: How many; None for as many as the memory limit needs.
        rows_share: Of the free memory, for partial embeddings; each level gets an equal part of it.
            The rest is for the lists of a partition.
        host_share: Of the host's memory, for lists that are kept as long as the data graph.
    """

    shares: bool = True
    orders: bool = True
    partitions: int | None = None
    rows_share: float = 0.5
    host_share: float = 0.25


def pbe_variants(partitions: int | None = None) -> dict[str, PbeOptions]:
    """The paper's ablation, by name: nothing, the order alone, and both."""
    return {
        "basic": PbeOptions(shares=False, orders=False, partitions=partitions),
        "+order": PbeOptions(shares=False, partitions=partitions),
        "+sharing": PbeOptions(partitions=partitions),
    }
