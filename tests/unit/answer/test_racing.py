"""Two engines in a race."""

import threading

import pytest
from soon import soon

from gpugda.answer import racing
from gpugda.answer.declined import Declined
from gpugda.answer.racing import Races
from gpugda.errors import QueryTimeoutError


def answers(value):
    return lambda cancellation: value


def raises(error):
    def run(cancellation):
        raise error

    return run


def endless(cancelled=None):
    """Runs until it is cancelled."""

    def run(cancellation):
        ended = threading.Event()
        with cancellation.ended_by(ended.set):
            assert ended.wait(60)
        if cancelled is not None:
            cancelled.append(threading.current_thread().name)
        raise QueryTimeoutError("the query was cancelled")

    return run


def threads(name):
    return [thread for thread in threading.enumerate() if thread.name == name]


@pytest.fixture
def races():
    races = Races()
    yield races
    races.close(60)
    assert not threads("gpugda-races")
    assert soon(lambda: not threads("gpugda-race"))


def test_an_engine_that_answers_soon_runs_alone(races):
    assert races.run(answers("first"), raises(AssertionError("it ran")), 60) == "first"


def test_closing_waits_for_an_engine_that_lost(races):
    """It may still use a connection, which must not be closed meanwhile."""
    joined, may_end, ended = threading.Event(), threading.Event(), []

    def first(cancellation):
        assert joined.wait(60)
        return "first"

    def second(cancellation):
        joined.set()
        assert may_end.wait(60)
        ended.append(cancellation.cancelled)
        return Declined("it lost")

    assert races.run(first, second, 0.0) == "first"
    assert not ended
    closing = threading.Thread(target=races.close, args=(60,))
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    may_end.set()
    closing.join(60)
    assert ended == [True]


def test_the_first_answer_counts_and_the_other_engine_is_cancelled(races):
    cancelled = []
    assert races.run(endless(cancelled), answers("second"), 0.01) == "second"
    assert cancelled == [threading.current_thread().name]

    def late(cancellation):
        assert joined.wait(60)
        return "first"

    def joins(cancellation):
        joined.set()
        return endless(cancelled)(cancellation)

    joined = threading.Event()
    assert races.run(late, joins, 0.01) == "first"
    assert soon(lambda: cancelled[1:] == ["gpugda-race"])


def test_the_first_error_counts(races):
    with pytest.raises(ValueError, match="wrong"):
        races.run(raises(ValueError("wrong")), answers("second"), 60)
    with pytest.raises(ValueError, match="wrong"):
        races.run(endless(), raises(ValueError("wrong")), 0.01)


def test_an_engine_that_declines_leaves_the_race_to_the_other_one(races):
    here = threading.current_thread()

    def second(cancellation):
        return threading.current_thread() is here

    assert races.run(answers(Declined("no")), second, 60) is True

    def slow(cancellation):
        assert declined.wait(60)
        return "first"

    def declines(cancellation):
        declined.set()
        return Declined("no")

    declined = threading.Event()
    assert races.run(slow, declines, 0.01) == "first"
    both = races.run(answers(Declined("no")), answers(Declined("neither")), 60)
    assert both == Declined("neither")


def test_an_engine_that_declines_while_the_other_runs_waits_for_it(races):
    joined = threading.Event()

    def declines(cancellation):
        assert joined.wait(60)
        return Declined("no")

    def second(cancellation):
        joined.set()
        return "second"

    assert races.run(declines, second, 0.01) == "second"


def test_an_interrupt_ends_both(races):
    joined, cancelled = threading.Event(), []

    def interrupted(cancellation):
        assert joined.wait(60)
        raise KeyboardInterrupt

    def second(cancellation):
        joined.set()
        return endless(cancelled)(cancellation)

    with pytest.raises(KeyboardInterrupt):
        races.run(interrupted, second, 0.01)
    assert soon(lambda: cancelled == ["gpugda-race"])


def test_closing_ends_races(races):
    joined, ended = threading.Event(), []

    def second(cancellation):
        joined.set()
        return endless()(cancellation)

    def run():
        try:
            races.run(endless(), second, 0.01)
        except QueryTimeoutError:
            ended.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    assert joined.wait(60)
    races.close(60)
    thread.join(60)
    assert ended


def test_short_races_share_one_thread_that_ends_when_it_is_idle(races, monkeypatch):
    seen = set()
    for number in range(20):
        assert races.run(answers(number), answers("second"), 0.5) == number
        seen.update(threads("gpugda-races"))
    assert len(seen) == 1
    monkeypatch.setattr(racing, "_IDLE_SECONDS", 0.01)
    assert soon(lambda: not threads("gpugda-races"))
    assert races.run(endless(), answers("second"), 0.01) == "second"


def test_a_sooner_join_is_not_held_up_by_a_later_one(races):
    done = threading.Event()
    waiting = threading.Thread(
        target=lambda: races.run(lambda cancellation: done.wait(60), answers("second"), 3600)
    )
    waiting.start()
    assert soon(lambda: threads("gpugda-races") != [])
    assert races.run(endless(), answers("second"), 0.01) == "second"
    done.set()
    waiting.join(60)
    assert not waiting.is_alive()
