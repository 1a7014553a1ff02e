"""A graph with applied changes equals a rebuilt one, and the old graph stays unchanged."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fake_server import State, _batches
from gpugda_adapters.change_events import net_changes
from histories import histories
from hypothesis import given, settings
from hypothesis import strategies as st
from random_database import RandomDatabase

from gpugda.data import identifiers
from gpugda.data.build import build_data_graph
from gpugda.data.increments import searching, sides
from gpugda.data.increments.apply import applied
from gpugda.data.increments.changes import ChangesError
from gpugda.data.increments.rows import Ends
from gpugda.data.labels import distinct_label_sets, label_bitmap
from gpugda.data.patches import changing, patched, spare_capacity
from gpugda.data.patches.patched import whole
from gpugda.data.patches.splice import Splice
from gpugda.data.statistics.counting import (
    LabelSets,
    gather_statistics,
)
from gpugda.data.values.columns import column_from_values, to_values
from gpugda.ports import DatabaseVersion
from gpugda.snapshot.opening import open_snapshot
from gpugda.snapshot.store import save_snapshot
from strategies import examples

VERSION = DatabaseVersion("a-database", 1)


@pytest.fixture(
    params=[(1 << 17, 65_535), (0, 65_535), (0, 1)], ids=["copied", "patched", "wide"], autouse=True
)
def patched_from(request, monkeypatch):
    """Runs all tests here with copied and with patched arrays.

    And with more names than short ids can hold.
    """
    patched_from, short_ids = request.param
    monkeypatch.setattr(changing, "PATCHED_FROM", patched_from)
    monkeypatch.setattr(identifiers, "MAX_SHORT_IDS", short_ids)
    # Once with lookups entry by entry, once row by row.
    monkeypatch.setattr(searching, "_FEW", 1 << 11 if patched_from else 3)
    monkeypatch.setattr(sides, "_FEW", 1 << 5 if patched_from else 0)
    monkeypatch.setattr(patched, "FEW_STRETCHES", 20)
    monkeypatch.setattr(patched, "MAX_STRETCHES", 60)
    # New entries go behind the previous state's arrays, until these have no spare capacity.
    monkeypatch.setattr(spare_capacity, "_MIN_LENGTH", patched_from)
    monkeypatch.setattr(spare_capacity, "_LENGTH_PER_SPARE", 2)


def graph_of(state, read=("x", "y"), *, complete=False):
    """A state of a history as a data graph, with these keys loaded."""
    nodes = {number: (row[1], row[2]) for number, row in state.nodes.items()}
    relationships = {number: row[1:5] for number, row in state.relationships.items()}
    graph = build_data_graph(_batches(State(nodes, relationships), VERSION, complete=False))
    for of_nodes, table in ((True, nodes), (False, relationships)):
        ids = graph.external_ids.of(of_nodes).tolist()
        columns = {
            key: column_from_values([table[number][-1].get(key) for number in ids]) for key in read
        }
        graph.add_properties(columns, None if complete else read, of_nodes=of_nodes)
    return graph


def seen(graph):
    """Contents by ids and names, which are equal for two graphs of one state."""
    ids = graph.external_ids
    values = {}
    for of_nodes, store in ((True, graph.node_properties), (False, graph.relationship_properties)):
        for key, column in store.columns.items():
            found = zip(ids.of(of_nodes).tolist(), to_values(column), strict=True)
            # As text, as 1, 1.0 and true are distinct here, and NaN equals itself.
            values[of_nodes, key] = {
                number: repr(value) for number, value in found if value is not None
            }
    types = [graph.types.name(each) for each in graph.relationship_types().tolist()]
    starts, ends = ids.nodes[graph.start_nodes()], ids.nodes[graph.outgoing.neighbours]
    return {
        "nodes": {
            number: tuple(sorted(graph.node_labels(node)))
            for node, number in enumerate(ids.nodes.tolist())
        },
        "relationships": dict(
            zip(
                ids.relationships.tolist(),
                zip(starts.tolist(), types, ends.tolist(), strict=True),
                strict=True,
            )
        ),
        "values": values,
    }


def check(graph):
    graph.outgoing.check()
    graph.incoming.check()
    for csr in (graph.outgoing, graph.incoming):
        assert csr.run_types.dtype == identifiers.name_id_type(len(graph.types))
    assert graph.label_ids.dtype == identifiers.name_id_type(len(graph.labels))
    indexes = graph.incoming.relationship_indexes
    assert graph.incoming.neighbours.tolist() == graph.start_nodes()[indexes].tolist()
    assert graph.incoming.entry_nodes().tolist() == graph.outgoing.neighbours[indexes].tolist()
    assert graph.incoming.entry_types().tolist() == graph.relationship_types()[indexes].tolist()
    assert (np.diff(graph.external_ids.nodes) > 0).all()
    offsets, label_ids = whole(graph.label_offsets), whole(graph.label_ids)
    assert offsets[-1] == len(label_ids)
    for label in range(len(graph.labels)):
        expected = label_bitmap(offsets, label_ids, label)
        np.testing.assert_array_equal(graph.label_bits(label), expected)
    assert len(graph.label_offsets) == graph.node_count + 1
    for count, store in (
        (graph.node_count, graph.node_properties),
        (graph.relationship_count, graph.relationship_properties),
    ):
        for column in store.columns.values():
            assert len(column) == count
            if column.dictionary is not None and count:
                assert 0 <= column.values.min() <= column.values.max() < len(column.dictionary)


def counted(graph):
    """Statistics recomputed from the graph's own arrays."""
    offsets, label_ids = whole(graph.label_offsets), whole(graph.label_ids)
    codes = distinct_label_sets(offsets, label_ids, len(graph.labels))
    examples = np.unique(codes, return_index=True)[1].tolist()
    sets = [tuple(label_ids[offsets[v] : offsets[v + 1]].tolist()) for v in examples]
    return gather_statistics(
        LabelSets(codes, sets, len(graph.labels)),
        len(graph.types),
        graph.outgoing,
        graph.incoming,
        {},
        {},
    )


def check_statistics(graph):
    told, fresh = graph.statistics, counted(graph)
    for name in (
        "node_count",
        "relationship_count",
        "label_counts",
        "type_counts",
        "pattern_counts",
        "loop_counts",
    ):
        assert getattr(told, name) == getattr(fresh, name), name
    for name in ("outgoing_degrees", "incoming_degrees"):
        ours, theirs = getattr(told, name), getattr(fresh, name)
        assert ours.keys() == theirs.keys()
        for key, degrees in theirs.items():
            assert ours[key].largest >= degrees.largest
            assert ours[key].node_count == degrees.node_count
            assert ours[key].mean == pytest.approx(degrees.mean)
            assert ours[key].reached == pytest.approx(degrees.reached)
    # These may report "parallel" after such relationships are gone, but never miss one.
    assert told.has_parallel >= fresh.has_parallel
    assert all(a >= b for a, b in zip(told.parallel_types, fresh.parallel_types, strict=True))
    exact = replace(graph, statistics=replace(fresh, distinct_counts={}))
    object.__setattr__(exact, "_derived", type(graph._derived)())
    for name in ("parallel_counts", "undirected_parallel_counts"):
        ours, theirs = getattr(graph, name)(), getattr(exact, name)()
        assert all(a >= b for a, b in zip(ours, theirs, strict=True)), name


def told_values(changes, state):
    """The changes with all values, taken from the state."""
    found = {}
    for name, table in (("node_properties", "nodes"), ("relationship_properties", "relationships")):
        rows = getattr(state, table)
        found[name] = {
            key: replace(
                change,
                values=column_from_values(
                    [rows[each][-1].get(key) for each in change.ids.tolist()]
                ),
            )
            for key, change in getattr(changes, name).items()
        }
    return replace(changes, **found)


@given(histories(), st.booleans(), st.booleans(), st.integers(0, 7))
@settings(max_examples=examples(90))
def test_applied_increments_equal_a_fresh_build(history, complete, derived, steps):
    graph = graph_of(history.states[0], complete=complete)
    quiet, since, old_states = graph, 0, []
    for number in sorted(history.states)[1:]:
        if derived:
            for each in (
                graph.parallel_counts,
                graph.undirected_parallel_counts,
                graph.label_codes,
            ):
                each()
        changes = told_values(between(history, since, number), history.states[number])
        old_states.append((graph, seen(graph)))
        graph, quiet, since = applied(graph, changes), applied(quiet, changes), number
        fresh = graph_of(history.states[number], complete=complete)
        expected = seen(fresh)
        assert seen(graph) == expected
        check(graph)
        check_statistics(graph)
        assert graph.node_properties.complete == complete
        # The same in one step, from some earlier state: deleted ids may be in use again.
        earlier = max(0, number - 1 - steps)
        whole = told_values(between(history, earlier, number), history.states[number])
        at_once = applied(old_states[earlier][0], whole)
        check(at_once)
        check_statistics(at_once)
        assert seen(at_once) == expected
    # The states between were never read.
    check(quiet)
    assert seen(quiet) == seen(graph)
    for old, before in old_states:
        check(old)
        assert seen(old) == before


def between(history, since, until):
    """Net changes of the transactions after ``since`` up to ``until``."""
    events = history.events(since)
    cut = SimpleNamespace(**{name: getattr(events, name) for name in events.__slots__})
    for name, each in vars(cut).items():
        steps = getattr(each, "steps", None)
        if steps is None:
            continue
        kept = steps <= until
        parts = {
            part: getattr(each, part)[kept]
            for part in each.__slots__
            if isinstance(getattr(each, part), np.ndarray) and len(getattr(each, part))
        }
        setattr(cut, name, replace(each, **parts))
    return net_changes(cut, since, VERSION)


@pytest.mark.slow
@given(histories())
@settings(max_examples=40)
def test_a_property_with_unreported_values_counts_as_not_read(history):
    last = max(history.states)
    changes = between(history, 0, last)
    for complete in (False, True):
        graph = applied(graph_of(history.states[0], complete=complete), changes)
        fresh = seen(graph_of(history.states[last]))["values"]
        for of_nodes, store, told in (
            (True, graph.node_properties, changes.node_properties),
            (False, graph.relationship_properties, changes.relationship_properties),
        ):
            unknown = {key for key, change in told.items() if change.values is None}
            assert store.loaded_keys == {"x", "y"} - unknown
            assert store.complete == (complete and not unknown)
            for key in store.loaded_keys:
                values = seen(graph)["values"].get((of_nodes, key), {})
                assert values == fresh[of_nodes, key]


# ------------------------------------------------------------------ larger graphs, all values
@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [1, 3, 20, 60])
def test_random_transactions_on_a_larger_graph_equal_a_fresh_build(size):
    database = RandomDatabase(size, 300)
    graph = database.graph()
    graph.undirected_parallel_counts()
    version = database.server.version_of()
    for _ in range(6):
        before = seen(graph)
        database.transact(size)
        changes = database.changes.changes_since(version)
        old, graph, version = graph, applied(graph, changes), changes.version
        check(graph)
        check_statistics(graph)
        assert seen(graph) == seen(database.graph())
        assert seen(old) == before


@pytest.mark.parametrize(("complete", "typed"), [(True, True), (False, True), (False, False)])
def test_patterns_of_few_relationships_are_counted_as_those_of_many(monkeypatch, complete, typed):
    graph = RandomDatabase(3, 30).graph()
    some = np.arange(graph.relationship_count)
    types, ends = graph.relationship_types(), graph.outgoing.neighbours
    ends = Ends(*(each.astype(np.int64) for each in (graph.start_nodes(), types, ends, some)))
    names = len(graph.labels), len(graph.types)
    rows = graph.outgoing.parts, graph.incoming.parts
    kinds = {"pattern_counts_complete": complete, "pattern_counts_typed": typed}
    statistics = replace(graph.statistics, **kinds)
    side = sides.Side(graph.label_offsets, graph.label_ids, *rows, ends, some[:0], *names)
    found = []
    for few in (0, len(some)):
        monkeypatch.setattr(sides, "_FEW", few)
        found.append(side.patterns(statistics))
    assert found[0] == found[1] != {}
    assert not complete or found[0] == graph.statistics.pattern_counts


def test_new_numbers_are_renumbered_with_later_ones():
    numbers = expected = np.arange(100, dtype=np.uint32)[::-1].copy()
    steps = [([4], [7, 9]), ([], [101] * 200), ([2, 300], [50, 120, 301]), ([299], [0] * 40)]
    for removed, places in steps:
        splice = Splice(
            len(expected), *(np.array(each, dtype=np.int64) for each in (removed, places))
        )
        gone = np.flatnonzero(np.isin(expected, removed))
        at_the_end = Splice(len(expected), gone, np.full(len(places), len(expected)))
        new = splice.new_places()
        numbers = changing.spliced(changing.renumbered(numbers, splice), at_the_end, new)
        expected = np.concatenate([splice.moved(np.delete(expected, gone)), new])
        assert np.array_equal(patched.whole(numbers), expected)
        assert np.array_equal(np.sort(expected), np.arange(splice.new_count))


def test_unchanged_arrays_are_shared():
    database = RandomDatabase(0, 50)
    graph, version = database.graph(), database.server.version_of()
    nodes = database.server.state.nodes
    number = next(iter(nodes))
    labels, properties = nodes[number]
    database.server.commit(nodes={number: (labels, {**properties, "number": 77})})
    after = applied(graph, database.changes.changes_since(version))
    assert after is not graph
    for name in ("outgoing", "incoming"):
        for field in ("neighbours", "run_offsets", "run_types", "run_starts", "row_offsets"):
            assert getattr(getattr(after, name), field) is getattr(getattr(graph, name), field)
    assert after.label_ids is graph.label_ids
    assert after.external_ids.nodes is graph.external_ids.nodes
    assert after.node_properties["text"] is graph.node_properties["text"]
    assert (
        to_values(after.node_properties["number"])[graph.index_of_id(number, of_nodes=True)] == 77
    )
    # Data loaded into one state's columns later is not in the other's.
    after.add_properties({"late": column_from_values([1] * 50)}, ["late"], of_nodes=True)
    assert "late" not in graph.node_properties.loaded_keys


@pytest.mark.slow
def test_unused_dictionary_entries_are_removed():
    database = RandomDatabase(0, 20)
    graph, version = database.graph(), database.server.version_of()
    number, (labels, properties) = next(iter(database.server.state.nodes.items()))
    for turn in range(1200):
        properties = {**properties, "text": f"new {turn}", "list": [turn]}
        database.server.commit(nodes={number: (labels, properties)})
        changes = database.changes.changes_since(version)
        graph, version = applied(graph, changes), changes.version
    assert len(graph.node_properties["text"].dictionary) < 1100
    assert len(graph.node_properties["list"].dictionary) < 1100
    assert seen(graph) == seen(database.graph())


# ------------------------------------------------------------------ changes of another state
def test_changes_of_another_state_are_refused():
    database = RandomDatabase(0, 20)
    graph, version = database.graph(), database.server.version_of()
    database.transact(3)
    changes = database.changes.changes_since(version)
    after = applied(graph, changes)
    with pytest.raises(ChangesError):
        applied(after, changes)
    with pytest.raises(ChangesError, match="deleted node is missing"):
        applied(graph, replace(changes, deleted_nodes=np.array([10**9])))
    nothing = database.changes.changes_since(changes.version)
    assert seen(applied(after, nothing)) == seen(after)
    start = int(graph.external_ids.nodes[graph.start_nodes()[0]])
    with pytest.raises(ChangesError, match="relationships that were not deleted"):
        applied(graph, replace(nothing, deleted_nodes=np.array([start])))


def test_a_changed_graph_can_be_saved(tmp_path):
    database = RandomDatabase(4, 60)
    graph, version = database.graph(), database.server.version_of()
    database.transact(5)
    after = applied(graph, database.changes.changes_since(version))
    save_snapshot(after, tmp_path / "saved", partial=True)
    opened = open_snapshot(tmp_path / "saved")
    check(opened)
    assert seen(opened) == seen(after) == seen(database.graph())
