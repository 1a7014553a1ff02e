"""Distinct ids of the ends of relationships."""

from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from gpugda_adapters import distinct_ids as module
from gpugda_adapters.distinct_ids import distinct_ids
from hypothesis import given
from hypothesis import strategies as st

import gpugda

INTEGERS = st.integers(-20, 40) | st.integers(-(2**63), 2**63 - 1)
PIECES = st.lists(st.lists(st.integers(-20, 40), max_size=30) | st.lists(INTEGERS), min_size=1)


@given(PIECES)
@pytest.mark.parametrize("at_once", [1, 3, 32])
def test_distinct_integers_are_in_order_of_first_appearance(at_once, pieces):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE", 4)
        patch.setattr(module, "_AT_ONCE", at_once)
        found = distinct_ids([pa.array(each, pa.int64()) for each in pieces])
    assert found.to_pylist() == list(dict.fromkeys(chain.from_iterable(pieces)))
    assert found.type == pa.int64()


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32])
def test_narrow_integers_do_not_overflow(kind):
    limits = np.iinfo(kind)
    ids = np.array([limits.max, limits.min, 3, limits.max], dtype=kind).repeat(200)
    expected = [limits.max, limits.min, 3]
    assert distinct_ids([pa.array(ids)]).to_pylist() == expected
    others = pa.array([2**60, 3])
    assert distinct_ids([pa.array(ids), others]).to_pylist() == [*expected, 2**60]


def test_texts_are_distinct():
    pieces = [pa.array(["b", "a", "b"]), pa.array(["c", "a"])]
    assert distinct_ids(pieces).to_pylist() == ["b", "a", "c"]


def test_relationships_alone_give_a_graph_of_their_ends():
    random = np.random.default_rng(5)
    source, target = random.integers(-50, 900, (2, 5000))
    given = {"R": {"source": source, "target": target.astype(np.int32)}}
    with gpugda.connect(gpugda.graph(relationships=given)) as graph:
        found = graph.run("MATCH (n) RETURN n.id", engine="reference").value()
    assert found == list(dict.fromkeys([*source.tolist(), *target.tolist()]))
