"""Random queries and memory limits: a limit that an error names suffices, and so do larger ones."""

from __future__ import annotations

import os
import random
import re
from collections import Counter

import pytest
from graphs import make_graph

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.memory.buffers import SMALLEST_BYTES, MemoryBudget, Workspace
from gpugda.errors import MemoryLimitError
from gpugda.execute.pipeline import plan_of
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.memory import check_room
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.query.prepare import prepare
from gpugda.result.result import Result
from gpugda.result.summary import Summary

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

FIRST_SEED = int(os.environ.get("GPUGDA_TEST_FIRST_SEED", "0"))
SEEDS = range(FIRST_SEED, FIRST_SEED + 40)
RETURNS = [
    "count(*)",
    "a.id",
    "DISTINCT a.id",
    "a.id, count(*)",
    "DISTINCT a, b",
    "a.id, b.id, count(*)",
    "a.id AS x, b.id AS y ORDER BY x, y",
]
NAMED = re.compile(r"([\d,]+) bytes(?: is enough)?$")


def random_graph(rng):
    count, many = rng.choice([(5, 20), (5, 60), (12, 60), (12, 100), (30, 60), (30, 150)])
    node = range(count)
    ends = [(rng.choice(node), rng.choice(node)) for _ in range(many)]
    return make_graph(
        [(rng.choice(["A", "B"]), {"id": i}) for i in node],
        [(start, rng.choice("RRS"), end, {}) for start, end in ends],
    )


def random_query(rng):
    names = "abcde"[: rng.randint(2, 5)]
    pairs = [(names[rng.randrange(i)], names[i]) for i in range(1, len(names))]
    pairs += [rng.sample(names, 2) for _ in range(rng.choice([0, 0, 0, 1, 1, 2]))]
    steps = ["-[:R]->", "<-[:R]-", "-[]-", "-->", "-[:S]-"]
    text = "MATCH " + ", ".join(f"({a}){rng.choice(steps)}({b})" for a, b in pairs)
    if rng.random() < 0.3:
        text += f" WHERE {rng.choice(['a.id < b.id', 'a.id < 7', 'a.id <> b.id AND a.id < 20'])}"
    return f"{text} RETURN {rng.choice(RETURNS)}"


class Asked:
    """One query on one graph with several limits."""

    def __init__(self, context, rng):
        self.context, self.graph, self.text = context, random_graph(rng), random_query(rng)
        self.plan = plan_of(prepare(self.text), self.graph, "extend")

    def rows(self, limit=None):
        """The rows, or the limit that the error names."""
        strategy = ExtendStrategy(DeviceGraph(self.context, self.graph), memory_limit=limit)
        try:
            table = self.plan.pipeline.run(self.graph, strategy, {}, StrategyReport())
            values = Result(table, Summary("gpu", query=self.text)).values()
            return Counter(map(repr, values))
        except MemoryLimitError as error:
            return int(NAMED.search(str(error))[1].replace(",", ""))
        finally:
            strategy.graph.close()


@pytest.mark.parametrize("needed", range(10_000, 11_024, 128))
def test_a_named_limit_leaves_room_for_small_arrays(context, needed):
    """Attempts of one query differ by a few; the first one that fails may take fewer."""
    with (
        Workspace(context, MemoryBudget(1 << 12)) as workspace,
        pytest.raises(MemoryLimitError) as raised,
    ):
        check_room(workspace, (), needed)
    named = int(NAMED.search(str(raised.value))[1].replace(",", ""))
    assert needed + 4 * SMALLEST_BYTES <= named < needed + 2048


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_named_limits_and_larger_ones_suffice(context, seed):
    rng = random.Random(seed)
    asked = Asked(context, rng)
    right = asked.rows()
    tried = sorted(int(300 * 2 ** (10 * rng.random())) for _ in range(8))
    sufficient = None
    for limit in tried:
        found = asked.rows(limit)
        if isinstance(found, Counter):
            assert found == right
            sufficient = sufficient or limit
            continue
        assert sufficient is None, f"{asked.text}: {sufficient} sufficed, {limit} did not: {found}"
        assert found > limit
        for more in (0, rng.randint(1, 64), rng.randint(64, 1 << 12), rng.randint(1, 1 << 16)):
            assert asked.rows(found + more) == right, f"{asked.text}: {limit}, {found} + {more}"
