"""Several steps without synchronisation, complete or stopped early, against Python."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from kernels.kernel_graphs import pack
from kernels.test_extend import NODES, SEVERAL, STEPS, Step, extension, link
from kernels.test_weigh import RELATIONSHIP_TESTS, extension_count, weighted

from gpugda.device.launch.extend import Extension, KeyTest, Test, extension_words
from gpugda.device.launch.small_queries import JoinStep, SmallJoin, join_step_words

FIRSTS = [3, 17, 30, 31, 32, 64, 88], [0, 5, 17, 31, 33, 89]
PAIRS = list(product(*FIRSTS))
MANY = 1 << 20


@pytest.fixture(params=[MANY, 20, 0], autouse=True)
def few_pairs(request, monkeypatch):
    """One group of a GPU computes all steps, the first ones, or none."""
    monkeypatch.setattr(Joined, "few_pairs", request.param)


class Joined:
    """Two nodes with a few candidates each, then a step."""

    few_pairs = 0

    def __init__(self, context, workspace, extended, kind=SmallJoin.EXTENDS):
        self.context, self.workspace = context, workspace
        mask = np.random.default_rng(5).random(3 * NODES) < 0.5
        self.step = Step(context, workspace, extended, len(PAIRS), mask)
        self.step.columns = np.array(PAIRS, dtype=np.uint32).T
        extensions = [
            Extension(2, 0, None, (), (), ()),
            Extension(3, 1, None, (0,), (), ()),
            extended,
        ]
        words, places = extension_words(extensions)
        width = len(extended.kept) + (kind != SmallJoin.PRUNES) + len(extended.links)
        self.steps = [
            JoinStep(SmallJoin.MULTIPLIES, places[0], len(FIRSTS[0]), 1),
            JoinStep(SmallJoin.MULTIPLIES, places[1], len(FIRSTS[1]), 2),
            JoinStep(kind, places[2], 64, width),
        ]
        first = [np.isin(np.arange(NODES), nodes) for nodes in FIRSTS]
        bits = [np.ones(NODES, bool), self.step.candidates, *first]
        self.arrays = self.step.arrays._replace(
            candidates=workspace.upload(np.concatenate([pack(each) for each in bits])),
            words=workspace.upload(
                np.array([*words, *join_step_words(self.steps)], dtype=np.uint32)
            ),
            place=len(words),
        )

    def run(self, *, only_counts=False, max_looks=MANY, capacity=MANY):
        found = SmallJoin(self.context).join(
            self.workspace,
            self.arrays,
            self.steps,
            only_counts=only_counts,
            max_looks=max_looks,
            capacity=capacity,
            few_pairs=self.few_pairs,
        )
        width = self.steps[len(found.rows) - 1].width if found.rows else 0
        rows = found.rows[-1] if found.rows else 0
        values = self.workspace.download(found.values)[: width * capacity]
        return found, values.reshape(width, capacity)[:, :rows].T.tolist()


@pytest.mark.parametrize("name", STEPS)
def test_rows_are_extended(context, workspace, name):
    joined = Joined(context, workspace, STEPS[name])
    expected = joined.step.expected()
    used = len(next(iter(expected), ()))
    found, rows = joined.run()
    assert found.rows == [len(FIRSTS[0]), len(PAIRS), expected.total()]
    assert Counter(tuple(row[:used]) for row in rows) == expected
    counted, _ = joined.run(only_counts=True)
    assert counted.total == expected.total()
    assert counted.rows[:2] == found.rows[:2]


@pytest.mark.parametrize("name", STEPS)
def test_rows_are_weighted(context, workspace, name):
    wanted = weighted(STEPS[name])
    if name in RELATIONSHIP_TESTS:
        wanted = wanted._replace(tests=wanted.tests[1:])
    joined = Joined(context, workspace, wanted, SmallJoin.WEIGHS)
    expected = [(b, a, extension_count(joined.step, [a, b])) for a, b in PAIRS]
    _, rows = joined.run()
    assert Counter(map(tuple, (row[:3] for row in rows))) == Counter(
        each for each in expected if each[2]
    )


def test_rows_are_tested(context, workspace):
    tests = (KeyTest(0, 1, 1, 0, None), Test(0, 1, False))
    joined = Joined(
        context, workspace, Extension(None, None, None, (1,), tests, ()), SmallJoin.PRUNES
    )
    expected = [[b] for a, b in PAIRS if a != b and joined.step.passes(tests[0], (a, b))]
    assert 0 < len(expected) < len(PAIRS)
    assert sorted(joined.run()[1]) == sorted(expected)
    assert joined.run(only_counts=True)[0].total == len(expected)


def test_cycles_are_closed(context, workspace):
    """A relationship between the two nodes: each parallel one makes a row."""
    loose = link(0, True, True, to=2, flags=SEVERAL)
    closing = Extension(None, None, 1, (0, 1), (), (loose,))
    joined = Joined(context, workspace, closing)
    expected = Counter(
        (a, b, number)
        for a, b in PAIRS
        for end, number in joined.step.fitting(loose, a)
        if end == b
    )
    assert expected.total() > 1
    assert Counter(map(tuple, (row[:3] for row in joined.run()[1]))) == expected
    assert joined.run(only_counts=True)[0].total == expected.total()


def test_a_step_without_columns_is_joined(context, workspace):
    joined = Joined(context, workspace, extension(link(0), candidate_row=None))
    found, _ = joined.run()
    nothing = joined.step.extension._replace(kept=(), node_column=None)
    alone = Joined(context, workspace, nothing)
    alone.steps[2] = alone.steps[2]._replace(width=0)
    assert alone.run()[0].rows == found.rows


@pytest.mark.parametrize("only_counts", [False, True])
def test_the_join_stops_beyond_its_limit(context, workspace, only_counts):
    """Under any limit, complete steps have all their rows; higher limits complete more steps."""
    joined = Joined(context, workspace, STEPS["two lists"])
    pairs = {0: [], 1: [[a] for a in FIRSTS[0]], 2: [list(each) for each in PAIRS]}
    whole, all_rows = joined.run(only_counts=only_counts)
    bounds = [{"max_looks": 2**n} for n in range(14)]
    bounds += [{"capacity": n} for n in (1, 6, 7, 41, 42, 43, 1000, MANY)]
    steps = []
    for bound in bounds:
        found, rows = joined.run(only_counts=only_counts, **bound)
        steps.append(len(found.rows))
        assert found.rows == whole.rows[: len(found.rows)]
        if steps[-1] < 3:
            assert sorted(rows) == pairs[steps[-1]]
        else:
            assert rows == all_rows
            assert found.total == whole.total
    for part, seen in ((steps[:14], {0, 2, 3}), (steps[14:], {0, 1, 3})):
        assert part == sorted(part)
        assert seen <= set(part)
