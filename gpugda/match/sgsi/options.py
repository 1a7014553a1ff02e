"""Which techniques of SGSI are used."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpugda.match.gsi.options import GsiOptions

__all__ = ["SgsiOptions", "sgsi_variants"]


@dataclass(frozen=True, slots=True)
class SgsiOptions:
    """Techniques that can be switched off, and their sizes. The answer is the same with all.

    Args:
        lists: Those of GSI that SGSI builds on; its lengths of long rows are used without a
            histogram.
        histogram: "SGSI+": choose these lengths by a histogram and a cost model.
        pipelined: Send the next segment while the present one is worked on.
        segment_entries: Entries of a segment; None for as many as the memory limit has room for.
        segment_nodes: Nodes of a segment of the signature table, a multiple of 32; None likewise.
        bucket_words: Words of a bucket of the signature table; None for all where they fit, else 1.
        rows: Of a subtable, at most.
        places: Allocated in advance at once, at most.
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
    """What the paper and we compare: SGSI before its load balance, and without the pipeline."""
    options = SgsiOptions()
    unbalanced = replace(options.lists, load_balance=False)
    return {
        "basic": replace(options, lists=unbalanced, histogram=False, pipelined=False),
        "+LB": replace(options, histogram=False, pipelined=False),
        "+histogram": replace(options, pipelined=False),
    }
