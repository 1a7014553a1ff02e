import threading
from contextlib import contextmanager, suppress

import pytest
from fake_bolt import FakeBolt, out_of_memory
from gpugda_adapters import bolt_relationships, bolt_walk
from gpugda_adapters.bolt_export import export
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.build import build_data_graph
from gpugda.errors import SourceError, StaleSnapshotError
from gpugda.ports import DatabaseVersion, SilentProgress

VERSION = DatabaseVersion("a-database", 7, "bookmark")
LABELS = [(), ("A",), ("B",), ("A", "B"), ("C d",)]
TYPES = ["R", "S", "odd `type`"]


@contextmanager
def pages_of(width, scattered=None):
    with pytest.MonkeyPatch.context() as patch:
        for module in (bolt_walk, bolt_relationships):
            patch.setattr(module, "PAGE", width)
        patch.setattr(bolt_walk, "_ROUND", 4 * width)
        patch.setattr(bolt_walk, "_SMALLEST_ROUND", 5)
        if scattered is not None:
            patch.setattr(bolt_relationships, "_SCATTERED", scattered)
        yield


def relationships_of(batches):
    found = {}
    for batch in batches.relationships:
        rows = zip(
            batch.relationship_ids.tolist(),
            batch.source_ids.to_pylist(),
            [batch.type_names[code] for code in batch.type_codes],
            batch.target_ids.to_pylist(),
            strict=True,
        )
        for number, *row in rows:
            assert number not in found
            found[number] = tuple(row)
    return found


def nodes_of(batches):
    found = {}
    last = -1
    for batch in batches.nodes:
        for number, code in zip(batch.ids.to_pylist(), batch.label_codes, strict=True):
            assert number > last, "ids must rise"
            last = number
            found[number] = batch.label_sets[code]
    return found


def exported(bolt, version=VERSION, **projection):
    with export(bolt, version, SilentProgress(), **projection) as batches:
        assert batches.version == version
        assert not batches.properties_complete
        return nodes_of(batches), relationships_of(batches)


@st.composite
def databases(draw, spread):
    ids = draw(st.lists(st.integers(0, spread), unique=True, max_size=30))
    nodes = {each: draw(st.sampled_from(LABELS)) for each in sorted(ids)}
    if not nodes:
        return nodes, {}
    ends = st.sampled_from(sorted(nodes))
    numbers = draw(st.lists(st.integers(0, spread), unique=True, max_size=60))
    rows = {each: (draw(ends), draw(st.sampled_from(TYPES)), draw(ends)) for each in numbers}
    return nodes, rows


@pytest.mark.parametrize("version", [VERSION, None], ids=["a version", "no version"])
@pytest.mark.parametrize("spread", [100, 3_000, 2**40])
@given(data=st.data())
def test_an_export_reads_everything_for_any_ids(version, spread, data):
    nodes, relationships = data.draw(databases(spread))
    bolt = FakeBolt(nodes, relationships)
    with pages_of(8):
        assert exported(bolt, version) == (nodes, relationships)
    assert bolt.open_sessions == 0


# Types are a loop within the test: drawing another database would take longer.
@pytest.mark.parametrize("labels", [None, ("A",), ("A", "C d"), ("none",), ()])
@given(data=st.data())
def test_a_partial_export_reads_relationships_between_selected_nodes(labels, data):
    nodes, relationships = data.draw(databases(data.draw(st.sampled_from([60, 2**40]))))
    kept = {each: row for each, row in nodes.items() if labels is None or set(row) & set(labels)}
    for types in (None, ("R",), ("S", "odd `type`"), ("NONE",), ()):
        between = {
            each: row
            for each, row in relationships.items()
            if row[0] in kept and row[2] in kept and (types is None or row[1] in types)
        }
        with pages_of(8):
            found = exported(FakeBolt(nodes, relationships), labels=labels, types=types)
        assert found == (kept, between), types


@pytest.mark.parametrize("width", [4, 64])
def test_a_hub_is_read_in_parts(width):
    nodes = dict.fromkeys(range(50), ())
    # Ids are far apart, so relationships are read by their start nodes.
    relationships = {(each << 45) + 3: (3, "R", each % 50) for each in range(300)}
    relationships |= {(each << 45) + 4: (4, "S", 3) for each in range(20)}
    bolt = FakeBolt(nodes, relationships)
    with pages_of(width, scattered=0):
        assert exported(bolt) == (nodes, relationships)
    assert len(bolt.pages("$parts")) >= 300 // width


@pytest.mark.parametrize("hubs", [[0], [25], [49], [10, 11, 30]], ids=str)
def test_a_hub_is_read_once_wherever_its_id_lies(hubs):
    nodes = dict.fromkeys(range(50), ())
    starts = [*range(50), *(hub for hub in hubs for _ in range(100))]
    relationships = {(i << 45) + start: (start, "R", i % 50) for i, start in enumerate(starts)}
    bolt = FakeBolt(nodes, relationships)
    with pages_of(64, scattered=0):
        assert exported(bolt) == (nodes, relationships)
    assert bolt.pages("$parts")


@pytest.mark.parametrize("width", [4, 64])
def test_dense_ids_are_read_without_a_scan_or_unneeded_pages(width):
    nodes = dict.fromkeys(range(128), ("A",))
    bolt = FakeBolt(nodes, {each: (each, "R", 0) for each in range(128)})
    with pages_of(width):
        assert exported(bolt) == (bolt.nodes, bolt.relationships)
    assert not bolt.pages("DISTINCT")
    assert sum(each["last"] - each["first"] + 1 for each in bolt.pages("range(")) == 256


def test_few_nodes_with_large_ids_need_one_scan_and_few_pages():
    nodes = {each: ("A",) for each in [3, 7, 1_000_000, 9_999_999, 50_000_000]}
    bolt = FakeBolt(nodes)
    assert exported(bolt) == (nodes, {})
    assert len(bolt.pages("DISTINCT")) == 1
    assert len(bolt.pages("labels(x)")) <= 2 + len(nodes)


def test_ids_too_far_apart_for_pages_are_listed():
    nodes = {each << 40: ("A",) for each in range(100)}
    bolt = FakeBolt(nodes)
    assert exported(bolt) == (nodes, {})
    assert bolt.pages("AS id")


def test_an_empty_database_is_exported():
    assert exported(FakeBolt()) == ({}, {})


def test_pages_shrink_if_the_server_is_short_of_memory():
    nodes = dict.fromkeys(range(2_000), ())
    relationships = {each: (each, "R", 0) for each in range(2_000)}

    def at_most_500(text, parameters, session):
        if "last" in parameters and parameters["last"] - parameters["first"] >= 500:
            raise out_of_memory()

    bolt = FakeBolt(nodes, relationships, before=at_most_500)
    assert exported(bolt) == (nodes, relationships)


# ------------------------------------------------------------------ changes while reading
def test_a_relationship_with_an_unread_end_makes_the_export_stale():
    bolt = FakeBolt(dict.fromkeys(range(10), ()), {0: (0, "R", 9)})
    with export(bolt, VERSION, SilentProgress()) as batches:
        assert len(nodes_of(batches)) == 10
        bolt.relationships[0] = (0, "R", 12)
        with pytest.raises(StaleSnapshotError, match="changed"):
            relationships_of(batches)


def test_a_node_deleted_meanwhile_makes_the_export_stale():
    bolt = FakeBolt(dict.fromkeys(range(100), ()))

    def delete(text, parameters, session):
        if "labels(x)" in text:
            bolt.nodes.pop(50, None)

    bolt.before = delete
    with pytest.raises(StaleSnapshotError, match="99 came"):
        exported(bolt)


def test_a_type_created_meanwhile_makes_the_export_stale():
    bolt = FakeBolt(dict.fromkeys(range(10), ()), {0: (0, "R", 1), 1: (1, "R", 2)})

    def rename(text, parameters, session):
        if "word0" in text:
            bolt.relationships[1] = (1, "NEW", 2)

    bolt.before = rename
    with pytest.raises(StaleSnapshotError, match="changed"):
        exported(bolt)


def test_a_node_deleted_before_its_degree_is_read_makes_the_export_stale():
    relationships = {each << 50: (each % 10, "R", 0) for each in range(100)}
    bolt = FakeBolt(dict.fromkeys(range(10), ()), relationships)

    def delete(text, parameters, session):
        if "degrees" in text:
            bolt.nodes.pop(9, None)

    bolt.before = delete
    with pytest.raises(StaleSnapshotError):
        exported(bolt)


def test_relationships_without_nodes_make_the_export_stale():
    bolt = FakeBolt({}, {0: (0, "R", 0)})
    with pytest.raises(StaleSnapshotError):
        exported(bolt)


# ------------------------------------------------------------------ the rest
def test_element_ids_of_an_unknown_form_are_refused():
    bolt = FakeBolt({1: ()})
    bolt._rows = lambda text, parameters: [{"id": 1, "text": "n2"}]
    with pytest.raises(SourceError, match="element ids"):
        exported(bolt)


def test_leaving_early_closes_sessions_and_threads():
    nodes = dict.fromkeys(range(1000), ())
    bolt = FakeBolt(nodes)
    with suppress(KeyError), export(bolt, VERSION, SilentProgress()) as batches:
        next(iter(batches.nodes))
        raise KeyError
    assert bolt.open_sessions == 0
    assert not [each for each in threading.enumerate() if each.name.startswith("gpugda-bolt")]


def test_progress_phases_have_totals():
    phases = []

    class Heard(SilentProgress):
        def phase(self, name, total=None):
            phases.append((name, total))

    bolt = FakeBolt({1: ("A",), 2: ("B",)}, {0: (1, "R", 2)})
    with export(bolt, VERSION, Heard()) as batches:
        nodes_of(batches)
        relationships_of(batches)
    assert phases == [("reading nodes", 2), ("reading relationships", 1)]


def test_an_export_becomes_a_data_graph():
    bolt = FakeBolt({4: ("A",), 9: ("A", "B")}, {7: (9, "R", 4)})
    with export(bolt, VERSION, SilentProgress()) as batches:
        graph = build_data_graph(batches)
    assert graph.external_ids.nodes.tolist() == [4, 9]
    assert graph.external_ids.relationships.tolist() == [7]
    assert graph.external_ids.node_prefix == "4:fake:"
    assert graph.external_ids.relationship_prefix == "5:fake:"
