"""Patched property columns have the values of copied ones, and read few rows without all."""

from datetime import UTC, datetime

import numpy as np
import pytest
from random_database import RandomDatabase

from gpugda.data.increments import dictionaries
from gpugda.data.increments.apply import applied
from gpugda.data.increments.columns import moved_column, set_values
from gpugda.data.patches import changing, patched
from gpugda.data.patches.patched import Patched
from gpugda.data.patches.splice import Splice
from gpugda.data.values.chunked_column import PatchedColumn
from gpugda.data.values.column import Column, ColumnKind, to_values
from gpugda.data.values.columns import column_from_values
from gpugda.live.compacting import Compactor
from gpugda.live.shared import SharedState
from gpugda.loading import LoadedGraph


def some_values(random, count, kind):
    """Values of a kind, a third of them null."""
    numbers = random.integers(0, 50, count).tolist()
    makes = {
        "number": lambda number: number,
        "float": lambda number: number / 4,
        "flag": lambda number: number % 2 == 0,
        "text": lambda number: f"text {number}",
        "list": lambda number: [number],
    }
    return [None if random.random() < 1 / 3 else makes[kind](number) for number in numbers]


def random_splice(random, count):
    removed = np.sort(random.choice(count, int(random.integers(0, 3)), replace=False))
    places = np.sort(random.integers(0, count + 1, int(random.integers(0, 4))))
    return Splice(count, removed.astype(np.int64), places.astype(np.int64))


def changed_at_random(random, column, kinds):
    """The column after one change."""
    count = len(column)
    if random.random() < 0.4:
        return moved_column(column, random_splice(random, count))
    rows = random.permutation(count)[: int(random.integers(1, 6))].astype(np.int64)
    new = column_from_values(some_values(random, len(rows), str(random.choice(kinds))))
    return set_values(column, count, rows, new)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kinds", [["number"], ["float"], ["text"], ["list"], ["flag", "text"]])
def test_random_changes_give_the_values_of_copied_columns(monkeypatch, seed, kinds):
    monkeypatch.setattr(patched, "MAX_STRETCHES", 30)
    found = []
    for patched_from in (0, 1 << 30):
        monkeypatch.setattr(changing, "PATCHED_FROM", patched_from)
        random, states = np.random.default_rng(seed), []
        column = column_from_values(some_values(random, 40, kinds[0]))
        for _ in range(40):
            column = changed_at_random(random, column, kinds)
            some = random.integers(0, len(column), 2)
            is_patched = isinstance(column, PatchedColumn)
            few = to_values(column.take(some))
            states.append((column, few, column.has_only_nulls))
            assert is_patched == (patched_from == 0)
        found.append([(column.kind, to_values(column), *rest) for column, *rest in states])
        # The form without a mask of nulls is kept where no row is null.
        for column, *_ in states:
            assert (column.valid is None) == (None not in to_values(column))
    assert found[0] == found[1]


@pytest.fixture
def column(monkeypatch):
    """A patched column of 1,000 numbers, of which one was set and one is null."""
    monkeypatch.setattr(changing, "PATCHED_FROM", 0)
    numbers = Column(ColumnKind.INTEGER, np.arange(1000))
    return set_values(numbers, 1000, np.array([7, 3]), column_from_values([70, None]))


def test_a_few_rows_are_read_without_the_whole_array(column, monkeypatch):
    monkeypatch.setattr(Patched, "whole", lambda *_: pytest.fail("all rows were read"))
    assert to_values(column.take(np.array([8, 7, 3], dtype=np.uint32))) == [8, 70, None]
    assert to_values(column.take(np.zeros(0, dtype=np.int64))) == []
    assert not column.has_only_nulls


def test_rows_are_taken_as_from_an_array(column):
    assert to_values(column.take(np.array([-1, 7]))) == [999, 70]
    flags = np.zeros(1000, dtype=np.bool_)
    flags[[3, 7]] = True
    assert to_values(column.take(flags)) == [None, 70]
    assert column.take(np.arange(1000)).values.tolist() == column.values.tolist()
    with pytest.raises(IndexError):
        column.take(np.array([1000]))


def test_many_changed_rows_are_copied(column):
    rows = np.arange(5000)
    before = set_values(column, 1000, np.array([5]), column_from_values([50]))
    long = Column(ColumnKind.INTEGER, np.zeros(6000, dtype=np.int64))
    after = set_values(long, 6000, rows, Column(ColumnKind.INTEGER, rows))
    assert isinstance(before, PatchedColumn)
    assert not isinstance(after, PatchedColumn)
    assert after.values.tolist() == [*range(5000), *[0] * 1000]
    assert not long.values.any()


@pytest.mark.slow
def test_a_value_set_many_times_takes_bounded_memory(column):
    sizes = []
    for number in range(20_000):
        column = set_values(column, 1000, np.array([9]), column_from_values([number]))
        sizes.append(column.nbytes)
    assert column.values[9] == 19_999
    assert max(sizes) < 2 * (8000 + 1000) + 10 * patched.MAX_STRETCHES


def test_many_new_texts_are_merged_with_those_before(monkeypatch):
    monkeypatch.setattr(changing, "PATCHED_FROM", 0)
    texts = set_values(
        column_from_values(["b", None, "d"]), 3, np.array([0]), column_from_values(["c"])
    )
    monkeypatch.setattr(dictionaries, "_FEW", 0)
    after = set_values(texts, 3, np.array([1, 0]), column_from_values(["a", "e"]))
    assert to_values(after) == ["e", "a", "d"]
    assert to_values(texts) == ["c", None, "d"]


def test_labels_and_columns_are_compacted(monkeypatch):
    monkeypatch.setattr(changing, "PATCHED_FROM", 0)
    monkeypatch.setattr(patched, "MANY_STRETCHES", 12)
    database = RandomDatabase(1, 100)
    graph, version = database.graph(), database.server.version_of()
    state = SharedState()
    compactor = Compactor(state)
    number = 0
    for number in sorted(database.server.state.nodes)[:60:3]:
        labels, properties = database.server.state.nodes[number]
        changed = {*labels} ^ {"Changed"}, {**properties, "number": 1000 + number}
        database.server.commit(nodes={number: changed})
        changes = database.changes.changes_since(version)
        graph, version = applied(graph, changes), changes.version
    stretches = [
        len(each.form.stretches)
        for each in (graph.label_ids, graph.label_offsets, graph.node_properties["number"].array)
    ]
    assert min(stretches) > 12
    state.loaded = LoadedGraph(graph, "test", 0.0, datetime.now(UTC))
    assert compactor.start_if_it_pays(graph)
    assert compactor.wait(60)
    assert compactor.last_error is None
    for each in (graph.label_ids, graph.label_offsets, graph.node_properties["number"].array):
        assert len(each.form.stretches) == 1
    row = graph.index_of_id(number, of_nodes=True)
    assert "Changed" in graph.node_labels(row)
    assert to_values(graph.node_properties["number"], np.array([row])) == [1000 + number]
    compactor.close()
