from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.increments.dictionaries import extended_strings
from gpugda.data.values.column import Column, ColumnKind
from gpugda.data.values.dictionaries import (
    ObjectDictionary,
    StringDictionary,
    encode_objects,
    encode_strings,
    merge_objects,
    merge_strings,
)

# UTF-8 and UTF-16 sort characters beyond the basic plane differently, so these must occur.
TEXTS = st.text(st.sampled_from("ab\0%_.é￿😀"), max_size=4)
DISTINCT = st.sets(TEXTS, max_size=12)


def dictionary(texts):
    return StringDictionary(pa.array(sorted(texts), type=pa.string()))


FEW_OR_MANY = st.sampled_from([1, 40])


@given(st.lists(st.one_of(st.none(), TEXTS), max_size=20), FEW_OR_MANY)
def test_codes_are_in_the_order_of_their_texts(texts, times):
    texts = texts * times
    codes, found = encode_strings(pa.array(texts, type=pa.large_string()))
    assert found.array.to_pylist() == sorted({text for text in texts if text is not None})
    assert found.array.type == pa.large_string()
    for text, code in zip(texts, codes.tolist(), strict=True):
        if text is not None:
            assert found.value(code) == text


@given(DISTINCT, TEXTS)
def test_text_searches_equal_pythons(texts, wanted):
    found, ordered = dictionary(texts), sorted(texts)
    assert found.find(wanted) == (ordered.index(wanted) if wanted in texts else -1)
    assert found.lower_bound(wanted) == sum(text < wanted for text in texts)
    low, high = found.bounds(wanted)
    assert ordered[low:high] == [text for text in ordered if text.startswith(wanted)]
    assert found.matching_suffix(wanted).tolist() == [t.endswith(wanted) for t in ordered]
    assert found.matching_substring(wanted).tolist() == [wanted in text for text in ordered]


@given(DISTINCT, st.lists(TEXTS, max_size=9))
def test_looking_up_many_texts_equals_one_by_one(texts, wanted):
    found = dictionary(texts)
    places = found.lower_bounds(pa.array(wanted, type=pa.string()))
    assert places.tolist() == [sum(text < each for text in texts) for each in wanted]


@given(st.lists(TEXTS, min_size=1), st.lists(TEXTS, min_size=1, max_size=12))
def test_texts_are_inserted_anywhere_in_the_order(before, added):
    codes, old = encode_strings(pa.array(before, type=pa.large_string()))
    new_codes, given_texts = encode_strings(pa.array(added, type=pa.string()))
    new = Column(ColumnKind.STRING, new_codes, None, given_texts)
    found, moves, of_new = extended_strings(old, new)
    moved = codes if moves is None else moves.renumbered(codes.view(np.uint32)).view(np.int32)
    assert found.array.to_pylist() == sorted({*before, *added})
    assert found.values(moved) == before
    assert found.values(of_new) == added


def test_an_unpaired_surrogate_is_in_no_text():
    found = dictionary({"a", "😀"})
    assert not found.matching_substring("\ud83d").any()
    assert not found.matching_suffix("\ude00").any()
    assert found.find("\ud83d") == -1


@pytest.mark.parametrize("times", [1, 40])
def test_values_are_returned_for_codes_in_any_order(times):
    found = dictionary({"a", "b", "c"} | {f"d{number}" for number in range(200)})
    codes = np.array([2, 0, 2, 1] * times, dtype=np.int32)
    assert found.values(codes) == ["c", "a", "c", "b"] * times
    assert found.values(np.array([], dtype=np.int32)) == []


@given(st.lists(DISTINCT, min_size=1, max_size=4))
def test_merged_texts_keep_their_meaning(sets):
    olds = [dictionary(texts) for texts in sets]
    merged, new_codes = merge_strings(olds)
    assert merged.array.to_pylist() == sorted(set().union(*sets))
    for old, codes in zip(olds, new_codes, strict=True):
        assert [merged.value(code) for code in codes] == old.array.to_pylist()


def test_objects_are_distinguished_by_type_and_value():
    nan = float("nan")
    values = [
        1,
        1.0,
        True,
        nan,
        float("nan"),
        0.0,
        -0.0,
        [1],
        [1.0],
        [True],
        "1",
        None,
        [nan],
        [nan],
    ]
    codes, found = encode_objects(values)
    assert len(found) == 11
    assert codes[3] == codes[4]
    assert codes[12] == codes[13]
    for value, code in zip(values, codes.tolist(), strict=True):
        if value is not None:
            assert repr(found.value(code)) == repr(value)
            assert type(found.value(code)) is type(value)


def test_lists_of_one_length_stay_lists():
    found = ObjectDictionary([[1, 2], [3, 4]])
    assert found.values(np.array([1, 0], dtype=np.int32)) == [[3, 4], [1, 2]]


def test_equal_instants_in_different_zones_are_different_values():
    time = pytest.importorskip("neo4j.time")
    import pytz

    summer = time.DateTime(2024, 7, 1, 12, tzinfo=pytz.FixedOffset(120))
    same = time.DateTime(2024, 7, 1, 10, tzinfo=pytz.UTC)
    codes, _ = encode_objects([summer, same, time.Duration(seconds=1), time.Duration(days=1)])
    assert codes.tolist() == [0, 1, 2, 3]


def test_merged_objects_keep_their_meaning():
    merged, codes = merge_objects([ObjectDictionary([1, [2]]), ObjectDictionary([[2], 1.0])])
    assert [each.tolist() for each in codes] == [[0, 1], [1, 2]]
    assert merged.values(np.arange(3)) == [1, [2], 1.0]


def test_texts_are_the_same_before_and_after_decoding_all(monkeypatch):
    texts = ["", "a", "b", "ü"]
    for most in (0, 1 << 24):
        monkeypatch.setattr("gpugda.data.values.dictionaries._MAX_DECODED_BYTES", most)
        dictionary = StringDictionary(pa.array(texts))
        codes = np.array([3, 0, 3, 1], dtype=np.int32)
        for _ in range(3):
            assert dictionary.values(codes) == ["ü", "", "ü", "a"]
            assert dictionary.values(codes[:0]) == []
        assert (dictionary._texts is None) == (most == 0)
