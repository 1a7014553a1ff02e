"""Which query relationships lie on a cycle."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from gpugda.plan.cycle_rates import _on_cycles


class Link(NamedTuple):
    position: int
    source: int
    target: int


def is_joined(links, start, end):
    reached = {start}
    for _ in links:
        reached |= {b for _, *ends in links for a, b in (ends, ends[::-1]) if a in reached}
    return end in reached


NODES = st.integers(0, 6)


@given(st.lists(st.tuples(NODES, NODES), max_size=12))
def test_those_whose_ends_are_joined_without_them(ends):
    links = [Link(number, *pair) for number, pair in enumerate(ends)]
    expected = {
        each.position
        for number, each in enumerate(links)
        if each.source != each.target
        and is_joined(links[:number] + links[number + 1 :], each.source, each.target)
    }
    assert set(_on_cycles(links, 7)) == expected


def test_long_cycles_and_paths():
    path = [Link(number, number, number + 1) for number in range(500)]
    assert not _on_cycles(path, 501)
    assert len(_on_cycles([*path, Link(500, 500, 0)], 501)) == 501
