"""A Neo4j driver and an accelerator that only record their calls."""

from __future__ import annotations

import neo4j
from neo4j.exceptions import ResultFailedError, SessionError, TransactionError

from gpugda.answer.declined import Declined
from gpugda.result.result import Result
from gpugda.result.summary import Summary

READ = "MATCH (n) RETURN count(*) AS n"
WRITE = "CREATE (n)"
_default = object()


class FakeDevice:
    """Answers ``READ`` unless configured otherwise."""

    def __init__(self):
        self.calls = []
        self.declines = None
        self.error = None
        self.covered = ()
        self.native = []
        self.closed = False

    def try_device(self, query, parameters, *, timeout=None):
        self.calls.append((query, dict(parameters or {}), timeout))
        if self.error is not None:
            raise self.error
        if self.declines or query != READ:
            return Declined(self.declines or "not answered by the device: CREATE writes")
        return Result.from_rows(["n"], [[1], [2]], None, Summary("gpu", rows=2))

    def covers(self, bookmarks):
        return set(bookmarks) <= set(self.covered)

    def observe_native(self, text, seconds=None):
        self.native.append((text, seconds))

    def status(self):
        return {"nodes": 1}

    def close(self):
        self.closed = True


class FakeResult:
    """Rows of the server; the stream stays open until all rows are read."""

    def __init__(self, rows, on_end=None):
        self.rows = list(rows)
        self.is_closed = False
        self.failed = None
        self._on_end = on_end

    def __iter__(self):
        while self.rows:
            yield self.rows.pop(0)
        self._end()

    def peek(self):
        if self.failed is not None:
            raise ResultFailedError(self, "failed") from self.failed
        if not self.rows:
            self._end()
            return None
        return self.rows[0]

    def consume(self):
        self.rows, self.is_closed = [], True
        self._end()
        return Summary("native")

    def closed(self):
        return self.is_closed

    def _end(self):
        if self._on_end is not None:
            self._on_end()
            self._on_end = None


class FakeTransaction:
    def __init__(self, driver, session):
        self.driver, self.session = driver, session
        self.is_closed = False

    def run(self, query, parameters=None, **more):
        if self.is_closed:
            raise TransactionError(self, "Transaction closed")
        self.driver.calls.append(("tx.run", query, dict(parameters or {}, **more)))
        return FakeResult([{"n": "server"}])

    def commit(self):
        self.driver.calls.append(("commit",))
        self.is_closed = True
        self.session.advance()

    def rollback(self):
        self.driver.calls.append(("rollback",))
        self.is_closed = True

    def close(self):
        if not self.is_closed:
            self.rollback()

    def closed(self):
        return self.is_closed

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if not self.is_closed:
            self.rollback() if kind else self.commit()


class FakeSession:
    def __init__(self, driver, config):
        self.driver, self.config = driver, config
        self.is_closed = False
        self.transaction = None
        given = config.get("bookmarks")
        self.bookmarks = given or neo4j.Bookmarks()

    def advance(self):
        self.driver.transactions += 1
        self.bookmarks = neo4j.Bookmarks.from_raw_values([f"b{self.driver.transactions}"])

    def run(self, query, parameters=None, **more):
        if self.is_closed:
            raise SessionError(self, "Session closed")
        if self.transaction is not None and not self.transaction.closed():
            raise TransactionError(self.transaction, "Explicit transaction already open")
        self.driver.calls.append(("run", query, dict(parameters or {}, **more)))
        rows = [] if query == WRITE else [{"n": "server"}]
        return FakeResult(rows, self.advance)

    def begin_transaction(self, metadata=None, timeout=None):
        self.driver.calls.append(("begin", metadata, timeout))
        self.transaction = FakeTransaction(self.driver, self)
        return self.transaction

    def execute_read(self, work, *args, **kwargs):
        return self._managed("execute_read", work, args, kwargs)

    def execute_write(self, work, *args, **kwargs):
        return self._managed("execute_write", work, args, kwargs)

    def _managed(self, name, work, args, kwargs):
        if self.is_closed:
            raise SessionError(self, "Session closed")
        if not callable(work):
            raise TypeError("Unit of work is not callable")
        timeout = getattr(work, "timeout", None)
        self.driver.calls.append((name, getattr(work, "metadata", None), timeout))
        with FakeTransaction(self.driver, self) as transaction:
            return work(transaction, *args, **kwargs)

    def last_bookmarks(self):
        return self.bookmarks

    def close(self):
        self.is_closed = True

    def closed(self):
        return self.is_closed

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class FakeManager:
    """A bookmark manager."""

    def __init__(self, bookmarks=()):
        self.bookmarks = list(bookmarks)

    def get_bookmarks(self):
        return self.bookmarks


class FakeDriver:
    encrypted = False

    def __init__(self):
        self.calls = []
        self.transactions = 0
        self.is_closed = False
        self.execute_query_bookmark_manager = FakeManager()
        self.after_execute = None

    def execute_query(
        self,
        query_,
        parameters_=None,
        routing_=neo4j.RoutingControl.WRITE,
        database_=None,
        impersonated_user_=None,
        bookmark_manager_=_default,
        auth_=None,
        result_transformer_=neo4j.Result.to_eager_result,
        **kwargs,
    ):
        if self.is_closed:
            raise neo4j.exceptions.DriverError("Driver closed")
        self.calls.append(("execute_query", query_, dict(parameters_ or {}, **kwargs)))
        if self.after_execute is not None:
            self.after_execute()
        return "server"

    def session(self, **config):
        return FakeSession(self, config)

    def verify_connectivity(self):
        return "connected"

    def close(self):
        self.is_closed = True

    def __enter__(self):
        return self
