"""The order in which a server lists labels, as inferred from nodes."""

import random
from itertools import combinations

from gpugda.data.labels import LabelOrder


def test_the_order_of_labels_never_seen_together_is_unknown():
    order = LabelOrder([("C", "A"), ("B",), ()])
    assert order.knows(["A", "C"])
    assert not order.knows(["A", "B"])
    assert order.knows(["B"])
    assert order.listed(["A", "C"]) == ["C", "A"]
    order.add(("A", "B"))
    assert order.knows("BCA")
    assert order.listed("ABC") == ["C", "A", "B"]


def test_random_lists_of_one_order_are_learned():
    draw = random.Random(3)
    for _ in range(50):
        every = draw.sample("ABCDEFGH", 8)
        known = [
            [each for each in every if draw.random() < 0.4] for _ in range(draw.randint(0, 12))
        ]
        order = LabelOrder(known)
        for size in (2, 3, 4):
            for labels in combinations("ABCDEFGH", size):
                if order.knows(labels):
                    assert order.listed(labels) == sorted(labels, key=every.index)
        for first, second in combinations(every, 2):
            if any(first in each and second in each for each in known):
                assert order.knows([second, first])


def test_contradicting_lists_still_give_an_order():
    order = LabelOrder(["AB", "BA", "BC", "CA"])
    assert order.knows("ABC")
    assert sorted(order.listed("CAB")) == ["A", "B", "C"]
