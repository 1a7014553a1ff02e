"""A processor unknown to PoCL's compiler."""

import ctypes
import sys
from types import SimpleNamespace

import pytest

from gpugda.device import pocl_cpu

POCL = "Portable Computing Language"
linux = pytest.mark.skipif(sys.platform != "linux", reason="only on Linux")


class Record:
    """Memory in PoCL's device layout: addresses of texts among other words."""

    def __init__(self, *texts):
        self.texts = [None if text is None else ctypes.create_string_buffer(text) for text in texts]
        self.words = (ctypes.c_uint64 * 256)(
            *(7 if text is None else ctypes.addressof(text) for text in self.texts)
        )
        self.handle = SimpleNamespace(int_ptr=ctypes.addressof(self.words))

    def text(self, number):
        return ctypes.string_at(self.words[number])


@linux
def test_an_unknown_processor_is_named_by_its_feature_level():
    record = Record(b"pthread", None, b"x86_64-unknown-linux-gnu", b"generic", b"generic")
    level = pocl_cpu.name_unknown_cpu(record.handle, POCL)
    assert level.startswith("x86-64")
    assert record.text(3) == level.encode()
    assert record.text(4) == b"generic"
    assert pocl_cpu.name_unknown_cpu(record.handle, POCL) is None


@linux
@pytest.mark.parametrize(
    ("texts", "platform"),
    [
        ((b"x86_64-unknown-linux-gnu", b"znver3"), POCL),
        ((b"generic", b"x86_64-unknown-linux-gnu"), POCL),
        ((b"aarch64-unknown-linux-gnu", b"generic"), POCL),
        ((b"x86_64-unknown-linux-gnu", b"generic"), "NVIDIA CUDA"),
    ],
)
def test_other_processors_and_platforms_are_unchanged(texts, platform):
    record = Record(*texts)
    assert pocl_cpu.name_unknown_cpu(record.handle, platform) is None
    assert [record.text(number) for number in range(len(texts))] == list(texts)


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ("fpu sse2", "x86-64"),
        ("cx16 popcnt sse4_1 sse4_2 ssse3", "x86-64-v2"),
        ("cx16 popcnt sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma movbe", "x86-64-v3"),
        ("avx512f avx512bw avx512cd avx512dq avx512vl", "x86-64"),
    ],
)
def test_the_feature_level_follows_the_flags(flags, level):
    assert pocl_cpu.feature_level(f"processor : 0\nflags\t\t: {flags}\n") == level


def test_no_feature_level_without_flags():
    assert pocl_cpu.feature_level("Features : fp asimd") == "x86-64"
