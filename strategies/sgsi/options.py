"""The techniques of SGSI that can be switched off."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpugda_strategies.gsi.options import GsiOptions

__all__ = ["SgsiOptions", "sgsi_variants"]


@dataclass(frozen=True, slots=True)
class SgsiOptions:
    """Techniques that can be switched off, and their sizes. The answer is the same with all.

    Args:
        lists: Options of GSI, on which SGSI builds; its lengths of long rows are used without a
            histogram.
        histogram: "SGSI+": choose these lengths by a histogram and a cost model.
        pipelined: Send the next segment during the work on the current one.
        segment_entries: Entries of a segment; None for as many as fit in the memory limit.
        segment_nodes: Nodes of a segment of the signature table, a multiple of 32; None for as many
            as fit.
        bucket_words: Words of a bucket of the signature table; None for all if they fit, else 1.
        rows: Maximum rows of a subtable.
        places: Maximum places allocated at once.
    """

    lists: GsiOptions = field(default_factory=GsiOptions)
    histogram: bool = True
    pipelined: bool = True
    segment_entries: int | None = None
    segment_nodes: int | None = None
    bucket_words: int | None = None
    rows: int = 1 << 24
    places: int = 1 << 27


def sgsi_variants() -> dict[str, SgsiOptions]:
    """The variants to compare, without the pipeline: basic, with load balance, with histogram."""
    options = SgsiOptions()
    unbalanced = replace(options.lists, load_balance=False)
    return {
        "basic": replace(options, lists=unbalanced, histogram=False, pipelined=False),
        "+LB": replace(options, histogram=False, pipelined=False),
        "+histogram": replace(options, pipelined=False),
    }
