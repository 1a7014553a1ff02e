import contextlib
import struct

import neo4j.time
import pytest
import pytz
from hypothesis import given
from hypothesis import strategies as st
from neo4j._codec.packstream import Structure as TheirStructure
from neo4j._codec.packstream.v1 import PackableBuffer, UnpackableBuffer
from neo4j._codec.packstream.v1 import Packer as TheirPacker
from neo4j._codec.packstream.v1 import Unpacker as TheirUnpacker
from neo4j.spatial import CartesianPoint, WGS84Point

from gpugda.data.values.temporal import at_offset_zero
from gpugda.serve.packstream import Packer, PackStreamError, Structure, unpack

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
    | st.text(min_size=250, max_size=300)
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=30,
)


def by_driver(data):
    buffer = UnpackableBuffer()
    buffer.data, buffer.used = bytearray(data), len(data)
    return TheirUnpacker(buffer).unpack()


def from_driver(value):
    buffer = PackableBuffer()
    TheirPacker(buffer).pack(value)
    return bytes(buffer.data)


@given(PLAIN)
def test_the_driver_reads_what_is_packed_and_packs_what_is_read(value):
    assert by_driver(Packer().pack(value)) == value
    assert unpack(from_driver(value)) == value


@pytest.mark.parametrize("count", [15, 16, 255, 256, 65_535, 65_536])
def test_sizes_at_the_edges_of_headers(count):
    for value in ("x" * count, b"x" * count, [1] * count, {str(n): n for n in range(count)}):
        assert unpack(Packer().pack(value)) == value == by_driver(Packer().pack(value))


BERLIN = pytz.timezone("Europe/Berlin")
TEMPORAL = [
    neo4j.time.Date(1, 1, 1),
    neo4j.time.Date(9999, 12, 31),
    neo4j.time.Time(23, 59, 59, 999_999_999),
    neo4j.time.Time(10, 0, 0, 1, tzinfo=pytz.FixedOffset(-90)),
    neo4j.time.DateTime(1969, 12, 31, 23, 59, 59, 999_999_999),
    neo4j.time.DateTime(2020, 2, 29, 1, 2, 3, 4, tzinfo=pytz.FixedOffset(330)),
    BERLIN.localize(neo4j.time.DateTime(2020, 7, 1, 12, 0, 0, 5)),
    BERLIN.localize(neo4j.time.DateTime(2020, 10, 25, 2, 30), is_dst=False),
    at_offset_zero(neo4j.time.DateTime(2020, 1, 1)),
    neo4j.time.DateTime(2020, 1, 1, tzinfo=pytz.UTC),
    neo4j.time.Duration(months=-1, days=2, seconds=-3, nanoseconds=4),
    CartesianPoint((1.5, -2.0)),
    WGS84Point((1.0, 2.0, 3.0)),
]


@pytest.mark.parametrize("value", TEMPORAL, ids=repr)
@pytest.mark.parametrize("utc", [True, False])
def test_temporal_and_spatial_values_come_back(value, utc):
    found = unpack(Packer(utc=utc).pack(value))
    assert type(found) is type(value)
    assert found == value
    assert str(getattr(found, "tzinfo", None)) == str(getattr(value, "tzinfo", None))


@pytest.mark.parametrize("utc", [True, False])
def test_the_driver_has_the_same_structures(utc):
    from neo4j._codec.hydration.bolt import v1, v2

    handler = (v2 if utc else v1).HydrationHandler()
    for value in TEMPORAL:
        if getattr(value, "tzinfo", None) is at_offset_zero(neo4j.time.DateTime(1, 1, 1)).tzinfo:
            continue  # the driver cannot tell it from the zone UTC
        transform = handler.dehydration_hooks.exact_types[type(value)]
        theirs = transform(value)
        assert isinstance(theirs, TheirStructure)
        ours = by_driver(Packer(utc=utc).pack(value))
        assert (ours.tag, list(ours.fields)) == (theirs.tag, list(theirs.fields)), value


def test_half_of_a_surrogate_pair_is_a_question_mark_as_in_java():
    assert unpack(Packer().pack("a\ud800b")) == "a?b"


def test_a_value_that_python_does_not_have_stays_a_structure():
    year_10_000 = struct.pack(">i", 2_932_897)
    assert unpack(b"\xb1D\xca" + year_10_000) == Structure(ord("D"), (2_932_897,))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc7",  # no such marker
        b"\xd6\xff\xff\xff\xff",  # a list of four billion items, without items
        b"\xda\xff\xff\xff\xff",
        b"\xce\xff\xff\xff\xff",
        b"\x82a",
        b"\xc9\x01",
        b"\xa1\x01\x01",  # a key that is a number
        b"\x81\xff",  # no UTF-8
        b"\x01\x01",  # two values
        b"\x91" * 100_000 + b"\x01",  # nested deeply
        b"\xb1",
    ],
)
def test_malformed_bytes_are_refused(data):
    with pytest.raises(PackStreamError):
        unpack(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_refused(data):
    with contextlib.suppress(PackStreamError):
        unpack(data)
