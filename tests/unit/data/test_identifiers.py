from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data import identifiers
from gpugda.data.identifiers import IdentifierSpace, NameTable, Origin, name_id_type
from gpugda.errors import SourceError

ORIGIN = Origin("likes.csv", 2)
COMPACT = st.sets(st.integers(-5, 40), min_size=1, max_size=20)
SCATTERED = st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20)
TEXTS = st.sets(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), min_size=1)


def space_of(*batches, name=""):
    space, first_node = IdentifierSpace(name), 0
    for number, ids in enumerate(batches):
        space.add(pa.array(ids), first_node, Origin(f"file {number}", 1))
        first_node += len(ids) + 100  # nodes of other spaces lie between
    space.freeze()
    return space


@given(st.one_of(COMPACT, SCATTERED, TEXTS), st.randoms())
def test_ids_map_to_their_nodes(ids, random):
    ids = list(ids)
    random.shuffle(ids)
    cut = len(ids) // 2
    space = space_of(*(part for part in (ids[:cut], ids[cut:]) if part))
    gap = 100 if cut else 0
    nodes = [place + (gap if place >= cut else 0) for place in range(len(ids))]
    asked = [random.randrange(len(ids)) for _ in range(30)]
    pieces = [pa.array([ids[place] for place in part]) for part in (asked[:10], asked[10:])]
    found = space.lookup(pieces, [ORIGIN, ORIGIN])
    assert np.concatenate(found).tolist() == [nodes[place] for place in asked]
    assert {each.dtype for each in found} == {np.dtype(np.uint32)}


@given(st.one_of(COMPACT, SCATTERED), st.integers(-(2**63), 2**63 - 1))
def test_an_integer_that_is_no_id_is_never_found(ids, stranger):
    if stranger not in ids:
        with pytest.raises(SourceError, match=f"no node has the id {stranger}"):
            space_of(list(ids)).lookup([pa.array([stranger])], [ORIGIN])


def test_colliding_ids_are_found(monkeypatch):
    monkeypatch.setattr(identifiers, "_MAX_ROUNDS", 0)
    ids = [2**60, -5, 2**50, 17]
    assert space_of(ids).lookup([pa.array(ids[::-1])], [ORIGIN])[0].tolist() == [3, 2, 1, 0]
    with pytest.raises(SourceError, match="no node has the id 18"):
        space_of(ids).lookup([pa.array([18])], [ORIGIN])


@pytest.mark.parametrize("first", [0, -3, 7, 2**40, -(2**61)])
def test_consecutive_ids_need_no_table(first):
    ids = list(range(first, first + 5))
    space = space_of(ids[:2], ids[2:]) if first == 7 else space_of(ids)
    found = space.lookup([pa.array(ids[::-1]), pa.array(ids[:1])], [ORIGIN, ORIGIN])
    nodes = [104, 103, 102, 1, 0, 0] if first == 7 else [4, 3, 2, 1, 0, 0]
    assert np.concatenate(found).tolist() == nodes
    for stranger in (first - 1, first + 5, first + 2**32, -(2**63), 2**63 - 1):
        with pytest.raises(SourceError, match=f"row 3: no node has the id {stranger}"):
            space.lookup([pa.array([first, stranger])], [ORIGIN])


def test_ids_that_are_node_indexes_are_not_copied():
    space, asked = space_of([0, 1, 2]), pa.array(np.array([2, 0], dtype=np.uint32))
    (found,) = space.lookup([asked], [ORIGIN])
    assert found.tolist() == [2, 0]
    assert found.ctypes.data == asked.buffers()[1].address
    assert not found.flags.writeable
    with pytest.raises(SourceError, match="row 3: no node has the id 3"):
        space.lookup([pa.array(np.array([2, 3], dtype=np.uint32))], [ORIGIN])


@pytest.mark.parametrize("ids", [[5, 6, 7], [5, 2**40, -9], ["5", "x", "é"]])
def test_the_error_of_a_dangling_id_names_file_and_row(ids):
    stranger = "nobody" if isinstance(ids[0], str) else 99
    known, unknown = pa.array(ids[:2]), pa.array([ids[2], stranger])
    with pytest.raises(SourceError, match=r"^b.csv, row 31: no node has the id .* 'Person'"):
        space_of(ids, name="Person").lookup(
            [known, unknown], [ORIGIN, Origin("b.csv", np.array([30, 31]))]
        )


@pytest.mark.parametrize("ids", [[5, 6, 5], [5, 2**40, 5], ["5", "x", "5"]])
def test_the_error_of_a_repeated_id_names_both_places(ids):
    with pytest.raises(SourceError, match=r"file 1, row 1: the id '?5'? .* in file 0, row 1"):
        space_of(ids[:2], ids[2:])
    with pytest.raises(SourceError, match=r"file 0, row 3: the id '?5'? "):
        space_of(ids)


def test_text_and_integer_ids_do_not_mix():
    space = IdentifierSpace("P")
    space.add(pa.array([1]), 0, Origin("a", 1))
    with pytest.raises(SourceError, match=r"b: the ids are text, .*'P' are integers.*1 is not '1'"):
        space.add(pa.array(["1"]), 1, Origin("b", 1))
    space.freeze()
    with pytest.raises(SourceError, match=r"likes.csv: the ids are text"):
        space.lookup([pa.array(["1"])], [ORIGIN])


def test_missing_ids_are_refused():
    with pytest.raises(SourceError, match=r"likes.csv, row 3: the id is missing"):
        IdentifierSpace("").add(pa.array([1, None]), 0, ORIGIN)


def test_other_types_of_ids_are_refused():
    with pytest.raises(SourceError, match=r"likes.csv: ids of type double"):
        IdentifierSpace("").add(pa.array([1.5]), 0, ORIGIN)
    with pytest.raises(SourceError, match="64 bits"):
        IdentifierSpace("").add(pa.array([2**63], pa.uint64()), 0, ORIGIN)


def test_a_space_without_nodes_has_no_ids():
    space = space_of()
    assert space.lookup([pa.array([], pa.int64())], [ORIGIN])[0].tolist() == []
    with pytest.raises(SourceError, match="no node has the id 'a'"):
        space.lookup([pa.array(["a"])], [ORIGIN])


def test_encoded_and_chunked_ids_are_read():
    space = space_of(["a", "b"])
    encoded = pa.array(["b", "a"]).dictionary_encode()
    found = space.lookup([encoded, pa.chunked_array([["a"], ["b"]])], [ORIGIN] * 2)
    assert [each.tolist() for each in found] == [[1, 0], [0, 1]]


def test_names_are_numbered():
    table = NameTable(("B", "A"))
    assert (table.get("A"), table.get("X"), table.name(0), len(table)) == (1, None, "B", 2)


def test_too_many_names_are_refused(monkeypatch):
    assert name_id_type(65_535) == np.uint16
    assert name_id_type(65_536) == np.uint32
    monkeypatch.setattr(identifiers, "MAX_NAMES", 3)
    NameTable(("a", "b", "c"))
    with pytest.raises(SourceError, match="4 distinct labels"):
        NameTable(("a", "b", "c", "d"))
