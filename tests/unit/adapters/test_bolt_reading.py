import threading
import time
from itertools import islice

import pytest
from fake_bolt import FakeBolt, out_of_memory
from gpugda_adapters import bolt_reading
from gpugda_adapters.bolt_pages import IdRange, Pace, ranges
from gpugda_adapters.bolt_reading import PageReader, Question
from neo4j.exceptions import ClientError, Neo4jError, ServiceUnavailable, SessionExpired

from gpugda.errors import SourceError, StaleSnapshotError

PAGES = Question("(x)", "x", "RETURN labels(x), x", lambda page, records: page)


def reader_of(bolt, sessions=2):
    return PageReader(bolt, None, "reading nodes", sessions)


def test_answers_are_in_the_order_of_the_pages():
    def slow_first(text, parameters, session):
        time.sleep(0.03 if parameters["first"] % 20 == 0 else 0)

    bolt = FakeBolt(before=slow_first)
    found = list(reader_of(bolt, 3).answers(PAGES, ranges(0, 100, 10)))
    assert found == list(ranges(0, 100, 10))


def test_few_pages_are_requested_in_advance():
    bolt = FakeBolt()
    answers = reader_of(bolt, 2).answers(PAGES, ranges(0, 10_000, 10))
    list(islice(answers, 5))
    answers.close()
    assert len(bolt.asked) <= 5 + 2 + 2


def test_a_page_beyond_the_servers_memory_is_split_and_later_pages_are_smaller():
    def at_most_300(text, parameters, session):
        if parameters["last"] - parameters["first"] >= 300:
            raise out_of_memory()

    bolt = FakeBolt(before=at_most_300)
    found = list(reader_of(bolt, 1).answers(PAGES, ranges(0, 4000, 1000)))
    covered = [each for page in found for each in range(page.first, page.last + 1)]
    assert covered == list(range(4000))
    refused = [each for each in bolt.asked if each[1]["last"] - each[1]["first"] >= 300]
    assert len(refused) <= 4


def test_too_little_server_memory_for_a_single_id_is_an_error():
    def never(text, parameters, session):
        raise out_of_memory()

    with pytest.raises(SourceError, match="reading nodes"):
        list(reader_of(FakeBolt(before=never)).answers(PAGES, [IdRange(0, 9)]))


@pytest.mark.parametrize("error", [ServiceUnavailable("gone"), SessionExpired("gone")])
def test_a_broken_connection_is_replaced_once(error):
    left = [error]

    def first_fails(text, parameters, session):
        if left:
            raise left.pop()

    found = list(reader_of(FakeBolt(before=first_fails), 1).answers(PAGES, [IdRange(0, 9)]))
    assert found == [IdRange(0, 9)]


def test_a_lost_server_is_an_error_and_ends_all_readers():
    def gone_later(text, parameters, session):
        if parameters["first"] >= 50:
            raise ServiceUnavailable("gone")

    bolt = FakeBolt(before=gone_later)
    found = []
    with pytest.raises(SourceError, match="gone"):
        found.extend(reader_of(bolt).answers(PAGES, ranges(0, 1000, 10)))
    assert found == list(ranges(0, 50, 10))
    assert_nothing_runs(bolt)


def test_other_errors_of_the_server_become_source_errors():
    def refused(text, parameters, session):
        raise Neo4jError._hydrate_neo4j(code="Neo.ClientError.Security.Forbidden", message="no")

    with pytest.raises(SourceError, match="no"):
        list(reader_of(FakeBolt(before=refused)).answers(PAGES, [IdRange(0, 9)]))


def test_an_overflow_in_packed_numbers_makes_the_export_stale():
    def overflows(text, parameters, session):
        code = "Neo.ClientError.Statement.ArithmeticError"
        raise ClientError._hydrate_neo4j(code=code, message="long overflow")

    with pytest.raises(StaleSnapshotError):
        list(reader_of(FakeBolt(before=overflows)).answers(PAGES, [IdRange(0, 9)]))


def test_closing_cuts_hanging_sessions():
    reached = threading.Event()

    def hangs(text, parameters, session):
        if parameters["first"] > 0:
            reached.set()
            assert session.cut.wait(10), "never cut"
            raise ServiceUnavailable("cut")

    bolt = FakeBolt(before=hangs)
    answers = reader_of(bolt).answers(PAGES, ranges(0, 1000, 10))
    assert next(answers) == IdRange(0, 9)
    assert reached.wait(10)
    answers.close()
    assert_nothing_runs(bolt)


def test_an_error_in_one_page_cuts_the_other_sessions():
    both = threading.Barrier(2)

    def one_fails(text, parameters, session):
        both.wait(10)
        if parameters["first"] == 0:
            raise Neo4jError._hydrate_neo4j(code="Neo.ClientError.General.Unknown", message="no")
        assert session.cut.wait(10), "never cut"
        raise ServiceUnavailable("cut")

    bolt = FakeBolt(before=one_fails)
    with pytest.raises(SourceError, match="no"):
        list(reader_of(bolt).answers(PAGES, ranges(0, 20, 10)))
    assert_nothing_runs(bolt)


def test_an_error_of_the_decoder_is_raised_unchanged():
    def fails(page, records):
        raise StaleSnapshotError("changed")

    with pytest.raises(StaleSnapshotError, match="changed"):
        list(
            reader_of(FakeBolt()).answers(Question("(x)", "x", PAGES.rest, fails), [IdRange(0, 9)])
        )


def test_the_reader_adapts_the_page_size(monkeypatch):
    monkeypatch.setattr(bolt_reading, "monotonic", lambda: 0.0)  # each page is quick
    pace = Pace(10, largest=20)
    list(reader_of(FakeBolt(), 1).answers(PAGES, [IdRange(0, 9)], pace))
    assert pace.width == 20


def assert_nothing_runs(bolt):
    assert bolt.open_sessions == 0
    assert not [each for each in threading.enumerate() if each.name.startswith("gpugda-bolt")]
