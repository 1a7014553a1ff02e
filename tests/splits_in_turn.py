"""A pytest plugin that marks tests which `make test` or CI leaves out, chosen by names alone.

Marked `slow`: of `make test-all` alone. Marked `thorough`: of `make test-all` with the hypothesis
profile `thorough` alone.

Of a test marked `one_in(count)`, whose cases are all combinations of its parameters, CI runs one
case in ``count``. Device tests of a function with many cases run each case on the split of a CPU
or on that of a GPU. Functions with few cases run on both, as do those that skip one of the splits:
these are marked `one_split`.

Of the tests of the strategies that are not the default (`gpugda_strategies`), CI runs one case in
four, and `make test` one in four of those. At least one case of each function, and of each strategy
in it, runs in CI.

Of any function with over `PLENTY` cases, such as those of conformance, `make test` runs one in
four.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable

import pytest

MANY = 3
"""Number of cases from which each runs on one split."""
FEW = 4
"""One case in so many of a rival strategy runs."""
PLENTY = 8
"""Number of cases beyond which `make test` runs one in `FEW`."""
_SPLIT = re.compile("(cpu|gpu)-split-?")
_RIVAL = re.compile(r"[\[/_-](gpsm|gsi|sgsi|pbe|stwig)[\]/_.-]")
"""In a file's name or among the parameters."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = (item for item in items if item.get_closest_marker("one_in"))
    for found in _by_function(marked):
        count = found[0].get_closest_marker("one_in").args[0]
        _leave_out_all_but(share_of([item.nodeid for item in found], count), found)
    for found in _by_function(item for item in items if is_of_rival(item.nodeid)):
        _leave_out_all_but(some_of([item.nodeid for item in found]), found)
        for item in found:
            if not is_one_in(FEW * FEW if len(found) > FEW else FEW, item.nodeid):
                item.add_marker("slow")
    for found in _by_function(items):
        if len(found) > PLENTY:
            kept = share_of([item.nodeid for item in found], FEW)
            for item in found:
                if item.nodeid not in kept:
                    item.add_marker("slow")
    split = (item for item in items if _SPLIT.search(item.name))
    for found in _by_function(each for each in split if not each.get_closest_marker("one_split")):
        _leave_out_all_but(in_turn([item.nodeid for item in found]), found)


def _by_function(items: Iterable[pytest.Item]) -> Iterable[list[pytest.Item]]:
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    return functions.values()


def _leave_out_all_but(kept: set[str], items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid not in kept:
            _leave_out(item)


def _leave_out(item: pytest.Item) -> None:
    item.add_marker("slow")
    item.add_marker("thorough")


def is_of_rival(name: str) -> bool:
    """True for a strategy that is not the default one; `tests/case_files.py` chooses cases."""
    return not name.startswith("tests/conformance/") and bool(_RIVAL.search(name))


def some_of(names: Iterable[str]) -> set[str]:
    """One in `FEW` of one function's cases, at least one of each strategy; all if there are few."""
    every = set(names)
    if len(every) <= FEW:
        return every
    strategies: dict[str, list[str]] = defaultdict(list)
    for name in every:
        strategies[_RIVAL.findall(name)[-1]].append(name)
    return {name for found in strategies.values() for name in share_of(found, FEW)}


def share_of(names: Iterable[str], count: int) -> set[str]:
    """One in ``count`` of the cases, at least one; with both splits."""
    every = set(names)
    first = min(map(_case, every), key=_number)
    return {name for name in every if is_one_in(count, name) or _case(name) == first}


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
