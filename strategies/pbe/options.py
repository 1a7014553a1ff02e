"""The techniques of PBE that can be switched off."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PbeOptions", "pbe_variants"]


@dataclass(frozen=True, slots=True)
class PbeOptions:
    """Techniques that can be switched off, and sizes. The answer is the same with all.

    Args:
        shares: Shared execution: query relationships that an automorphism of the pattern maps to
            each other are searched once, and the rows are remapped; otherwise each is searched
            separately.
        orders: The order with the least estimated cost; otherwise query nodes as written.
        partitions: Number of partitions; None for as many as the memory limit requires.
        rows_share: Share of the free memory for partial embeddings, divided equally between levels.
            The rest is for the lists of a partition.
        host_share: Share of the host's memory for lists that are kept as long as the data graph.
    """

    shares: bool = True
    orders: bool = True
    partitions: int | None = None
    rows_share: float = 0.5
    host_share: float = 0.25


def pbe_variants(partitions: int | None = None) -> dict[str, PbeOptions]:
    """The paper's ablation, by name: no technique, the order alone, and both."""
    return {
        "basic": PbeOptions(shares=False, orders=False, partitions=partitions),
        "+order": PbeOptions(shares=False, partitions=partitions),
        "+sharing": PbeOptions(partitions=partitions),
    }
