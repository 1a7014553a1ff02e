import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.serve.framing import (
    VERSIONS,
    Dechunker,
    FramingError,
    chunked,
    manifest,
    newest,
)


@given(st.lists(st.binary(min_size=1, max_size=100), max_size=10), st.data())
def test_messages_arrive_however_the_bytes_are_cut(messages, data):
    stream = b"\0\0".join(map(chunked, messages))  # with keep-alives between them
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    dechunker, found = Dechunker(1000), []
    for low, high in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += dechunker.feed(stream[low:high])
    assert found == messages
    assert not dechunker.in_message


def test_a_long_message_takes_several_chunks():
    message = bytes(range(256)) * 1000
    assert list(Dechunker(1 << 20).feed(chunked(message))) == [message]


def test_a_message_beyond_the_limit_is_refused_before_it_is_there():
    dechunker = Dechunker(100_000)
    head = b"\xff\xff"
    assert list(dechunker.feed(head + bytes(65_535))) == []
    with pytest.raises(FramingError, match="100,000"):
        list(dechunker.feed(head))


def test_the_newest_version_of_a_range_is_chosen():
    assert newest(bytes((0, 0, 8, 5))) == (5, 8)
    assert newest(bytes((0, 4, 99, 5))) is None
    assert newest(bytes((0, 99, 99, 5))) == (5, 8)
    assert newest(bytes((0, 0, 4, 4))) == (4, 4)
    assert newest(bytes((0, 0, 3, 4))) is None
    assert newest(bytes((0, 0, 0, 6))) == (6, 0)
    assert newest(bytes(4)) is None


def test_the_manifest_lists_ranges():
    assert manifest() == b"\0\0\x01\xff\x03\0\0\x04\x04\0\x08\x08\x05\0\0\0\x06\0"
    assert manifest(((5, 0), (5, 2))) == b"\0\0\x01\xff\x02\0\0\0\x05\0\0\x02\x05\0"
    assert len(VERSIONS) == 11
