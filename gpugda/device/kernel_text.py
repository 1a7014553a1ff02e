"""Source text of the kernels, from the files of ``gpugda_opencl``."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import Final

__all__ = ["kernel_names", "kernel_text", "only_kernel", "with_headers"]

_INCLUDE: Final = re.compile(r'^#include "([a-z_]+\.h)"$', re.MULTILINE)
_KERNEL: Final = re.compile(r"^kernel [^\n]*?\bvoid (\w+)\(.*?^}\n", re.MULTILINE | re.DOTALL)
"""A whole kernel: only the closing brace of a function stands at the beginning of a line."""


@lru_cache
def kernel_text(file: str) -> str:
    """Text of a file with its headers inserted, each once."""
    return with_headers(_read(file))


def with_headers(text: str) -> str:
    """Inserts the headers of ``gpugda_opencl`` into a kernel's text, each once."""
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
    """Names of the kernels in a text, each once, for all kinds of device."""
    return list(dict.fromkeys(name for name, _, _ in _kernels_in(text)))


def only_kernel(text: str, name: str) -> str:
    """The text without all other kernels; keeps all variants of the one of this name."""
    kept: list[str] = []
    at = 0
    for other, start, end in _kernels_in(text):
        if other != name:
            kept.append(text[at:start])
            at = end
    return "".join([*kept, text[at:]])


# Cached, as the kernels of a file are requested one after the other: 0.1 s for all files.
@lru_cache
def _kernels_in(text: str) -> list[tuple[str, int, int]]:
    """Name, start and end offset of each kernel in a text."""
    return [(found.group(1), *found.span()) for found in _KERNEL.finditer(text)]
