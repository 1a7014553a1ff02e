"""Routing of queries whose source is a live database."""

import logging
import math
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import neo4j
import pytest
from fake_server import FakeServer, facts, silent
from soon import ends_in, soon

from gpugda.answer import on_snapshot
from gpugda.answer.declined import Declined
from gpugda.answer.request import Request
from gpugda.answer.server import ServerAnswers
from gpugda.config import parse_freshness
from gpugda.deadline import check_deadline
from gpugda.device import background_compilation
from gpugda.errors import (
    ConfigurationError,
    CypherSyntaxError,
    DeviceError,
    InternalError,
    QueryTimeoutError,
    SourceError,
    StaleSnapshotError,
    StillCompilingError,
    UnsupportedQueryError,
)
from gpugda.live import entities
from gpugda.live.keeper import SnapshotKeeper
from gpugda.live.reading import EmptyShelf
from gpugda.match import registry, session
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.registry import DEFAULT_STRATEGY
from gpugda.match.session import DeviceSession
from gpugda.plan.route.route import Verdict
from gpugda.ports import NativeAnswer, Projection, UnkeptPropertyError

NODES = {
    3: (("Person",), {"name": "Ann", "age": 30}),
    8: (("Person",), {"name": "Bo", "age": 40}),
    9: (("City",), {"name": "Rome"}),
}
RELATIONSHIPS = {
    21: (3, 8, "KNOWS", {"since": 1999}),
    20: (8, 9, "LIVES_IN", {}),
    22: (3, 8, "KNOWS", {"since": 2001}),
}
KNOWS = "MATCH (a:Person)-[r:KNOWS]->(b) RETURN a.name AS a, r.since AS since ORDER BY since"


class FakeRouter:
    """Returns the verdict that the test sets."""

    def __init__(self, engine="gpu", device=0.001, native=10.0, **limits):
        reason = f"{engine} is cheaper"
        self.verdict = Verdict(engine, reason, device, native, "cost", **limits)
        self.recorded = []

    def physical(self, request, plan):
        return plan.physical()

    def decide(self, request, plan, loaded, keeper):
        return self.verdict

    def streamed(self, plan, loaded):
        return ("a part is sent at a time",)

    def described(self, request, plan, loaded, keeper):
        return ("cost: gpu",)

    def record_device(self, request, loaded, seconds):
        self.recorded.append(("device", seconds))

    def record_native(self, request, seconds):
        self.recorded.append(("native", seconds))

    def record_given_up(self, text, seconds):
        self.recorded.append(("given up", seconds))

    def record_native_given_up(self, text, seconds):
        self.recorded.append(("native given up", seconds))


@pytest.fixture
def open_answers():
    opened = []

    def make(server=None, router=None, freshness="strict", load=True):
        server = server or FakeServer(NODES, RELATIONSHIPS)
        keeper = SnapshotKeeper(server, parse_freshness(freshness), EmptyShelf(), silent())
        device = DeviceSession(None, None, "once")
        answers = ServerAnswers(server, keeper, device, router or FakeRouter(), silent())
        opened.append((answers, device))
        if load:
            keeper.refresh()
            assert keeper.wait(30)
            # On a busy machine, a read takes so long that it would not be repeated yet.
            keeper._rest_until = 0.0
        return SimpleNamespace(server=server, keeper=keeper, answers=answers, device=device)

    yield make
    for answers, device in opened:
        answers.close()
        device.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("gpugda-refresh")]


@pytest.fixture
def compiler(monkeypatch):
    """A compiler that has compiled nothing yet, and finishes when the test allows it."""
    may_end = threading.Event()

    def build(context, should_continue):
        assert should_continue(3, 15)
        assert may_end.wait(60)
        context.everything_compiled = True

    monkeypatch.setattr(session, "is_everything_built", lambda context: False)
    monkeypatch.setattr(background_compilation, "build_everything", build)
    yield may_end
    may_end.set()


def ask(opened, text, engine="auto", timeout=None, **parameters):
    deadline = None if timeout is None else time.monotonic() + timeout
    request = Request(text, parameters, DEFAULT_STRATEGY, deadline)
    return opened.answers.run(request, engine)


# ------------------------------------------------------------------ right answers
@pytest.mark.parametrize("engine", ["auto", "gpu", "native", "reference"])
def test_every_engine_gives_the_same_rows(open_answers, engine):
    result = ask(open_answers(), KNOWS, engine)
    assert result.values() == [["Ann", 1999], ["Ann", 2001]]
    assert result.summary.engine == {"auto": "gpu"}.get(engine, engine)


def test_ids_are_the_databases(open_answers):
    opened = open_answers()
    text = "MATCH (a)-[r]->(b:City) RETURN id(a), elementId(b), id(r), elementId(r)"
    for engine in ("gpu", "reference"):
        row = ask(opened, text, engine).values()[0]
        assert row == [8, "4:a-database:9", 20, "5:a-database:20"]
    for text in (
        "MATCH (a) WHERE id(a) = 8 RETURN a.name",
        "MATCH (a) WHERE elementId(a) = '4:a-database:8' RETURN a.name",
        "MATCH (a)-[r]->(:City) WHERE id(r) = 20 RETURN a.name",
        "MATCH (a)-[r]->(:City) WHERE elementId(r) IN ['5:a-database:20'] RETURN a.name",
    ):
        for engine in ("gpu", "reference"):
            assert ask(opened, text, engine).values() == [["Bo"]], text


def test_relationships_are_ordered_by_their_ids(open_answers):
    text = "MATCH ()-[r]->() RETURN id(r) AS i ORDER BY r"
    for engine in ("gpu", "reference"):
        assert ask(open_answers(), text, engine).value() == [20, 21, 22]


def test_returned_nodes_have_all_properties(open_answers):
    opened = open_answers()
    (row,) = ask(opened, "MATCH (a:Person)-[r:LIVES_IN]->(b) RETURN a, r, b", "gpu").values()
    a, r, b = row
    assert (a.element_id, dict(a), set(a.labels)) == (
        "4:a-database:8",
        {"name": "Bo", "age": 40},
        {"Person"},
    )
    assert (r.element_id, r.type, r.start_node) == ("5:a-database:20", "LIVES_IN", a)
    assert dict(b) == {"name": "Rome"}


def test_only_named_properties_are_read(open_answers):
    opened = open_answers()
    ask(opened, KNOWS, "gpu").values()
    asked = [call[1:] for call in opened.server.calls if call[0] == "properties"]
    assert asked == [(("name",), True), (("since",), False)]
    ask(opened, KNOWS, "gpu").values()
    assert opened.server.count("properties") == 2


def test_a_property_without_values_is_read_once(open_answers):
    opened = open_answers()
    for _ in range(2):
        assert ask(opened, "MATCH (a:City) RETURN a.nothing", "gpu").values() == [[None]]
    assert opened.server.count("properties") == 1


# ------------------------------------------------------------------ choice of engine
def test_unsupported_queries_go_to_the_database_unchanged(open_answers):
    opened = open_answers()
    opened.server.run_native = _recording(opened.server)
    for text in (
        "CREATE (n) RETURN n",
        "MATCH (n",
        "CALL db.labels()",
        "EXPLAIN MATCH (n) RETURN n",
    ):
        result = ask(opened, text, x=1)
        assert result.summary.engine == "native"
        assert opened.server.asked[-1] == (text, {"x": 1})
    assert "CREATE" in ask(opened, "CREATE (n) RETURN n").summary.reason
    assert "EXPLAIN" in ask(opened, "EXPLAIN MATCH (n) RETURN n").summary.reason


def _recording(server):
    from gpugda.ports import NativeAnswer

    server.asked = []

    def run_native(text, parameters, **options):
        server.asked.append((text, dict(parameters)))
        return NativeAnswer((), [], None, None)

    return run_native


def test_the_planner_decides_before_anything_is_sent(open_answers):
    opened = open_answers(router=FakeRouter("native"))
    asked = opened.server.count("probe")
    result = ask(opened, KNOWS)
    assert (result.summary.engine, result.summary.reason) == ("native", "native is cheaper")
    assert opened.server.count("probe") == asked + 1  # the answer's own probe


def test_queries_of_restricted_users_go_to_the_database(open_answers):
    restricted = facts(sees_everything=False, restriction="Reading salaries is denied.")
    opened = open_answers(FakeServer(NODES, RELATIONSHIPS, restricted), load=False)
    result = ask(opened, KNOWS)
    assert (result.summary.engine, result.summary.reason) == ("native", restricted.restriction)
    with pytest.raises(ConfigurationError, match="salaries"):
        ask(opened, KNOWS, "gpu")


def test_queries_beyond_the_device_go_to_the_database(open_answers):
    opened = open_answers()
    opened.server.run_native = _recording(opened.server)
    result = ask(opened, "MATCH (a:Person) RETURN a.name LIMIT $n", n="many")
    assert result.summary.engine == "native"
    assert "the device does not answer it" in result.summary.reason
    with pytest.raises(CypherSyntaxError):
        ask(opened, "MATCH (a:Person) RETURN a.name LIMIT $n", "gpu", n="many")


def test_queries_go_to_the_database_while_the_snapshot_is_read(open_answers):
    opened = open_answers(load=False)
    assert ask(opened, KNOWS).summary.engine == "native"
    assert opened.keeper.wait(30)
    assert ask(opened, KNOWS).summary.engine == "gpu"


def test_a_slow_device_run_is_stopped(open_answers, monkeypatch):
    router = FakeRouter(give_up_after=0.01)
    opened = open_answers(router=router)

    def slow(request, loaded, session, deadline):
        assert deadline - time.monotonic() < 0.02
        time.sleep(0.2)
        raise QueryTimeoutError("too slow")

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", slow)
    result = ask(opened, KNOWS)
    assert result.summary.engine == "native"
    assert "longer than expected" in result.summary.reason
    assert result.summary.timings["given up"] > 0.19
    assert result.summary.timings["total"] > 0.2  # what the user waited
    ((_, seconds),) = [each for each in router.recorded if each[0] == "given up"]
    assert seconds > 0.2


def test_waiting_for_the_compiler_says_nothing_about_a_query(open_answers, monkeypatch):
    router = FakeRouter(give_up_after=0.01)
    opened = open_answers(router=router)

    def compiling(request, loaded, session, deadline):
        raise StillCompilingError("a.cl")

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", compiling)
    assert ask(opened, KNOWS).summary.engine == "native"
    assert not [each for each in router.recorded if each[0] == "given up"]


def until_cancelled(cancellation, seconds=30):
    """Waits as a query does, until it is cancelled."""
    ended = threading.Event()
    with cancellation.ended_by(ended.set):
        assert ended.wait(seconds)
    raise QueryTimeoutError("the query was cancelled")


def joining_router():
    return FakeRouter("native", native=0.001, join_after=0.05)


def racers():
    return [thread for thread in threading.enumerate() if thread.name == "gpugda-race"]


def soon_no_racers():
    return soon(lambda: not racers())


def test_the_device_joins_a_database_that_does_not_answer(open_answers):
    router = joining_router()
    opened = open_answers(router=router)
    opened.server.during_native = lambda: until_cancelled(opened.server.cancellation)
    result = ask(opened, KNOWS)
    assert result.values() == [["Ann", 1999], ["Ann", 2001]]
    summary = result.summary
    assert summary.engine == "gpu"
    assert summary.reason == (
        "the database had not answered after 0.05 s; the device answered first"
    )
    assert summary.timings["native"] >= 0.05
    assert summary.timings["total"] >= 0.05  # what the user waited
    recorded = dict(router.recorded)
    assert 0 < recorded["native given up"] < summary.timings["total"]
    assert recorded["device"] < summary.timings["total"]  # without waiting for the database
    assert soon_no_racers()


def test_a_database_that_answers_soon_runs_alone(open_answers, monkeypatch):
    router = joining_router()
    router.verdict = replace(router.verdict, join_after=30.0)
    opened = open_answers(router=router)
    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", None)
    assert ask(opened, KNOWS).summary.engine == "native"
    assert [name for name, _ in router.recorded] == ["native"]
    assert soon_no_racers()


def test_a_database_that_answers_first_ends_the_device(open_answers, monkeypatch):
    router = joining_router()
    opened = open_answers(router=router)
    joined, cancelled = threading.Event(), []

    def slow(request, loaded, session, deadline):
        joined.set()
        while True:
            time.sleep(0.01)
            try:
                check_deadline(deadline)
            except QueryTimeoutError as error:
                cancelled.append(str(error))
                raise

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", slow)
    opened.server.during_native = lambda: joined.wait(30) and time.sleep(0.2)
    result = ask(opened, KNOWS)
    assert result.summary.engine == "native"
    assert result.summary.reason == "native is cheaper"
    assert result.values() == [["Ann", 1999], ["Ann", 2001]]
    assert soon_no_racers()
    assert cancelled == ["the query was cancelled"]
    names = [name for name, _ in router.recorded]
    assert sorted(names) == ["given up", "native"]  # the device took more than it was expected to


@pytest.mark.parametrize("error", [DeviceError, ValueError, StaleSnapshotError, MemoryError])
def test_an_error_of_a_device_that_joined_is_not_seen(open_answers, monkeypatch, untold, error):
    opened = open_answers(router=joining_router())
    failed = threading.Event()

    def fail(*arguments):
        failed.set()
        raise error("lost")

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", fail)
    opened.server.during_native = lambda: failed.wait(30) and time.sleep(0.05)
    assert ask(opened, KNOWS).summary.engine == "native"
    assert soon_no_racers()


def test_an_error_of_the_database_ends_the_race(open_answers, monkeypatch):
    opened = open_answers(router=joining_router())
    joined = threading.Event()

    def slow(request, loaded, session, deadline):
        joined.set()
        while True:
            time.sleep(0.01)
            check_deadline(deadline)

    def refuse():
        assert joined.wait(30)
        raise neo4j.exceptions.CypherTypeError("no number")

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", slow)
    opened.server.during_native = refuse
    with pytest.raises(neo4j.exceptions.CypherTypeError, match="no number"):
        ask(opened, KNOWS)
    assert soon_no_racers()


def test_the_time_limit_holds_for_both_engines(open_answers, monkeypatch):
    opened = open_answers(router=joining_router())

    def slow(request, loaded, session, deadline):
        while True:
            time.sleep(0.01)
            check_deadline(deadline)

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", slow)
    opened.server.during_native = lambda: until_cancelled(opened.server.cancellation)
    with ends_in(), pytest.raises(QueryTimeoutError):
        ask(opened, KNOWS, timeout=0.3)
    assert soon_no_racers()


def test_closing_ends_a_race(open_answers, monkeypatch):
    opened = open_answers(router=joining_router())
    joined, raised = threading.Event(), []

    def slow(request, loaded, session, deadline):
        joined.set()
        while True:
            time.sleep(0.01)
            check_deadline(deadline)

    def query():
        try:
            ask(opened, KNOWS)
        except QueryTimeoutError as error:
            raised.append(error)

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", slow)
    opened.server.during_native = lambda: until_cancelled(opened.server.cancellation)
    thread = threading.Thread(target=query)
    thread.start()
    assert joined.wait(30)
    opened.answers.close()
    thread.join(30)
    assert not thread.is_alive()
    assert len(raised) == 1
    assert not racers()


def test_the_device_joins_with_properties_that_the_snapshot_lacks(open_answers):
    opened = open_answers(router=FakeRouter(native=0.0, join_after=0.05))
    opened.server.during_native = lambda: until_cancelled(opened.server.cancellation)
    result = ask(opened, KNOWS)
    assert result.summary.engine == "gpu"
    assert result.values() == [["Ann", 1999], ["Ann", 2001]]


def test_missing_properties_are_read_after_other_background_work(open_answers):
    opened = open_answers(router=FakeRouter(native=0.0))
    may_end = threading.Event()
    assert opened.keeper.in_background(lambda: may_end.wait(60))
    result = ask(opened, KNOWS)
    assert result.summary.engine == "native"
    assert "properties of the snapshot are read in the background" in result.summary.reason
    assert not opened.server.count("properties")
    may_end.set()
    assert soon(lambda: ask(opened, KNOWS).summary.engine == "gpu")
    assert opened.keeper.wait(60)
    assert opened.server.count("properties") == 2, "each key is read once"


def test_a_device_that_joins_waits_for_a_snapshot_that_is_being_read(open_answers):
    opened = open_answers(router=joining_router())
    ask(opened, KNOWS, "gpu").values()
    may_end, native = threading.Event(), opened.server.run_native

    def unanswered(*arguments, **options):
        opened.server.commit(without=[22])  # the snapshot is too old, and its reading goes on
        assert opened.keeper.in_background(lambda: may_end.wait(60))
        threading.Timer(0.3, may_end.set).start()
        opened.server.during_native = lambda: until_cancelled(opened.server.cancellation)
        return native(*arguments, **options)

    opened.server.run_native = unanswered
    result = ask(opened, KNOWS)
    assert result.summary.engine == "gpu"
    assert result.values() == [["Ann", 1999]]


@pytest.mark.parametrize("text", ["CREATE (n) RETURN n", "MATCH (n", "CALL db.labels()"])
def test_the_device_joins_only_what_it_can_answer(open_answers, text):
    opened = open_answers(router=joining_router())
    opened.server.run_native = _recording(opened.server)
    assert ask(opened, text).summary.engine == "native"
    assert not racers()


@pytest.mark.parametrize("engine", ["native", "gpu", "reference"])
def test_no_engine_joins_one_that_was_asked_for(open_answers, engine):
    opened = open_answers(router=joining_router())
    opened.server.during_native = lambda: time.sleep(0.2)
    assert ask(opened, KNOWS, engine).summary.engine == engine
    assert not racers()


@pytest.mark.parametrize(
    ("native", "budget"),
    [
        (1.0, 50),  # half of the limit is the database's, as the estimate may be too low
        (40.0, 40),
        (80.0, 20),  # the database needs what it is expected to need, without a margin
        (200.0, 50),  # it may still be ready in time, as the estimate may be too high
    ],
)
def test_enough_of_the_users_time_limit_is_left_for_the_database(
    open_answers, monkeypatch, native, budget
):
    opened = open_answers(router=FakeRouter(native=native))
    given = []

    def slow(request, loaded, session, deadline):
        given.append(deadline - time.monotonic())
        raise QueryTimeoutError("too slow")

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", slow)
    assert ask(opened, KNOWS, timeout=100.0).summary.engine == "native"
    assert given[0] == pytest.approx(budget, abs=5)


def test_a_time_limit_that_passes_while_planning_is_no_fault(open_answers, caplog):
    router = FakeRouter()

    def slow(request, plan, loaded, keeper):
        time.sleep(0.1)
        return router.verdict

    router.decide = slow
    opened = open_answers(router=router)
    with pytest.raises(QueryTimeoutError):
        ask(opened, KNOWS, timeout=0.05)
    assert "ValueError" not in caplog.text


def test_the_users_own_time_limit_is_an_error(open_answers, monkeypatch):
    opened = open_answers()

    def slow(request, loaded, session, deadline):
        time.sleep(0.03)
        raise QueryTimeoutError("too slow")

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", slow)
    with pytest.raises(QueryTimeoutError):
        ask(opened, KNOWS, timeout=0.02)


def test_a_query_needing_an_unread_property_goes_to_the_database(open_answers, monkeypatch, caplog):
    from gpugda.query.reads import PropertyNeeds

    nothing = PropertyNeeds(frozenset(), frozenset())
    monkeypatch.setattr("gpugda.answer.demanded.property_needs", lambda query: nothing)
    opened = open_answers()
    assert ask(opened, KNOWS).summary.engine == "native"
    assert "PropertyNotReadError" in caplog.text


FAULTS = [
    "gpugda.answer.on_snapshot.answer_on_device",
    "gpugda.answer.demanded.property_needs",
    "gpugda.answer.demanded.refuse_outside",
    "gpugda.execute.operators.match.plan_pattern",
    "gpugda.live.keeper.SnapshotKeeper.admit",
]


@pytest.fixture
def untold(monkeypatch):
    """Forgets which faults were logged."""
    monkeypatch.setattr("gpugda.answer.faults._logged", set())


@pytest.mark.parametrize("place", FAULTS)
@pytest.mark.parametrize("error", [ValueError, RecursionError, KeyError, MemoryError])
def test_after_an_internal_error_the_database_answers(
    open_answers, monkeypatch, caplog, untold, place, error
):
    opened = open_answers()

    def fail(*arguments, **options):
        raise error("cannot reshape")

    monkeypatch.setattr(place, fail)
    for _ in range(3):
        answered = ask(opened, KNOWS)
        assert answered.summary.engine == "native"
        assert len(list(answered)) == 2
    told = [each for each in caplog.records if each.levelname == "ERROR"]
    if error is MemoryError:
        assert not told  # no fault
        return
    assert len(told) == 1
    assert "report this line" in told[0].getMessage()
    assert error.__name__ in told[0].getMessage()
    with pytest.raises(InternalError, match=r"test_server\.py"):
        ask(opened, KNOWS, engine="gpu")


@pytest.mark.parametrize("method", ["record_native", "record_device", "decide"])
def test_an_error_of_the_planner_keeps_the_answer(open_answers, monkeypatch, untold, method):
    router = FakeRouter(engine="native" if method == "record_native" else "gpu")

    def fail(*arguments):
        raise OSError("attempt to write a readonly database")

    setattr(router, method, fail)
    assert len(list(ask(open_answers(router=router), KNOWS))) == 2


def test_column_types_are_the_same_on_every_engine(open_answers):
    opened = open_answers()
    for text in (
        "MATCH (a:Person) RETURN a.name, a.age, a.none, a.age > 30, [a.age, null], 1.5",
        "MATCH (a:City) RETURN a.name, a.age, a.none, a.age > 30, [a.age, null], 1.5",
        "MATCH (a:None) RETURN a.name, a.age, a.none, a.age > 30, [a.age, null], 1.5",
        "MATCH (a) RETURN a.age, a.name ORDER BY a.name SKIP 2",
        "MATCH (a:None) RETURN count(*), count(a.age) > 0",
    ):
        schemas = [
            ask(opened, text, engine=engine).to_arrow().schema
            for engine in ("native", "gpu", "reference")
        ]
        assert schemas[0] == schemas[1] == schemas[2], text


@pytest.mark.parametrize(
    "text", ["MATCH (a:None) RETURN a", "MATCH (a)-[r]->() RETURN r, a LIMIT 0"]
)
def test_no_properties_are_read_without_entities(open_answers, text):
    pytest.importorskip("polars", reason="Polars is not installed")
    opened = open_answers()
    assert ask(opened, text, engine="gpu").to_arrow().num_rows == 0
    assert ask(opened, text, engine="gpu").to_polars().height == 0
    assert len(ask(opened, text, engine="gpu").to_df()) == 0


def test_times_of_runs_are_recorded(open_answers):
    router = FakeRouter()
    opened = open_answers(router=router)
    ask(opened, KNOWS)
    ask(opened, KNOWS, "native")
    assert [engine for engine, seconds in router.recorded if seconds > 0] == ["device", "native"]


def test_the_databases_time_is_measured_in_the_background(open_answers):
    router = FakeRouter()
    opened = open_answers(router=router)
    ask(opened, KNOWS)
    assert opened.server.count("native") == 0
    assert opened.keeper.wait(30)  # saving the properties read: nothing else begins meanwhile
    router.verdict = replace(router.verdict, measure="native")
    ask(opened, KNOWS)
    assert opened.keeper.wait(30)
    natives = [call for call in opened.server.calls if call[0] == "native"]
    assert [(text, read_only) for _, text, _, read_only in natives] == [(KNOWS, True)] * 2
    assert [engine for engine, _ in router.recorded] == ["device"] * 2 + ["native"] * 2


def device_measured_by(router, opened):
    """The query runs on the database, which has the device measured."""
    opened.device.prepare(opened.keeper.loaded.graph)
    router.verdict = replace(router.verdict, measure="gpu", give_up_after=30.0)
    assert ask(opened, KNOWS).summary.engine == "native"
    assert opened.keeper.wait(30)
    assert opened.keeper.last_error is None
    return [engine for engine, _ in router.recorded]


def test_the_devices_time_is_measured_in_the_background(open_answers):
    router = FakeRouter("native")
    opened = open_answers(router=router)
    assert device_measured_by(router, opened) == ["native", "device", "device"]
    assert opened.server.count("native") == 1
    assert ask(opened, KNOWS).summary.engine == "native"


def test_measuring_leaves_the_processor_to_callers_for_a_while(open_answers, monkeypatch):
    monkeypatch.setattr("gpugda.answer.server._REST", 1e6)
    router = FakeRouter("native")
    opened = open_answers(router=router)
    assert device_measured_by(router, opened) == ["native", "device", "device"]
    assert ask(opened, KNOWS).summary.engine == "native"
    assert opened.keeper.wait(30)
    assert [engine for engine, _ in router.recorded] == ["native", "device", "device", "native"]


def test_drivers_have_the_device_measured_too(open_answers):
    router = FakeRouter("native", give_up_after=30.0, measure="gpu")
    opened = open_answers(router=router)
    opened.device.prepare(opened.keeper.loaded.graph)
    found = opened.answers.try_device(Request(KNOWS, {}, DEFAULT_STRATEGY))
    assert found.reason == "native is cheaper"
    assert opened.keeper.wait(30)
    assert [engine for engine, _ in router.recorded] == ["device", "device"]


def test_a_device_that_is_too_slow_is_measured_once(open_answers, monkeypatch):
    def slow(request, loaded, session, deadline):
        assert 20 < deadline - time.monotonic() <= 30
        raise QueryTimeoutError("too slow")

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", slow)
    router = FakeRouter("native")
    assert device_measured_by(router, open_answers(router=router)) == ["native", "given up"]
    assert dict(router.recorded)["given up"] == 30.0


def test_a_query_on_the_device_ends_a_measurement(open_answers, monkeypatch):
    """It would wait for the device otherwise."""
    router = FakeRouter("native", give_up_after=30.0, measure="gpu")
    opened = open_answers(router=router)
    opened.device.prepare(opened.keeper.loaded.graph)
    answer, begun = on_snapshot.answer_on_device, threading.Event()

    def endless(request, loaded, session, deadline):
        if request.text == COUNT:
            return answer(request, loaded, session, deadline)
        begun.set()
        assert soon(lambda: is_cancelled(deadline))
        raise QueryTimeoutError("the query was cancelled")

    def is_cancelled(deadline):
        try:
            return check_deadline(deadline)
        except QueryTimeoutError:
            return True

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", endless)
    assert ask(opened, KNOWS).summary.engine == "native"
    assert begun.wait(30)
    router.verdict = FakeRouter().verdict
    assert ask(opened, COUNT).summary.engine == "gpu"
    assert opened.keeper.wait(30)
    assert [engine for engine, _ in router.recorded] == ["native", "device"]


def test_a_device_that_compiles_is_measured_another_time(open_answers, monkeypatch):
    def compiling(request, loaded, session, deadline):
        raise StillCompilingError("a.cl")

    monkeypatch.setattr("gpugda.answer.on_snapshot.answer_on_device", compiling)
    router = FakeRouter("native")
    assert device_measured_by(router, open_answers(router=router)) == ["native"]


def test_a_device_that_was_declined_for_another_reason_is_not_measured(open_answers):
    router = FakeRouter("gpu", native=0.0, measure="native")
    opened = open_answers(router=router)
    opened.server.commit(without=[22])
    assert ask(opened, KNOWS).summary.engine == "native"
    assert opened.keeper.wait(30)
    assert opened.server.count("native") == 1


def test_the_device_is_opened_while_the_database_answers(open_answers):
    opened = open_answers(router=FakeRouter(engine="native"))
    session = opened.answers._session
    assert not session.is_open
    assert ask(opened, KNOWS).summary.engine == "native"
    assert opened.keeper.wait(30)
    assert session.is_ready(opened.keeper.loaded.graph)


@pytest.mark.parametrize("engine", ["gpu", "native"])
def test_queries_do_not_wait_for_compilation(open_answers, compiler, caplog, engine):
    opened = open_answers(router=FakeRouter(engine))
    caplog.set_level(logging.INFO, "gpugda.device")
    for _ in range(3):
        result = ask(opened, KNOWS)
        assert result.values() == [["Ann", 1999], ["Ann", 2001]]
        assert result.summary.engine == "native"
        assert opened.keeper.wait(30)
    if engine == "gpu":
        assert "kernels are being compiled in the background" in result.summary.reason
        assert "(3 of 15 files" in result.summary.reason
    (said,) = [each for each in caplog.messages if "in the background" in each]
    assert "until then a database answers itself" in said
    explained = opened.answers.explain(Request(KNOWS, {}, DEFAULT_STRATEGY))
    assert explained.engine == "native"
    assert "kernels are being compiled" in explained.reason
    assert str(explained).startswith(f"engine native: {explained.reason}")
    compiler.set()
    opened.device.warm(60)
    assert ask(opened, KNOWS).summary.engine == engine
    explained = opened.answers.explain(Request(KNOWS, {}, DEFAULT_STRATEGY))
    assert (explained.engine, explained.reason) == (engine, f"{engine} is cheaper")
    assert explained.route == ("cost: gpu",)


def test_a_demanded_device_waits_only_for_the_kernels_it_needs(open_answers, compiler):
    opened = open_answers()
    assert ask(opened, KNOWS).summary.engine == "native"
    assert ask(opened, KNOWS, "gpu").values() == [["Ann", 1999], ["Ann", 2001]]


def test_kernels_that_do_not_build_are_compiled_once(open_answers, monkeypatch, caplog):
    tried = []

    def build(context, should_continue):
        tried.append(context)
        raise DeviceError("no such instruction")

    monkeypatch.setattr(session, "is_everything_built", lambda context: False)
    monkeypatch.setattr(background_compilation, "build_everything", build)
    opened = open_answers()
    for _ in range(3):
        ask(opened, KNOWS)
        with pytest.raises(DeviceError):
            opened.device.warm(60)
    result = ask(opened, KNOWS)
    assert result.summary.engine == "native"
    assert result.summary.reason == "the device's kernels do not build: no such instruction"
    assert len(tried) == 1
    assert caplog.messages.count(result.summary.reason) == 1


def test_a_device_that_cannot_be_opened_is_opened_once(open_answers, monkeypatch):
    tried = []

    def fail(graph):
        tried.append(graph)
        raise DeviceError("no device")

    opened = open_answers(router=FakeRouter(engine="native"))
    monkeypatch.setattr(opened.answers._session, "prepare", fail)
    for _ in range(3):
        assert ask(opened, KNOWS).summary.engine == "native"
        assert opened.keeper.wait(30)
    assert len(tried) == 1


# ------------------------------------------------------------------ a database that changes
def test_a_stale_snapshot_answers_no_query(open_answers):
    opened = open_answers(router=FakeRouter(native=0.0))
    opened.server.commit(nodes={3: (("Person",), {"name": "Anna", "age": 30})})
    result = ask(opened, KNOWS)
    assert result.summary.engine == "native"
    assert "changed since the snapshot" in result.summary.reason
    assert result.values()[0][0] == "Anna"
    assert opened.keeper.wait(30)


def test_a_stale_snapshot_is_refreshed_at_once_if_that_is_cheaper(open_answers):
    opened = open_answers(router=FakeRouter(native=100.0))
    opened.server.commit(relationships={23: (3, 8, "KNOWS", {"since": 2020})})
    result = ask(opened, KNOWS)
    assert result.summary.engine == "gpu"
    assert len(result.values()) == 3


def test_a_demanded_device_refreshes_a_stale_snapshot(open_answers):
    opened = open_answers()
    opened.server.commit(without=[21])
    assert ask(opened, KNOWS, "gpu").values() == [["Ann", 2001]]


def test_properties_of_another_state_are_not_mixed(open_answers):
    opened = open_answers()
    opened.server.during_properties = lambda: (
        opened.server.commit(nodes={3: (("Person",), {"name": "Anna"})}),
        setattr(opened.server, "during_properties", None),
    )
    rows = ask(opened, KNOWS, "gpu").values()
    assert rows == [["Anna", 1999], ["Anna", 2001]]
    assert opened.server.count("read") == 2


def test_entities_of_another_state_are_not_mixed(open_answers):
    opened = open_answers()
    opened.server.during_properties = lambda: (
        opened.server.commit(without=[8, 20, 21, 22]),
        setattr(opened.server, "during_properties", None),
    )
    assert ask(opened, "MATCH (a:Person) RETURN a", "gpu").value()[0]["name"] == "Ann"
    result = ask(opened, "MATCH (a:Person) RETURN a", "gpu")
    assert len(result.values()) == 1


WHOLE = "MATCH (a:Person)-[r:KNOWS]->(b) RETURN a, r, b ORDER BY id(r)"


def test_returned_entities_are_read_once(open_answers):
    opened = open_answers()
    rows = ask(opened, WHOLE, "gpu").values()
    assert opened.keeper.wait(30)
    assert opened.server.count("entities") == 2
    assert sorted(call[1:] for call in opened.server.calls if call[0] == "properties") == [
        (None, False),
        (None, True),
    ]
    opened.server.calls.clear()
    again = ask(opened, WHOLE, "gpu").values()
    assert [call[0] for call in opened.server.calls] == ["probe"]
    assert [[(each.element_id, dict(each)) for each in row] for row in again] == [
        [(each.element_id, dict(each)) for each in row] for row in rows
    ]


def test_all_properties_are_read_only_for_few_values_of_returned_entities(
    open_answers, monkeypatch
):
    opened = open_answers()
    ask(opened, "MATCH (a:Person) RETURN a", "gpu")
    assert opened.keeper.wait(30)
    assert opened.keeper.loaded.graph.node_properties.complete
    assert not opened.keeper.loaded.graph.relationship_properties.complete
    for limit in ("_MAX_VALUES", "_MAX_BYTES"):
        monkeypatch.setattr(entities, limit, 1)
        opened = open_answers()
        ask(opened, "MATCH (a:Person) RETURN a", "gpu")
        assert opened.keeper.wait(30)
        assert opened.server.count("properties") == 0
        monkeypatch.undo()


def test_a_read_that_reports_its_state_needs_no_probe(open_answers, monkeypatch):
    monkeypatch.setattr(entities, "_MAX_VALUES", 0)
    opened = open_answers()
    for tells, calls in ((True, ["probe", "entities"]), (False, ["probe", "entities", "probe"])):
        opened.server.tells_version = tells
        opened.server.calls.clear()
        ask(opened, "MATCH (a:Person) RETURN a", "gpu")
        assert [call[0] for call in opened.server.calls] == calls


def test_failed_completion_of_properties_is_tried_once_per_state(open_answers):
    def refuse():
        if opened.server.calls[-1][0] == "properties":
            raise SourceError("too much")

    opened = open_answers()
    opened.server.during_properties = refuse
    for _ in range(3):
        assert len(ask(opened, "MATCH (a:Person) RETURN a", "gpu").values()) == 2
        assert opened.keeper.wait(30)
    assert opened.server.count("properties") == 1
    assert opened.server.count("entities") == 3


def test_queries_on_a_database_with_constant_writes_go_native(open_answers):
    opened = open_answers()
    opened.server.during_properties = opened.server.commit
    result = ask(opened, KNOWS)
    assert result.summary.engine == "native"
    assert opened.keeper.wait(30)
    with pytest.raises(StaleSnapshotError, match="engine='auto'"):
        ask(opened, KNOWS, "gpu")


def test_a_property_that_columns_cannot_hold_is_read_once_per_snapshot(open_answers):
    def in_unknown_zone():
        raise UnkeptPropertyError("name", "The property 'name': unknown time zone 'SystemV/EST5'")

    opened = open_answers()
    ask(opened, "MATCH (a:Person) RETURN a.age", "gpu")
    opened.server.during_properties = in_unknown_zone
    before = opened.server.calls.count(("properties", ("name",), True))
    for _ in range(3):
        with pytest.raises(SourceError, match="SystemV"):
            ask(opened, "MATCH (a:Person) RETURN a.name", "gpu")
        result = ask(opened, "MATCH (a:Person) RETURN a.name AS x")
        assert sorted(result.value()) == ["Ann", "Bo"]
        assert "SystemV" in result.summary.reason
        assert ask(opened, "MATCH (a:Person) RETURN a.age", "gpu").value() == [30, 40]
    assert opened.server.calls.count(("properties", ("name",), True)) == before + 1
    opened.server.during_properties = None
    opened.server.commit(nodes={3: (("Person",), {"name": "Anna", "age": 31})})
    assert "Anna" in ask(opened, "MATCH (a:Person) RETURN a.name", "gpu").value()


def test_manual_freshness_does_not_read_properties_of_another_state(open_answers):
    opened = open_answers(freshness="manual")
    ask(opened, "MATCH (a:Person) RETURN a.age", "gpu")
    opened.server.commit(nodes={3: (("Person",), {"name": "Anna", "age": 31})})
    rows = ask(opened, "MATCH (a:Person) RETURN a.age AS x ORDER BY x", "gpu").value()
    assert rows == [30, 40]  # as of the last refresh
    with pytest.raises(StaleSnapshotError, match=r"refresh\(\)"):
        ask(opened, "MATCH (a:Person) RETURN a.name", "gpu")
    assert ask(opened, "MATCH (a:Person) RETURN a.name").summary.engine == "native"


def test_a_lost_server_is_an_error_for_the_device_too(open_answers):
    opened = open_answers()

    def lost(timeout=None):
        raise SourceError("bolt://fake cannot be reached")

    opened.server.probe = lost
    with pytest.raises(SourceError, match="cannot be reached"):
        ask(opened, KNOWS, "gpu")


# ------------------------------------------------------------------ parts of a graph
def test_a_restricted_snapshot_answers_queries_within_its_part(open_answers):
    part = Projection(labels=("Person",), types=("KNOWS",))
    server = FakeServer(
        {3: NODES[3], 8: NODES[8]}, {21: RELATIONSHIPS[21], 22: RELATIONSHIPS[22]}, projection=part
    )
    opened = open_answers(server)
    within = "MATCH (a:Person)-[:KNOWS]->(b:Person) RETURN count(*)"
    assert ask(opened, within).summary.engine == "gpu"
    for outside in (
        "MATCH (a:Person)-[:KNOWS]->(b) RETURN count(*)",
        "MATCH (a:Person)-->(b:Person) RETURN count(*)",
        "MATCH (a:Person)-[:KNOWS|LIVES_IN]->(b:Person) RETURN count(*)",
        "MATCH (a:Person|City) RETURN count(*)",
        "MATCH (a:!Person) RETURN count(*)",
    ):
        assert ask(opened, outside).summary.engine == "native", outside
        with pytest.raises(UnsupportedQueryError, match="restricted"):
            ask(opened, outside, "gpu")
    assert ask(opened, "MATCH (a:Person&City) RETURN count(*)").summary.engine == "gpu"


# ------------------------------------------------------------------ for other drivers
def test_try_device_sends_no_query(open_answers):
    opened = open_answers()
    request = Request(KNOWS, {}, DEFAULT_STRATEGY)
    assert opened.answers.try_device(request).values() == [["Ann", 1999], ["Ann", 2001]]
    found = opened.answers.try_device(Request("CREATE (n)", {}, DEFAULT_STRATEGY))
    assert isinstance(found, Declined)
    assert not found.can_run
    assert opened.server.count("native") == 0


def test_a_complete_graph_has_all_properties(open_answers):
    opened = open_answers()
    graph = opened.answers.complete().graph
    assert graph.node_properties.complete
    assert sorted(graph.node_properties) == ["age", "name"]
    assert sorted(graph.relationship_properties) == ["since"]


@pytest.mark.parametrize(("engine", "seconds"), [("gpu", 0.001), ("native", 10.0)])
def test_the_estimated_time_is_that_of_the_chosen_engine(open_answers, engine, seconds):
    opened = open_answers(router=FakeRouter(engine))
    request = Request(KNOWS, {}, DEFAULT_STRATEGY)
    explained = opened.answers.explain(request)
    assert (explained.engine, explained.estimate.seconds) == (engine, seconds)
    assert "a part is sent at a time" in str(explained)


@pytest.mark.parametrize(
    ("text", "rows", "why"),
    [
        ("UNWIND [1, 2] AS x MERGE (n:New {x: x}) RETURN n", 12.5, "not answered by the device"),
        ("PROFILE MATCH (n) RETURN n", 30000.0, "PROFILE shows Neo4j's own plan"),
        ("CREATE (n)", None, "not answered by the device"),
    ],
)
def test_explain_names_the_engine_of_unsupported_queries(open_answers, text, rows, why):
    opened = open_answers()
    asked = []

    def plan(text, parameters, *, timeout=None, read_only=False, progress=None):
        asked.append(text)
        args = {"EstimatedRows": rows, "Details": "n"} if rows else {}
        leaf = {"operatorType": "AllNodesScan@neo4j", "args": {}, "children": []}
        top = {"operatorType": "ProduceResults@neo4j", "args": args, "children": [leaf]}
        return NativeAnswer((), [], SimpleNamespace(plan=top), None)

    opened.server.run_native = plan
    explained = opened.answers.explain(Request(text, {}, DEFAULT_STRATEGY))
    assert explained.engine == "native"
    assert why in explained.reason
    assert asked == [f"EXPLAIN {text.removeprefix('PROFILE')}"]
    if rows:
        assert explained.estimate.rows == rows
        shown = {12.5: "12.5", 30000.0: "30,000"}[rows]
        assert f"expected by the database: {shown} rows" in str(explained)
    else:
        assert math.isnan(explained.estimate.rows)
    assert "    AllNodesScan" in str(explained)


def test_explain_works_without_a_snapshot(open_answers):
    opened = open_answers(load=False)
    opened.server.during_read = opened.server.commit
    opened.server.run_native = lambda *_, **__: NativeAnswer((), [], None, None)
    explained = opened.answers.explain(Request(KNOWS, {}, DEFAULT_STRATEGY))
    assert explained.engine == "native"
    assert "there is no snapshot: The database changed" in explained.reason


# ------------------------------------------------------------------ before the probe's answer
COUNT = "MATCH (a:Person)-[:KNOWS]->(b) RETURN count(*)"


@pytest.fixture
def ready(open_answers, monkeypatch):
    """An opened device; ``ready.probed`` records, per probe, if the device had run by then."""
    opened = open_answers()
    ask(opened, COUNT, "gpu")
    ran, real_probe, real_run = threading.Event(), opened.server.probe, on_snapshot.answer_on_device
    opened.probed, opened.wait_seconds = [], 30.0  # seconds, for a busy machine

    def run(*given):
        try:
            return real_run(*given)
        finally:
            ran.set()

    def probe(timeout=None):
        opened.probed.append(ran.wait(opened.wait_seconds))
        return real_probe()

    opened.server.probe = probe
    opened.ran = ran
    monkeypatch.setattr(on_snapshot, "answer_on_device", run)
    return opened


@pytest.mark.parametrize("engine", ["auto", "gpu"])
def test_a_short_query_runs_during_the_probe(ready, engine):
    assert ask(ready, COUNT, engine).values() == [[2]]
    assert ready.probed == [True]


@pytest.mark.parametrize("engine", ["auto", "gpu"])
def test_a_long_query_waits_for_the_probe(ready, engine):
    router = ready.answers._router
    router.verdict, ready.wait_seconds = replace(router.verdict, device_seconds=0.1), 0.3
    assert ask(ready, COUNT, engine).values() == [[2]]
    assert ready.probed == [False]


@pytest.mark.parametrize("engine", ["auto", "gpu"])
def test_an_answer_from_a_stale_state_is_discarded(ready, engine):
    ready.server.commit(without=[22])
    result = ask(ready, COUNT, engine)
    assert ready.probed[0]
    assert result.values() == [[1]]
    assert "read anew" in result.summary.freshness


def test_an_error_on_a_stale_state_is_discarded(ready, monkeypatch):
    ran_ahead = on_snapshot.answer_on_device
    old = ready.keeper.loaded

    def fail_on_the_old(request, loaded, *rest):
        found = ran_ahead(request, loaded, *rest)
        if loaded is old:
            raise DeviceError("of the old state")
        return found

    monkeypatch.setattr(on_snapshot, "answer_on_device", fail_on_the_old)
    with pytest.raises(DeviceError, match="old state"):
        ask(ready, COUNT, "gpu")
    ready.server.commit(without=[22])
    assert ask(ready, COUNT, "gpu").values() == [[1]]


def test_a_query_waits_for_missing_properties(ready):
    ready.wait_seconds = 0.3
    assert ask(ready, KNOWS, "gpu").values() == [["Ann", 1999], ["Ann", 2001]]
    assert ready.probed[0] is False


def test_no_query_runs_on_a_known_stale_state(ready):
    ready.wait_seconds = 0.3
    ready.server.commit(without=[22])
    assert not ready.keeper.confirm(ready.keeper.loaded)
    router = ready.answers._router
    router.verdict = replace(router.verdict, native_seconds=0.0)  # so nothing is reloaded for it
    ready.ran.clear()
    assert ask(ready, COUNT).values() == [[1]]
    assert not ready.ran.is_set()
    assert ready.keeper.wait(30)


def test_a_silent_server_stops_the_query_run_during_the_probe(ready):
    def lost(timeout=None):
        raise SourceError("bolt://fake cannot be reached")

    ready.server.probe = lost
    with pytest.raises(SourceError, match="cannot be reached"):
        ask(ready, COUNT, "gpu")


# ------------------------------------------------------------------ for callers with bookmarks
def test_a_snapshot_older_than_the_bookmarks_is_refreshed(open_answers):
    opened = open_answers(freshness="max_age=1h")
    assert opened.answers.covers(["bookmark 9", "bookmark 10"])
    assert opened.server.count("read") == 1
    opened.server.commit(without=[22])
    assert not opened.answers.covers(["bookmark 10", "bookmark 11"])
    assert opened.keeper.wait(30)
    assert opened.answers.covers(["bookmark 10", "bookmark 11"])
    assert ask(opened, COUNT, "gpu").values() == [[1]]


def test_an_unknown_kind_of_bookmark_causes_no_export(open_answers):
    opened = open_answers(freshness="max_age=1h")
    assert not opened.answers.covers(["bookmark 10", "of another server"])
    assert opened.keeper.wait(30)
    assert opened.server.count("read") == 1


def test_manual_freshness_causes_no_export_for_a_bookmark(open_answers):
    opened = open_answers(freshness="manual")
    opened.server.commit(without=[22])
    assert not opened.answers.covers(["bookmark 11"])
    assert opened.keeper.wait(30)
    assert opened.server.count("read") == 1


def test_a_timeout_of_the_database_is_recorded_as_its_time(open_answers):
    def too_long():
        raise QueryTimeoutError("2 s")

    router = FakeRouter(measure="native")
    opened = open_answers(router=router)
    opened.server.during_native = too_long
    assert ask(opened, COUNT).summary.engine == "gpu"
    assert opened.keeper.wait(30)
    assert opened.server.count("native") == 1
    assert router.recorded[1:] == [("native given up", 2.0)]
    assert opened.keeper.last_error is None


def test_queries_that_a_strategy_refuses_go_to_the_database(open_answers, monkeypatch):
    class Picky(ExtendStrategy):
        name = "picky"

        @classmethod
        def can_match(cls, pattern, need):
            return "it never is in the mood"

    monkeypatch.setitem(registry.STRATEGIES, "picky", Picky)
    opened = open_answers()
    why = "strategy picky cannot answer this: it never is in the mood"
    explained = opened.answers.explain(Request(KNOWS, {}, "picky"))
    assert (explained.engine, explained.reason) == ("native", why)
    answered = opened.answers.run(Request(KNOWS, {}, "picky"), "auto")
    assert (answered.summary.engine, answered.summary.reason) == ("native", why)
    with pytest.raises(UnsupportedQueryError, match=why):
        opened.answers.run(Request(KNOWS, {}, "picky"), "gpu")
