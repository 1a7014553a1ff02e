import neo4j
import numpy as np
import pytest
from fake_bolt import FakeBolt
from gpugda_adapters import bolt_entities
from gpugda_adapters.bolt_entities import read_entities
from gpugda_adapters.bolt_pages import IdList
from gpugda_adapters.bolt_properties import page_rows, read_properties
from gpugda_adapters.bolt_values import column_of
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.values.columns import ColumnKind, to_values
from gpugda.errors import SourceError, StaleSnapshotError
from gpugda.ports import DatabaseVersion, SilentProgress


class PropertyBolt(FakeBolt):
    """Answers queries for properties from ``maps``, ``{id: properties}``, in reversed order."""

    def __init__(self, maps):
        super().__init__()
        self.maps = maps

    def _rows(self, text, parameters):
        ids = self._ids(text, parameters, self.maps)[::-1]
        row = {"ids": ids}
        if "AS maps" in text:
            row["maps"] = [self.maps[each] for each in ids]
        for place in range(text.count("coalesce")):
            key = text.split("coalesce(x.`")[place + 1].split("`,")[0].replace("``", "`")
            row[f"values{place}"] = [self.maps[each].get(key, {}) for each in ids]
        return [row]


MAPS = {3: {"a": 1, "b": "x"}, 4: {"a": 2}, 9: {"b": ["y"]}, 10**9: {"a": 4, "odd `key`": 1.5}}


def read(keys, ids, maps=MAPS, of_nodes=True):
    numbers = np.array(ids, dtype=np.int64)
    bolt = PropertyBolt(maps)
    columns = read_properties(
        bolt, keys, numbers, None, of_nodes=of_nodes, progress=SilentProgress()
    )
    return {key: to_values(column) for key, column in columns.items()}


@pytest.mark.parametrize("keys", [["a", "b", "odd `key`"], None])
def test_values_are_in_the_order_of_the_ids(keys):
    found = read(keys, [4, 3, 10**9, 9], of_nodes=False)
    assert found == {
        "a": [2, 1, 4, None],
        "b": [None, "x", None, ["y"]],
        "odd `key`": [None, None, 1.5, None],
    }


def test_values_of_other_ids_in_the_range_are_left_out():
    assert read(["a"], [3, 5], {3: {"a": 1}, 4: {"a": 2}, 5: {"a": 3}}) == {"a": [1, 3]}


def test_a_key_without_values_is_null():
    assert read(["none"], [3, 4]) == {"none": [None, None]}


@pytest.mark.parametrize("ids", [[3, 4, 5], [5], [2, 3], [3, 10**9 + 1]])
@pytest.mark.parametrize("keys", [["a"], None])
def test_a_missing_id_makes_the_snapshot_stale(keys, ids):
    with pytest.raises(StaleSnapshotError, match="changed"):
        read(keys, ids)


def test_missing_values_make_the_snapshot_stale():
    bolt = PropertyBolt({3: {"a": 1}, 4: {"a": 2}})
    answer = bolt._rows
    bolt._rows = lambda text, parameters: [{**answer(text, parameters)[0], "values0": [1]}]
    ids = np.array([3, 4])
    with pytest.raises(StaleSnapshotError):
        read_properties(bolt, ["a"], ids, None, of_nodes=True, progress=SilentProgress())


def test_pages_of_different_kinds_become_one_column():
    maps = {each: {"a": each if each < 1000 else str(each)} for each in range(3000)}
    numbers = np.arange(3000)
    bolt = PropertyBolt(maps)
    columns = read_properties(bolt, ["a"], numbers, None, of_nodes=True, progress=SilentProgress())
    assert columns["a"].kind == ColumnKind.OBJECT
    assert to_values(columns["a"]) == [maps[each]["a"] for each in range(3000)]
    assert len(bolt.asked) > 1


def test_an_error_of_an_unsupported_value_names_the_property():
    with pytest.raises(SourceError, match="'a'"):
        read(["a"], [3], {3: {"a": b"bytes"}})
    vector = type("Vector", (), {"__module__": "neo4j.vector"})()
    with pytest.raises(SourceError, match=r"'a'.*native"):
        column_of("a", [1, vector])


def test_progress_counts_all_ids():
    heard = []

    class Heard(SilentProgress):
        def phase(self, name, total=None):
            heard.append((name, total))

        def advance(self, amount):
            heard.append(amount)

    bolt = PropertyBolt({each: {} for each in range(2500)})
    read_properties(bolt, ["a"], np.arange(2500), None, of_nodes=True, progress=Heard())
    assert heard[0] == ("reading node properties", 2500)
    assert sum(heard[1:]) == 2500


@given(
    wanted=st.sets(st.integers(0, 60), min_size=1),
    came=st.lists(st.integers(0, 60), unique=True),
)
def test_rows_of_a_page_are_put_in_the_order_of_ids(wanted, came):
    page = IdList(np.array(sorted(wanted), dtype=np.int64))
    if not wanted <= set(came):
        with pytest.raises(StaleSnapshotError):
            page_rows(page, came)
        return
    rows = page_rows(page, came)
    found = came if rows is None else [came[row] for row in rows]
    assert found == sorted(wanted)


def test_entities_are_in_the_order_of_the_requested_ids():
    found = read_entities(PropertyBolt(MAPS), np.array([9, 3, 9]), None, of_nodes=True).rows
    assert found == [MAPS[9], MAPS[3], MAPS[9]]
    assert found[0] is not found[2]
    nothing = read_entities(PropertyBolt(MAPS), np.array([], dtype=np.int64), None, of_nodes=True)
    assert nothing.rows == []
    assert nothing.version is None
    with pytest.raises(StaleSnapshotError):
        read_entities(PropertyBolt(MAPS), np.array([9, 5]), None, of_nodes=True)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (["a7"], "a7"),
        (["a7", "a8"], "a8"),
        (["a8", "a7"], "a8"),
        (["a7", None], None),  # the state of the second piece is unknown
        (["a7", "b7"], None),  # another database, or another process
    ],
)
def test_entities_report_the_newest_state_they_may_be_of(monkeypatch, told, expected):
    monkeypatch.setattr(bolt_entities, "_PAGE", 3 // len(told))
    bolt = PropertyBolt({each: {} for each in range(2)})
    bolt.sessions = 1
    states = {name: DatabaseVersion(name[0], int(name[1])) for name in filter(None, told)}
    bolt.versions = [states.get(name) for name in told]
    found = read_entities(bolt, np.arange(2), None, of_nodes=True)
    assert found.version == states.get(expected)
    assert bolt.versions == []


def test_values_that_the_driver_cannot_represent_are_an_error():
    bolt = PropertyBolt({3: {}})

    class Broken(list):
        def __getitem__(self, key):
            raise neo4j.exceptions.BrokenRecordError("year 10000")

    bolt.answer = lambda text, parameters, session: [Broken()]
    with pytest.raises(SourceError, match="native"):
        read_entities(bolt, np.array([3]), None, of_nodes=True)
