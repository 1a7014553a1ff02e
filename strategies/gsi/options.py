"""The techniques of GSI that can be switched off."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["GsiOptions", "ablation_steps"]


@dataclass(frozen=True, slots=True)
class GsiOptions:
    """Techniques that can be switched off, and their sizes. The answer is the same with all.

    Args:
        signatures: Filter candidates by a node's surroundings, not by its labels alone.
        column_first: Lay signatures out so that adjacent work items read adjacent words.
        partitions: "DS": a hash table of lists per required types; otherwise plain rows, all of
            whose entries are read.
        prealloc: "PC": allocate the maximum size of each row's result and join once; otherwise
            count, sum and join again.
        set_operations: "SO": batches of 128 bytes, bitmaps of candidates, a write cache; otherwise
            each work item reads and writes separately and searches the candidates.
        load_balance: "LB": long rows get work groups or a separate launch.
        duplicate_removal: "DR": rows of a group with the same list read it once.
        closing_order: Join the nodes of cycles in the order of the least estimated cost, which
            knows that closing relationships remove rows; otherwise by the paper's score.
        signature_words: Number of 32-bit words of a signature.
        group_fill: Average number of nodes per hash group; 15 fit.
        launch_from: Longer rows are in a separate launch (the paper's W1).
        group_from: Longer rows get a whole work group (W2).
        share_from: Entries of a row that a warp processes alone (W3).
    """

    signatures: bool = True
    column_first: bool = True
    partitions: bool = True
    prealloc: bool = True
    set_operations: bool = True
    load_balance: bool = True
    duplicate_removal: bool = True
    closing_order: bool = True
    signature_words: int = 16
    group_fill: int = 5
    launch_from: int = 4096
    group_from: int = 256
    share_from: int = 64


def ablation_steps() -> dict[str, GsiOptions]:
    """The paper's order: each variant adds one technique to the previous one.

    All use the paper's score for the order of nodes.
    """
    options = GsiOptions(
        partitions=False,
        prealloc=False,
        set_operations=False,
        load_balance=False,
        duplicate_removal=False,
        closing_order=False,
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
