"""`value`, against the dataclasses that it stands for."""

import copy
import pickle
from dataclasses import dataclass, field, fields, replace

import pytest

from gpugda.types import Span, value


def _both(**names):
    """A class with these annotations and defaults, as a value and as a frozen dataclass."""

    def plain():
        annotations = {name: kind for name, (kind, _) in names.items()}
        given = {name: default for name, (_, default) in names.items() if default is not None}
        return type("Made", (), {"__annotations__": annotations, "__doc__": "", **given})

    return (
        value(frozen=True, slots=True)(plain()),
        dataclass(frozen=True, slots=True)(plain()),
    )


SHAPES = {
    "nothing": ({}, [()]),
    "one": ({"a": (int, None)}, [(1,), (2,), (1.0,)]),
    "several": ({"a": (int, None), "b": (str, "x")}, [(1,), (1, "x"), (1, "y"), (2, "x")]),
    "not compared": (
        {"a": (int, None), "b": (int, field(default=0, compare=False, repr=False))},
        [(1, 2), (1, 3), (2, 2)],
    ),
    "one of two compared": (
        {"a": (tuple, None), "b": (int, field(default=0, compare=False))},
        [((1, 2),), ((1, 2), 3), ((2, 1),)],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_value_compares_hashes_and_prints_as_a_dataclass(shape):
    names, arguments = SHAPES[shape]
    ours, theirs = _both(**names)
    own, other = [[made(*each) for each in arguments] for made in (ours, theirs)]
    for i in range(len(arguments)):
        assert repr(own[i]) == repr(other[i])
        assert hash(own[i]) == hash(other[i])
        assert own[i] != other[i]
        for j in range(len(arguments)):
            assert (own[i] == own[j]) is (other[i] == other[j])
            assert (own[i] != own[j]) is (other[i] != other[j])
    assert ours.__match_args__ == theirs.__match_args__
    assert [part.name for part in fields(ours)] == [part.name for part in fields(theirs)]


@value(frozen=True, slots=True)
class Own:
    """Defines what a value would otherwise get."""

    a: int

    def __repr__(self):
        return "own"

    def __eq__(self, other):
        return isinstance(other, Own)

    def __hash__(self):
        return 7


@value(frozen=True, slots=True, eq=False)
class Alone:
    """Equal to itself only."""

    a: int


@value(frozen=True, slots=True)
class Below(Alone):
    """Compares a field of the class above and its own."""

    b: int


def test_methods_of_the_class_are_kept():
    assert repr(Own(1)) == "own"
    assert hash(Own(1)) == 7
    assert Own(1) == Own(2)


def test_without_equality_a_value_is_equal_to_itself_only():
    one = Alone(1)
    assert one == one
    assert one != Alone(1)
    assert len({one, Alone(1)}) == 2
    assert repr(one) == "Alone(a=1)"


def test_fields_of_the_class_above_are_compared_too():
    assert Below(1, 2) == Below(1, 2)
    assert Below(1, 2) != Below(2, 2)
    assert hash(Below(1, 2)) == hash((1, 2))
    assert Below(1, 2) != Alone(1)


def test_a_value_is_equal_to_itself_with_nan_as_in_a_tuple():
    nan = float("nan")
    one, _ = _both(a=(float, None))
    assert one(nan) == one(nan)


def test_values_are_copied_pickled_and_replaced():
    span = Span(1, 2)
    assert pickle.loads(pickle.dumps(span)) == span
    assert copy.deepcopy(span) == span
    assert replace(span, end=5) == Span(1, 5)
    assert not hasattr(span, "__dict__")
