"""Time limits of work on the host, with a clock that advances each time it is read."""

from __future__ import annotations

import contextlib
import time
from itertools import pairwise

import pytest
from graphs import make_graph
from soon import ends_in

import gpugda
from gpugda import deadline
from gpugda.deadline import check_time, working_deadline, working_until
from gpugda.errors import QueryTimeoutError
from gpugda.match.candidates.selections import make_masks
from gpugda.plan.bind import bind
from gpugda.ports import GraphSource
from gpugda.query.prepare import prepare
from tests.one_pattern import query_of

GRAPH = make_graph(
    [("A", {"i": i, "s": str(i)}) for i in range(4)], [(i, "R", (i + 1) % 4, {}) for i in range(4)]
)


@pytest.fixture
def clock_reads(monkeypatch):
    """How often the clock was read. Each reading advances it by a second."""
    made = [0]

    class Clock:
        @staticmethod
        def monotonic():
            made[0] += 1
            return float(made[0])

    monkeypatch.setattr(deadline, "time", Clock)
    return made


def path(length):
    return "MATCH (n0)" + "".join(f"-->(n{i})" for i in range(1, length)) + " RETURN count(*)"


LISTS = {
    "integers": "MATCH (n) WHERE n.i IN [" + ",".join(map(str, range(20_000))) + "] RETURN n",
    "texts": "MATCH (n) WHERE n.s IN [" + ",".join(f"'{i}'" for i in range(20_000)) + "] RETURN n",
    "conditions": "MATCH (n) WHERE "
    + " OR ".join(f"n.i = {i}" for i in range(5_000))
    + " RETURN n",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_parsing_a_long_text_reads_the_clock(clock_reads, text):
    with working_until(1000.0), pytest.raises(QueryTimeoutError):
        prepare(text)
    assert clock_reads[0] == 1000


@pytest.mark.slow
@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_evaluating_long_conditions_reads_the_clock(clock_reads, text):
    bound = bind(query_of(text), GRAPH)
    with working_until(1000.0), pytest.raises(QueryTimeoutError):
        make_masks(bound, GRAPH, {})
    assert clock_reads[0] == 1000


def test_binding_a_large_pattern_reads_the_clock(clock_reads):
    query = query_of(path(250))
    with working_until(200.0), pytest.raises(QueryTimeoutError):
        bind(query, GRAPH)
    assert clock_reads[0] == 200


def test_a_deadline_applies_within_its_block(clock_reads):
    check_time()  # there is no deadline
    with working_until(5.0):
        with working_until(None):
            check_time()
        assert working_deadline() == 5.0
        for _ in range(4):
            check_time()
        with pytest.raises(QueryTimeoutError):
            check_time()
    check_time()
    assert working_deadline() is None
    assert clock_reads[0] == 5


LARGE = {
    "a path": path(300),
    "nodes": "MATCH " + ", ".join(f"(n{i})" for i in range(900)) + " RETURN count(*)",
    "a star": "MATCH " + ", ".join(f"(n0)-->(n{i})" for i in range(1, 300)) + " RETURN count(*)",
    "an order": "MATCH "
    + ", ".join(f"(n{i})" for i in range(300))
    + " WHERE "
    + " AND ".join(f"n{i}.id < n{i + 1}.id" for i in range(299))
    + " RETURN count(*)",
}


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_planning_large_patterns_ends_at_the_deadline(text):
    """They once took minutes. The bound is generous, as a busy machine may compile kernels."""
    nodes = {"id": list(range(40))}
    pairs = [(i, j) for i in range(40) for j in range(40)]
    ends = {"source": [i for i, _ in pairs], "target": [j for _, j in pairs]}
    with gpugda.connect(
        gpugda.graph(nodes=nodes, relationships={**ends, "type": ["R"] * 1600})
    ) as opened:
        opened.run(path(5))  # compiles its kernels
        with ends_in(), contextlib.suppress(QueryTimeoutError):
            assert opened.run(text, timeout=1).single()[0] >= 0
        with ends_in():
            assert opened.estimate(text).rows >= 0
            assert str(opened.explain(text))


def _complete(nodes: int) -> GraphSource:
    ends = [(i, j) for i in range(nodes) for j in range(i)]
    return gpugda.graph(
        nodes={"id": list(range(nodes)), "i": list(range(nodes))},
        relationships={
            "source": [i for i, _ in ends],
            "target": [j for _, j in ends],
            "type": ["R"] * len(ends),
        },
    )


@pytest.mark.parametrize(
    "text",
    [
        "MATCH p = (a)-[*]-(b)-[*]-(c) RETURN max(reduce(s = 0, n IN nodes(p) | s + n.i))",
        "MATCH (a)-[*]-(b)-[*]-(c) RETURN a, b, c ORDER BY a.i LIMIT 3",
        "MATCH p = (a)-[*]-(b) UNWIND nodes(p) AS n RETURN n.i, count(*)",
        "MATCH p = (a)-[*]-(b) RETURN nodes(p) AS n, count(*) ORDER BY n LIMIT 3",
        "MATCH p = (a)-[*]-(b) WITH collect(p) AS l UNWIND l AS q RETURN count(DISTINCT q)",
    ],
)
def test_paths_read_the_clock_often(text: str) -> None:
    """No work of a third of a second on the processor passes without a check of the deadline."""
    read = [time.thread_time()]

    def gives_up() -> bool:
        read.append(time.thread_time())
        return read[-1] - read[0] > 0.4

    with gpugda.connect(_complete(7)) as accelerator:
        accelerator.run("MATCH (a)-[*1..2]-(b) RETURN count(*)", engine="gpu")
        read[0] = time.thread_time()
        with deadline.cancelled_by(gives_up), pytest.raises(QueryTimeoutError):
            accelerator.run(text, engine="gpu", timeout=60)
    assert max(b - a for a, b in pairwise(read)) < 0.3


def test_cancelled_work_ends_at_its_next_check_or_by_a_function():
    cancellation, ends = deadline.Cancellation(), []
    with cancellation.ended_by(lambda: ends.append("left")):
        pass
    with deadline.cancelled_by(lambda: cancellation.cancelled):
        deadline.seconds_left(time.monotonic() + deadline.FAR_SECONDS)
        with cancellation.ended_by(lambda: ends.append("inside")):
            cancellation.cancel()
            cancellation.cancel()
        with pytest.raises(QueryTimeoutError, match="cancelled"):
            deadline.seconds_left(time.monotonic() + deadline.FAR_SECONDS)
    with cancellation.ended_by(lambda: ends.append("too late")):
        pass
    assert ends == ["inside", "too late"]


def test_work_within_cancelled_work_is_cancelled():
    far = time.monotonic() + deadline.FAR_SECONDS
    outer, inner = deadline.cancelled_by(lambda: True), deadline.cancelled_by(lambda: False)
    with outer, inner, pytest.raises(QueryTimeoutError):
        deadline.seconds_left(far)
