"""Filters candidates by label and predicate, then by node signature."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gsi.signatures import query_signatures

from gpugda.device.launch.candidate_filter import Batch
from gpugda.match.candidates.candidates import Candidates
from gpugda.match.candidates.encode import Exploration
from gpugda.match.candidates.filter import encode_filter

if TYPE_CHECKING:
    from gpugda_strategies.gsi.options import GsiOptions
    from gpugda_strategies.gsi.store import GraphStore
    from gpugda_strategies.launch.gsi_signatures import SignatureKernels

    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["filter_by_signatures"]


def filter_by_signatures(
    run: Run,
    bound: BoundQuery,
    masks: Masks,
    store: GraphStore,
    kernels: SignatureKernels | None,
    options: GsiOptions,
) -> Candidates | None:
    """The candidates of all query nodes; None as soon as one has none.

    Degrees are not tested, because signatures imply them. Without kernels, signatures are not
    tested either.

    Raises:
        MemoryLimitError: There is no room for the bitmaps of candidates.
    """
    plain = replace(bound, nodes=tuple(replace(node, degree_needs=()) for node in bound.nodes))
    table = None
    if kernels is not None and options.signatures and bound.relationships:
        table = store.signatures(run, kernels)
    nodes = Exploration(replace(plain, relationships=()))
    arrays, encoding = encode_filter(run, nodes, replace(masks, relationships={}), explores=False)
    rows = len(bound.nodes)
    matrix = run.workspace.allocate(rows * arrays.words, np.uint32, "candidates")
    run.kernels.candidate_filter.check_candidates(arrays, Batch(0, rows), None, matrix)
    if kernels is not None and table is not None:
        asked = query_signatures(bound, dict(encoding.rows), options)
        uploaded = run.workspace.upload(asked, "signatures of query nodes")
        kernels.check(table, uploaded, rows, arrays.words, matrix)
    sums = run.kernels.prefix_sum.run(run.workspace, matrix, 0, rows * arrays.words, of_bits=True)
    firsts = run.workspace.download_at(sums, range(0, rows * arrays.words + 1, arrays.words))
    run.workspace.release(sums)
    counts = [last - first for first, last in itertools.pairwise(firsts)]
    if 0 in counts:
        return None
    return Candidates(
        encoding.rows, arrays, encoding.query.adjacencies, matrix, counts, {}, explored=False
    )
