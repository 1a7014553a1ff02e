"""The text of kernels, from the files of ``gpugda_opencl``."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import Final

__all__ = ["kernel_names", "kernel_text", "only_kernel", "with_headers"]

_INCLUDE: Final = re.compile(r'^#include "([a-z_]+\.h)"$', re.MULTILINE)
_KERNEL: Final = re.compile(r"^kernel [^\n]*?\bvoid (\w+)\(.*?^}\n", re.MULTILINE | re.DOTALL)
"""A kernel whole: functions end with a brace at the beginning of a line, and only these do."""


@lru_cache
def kernel_text(file: str) -> str:
    """A file's text with its headers put in their places, each once."""
    return with_headers(_read(file))


def with_headers(text: str) -> str:
    """A kernel's text with the headers of ``gpugda_opencl`` put in their places, each once."""
    seen: set[str] = set()

    def include(found: re.Match[str]) -> str:
        header = found.group(1)
        if header in seen:
            return ""
        seen.add(header)
        return _INCLUDE.sub(include, _read(header))

    return _INCLUDE.sub(include, text)


@lru_cache
def _read(name: str) -> str:
    return resources.files("gpugda_opencl").joinpath(name).read_text("utf-8")


def kernel_names(text: str) -> list[str]:
    """The kernels in a text, each once, those for all kinds of device."""
    return list(dict.fromkeys(name for name, _, _ in _kernels_in(text)))


def only_kernel(text: str, name: str) -> str:
    """The text without its kernels but the one of this name, in all its forms."""
    kept: list[str] = []
    at = 0
    for other, start, end in _kernels_in(text):
        if other != name:
            kept.append(text[at:start])
            at = end
    return "".join([*kept, text[at:]])


# Who asks for one kernel of a file asks for the others next: a tenth of a second for all files.
@lru_cache
def _kernels_in(text: str) -> list[tuple[str, int, int]]:
    """Name, begin and end of each kernel in a text."""
    return [(found.group(1), *found.span()) for found in _KERNEL.finditer(text)]
