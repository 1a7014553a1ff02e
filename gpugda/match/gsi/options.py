"""Which techniques of GSI are used."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["GsiOptions", "ablation_steps"]


@dataclass(frozen=True, slots=True)
class GsiOptions:
    """Techniques that can be switched off, and their sizes. The answer is the same with all.

    Args:
        signatures: Filter candidates by what surrounds a node, not by its labels alone.
        column_first: Lay signatures out so that neighbouring work items read neighbouring words.
        partitions: "DS": a hash table of lists per types that are asked for; else plain rows, all
            of whose entries are looked at.
        prealloc: "PC": allocate the longest a row's result can be and join once; else count, sum
            and join again.
        set_operations: "SO": batches of 128 bytes, bitmaps of candidates, a cache for what is
            written; else each work item reads and writes by itself and searches the candidates.
        load_balance: "LB": long rows get groups or a launch of their own.
        duplicate_removal: "DR": rows of a group with the same list read it once.
        signature_words: Words of 32 bits of a signature.
        group_fill: Nodes per hash group, on average; 15 have place.
        launch_from: Longer rows are in a launch of their own (the paper's W1).
        group_from: Longer rows get a whole group (W2).
        share_from: So many entries of a row a warp does for itself (W3).
    """

    signatures: bool = True
    column_first: bool = True
    partitions: bool = True
    prealloc: bool = True
    set_operations: bool = True
    load_balance: bool = True
    duplicate_removal: bool = True
    signature_words: int = 16
    group_fill: int = 5
    launch_from: int = 4096
    group_from: int = 256
    share_from: int = 64


def ablation_steps() -> dict[str, GsiOptions]:
    """The paper's order: each variant has what the one before it has, and one technique more."""
    options = GsiOptions(
        partitions=False,
        prealloc=False,
        set_operations=False,
        load_balance=False,
        duplicate_removal=False,
    )
    found = {"basic": options}
    for name, technique in (
        ("+DS", "partitions"),
        ("+PC", "prealloc"),
        ("+SO", "set_operations"),
        ("+LB", "load_balance"),
        ("+DR", "duplicate_removal"),
    ):
        options = replace(options, **{technique: True})
        found[name] = options
    return found
