"""A pytest plugin that marks slow what runs on both work splits: one is enough in `make test`.

The tests of a function with many cases run each case on the split of a CPU or on that of a GPU,
chosen by the case's name; `make test-all` runs each on both. Functions with few cases always run
on both, as do those that skip one of the splits: they are marked `one_split`.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable

import pytest

MANY = 3
"""Number of cases from which each runs on one split."""
_SPLIT = re.compile("(cpu|gpu)-split-?")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if _SPLIT.search(item.name) and not item.get_closest_marker("one_split"):
            functions[item.nodeid.partition("[")[0]].append(item)
    for found in functions.values():
        kept = in_turn([item.nodeid for item in found])
        for item in found:
            if item.nodeid not in kept:
                item.add_marker("slow")


def in_turn(names: Iterable[str]) -> set[str]:
    """The names of one function's tests that remain: one split per case, or all if few or alike."""
    every = set(names)
    kept = {name for name in every if _turn(name) == _split(name)}
    many = len({_case(name) for name in every}) >= MANY
    return kept if many and len({_split(name) for name in kept}) == 2 else every


def _split(name: str) -> str:
    found = _SPLIT.search(name)
    assert found, name
    return found[1]


def _case(name: str) -> str:
    return _SPLIT.sub("", name)


def _turn(name: str) -> str:
    """Depends on the case's name alone, so that it stays the same when cases are added."""
    return ("cpu", "gpu")[zlib.crc32(_case(name).encode()) % 2]
