"""An export by the plugin gives the same graph as one by pages."""

import numpy as np
import pytest
from fake_bolt import FakeBolt, packed_nodes, packed_relationships
from gpugda_adapters import bolt_export, bolt_relationships, bolt_walk, plugin_pages
from gpugda_adapters.bolt_export import export
from gpugda_adapters.bolt_pages import IdList, IdRange
from gpugda_adapters.plugin_pages import (
    plugin_nodes,
    plugin_page,
    plugin_relationships,
    unpacked,
)
from gpugda_adapters.plugin_properties import plugin_properties
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.batches import id_array
from gpugda.data.values.columns import to_values
from gpugda.errors import StaleSnapshotError
from gpugda.ports import DatabaseVersion, SilentProgress

VERSION = DatabaseVersion("a-database", 7, "bookmark")
LABELS = [(), ("A",), ("A", "B")]


def exported(bolt):
    with export(bolt, VERSION, SilentProgress()) as batches:
        nodes = [
            (number, batch.label_sets[code])
            for batch in batches.nodes
            for number, code in zip(batch.ids.to_pylist(), batch.label_codes, strict=True)
        ]
        relationships = [
            (number, source, batch.type_names[code], target)
            for batch in batches.relationships
            for number, source, code, target in zip(
                id_array(batch.relationship_ids).tolist(),
                batch.source_ids.to_pylist(),
                batch.type_codes,
                batch.target_ids.to_pylist(),
                strict=True,
            )
        ]
    assert nodes == sorted(nodes, key=lambda row: row[0])
    return nodes, sorted(relationships)


@pytest.mark.parametrize("spread", [60, 3_000, 2**40])
@given(data=st.data())
def test_an_export_by_the_plugin_equals_one_by_pages(data, spread):
    ids = data.draw(st.lists(st.integers(0, spread), unique=True, max_size=30))
    nodes = {each: data.draw(st.sampled_from(LABELS)) for each in sorted(ids)}
    relationships = {}
    if nodes:
        ends = st.sampled_from(sorted(nodes))
        numbers = data.draw(st.lists(st.integers(0, spread), unique=True, max_size=40))
        row = st.tuples(ends, st.sampled_from(["R", "odd `S`"]), ends)
        relationships = {each: data.draw(row) for each in sorted(numbers)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bolt_walk, "PAGE", 16)
        patch.setattr(bolt_walk, "_ROUND", 64)
        patch.setattr(bolt_walk, "_SMALLEST_ROUND", 5)
        patch.setattr(plugin_pages, "_SMALLEST_PAGE", 16)
        patch.setattr(plugin_pages, "_LARGEST_PAGE", 48)
        for module in (bolt_export, bolt_relationships):
            patch.setattr(module, "PLUGIN_ROUND", 64)
        by_pages = exported(FakeBolt(nodes, relationships))
        bolt = FakeBolt(nodes, relationships, plugin="1")
        assert exported(bolt) == by_pages
    if nodes and spread == 60:
        assert bolt.pages("CALL gpugda.nodes")
        assert not bolt.pages("labels(x)")


def test_numbers_have_four_or_eight_bytes():
    for count, packed in ((0, b""), (2, bytes(8)), (1, bytes(8))):
        assert unpacked(packed, count).tolist() == [0] * count
    assert unpacked(b"\xff\xff\xff\xff", 1).tolist() == [2**32 - 1]
    with pytest.raises(ValueError, match="3 bytes for 1"):
        unpacked(b"abc", 1)


def test_pages_are_shared_by_the_sessions_and_bounded():
    assert plugin_page(0, 3) == plugin_page(3 << 16, 3) == 1 << 16
    assert plugin_page((3 << 16) + 1, 3) == 1 << 17
    assert plugin_page(10**9, 3) == 1 << 21


def test_ids_are_left_out_if_none_is_missing():
    row = packed_nodes({4: ("A",), 5: ()}, 4, 5)
    assert row["ids"] == b""
    batch = plugin_nodes().decode(IdRange(4, 5), [row])
    assert batch.ids.to_pylist() == [4, 5]
    row = packed_relationships({2**40: (7, "R", 2**33)}, 2**40 - 1, 2**40)
    batch = plugin_relationships().decode(IdRange(2**40 - 1, 2**40), [row])
    assert batch.relationship_ids.tolist() == [2**40]
    assert batch.target_ids.to_pylist() == [2**33]


# ------------------------------------------------------------------ properties
def numbers(*values):
    return np.array(values, dtype="<i8").tobytes()


ROWS = [
    {"key": "i", "kind": "integer", "valid": b"", "numbers": numbers(1, -2)},
    {"key": "f", "kind": "float", "valid": b"\1\0", "numbers": np.array([1.5, 0.0]).tobytes()},
    {"key": "b", "kind": "boolean", "valid": b"\0\1", "numbers": numbers(0, 1)},
    {"key": "t", "kind": "text", "valid": b"\0\1", "numbers": numbers(0, 3), "text": "añ".encode()},
    {"key": "e", "kind": "text", "valid": b"", "numbers": numbers(0, 0), "text": b""},
    {"key": "o", "kind": "other", "valid": b"", "values": [[1], 1.5]},
]


def test_columns_of_all_kinds_are_read():
    page = IdList(np.array([3, 9]))
    call = plugin_properties(["i"], True)
    text, parameters = call.asked(page)
    assert "gpugda.properties" in text
    assert parameters == {"ofNodes": True, "keys": ["i"], "ids": numbers(3, 9)}
    count, found = call.decode(page, [*ROWS, {"key": None, "found": 2}])
    assert count == 2
    assert {key: to_values(column) for key, column in found.items()} == {
        "i": [1, -2],
        "f": [1.5, None],
        "b": [None, True],
        "t": [None, "añ"],
        "e": ["", ""],
        "o": [[1], 1.5],
    }


def test_an_id_without_an_entity_makes_the_snapshot_stale():
    with pytest.raises(StaleSnapshotError, match="changed"):
        plugin_properties(["i"], True).decode(IdList(np.array([3])), [{"key": None, "found": 0}])
