"""Source text of the kernels, from the files of ``gpugda_opencl`` and of other packages."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["kernel_files", "kernel_names", "kernel_text", "only_kernel", "with_headers"]

_INCLUDE: Final = re.compile(r'^#include "([a-z_]+\.h)"$', re.MULTILINE)
_KERNEL: Final = re.compile(r"^kernel [^\n]*?\bvoid (\w+)\(.*?^}\n", re.MULTILINE | re.DOTALL)
"""A whole kernel: only the closing brace of a function stands at the beginning of a line."""


@lru_cache
def kernel_text(file: str) -> str:
    """Text of a file with its headers inserted, each once.

    Args:
        file: Name of a file of ``gpugda_opencl``, or the path of a file in another package, such
            as ``gpugda_strategies/opencl/gsi_join.cl``.
    """
    folder, _, _ = file.rpartition("/")
    return with_headers(_place(file).read_text("utf-8"), folder)


def with_headers(text: str, folder: str = "") -> str:
    """Inserts headers into a kernel's text, each once.

    Args:
        text: The kernel's text.
        folder: Where headers are looked for before ``gpugda_opencl``.
    """
    seen: set[str] = set()

    def include(found: re.Match[str]) -> str:
        header = found.group(1)
        if header in seen:
            return ""
        seen.add(header)
        return _INCLUDE.sub(include, _header(folder, header))

    return _INCLUDE.sub(include, text)


@lru_cache
def _header(folder: str, name: str) -> str:
    beside = _place(f"{folder}/{name}") if folder else None
    found = beside if beside is not None and beside.is_file() else _place(name)
    return found.read_text("utf-8")


def _place(file: str) -> Traversable:
    package, slash, path = file.partition("/")
    if not slash:
        package, path = "gpugda_opencl", file
    return resources.files(package).joinpath(path)


def kernel_files(folder: str) -> list[str]:
    """Names of the kernel files in a package or in a folder of it, sorted."""
    names = [path.name for path in _place(f"{folder}/").iterdir()]
    return sorted(name for name in names if name.endswith(".cl"))


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
