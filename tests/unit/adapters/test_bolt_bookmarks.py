import base64
import struct
from uuid import UUID

import pytest
from gpugda_adapters.bolt_bookmarks import parse_bookmark, version_of
from hypothesis import given
from hypothesis import strategies as st

SYSTEM = UUID(int=1)
DATABASE = UUID("cf87b189-b0fe-4098-835d-92493d9be7f7")


def packed_integer(number):
    if -16 <= number < 128:
        return struct.pack(">b", number)
    for marker, form, bits in ((0xC8, ">b", 8), (0xC9, ">h", 16), (0xCA, ">i", 32)):
        if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            return bytes([marker]) + struct.pack(form, number)
    return b"\xcb" + struct.pack(">q", number)


def packed(*states, end=b"\x90"):
    pairs = (b"\xcc\x10" + uuid.bytes + packed_integer(number) for uuid, number in states)
    return bytes([0x90 + len(states)]) + b"".join(pairs) + end


def text(content):
    return "FB:" + base64.b64encode(content).decode()


def test_bookmarks_of_a_real_server_are_parsed():
    found = parse_bookmark("FB:kcwQz4exibD+QJiDXZJJPZvn9wOQ")
    assert (found.database_id, found.transaction) == (str(DATABASE), 3)
    assert found.bookmark == "FB:kcwQz4exibD+QJiDXZJJPZvn9wOQ"
    assert parse_bookmark("FB:kcwQZRa9gK9gTiuXD3ZXT3XA2MkBl5A=").transaction == 407


def test_the_system_database_is_ignored():
    both = "FB:kswQz4exibD+QJiDXZJJPZvn9wPMEAAAAAAAAAAAAAAAAAAAAAEpkA=="
    assert parse_bookmark(both).transaction == 3
    assert parse_bookmark(text(packed((SYSTEM, 41)))) is None


@given(st.uuids(), st.integers(0, 2**63 - 1))
def test_any_database_and_transaction_is_parsed(uuid, number):
    found = parse_bookmark(text(packed((uuid, number))))
    if uuid == SYSTEM:
        assert found is None
    else:
        assert (found.database_id, found.transaction) == (str(uuid), number)


@given(st.uuids(), st.integers(0, 2**63 - 1), st.data())
def test_truncated_and_extended_bookmarks_give_no_version(uuid, number, data):
    whole = packed((uuid, number))
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    assert parse_bookmark(text(cut)) is None
    assert parse_bookmark(text(whole + data.draw(st.binary(min_size=1, max_size=4)))) is None


@given(st.binary(max_size=60))
def test_random_bytes_give_a_version_or_none(content):
    found = parse_bookmark(text(content))
    assert found is None or found.transaction >= 0


@given(st.text(max_size=40))
def test_random_text_gives_a_version_or_none(given_text):
    assert parse_bookmark(given_text) is None
    assert parse_bookmark(f"FB:{given_text}") is None or given_text


@pytest.mark.parametrize(
    "content",
    [
        packed((DATABASE, -1)),
        packed((DATABASE, 7), (UUID(int=5), 8)),
        packed((DATABASE, 7), (DATABASE, 8)),
        packed((DATABASE, 7), end=b"\x91\x01"),
        packed(),
        b"",
        b"\x91\xcc\x0f" + bytes(15) + b"\x01\x90",
        b"\x91\xcc\x10" + DATABASE.bytes + b"\xc0\x90",
    ],
)
def test_bookmarks_of_other_content_give_no_version(content):
    assert parse_bookmark(text(content)) is None


def test_older_and_foreign_bookmarks_give_no_version():
    for other in ("", "neo4j:bookmark:v1:tx42", "FB:", "FB:kcwQ!", f"{DATABASE}:7"):
        assert parse_bookmark(other) is None


def test_a_session_must_have_exactly_one_bookmark():
    good = text(packed((DATABASE, 7)))
    assert version_of({good}).transaction == 7
    assert version_of([]) is None
    assert version_of([good, text(packed((DATABASE, 8)))]) is None
