"""Graphs built by the processor's kernels equal those that NumPy builds."""

import numpy as np
import pytest
from graphs import ListedBatches, node_batch, relationship_batch
from hypothesis import given
from hypothesis import strategies as st
from server_ids import ListedSource

from gpugda.data.build import build_data_graph
from gpugda.data.sorting import Unsorted, sorted_rows
from gpugda.data.statistics.counting import (
    LabelSets,
    gather_statistics,
)
from gpugda.device.graph import host_rows as module
from gpugda.device.graph.host_rows import HostRows
from gpugda.device.host_device import host_device
from gpugda.device.launch import csr_rows
from gpugda.device.launch.csr_rows import RangeRows, RowCounts
from gpugda.errors import DeviceError
from gpugda.loading import load
from gpugda.ports import SilentProgress

pytestmark = pytest.mark.device


@pytest.fixture(autouse=True, params=[False, True])
def small_ranges(monkeypatch, request):
    if host_device() is None:
        pytest.skip("no CPU as a device")
    monkeypatch.setattr(module, "_FROM", 1)
    monkeypatch.setattr(csr_rows, "_RANGE", 4)
    monkeypatch.setattr(csr_rows, "has_fast_sort", lambda: request.param)


@st.composite
def batches(draw):
    labels = st.lists(st.sampled_from("AB"), max_size=2)
    nodes = draw(st.lists(st.tuples(labels, st.just({})), min_size=1, max_size=9))
    ends = st.integers(0, len(nodes) - 1)
    properties = st.fixed_dictionaries({}, optional={"p": st.integers(0, 9)})
    kinds = st.sampled_from(["R", "S", "T"])
    return nodes, draw(st.lists(st.tuples(ends, kinds, ends, properties), max_size=30))


def read(listed):
    nodes, relationships = listed
    return ListedBatches([node_batch(nodes)], [relationship_batch(relationships)])


def arrays(graph):
    return [*graph.outgoing.parts, *graph.incoming.parts]


@given(batches())
def test_the_graph_equals_that_of_numpy(listed):
    rows = HostRows()
    found = build_data_graph(read(listed), sorter=rows.sorted, counter=rows)
    wanted = build_data_graph(read(listed))
    for one, other in zip(arrays(found), arrays(wanted), strict=True):
        np.testing.assert_array_equal(one, other)
    assert found.statistics == wanted.statistics
    for key, column in wanted.relationship_properties.columns.items():
        mine = found.relationship_properties.columns[key]
        np.testing.assert_array_equal(mine.values, column.values)


def made():
    """No two of one type are parallel, so that those of two types are checked."""
    random = np.random.default_rng(1)
    triples = np.unique(random.integers(0, [40, 3, 40], (500, 3)), axis=0)
    random.shuffle(triples)
    starts, types, ends = triples.T.astype(np.uint32)
    return Unsorted(40, 3, starts.copy(), types.astype(np.uint16), ends.copy())


def check(rows):
    expected = sorted_rows(made(), with_order=True)
    np.testing.assert_array_equal(rows.order, expected.order)
    for csr, wanted in zip(rows[:2], expected[:2], strict=True):
        for one, other in zip(csr.parts, wanted.parts, strict=True):
            np.testing.assert_array_equal(one, other)
    labels = LabelSets(np.zeros(40, dtype=np.int32), [[]], 0)
    statistics = gather_statistics(labels, 3, *expected[:2], {}, {})
    assert gather_statistics(labels, 3, *rows[:2], {}, {}, rows.facts) == statistics


def test_rows_and_facts_are_made():
    rows = HostRows().sorted(made(), with_order=True)
    assert rows.facts is not None
    check(rows)


@pytest.mark.parametrize("error", [DeviceError, MemoryError])
@pytest.mark.parametrize(("kind", "name"), [(RangeRows, "incoming"), (RowCounts, "has_parallel")])
def test_a_failure_after_the_arrays_were_released_falls_back_to_numpy(
    kind, name, error, monkeypatch
):
    given = made()

    def fail(*_):
        given.starts[:] = given.ends[:] = 0
        raise error("no")

    monkeypatch.setattr(kind, name, fail)
    rows = HostRows().sorted(given, with_order=True)
    assert rows.facts is None
    check(rows)


@pytest.mark.parametrize("error", [DeviceError, MemoryError])
def test_a_failure_before_leaves_the_arrays_unchanged(error, monkeypatch):
    def fail(*_):
        raise error("no")

    monkeypatch.setattr(RangeRows, "outgoing", fail)
    given = made()
    assert HostRows().sorted(given, with_order=True) is None
    np.testing.assert_array_equal(given.starts, made().starts)


def test_loading_a_source_uses_the_device(monkeypatch):
    made_by = []
    rows = HostRows.sorted
    monkeypatch.setattr(
        HostRows, "sorted", lambda *given, **how: made_by.append(rows(*given, **how)) or made_by[0]
    )
    source = ListedSource([("A", {})] * 3, [(0, "R", 1, {}), (2, "S", 1, {}), (0, "R", 1, {})])
    loaded = load(source, SilentProgress())
    assert loaded.graph.outgoing is made_by[0].outgoing
    assert loaded.graph.statistics == build_data_graph(source.batches()).statistics
    left = load(source, SilentProgress(), sorter=lambda given, *, with_order: made_by[0])
    assert len(made_by) == 1
    assert left.graph.outgoing is loaded.graph.outgoing


def test_few_relationships_do_not_open_the_device(monkeypatch):
    monkeypatch.setattr(module, "_FROM", 1000)
    monkeypatch.setattr(module, "host_device", lambda: pytest.fail("opened"))
    assert HostRows().sorted(made(), with_order=False) is None


def test_types_of_more_than_16_bits_are_not_sorted_on_the_device():
    given = made()._replace(type_count=70_000, types=made().types.astype(np.uint32))
    assert HostRows().sorted(given, with_order=False) is None
