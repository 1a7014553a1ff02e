"""Random writers beside readers and watches: at rest every answer equals Neo4j's own."""

import random
import threading
import time
from collections import Counter
from contextlib import closing

import live_statements
import neo4j
import neo4j_servers
import pytest

import gpugda
from gpugda.answer.watching import row_identity
from gpugda.errors import StaleSnapshotError

pytestmark = pytest.mark.slow
ROUNDS, SECONDS = 8, 0.5
SETUP = "UNWIND range(1, 60) AS i CREATE (:A {k: i})-[:R {x: i}]->(:B {x: 't' + i})"
EXPECTED_ERRORS = (neo4j.exceptions.Neo4jError,)
"""Writers may fail: deadlocks, constraints, and statements that always do."""


@pytest.fixture(scope="module", params=["5.26", "2026"])
def plugged(request, new_server, plugin_jar):
    image = neo4j_servers.IMAGE if request.param == "5.26" else neo4j_servers.IMAGE_2026
    settings = {"server.gpugda.changes.max_size": "1m"}
    return new_server(f"random-{request.param}", image, settings=settings, plugins=[plugin_jar])


@pytest.fixture(params=[1, 2])
def seed(request):
    return request.param


def rows_of(result):
    return Counter(row_identity(list(row)) for row in result.values())


def write(server, draw, until):
    """Commits, rolls back and fails."""
    while time.monotonic() < until:
        try:
            with server.driver.session() as session:
                if draw.random() < 0.1:
                    text = live_statements.with_names(draw.choice(live_statements.ALONE), draw)
                    session.run(text).consume()
                else:
                    transact(session, draw)
        except EXPECTED_ERRORS:
            pass
        time.sleep(0.01)


def transact(session, draw):
    with session.begin_transaction() as transaction:
        for _ in range(draw.choice((1, 1, 2, 5))):
            text = live_statements.with_names(draw.choice(live_statements.STATEMENTS), draw)
            transaction.run(text, live_statements.values(draw)).consume()
        how = draw.random()
        if how < 0.1:
            transaction.run(draw.choice(live_statements.FAILING)).consume()
        if how < 0.2:
            transaction.rollback()
        else:
            transaction.commit()


def read(accelerator, queries, draw, until, failed):
    """Reads beside the writers: nothing can be compared, but nothing may fail."""
    while time.monotonic() < until:
        text, parameters = draw.choice(queries)
        try:
            accelerator.run(text, parameters, engine=draw.choice(("gpu", "auto"))).values()
        except StaleSnapshotError:  # writes may come faster than a state can be read
            continue
        except Exception as error:
            failed.append((text, repr(error)))
            return


class Watched:
    """The rows of a query, as a watch tells them."""

    def __init__(self, accelerator, text, parameters):
        self.text, self.parameters = text, parameters
        self.rows, self.wrong = Counter(), []
        self.watch = accelerator.watch(text, self.told, parameters, every=0.05, engine="gpu")

    def told(self, changes):
        added, removed = (
            Counter(map(row_identity, rows)) for rows in (changes.added, changes.removed)
        )
        if added & removed or removed - self.rows:
            self.wrong.append(changes)
        self.rows = self.rows - removed + added

    def reaches(self, rows, seconds=60.0):
        until = time.monotonic() + seconds
        while self.rows != rows and time.monotonic() < until:
            time.sleep(0.02)
        return self.rows == rows and not self.wrong


def disturb(server, accelerators, queries, draw):
    """Writers and readers for a while."""
    until, failed = time.monotonic() + SECONDS, []
    threads = [
        threading.Thread(target=write, args=(server, random.Random(draw.random()), until))
        for _ in range(2)
    ]
    threads += [
        threading.Thread(
            target=read, args=(each, queries, random.Random(draw.random()), until, failed)
        )
        for each in accelerators
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
        assert not each.is_alive()
    assert not failed, failed


def test_every_answer_at_rest_equals_neo4js(plugged, seed):
    plugged.load(SETUP)
    draw = random.Random(seed)
    queries = [
        (live_statements.with_names(text, draw), live_statements.values(draw))
        for text in live_statements.QUERIES
    ]
    first = gpugda.connect(plugged.uri, auth=plugged.auth, cache=False)
    second = gpugda.connect(plugged.uri, auth=plugged.auth, cache=False)
    with closing(first), closing(second):
        first.warm()
        watches = [Watched(first, *each) for each in draw.sample(queries, 3)]
        for _ in range(ROUNDS):
            disturb(plugged, (first, second), queries, draw)
            for text, parameters in draw.sample(queries, 8):
                native = rows_of(first.run(text, parameters, engine="native"))
                for accelerator in (first, second):
                    found = accelerator.run(text, parameters, engine="gpu")
                    assert rows_of(found) == native, (text, parameters)
        assert first.status()["following"].startswith("gpugda's plugin")
        for each in watches:
            native = rows_of(first.run(each.text, each.parameters, engine="native"))
            assert each.reaches(native), (each.text, each.parameters)
            each.watch.close()
