"""Properties loaded later."""

import threading

import pytest
from graphs import make_graph
from server_ids import server_graph

from gpugda.data.values.columns import column_from_values, to_values
from gpugda.data.values.property_store import PropertyNotReadError, PropertyStore
from gpugda.plan.cardinality import EQUALITY, selectivity
from tests.one_pattern import query_of


def _column(*values):
    return column_from_values(list(values))


def test_a_complete_store_is_a_mapping():
    store = PropertyStore({"x": _column(1, 2)})
    assert store.complete
    assert dict(store) == {"x": store["x"]}
    assert store.get("y") is None
    assert "y" not in store
    assert len(store) == 1
    with pytest.raises(KeyError):
        store["y"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store["y"],
        lambda store: store.get("y"),
        lambda store: store.get("y", 1),
        lambda store: "y" in store,
        list,
        len,
        bool,
        dict,
        lambda store: list(store.items()),
        lambda store: list(store.values()),
        lambda store: list(store.keys()),
        lambda store: {**store},
        lambda store: store == {},
    ],
)
def test_an_incomplete_store_never_reports_a_missing_key(ask):
    store = PropertyStore({"x": _column(1)}, complete=False)
    with pytest.raises(PropertyNotReadError):
        ask(store)


def test_read_keys_are_available_and_unused_ones_null():
    store = PropertyStore(complete=False)
    store.add({"x": _column(1, None)}, ["x", "y"])
    assert to_values(store["x"]) == [1, None]
    assert store.get("y") is None
    assert "y" not in store
    assert store.loaded_keys == {"x", "y"}
    with pytest.raises(PropertyNotReadError):
        store.get("z")
    assert "…" in repr(store)


def test_reading_all_keys_completes_the_store():
    store = PropertyStore({"x": _column(1)}, complete=False)
    store.add({"x": _column(1), "y": _column(2)}, None)
    assert store.complete
    assert sorted(store) == ["x", "y"]
    assert store.get("z") is None


def test_a_loaded_column_is_never_replaced():
    store = PropertyStore(complete=False)
    first = _column(1)
    store.add({"x": first}, ["x"])
    store.add({"x": _column(1)}, ["x"])
    assert store["x"] is first


def test_a_state_is_consistent():
    store = PropertyStore({"x": _column(1)}, complete=False)
    before = store.state()
    store.add({"y": _column(1)}, ["y"])
    assert (list(before.columns), before.read) == (["x"], ["x"])
    store.add({}, None)
    assert store.state().read is None


def test_several_threads_add_and_read():
    store = PropertyStore(complete=False)
    start = threading.Barrier(4)
    wrong = []

    def work(number):
        start.wait()
        for key in range(200):
            store.add({f"{number} {key}": _column(key)}, [f"{number} {key}", f"no {number} {key}"])
            if to_values(store[f"{number} {key}"]) != [key] or f"no {number} {key}" in store:
                wrong.append(key)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(store.loaded_keys) == 4 * 2 * 200


def test_properties_added_later_are_counted():
    graph = server_graph([("A", {})] * 3, [(0, "R", 1, {})], [1, 2, 3], [4], complete=False)
    (predicate,) = query_of("MATCH (a) WHERE a.name = 'x' RETURN a").graph.predicates
    statistics = graph.statistics
    assert selectivity(predicate, statistics.distinct_counts, 3) == EQUALITY
    graph.add_properties({"name": _column("x", "y", "x")}, ["name", "age"], of_nodes=True)
    assert selectivity(predicate, statistics.distinct_counts, 3) == 0.5
    assert "age" not in statistics.distinct_counts
    assert "other" in statistics.distinct_counts
    assert "age" in statistics.relationship_distinct_counts
    graph.add_properties({}, None, of_nodes=True)
    assert "other" not in statistics.distinct_counts
    assert graph.node_properties.complete
    assert not graph.relationship_properties.complete


def test_a_column_of_another_length_is_refused():
    graph = server_graph([("A", {})] * 3, [], [1, 2, 3], [], complete=False)
    with pytest.raises(ValueError, match="2 values for 3"):
        graph.add_properties({"x": _column(1, 2)}, ["x"], of_nodes=True)
    with pytest.raises(PropertyNotReadError):
        graph.node_properties.get("x")


def test_the_size_grows_with_each_read_column():
    graph = server_graph([("A", {})] * 3, [], [1, 2, 3], [], complete=False)
    before = graph.nbytes
    graph.add_properties({"x": _column(1, 2, 3)}, ["x"], of_nodes=True)
    assert graph.nbytes == before + 24


def test_embedded_graphs_are_complete():
    graph = make_graph([("A", {"x": 1})])
    assert graph.node_properties.complete
    assert graph.relationship_properties.complete
    assert "other" not in graph.statistics.distinct_counts
