"""Queries that run again when the data they read has changed."""

import asyncio
import logging
import queue
import threading
from types import SimpleNamespace

import neo4j
import pytest
from fake_server import FakeServer

import gpugda
from gpugda.accelerator import Accelerator
from gpugda.api import AsyncAccelerator
from gpugda.errors import ConfigurationError, QueryError, SourceError
from gpugda.live.changed_names import ChangedNames
from gpugda.query.reads import reads_of

NODES = {1: (("A",), {"x": 1}), 2: (("A", "B"), {"x": 2}), 3: (("C",), {"y": 1})}
RELATIONSHIPS = {7: (1, 2, "R", {"w": 1})}
XS = "MATCH (a:A) RETURN a.x AS x"
EVERY = 0.01


@pytest.fixture
def open_watched():
    opened = []

    def make(tells=True, **options):
        server = FakeServer(NODES, RELATIONSHIPS)
        if tells:
            server.tell_changes()
        opened.append(Accelerator(server, cache=False, **options))
        return SimpleNamespace(server=server, accelerator=opened[-1])

    yield make
    for each in opened:
        each.close()
    assert not [t for t in threading.enumerate() if t.name == "gpugda-watch"]


def runs_of(accelerator, monkeypatch):
    runs, run = [], accelerator.run

    def counted(*arguments, **options):
        runs.append(arguments)
        return run(*arguments, **options)

    monkeypatch.setattr(accelerator, "run", counted)
    return runs


def looked(server, times=3):
    """Waits until the watch has probed the state ``times`` more times."""
    before, waited = server.count("probe"), threading.Event()
    while server.count("probe") < before + times:
        assert not waited.wait(EVERY)


@pytest.mark.parametrize("tells", [True, False])
def test_added_and_removed_rows_are_reported(open_watched, tells):
    opened = open_watched(tells)
    with opened.accelerator.watch(XS, every=EVERY, engine="reference") as watch:
        first = next(watch)
        assert (first.keys, sorted(first.added), first.removed) == (("x",), [[1], [2]], [])
        opened.server.commit(nodes={5: (("A",), {"x": 1}), 2: (("A",), {"x": 3})})
        changes = next(watch)
        assert (sorted(changes.added), changes.removed) == ([[1], [3]], [[2]])
        opened.server.commit(without=[1, 5, 7])
        changes = next(watch)
        assert (changes.added, changes.removed) == ([], [[1], [1]])
    assert list(watch) == []


def test_changes_outside_the_querys_needs_do_not_run_it(open_watched, monkeypatch):
    opened = open_watched()
    runs = runs_of(opened.accelerator, monkeypatch)
    with opened.accelerator.watch(XS, every=EVERY, engine="reference") as watch:
        next(watch)
        opened.server.commit(nodes={3: (("C",), {"y": 2})}, relationships={8: (1, 2, "R", {})})
        opened.server.commit(nodes={4: (("C",), {})})
        looked(opened.server)
        assert len(runs) == 1
        opened.server.commit(nodes={4: (("C", "A"), {})})
        assert next(watch).added == [[None]]
        assert len(runs) == 2


def test_a_callback_is_called(open_watched):
    opened, found = open_watched(), queue.SimpleQueue()
    watch = opened.accelerator.watch(
        "MATCH (a:A) WHERE a.x > $least RETURN a",
        found.put,
        {"least": 1},
        every=EVERY,
        engine="reference",
    )
    (row,) = found.get(timeout=60).added
    assert row[0]["x"] == 2
    opened.server.commit(nodes={2: (("A", "B"), {"x": 2, "new": True})})
    changes = found.get(timeout=60)
    assert (changes.added[0][0]["new"], len(changes.removed)) == (True, 1)
    watch.close()


def test_an_unreachable_server_is_asked_again(open_watched):
    opened = open_watched()
    probe, failures = opened.server.probe, iter([SourceError("away")] * 3)

    def failing(timeout=None):
        error = next(failures, None)
        if error is not None:
            raise error
        return probe()

    with opened.accelerator.watch(XS, every=EVERY, engine="reference") as watch:
        next(watch)
        opened.server.probe = failing
        opened.server.commit(without=[1, 7])
        assert next(watch).removed == [[1]]


@pytest.mark.parametrize("tells", [True, False])
def test_a_lenient_snapshot_delays_changes_but_loses_none(open_watched, tells):
    opened = open_watched(tells, freshness="max_age=0.3s")
    opened.server.commit(nodes={5: (("A",), {"x": 5})})
    with opened.accelerator.watch(XS, every=EVERY, engine="reference") as watch:
        found = [row for changes in (next(watch),) for row in changes.added]
        while [5] not in found:
            found += next(watch).added
        opened.server.commit(without=[5])
        assert next(watch).removed == [[5]]
    assert sorted(found) == [[1], [2], [5]]


def test_with_manual_freshness_refreshes_are_watched(open_watched, monkeypatch):
    opened = open_watched(freshness="manual")
    runs = runs_of(opened.accelerator, monkeypatch)
    with opened.accelerator.watch(XS, every=EVERY, engine="reference") as watch:
        next(watch)
        opened.server.commit(without=[1, 7])
        assert not threading.Event().wait(20 * EVERY)
        assert len(runs) == 1
        opened.accelerator.refresh()
        assert next(watch).removed == [[1]]
    assert opened.server.count("read") == 1


def failing(accelerator, monkeypatch, *errors):
    """Makes the next runs raise these errors."""
    left, run = list(errors), accelerator.run

    def tried(*arguments, **options):
        if left:
            raise left.pop(0)
        return run(*arguments, **options)

    monkeypatch.setattr(accelerator, "run", tried)


def test_a_query_is_run_again_after_passing_errors_of_the_driver(open_watched, monkeypatch):
    opened = open_watched()
    with opened.accelerator.watch(XS, every=EVERY, engine="reference") as watch:
        next(watch)
        passing = neo4j.exceptions.ServiceUnavailable(), neo4j.exceptions.TransientError()
        failing(opened.accelerator, monkeypatch, *passing)
        opened.server.commit(without=[1, 7])
        assert next(watch).removed == [[1]]
        failing(opened.accelerator, monkeypatch, neo4j.exceptions.ClientError())
        opened.server.commit(without=[2])
        with pytest.raises(neo4j.exceptions.ClientError):
            next(watch)


@pytest.mark.parametrize("error", [SourceError("away"), ValueError("wrong")])
def test_an_error_of_the_callback_ends_the_watch(open_watched, error, caplog):
    opened, found = open_watched(), queue.SimpleQueue()

    def told(changes):
        found.put(changes)
        if changes.removed:
            raise error

    with caplog.at_level(logging.WARNING, "gpugda.answer.watching"):
        watch = opened.accelerator.watch(XS, told, every=EVERY, engine="reference")
        found.get(timeout=60)
        opened.server.commit(without=[1, 7])
        assert found.get(timeout=60).removed == [[1]]
        with pytest.raises(type(error)):
            next(watch)
    assert list(watch) == []
    (record,) = caplog.records
    assert str(error) in record.getMessage()
    assert record.exc_info[1] is error


def test_a_callback_may_close_its_watch_and_accelerator(open_watched):
    opened, found = open_watched(), queue.SimpleQueue()

    def told(changes):
        opened.accelerator.close()
        found.put(changes)

    watch = opened.accelerator.watch(XS, told, every=EVERY, engine="reference")
    assert len(found.get(timeout=60).added) == 2
    watch.close()
    assert found.empty()


def test_errors_of_the_query_are_raised(open_watched):
    opened = open_watched()
    with pytest.raises(QueryError):
        opened.accelerator.watch("MATCH (a RETURN a")
    with pytest.raises(ConfigurationError, match="above 0"):
        opened.accelerator.watch(XS, every=0)
    watch = opened.accelerator.watch("MATCH (a:A) RETURN 1 / 0", every=EVERY, engine="reference")
    with pytest.raises(QueryError):
        next(watch)
    assert list(watch) == []
    embedded = gpugda.connect("sample:wordnet")
    with embedded, pytest.raises(ConfigurationError, match="live database"):
        embedded.watch(XS)


def test_changes_can_be_awaited(open_watched):
    opened = open_watched()

    async def watched():
        accelerator, found = AsyncAccelerator(opened.accelerator), []
        async with await accelerator.watch(XS, every=EVERY, engine="reference") as watch:
            async for changes in watch:
                found.append((sorted(changes.added), changes.removed))
                if len(found) == 2:
                    break
                opened.server.commit(without=[1, 7])
        return found

    assert asyncio.run(watched()) == [([[1], [2]], []), ([], [[1]])]


def test_a_cancelled_wait_loses_no_changes_and_blocks_no_thread(open_watched):
    opened = open_watched()

    async def watched():
        watch = await AsyncAccelerator(opened.accelerator).watch(
            XS, every=EVERY, engine="reference"
        )
        await anext(watch)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(watch), 5 * EVERY)
        opened.server.commit(without=[1, 7])
        changes = await asyncio.wait_for(anext(watch), 60)
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        waiting.cancel()
        return watch, changes.removed

    # Neither the event loop's end nor closing in another thread waits for the cancelled waits.
    watch, removed = asyncio.run(watched())
    assert removed == [[1]]
    watch.close()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_watch_whose_opening_is_cancelled_is_closed(open_watched, monkeypatch, when):
    opened = open_watched()
    begun, go_on, made = threading.Event(), threading.Event(), queue.SimpleQueue()
    watch = opened.accelerator.watch

    def slow(*arguments, **options):
        if when == "after":
            made.put(watch(*arguments, **options))
        begun.set()
        go_on.wait(60)
        if when == "before":
            made.put(watch(*arguments, **options))
        found = made.get()
        made.put(found)
        return found

    monkeypatch.setattr(opened.accelerator, "watch", slow)

    async def cancelled():
        opening = asyncio.ensure_future(
            AsyncAccelerator(opened.accelerator).watch(XS, every=EVERY, engine="reference")
        )
        await asyncio.to_thread(begun.wait, 60)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        go_on.set()

    asyncio.run(cancelled())
    found = made.get(timeout=60)
    found._thread.join(60)
    assert not found._thread.is_alive()


def test_every_waiting_reader_ends_with_the_watch(open_watched):
    opened = open_watched()

    async def watched():
        watch = await AsyncAccelerator(opened.accelerator).watch(
            XS, every=EVERY, engine="reference"
        )
        await anext(watch)
        readers = [asyncio.ensure_future(anext(watch, None)) for _ in range(3)]
        readers += [asyncio.ensure_future(asyncio.to_thread(next, watch, None)) for _ in range(3)]
        await asyncio.sleep(5 * EVERY)
        await asyncio.to_thread(watch.close)
        return await asyncio.wait_for(asyncio.gather(*readers), 60)

    assert asyncio.run(watched()) == [None] * 6


@pytest.mark.parametrize(
    ("text", "touched", "concerned"),
    [
        (XS, ChangedNames(frozenset("A"), frozenset(), frozenset(), True), True),
        (XS, ChangedNames(frozenset("C"), frozenset(), frozenset(), True), False),
        (XS, ChangedNames(frozenset(), frozenset("R"), frozenset("y"), False), False),
        (XS, ChangedNames(frozenset(), frozenset(), frozenset("x"), False), True),
        (
            "MATCH (a:A) RETURN a",
            ChangedNames(frozenset("C"), frozenset(), frozenset(), True),
            True,
        ),
        (
            "MATCH (a:!A) RETURN a.x",
            ChangedNames(frozenset("C"), frozenset(), frozenset(), True),
            True,
        ),
        (
            "MATCH (a:A) WHERE a:% RETURN a.x",
            ChangedNames(frozenset("C"), frozenset(), frozenset(), True),
            True,
        ),
        (
            "MATCH (a:A) RETURN labels(a)",
            ChangedNames(frozenset("C"), frozenset(), frozenset(), True),
            True,
        ),
        (
            "MATCH (:A)-[:R]->(:B) RETURN count(*)",
            ChangedNames(frozenset(), frozenset("S"), frozenset("x"), False),
            False,
        ),
        (
            "MATCH (:A)-->(:B) RETURN count(*)",
            ChangedNames(frozenset(), frozenset("S"), frozenset(), False),
            True,
        ),
        (
            "MATCH (a:A) WHERE EXISTS { (a)-[:S]->(:B {k: 1}) } RETURN count(a)",
            ChangedNames(frozenset(), frozenset(), frozenset("k"), False),
            True,
        ),
    ],
)
def test_the_needs_of_a_query(text, touched, concerned):
    assert touched.concerns(reads_of(text)) == concerned
