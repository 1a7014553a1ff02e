import neo4j
import pytest
from gpugda_adapters.bolt_packing import WHOLE, Field, Packing
from hypothesis import given
from hypothesis import strategies as st


@st.composite
def packed_fields(draw):
    fields = [
        Field(f"field{place}", f"v{place}", bits)
        for place, bits in enumerate(draw(st.lists(st.integers(1, WHOLE), min_size=1, max_size=6)))
    ]
    numbers = st.tuples(*(st.integers(0, 2**each.bits - 1) for each in fields))
    return fields, draw(st.lists(numbers, max_size=20))


def record_of(packing, fields, rows):
    """The record that a server would return. The columns' Cypher is evaluated as Python."""
    record = {}
    for column in packing.columns.split(", "):
        expression, name = column.removeprefix("collect(").split(") AS word")
        values = []
        for row in rows:
            names = {each.expression: number for each, number in zip(fields, row, strict=True)}
            values.append(eval(expression, {}, names))
        record[f"word{name}"] = values
    return neo4j.Record(record)


@given(packed_fields())
def test_packed_numbers_are_unpacked_unchanged(case):
    fields, rows = case
    packing = Packing(fields)
    record = record_of(packing, fields, rows)
    assert all(0 <= value < 2**63 for column in record.values() for value in column)
    found = packing.unpack(record)
    for place, each in enumerate(fields):
        assert found[each.name].tolist() == [row[place] for row in rows]


def test_a_relationship_of_a_small_graph_is_packed_into_one_number():
    fields = [Field("s", "s", 20), Field("t", "t", 20), Field("i", "i", 16), Field("c", "c", 3)]
    assert Packing(fields).columns.count("collect") == 1


def test_columns_of_different_lengths_are_refused():
    packing = Packing([Field("a", "a", WHOLE), Field("b", "b", WHOLE)])
    with pytest.raises(ValueError, match="lengths"):
        packing.unpack(neo4j.Record({"word0": [1, 2], "word1": [1]}))
