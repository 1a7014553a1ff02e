import threading
from time import monotonic, sleep

from gpugda_adapters import bolt_watch
from gpugda_adapters.bolt_watch import Watch, abandon


class Connection:
    def __init__(self):
        self.kills = 0
        self.killed = threading.Event()
        self._closing = False

    def kill(self):
        self.kills += 1
        self.killed.set()


class Session:
    def __init__(self, connection=None):
        self._connection = connection


def watchers():
    return [thread for thread in threading.enumerate() if thread.name == "gpugda-bolt-watch"]


def wait_until_no_watchers(seconds=30):
    deadline = monotonic() + seconds
    while watchers() and monotonic() < deadline:
        sleep(0.01)
    return not watchers()


def test_the_connection_is_cut_after_the_time_limit():
    watch, connection = Watch(), Connection()
    with watch.over(Session(connection), 0.05) as guard:
        assert connection.killed.wait(30)
        assert guard.fired
        assert not connection._closing, "the driver gives up all connections to this server"
    watch.close()
    assert not watchers()


def test_the_connection_stays_if_work_ends_in_time(monkeypatch):
    now = monotonic()
    monkeypatch.setattr(bolt_watch, "monotonic", lambda: now)
    watch, connection = Watch(), Connection()
    with watch.over(Session(connection), 0.02) as guard:
        pass  # takes no time: the clock stands still
    now += 1
    assert wait_until_no_watchers()
    assert not guard.fired
    assert connection.kills == 0
    watch.close()


def test_without_a_limit_no_thread_is_started():
    watch = Watch()
    with watch.over(Session(), None) as guard:
        assert not watchers()
    assert not guard.fired
    watch.close()


def test_a_connection_made_after_the_time_limit_is_cut():
    watch, connection = Watch(), Connection()
    session = Session()
    with watch.over(session, 0.01):
        sleep(0.05)
        session._connection = connection
        assert connection.killed.wait(30)
    watch.close()


def test_a_shorter_limit_wakes_the_thread():
    watch, connection = Watch(), Connection()
    with watch.over(Session(Connection()), 3600), watch.over(Session(connection), 0.05):
        assert connection.killed.wait(30)
    watch.close()
    assert not watchers()


def test_the_thread_ends_when_idle_and_starts_again():
    watch = Watch()
    for _ in range(2):
        with watch.over(Session(), 0.01):
            assert len(watchers()) == 1
        assert wait_until_no_watchers()
    watch.close()


def test_many_connections_are_watched_at_once():
    watch = Watch()
    connections = [Connection() for _ in range(20)]

    def wait(connection):
        with watch.over(Session(connection), 0.05):
            connection.killed.wait(30)

    threads = [threading.Thread(target=wait, args=(each,)) for each in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(connection.kills for connection in connections)
    watch.close()


def test_abandon_uses_the_method_that_the_driver_has():
    connection = Connection()
    abandon(Session(connection))
    assert connection.kills == 1

    class Newer(Session):
        cancelled = False

        def _handle_cancellation(self):
            self.cancelled = True

    session = Newer(Connection())
    abandon(session)
    assert session.cancelled
    abandon(Session())


def test_a_connection_is_cut_at_once_if_asked_for():
    watch, connection = Watch(), Connection()
    for seconds in (None, 3600):
        connection.killed.clear()
        with watch.over(Session(connection), seconds) as guard:
            assert not guard.fired
            guard.fire_soon()
            assert connection.killed.wait(30)
            assert guard.fired
        assert connection._closing, "the driver would log an error"
    kills = connection.kills
    assert wait_until_no_watchers()
    assert connection.kills == kills, "nobody watches it after the block"
    watch.close()
