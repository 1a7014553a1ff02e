"""A pytest plugin that marks slow what `make test` leaves to `make test-all`, chosen by names.

Of a test marked `one_in(count)`, whose cases are all combinations of its parameters, one case in
``count`` remains.

Device tests of a function with many cases run each case on the split of a CPU or on that of a GPU.
Functions with few cases run on both, as do those that skip one of the splits: these are marked
`one_split`.
"""

from __future__ import annotations

import hashlib
import re
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
        marker = item.get_closest_marker("one_in")
        if marker and not is_one_in(marker.args[0], item.nodeid):
            item.add_marker("slow")
        if _SPLIT.search(item.name) and not item.get_closest_marker("one_split"):
            functions[item.nodeid.partition("[")[0]].append(item)
    for found in functions.values():
        kept = in_turn([item.nodeid for item in found])
        for item in found:
            if item.nodeid not in kept:
                item.add_marker("slow")


def is_one_in(count: int, name: str) -> bool:
    """True for one case in ``count``, on both splits."""
    return _number(name) // 2 % count == 0


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
    return ("cpu", "gpu")[_number(name) % 2]


def _number(name: str) -> int:
    """Depends on the case's name alone, so that it stays the same when cases are added.

    Not a CRC, which is linear: its parity could be that of one parameter.
    """
    return int.from_bytes(hashlib.sha256(_case(name).encode()).digest()[:8])
