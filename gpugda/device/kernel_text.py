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
    return with_headers(resources.files("gpugda_opencl").joinpath(file).read_text("utf-8"))


def with_headers(text: str) -> str:
    """A kernel's text with the headers of ``gpugda_opencl`` put in their places, each once."""
    folder = resources.files("gpugda_opencl")
    seen: set[str] = set()

    def include(found: re.Match[str]) -> str:
        header = found.group(1)
        if header in seen:
            return ""
        seen.add(header)
        return _INCLUDE.sub(include, folder.joinpath(header).read_text("utf-8"))

    return _INCLUDE.sub(include, text)


def kernel_names(text: str) -> list[str]:
    """The kernels in a text, each once, those for all kinds of device."""
    return list(dict.fromkeys(found.group(1) for found in _KERNEL.finditer(text)))


def only_kernel(text: str, name: str) -> str:
    """The text without its kernels but the one of this name, in all its forms."""
    return _KERNEL.sub(lambda found: found.group(0) if found.group(1) == name else "", text)
