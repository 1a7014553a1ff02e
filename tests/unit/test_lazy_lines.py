"""Lines that are created on first access."""

import copy
import pickle

import pytest

from gpugda.lazy_lines import LazyLines


def test_lines_keep_their_order_and_are_created_once():
    made = []

    def make():
        made.append(True)
        return ["b", "c"]

    lines = LazyLines(["a"])
    lines.add_later(make)
    lines.append("d")
    assert not made
    assert list(lines) == ["a", "b", "c", "d"]
    assert (len(lines), lines[0], lines[-1], lines[1:3]) == (4, "a", "d", ["b", "c"])
    assert "c" in lines
    assert len(made) == 1


def test_comparing_copying_and_printing_create_the_lines():
    lines = LazyLines()
    lines.add_later(lambda: iter(["a"]))
    assert lines == ["a"]
    assert lines == ("a",)
    assert lines != ["b"]
    assert lines != 7
    assert repr(lines) == "('a',)"
    lines.add_later(lambda: iter(["b"]))
    assert pickle.loads(pickle.dumps(lines)) == copy.deepcopy(lines) == ["a", "b"]
    with pytest.raises(TypeError):
        hash(lines)


def test_lines_after_a_mark_are_dropped():
    lines = LazyLines(["a"])
    lines.add_later(lambda: ["b"])
    mark = lines.mark()
    lines.append("c")
    lines.add_later(lambda: ["d"])
    lines.back_to(mark)
    assert lines == ["a", "b"]


def test_a_failed_creation_is_raised_at_each_access():
    lines = LazyLines(["a"])
    lines.add_later(lambda: [str(1 // 0)])
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            len(lines)
