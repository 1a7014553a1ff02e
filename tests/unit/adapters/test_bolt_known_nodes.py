"""Keeping relationships whose two end nodes were read."""

import numpy as np
import pyarrow as pa
import pytest
from gpugda_adapters.bolt_known_nodes import KnownNodes
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.errors import StaleSnapshotError

FAR = 2**40


def known(ids, *, partial):
    nodes = KnownNodes(partial=partial)
    codes = np.zeros(len(ids), dtype=np.int32)
    nodes.add(NodeBatch(len(ids), pa.array(ids, pa.int64()), codes, ((),), {}))
    nodes.freeze()
    return nodes


def between(pairs):
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    codes = np.zeros(len(ends), dtype=np.int32)
    ids = np.arange(len(ends), dtype=np.int64)
    sources, targets = pa.array(ends[:, 0]), pa.array(ends[:, 1])
    return RelationshipBatch(len(ends), sources, targets, codes, ("R",), relationship_ids=ids)


RANGES = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda r: set(range(r[0], sum(r))))
GAPS = st.sets(st.one_of(st.integers(0, 8), st.integers(FAR, FAR + 3)))
PAIRS = st.lists(st.tuples(*[st.one_of(st.integers(0, 9), st.just(FAR))] * 2), max_size=6)


@given(st.one_of(RANGES, GAPS), PAIRS)
def test_relationships_between_known_nodes_are_kept(ids, pairs):
    inside = [place for place, pair in enumerate(pairs) if ids >= set(pair)]
    found = known(sorted(ids), partial=True).checked(between(pairs))
    assert found.relationship_ids.tolist() == inside
    assert found.source_ids.to_pylist() == [pairs[place][0] for place in inside]
    whole = known(sorted(ids), partial=False)
    if len(inside) == len(pairs):
        assert whole.checked(between(pairs)).count == len(pairs)
    else:
        with pytest.raises(StaleSnapshotError, match="were not read"):
            whole.checked(between(pairs))
