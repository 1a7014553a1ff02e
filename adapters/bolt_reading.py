"""Reads many pages from a server: over several sessions, answers in order, with time limits."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from neo4j.exceptions import BrokenRecordError, DriverError, Neo4jError

from gpugda.errors import SourceError, StaleSnapshotError

from .bolt_errors import is_broken_connection
from .bolt_watch import Guard, cut_connection

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    import neo4j
    from numpy.typing import NDArray

    from gpugda.ports import DatabaseVersion

    from .bolt_connection import BoltConnection
    from .bolt_pages import Pace, Page

__all__ = ["Call", "PageReader", "Question", "is_out_of_memory"]

_Answer = TypeVar("_Answer")

_ANSWER_SECONDS = 600.0
# A page may become smaller than this for lack of memory, but later pages do not.
_SMALLEST_PAGE = 256
_AHEAD = 1
_ROWS = 10_000
_CUT_AGAIN_SECONDS = 0.1
_OUT_OF_MEMORY = ("MemoryPoolOutOfMemoryError", "OutOfMemoryError", "TransactionMemoryLimit")
_ARITHMETIC = "Neo.ClientError.Statement.ArithmeticError"


class _Asked(Protocol[_Answer]):
    """The request for a page."""

    def asked(self, page: Page) -> tuple[str, Mapping[str, Any]]:
        """Cypher text and parameters for a page."""

    def decoded(self, page: Page, records: Iterable[neo4j.Record]) -> list[_Answer]:
        """Decodes the records as they arrive, in the thread that sent the request."""


@dataclass(frozen=True, slots=True)
class Question(Generic[_Answer]):
    """A query over the ids of a page.

    Args:
        pattern: Cypher pattern of nodes or relationships.
        variable: Variable of the pattern that has the ids.
        rest: Following Cypher: further conditions, and RETURN.
        decode: Decodes the answer, in the thread that sent the request.
        parameters: Further parameters of the Cypher text.
    """

    pattern: str
    variable: str
    rest: str
    decode: Callable[[Page, list[neo4j.Record]], _Answer]
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def asked(self, page: Page) -> tuple[str, Mapping[str, Any]]:
        """Cypher text and parameters for a page."""
        text = f"{page.match(self.pattern, self.variable)} {self.rest}"
        return text, {**self.parameters, **page.parameters}

    def decoded(self, page: Page, records: Iterable[neo4j.Record]) -> list[_Answer]:
        """One answer."""
        return [self.decode(page, list(records))]


@dataclass(frozen=True, slots=True)
class Call(Generic[_Answer]):
    """A procedure that is called for each page.

    Args:
        text: Cypher text of the call.
        arguments: Parameters of the text for a page.
        decode: As in `Question`, or for each record.
        each: True if each record is decoded by itself, while the next ones are on their way.
    """

    text: str
    arguments: Callable[[Page], Mapping[str, Any]]
    decode: Callable[[Page, list[neo4j.Record]], _Answer]
    each: bool = False

    def asked(self, page: Page) -> tuple[str, Mapping[str, Any]]:
        """Cypher text and parameters for a page."""
        return self.text, self.arguments(page)

    def decoded(self, page: Page, records: Iterable[neo4j.Record]) -> list[_Answer]:
        """One answer, or one for each record."""
        if not self.each:
            return [self.decode(page, list(records))]
        return [self.decode(page, [record]) for record in records]


def is_out_of_memory(error: Neo4jError) -> bool:
    """True if a smaller request may succeed."""
    return (error.code or "").rpartition(".")[2] in _OUT_OF_MEMORY


class PageReader:
    """Reads at one state of the database, or at a later one.

    Args:
        connection: The connection.
        version: The state, None for any state.
        doing: The activity for error messages, such as ``reading nodes``.
        sessions: Number of pages requested concurrently.

    Use one of its generators at a time: closing one cancels all of the reader's requests.
    """

    def __init__(
        self,
        connection: BoltConnection,
        version: DatabaseVersion | None,
        doing: str,
        sessions: int,
    ) -> None:
        self._connection = connection
        self._version = version
        self._doing = doing
        self.sessions = sessions
        self._widest: float = float("inf")
        self._lock = threading.Lock()
        self._running: set[neo4j.Session] = set()
        self._cancelled = False
        self._versions: list[DatabaseVersion | None] = []

    @property
    def newest(self) -> DatabaseVersion | None:
        """The newest state in which an answer ended; None if any answer did not report it."""
        with self._lock:
            known = [version for version in self._versions if version is not None]
            databases = {version.database_id for version in known}
            if len(known) < len(self._versions) or len(databases) != 1:
                return None
            return max(known, key=lambda version: version.transaction)

    def rows(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        """The rows of a single query.

        Raises:
            SourceError: The server cannot be reached, refuses, or does not answer.
        """
        with self._connection.check(self._doing):
            return [record.data() for record in self._ask(text, parameters, list)]

    def numbers(self, text: str, **parameters: Any) -> NDArray[np.int64]:
        """The numbers of a one-column query, row by row: slow, but needs no memory on the server.

        Raises:
            SourceError: The server cannot be reached, refuses, or does not answer.
        """
        query: Any = self._connection.prefix(text)
        with (
            self._connection.check(self._doing),
            self._connection.session(bookmarks=self._version) as session,
            self._watched(session) as guard,
        ):
            result = session.run(query, parameters)
            pieces = [np.empty(0, dtype=np.int64)]
            while rows := result.fetch(_ROWS):
                guard.deadline = monotonic() + _ANSWER_SECONDS
                pieces.append(np.fromiter((row[0] for row in rows), np.int64, len(rows)))
        return np.concatenate(pieces)

    def answer(self, question: _Asked[_Answer], page: Page) -> list[_Answer]:
        """The answer for one page, or for its parts, without another thread.

        Raises:
            SourceError: The server cannot be reached, refuses, or does not answer.
        """
        return self._read(question, page, None)

    def answers(
        self, question: _Asked[_Answer], pages: Iterable[Page], pace: Pace | None = None
    ) -> Generator[_Answer, None, None]:
        """The answers for all pages, in order; a few pages are requested ahead.

        A page that exceeds a transaction's memory gives an answer per part. Close the generator to
        end early: that cancels running requests.

        Raises:
            SourceError: The server cannot be reached, refuses, or does not answer.
        """
        waiting: deque[Future[list[_Answer]]] = deque()
        todo = iter(pages)
        pool = ThreadPoolExecutor(self.sessions, thread_name_prefix="gpugda-bolt")
        try:
            for page in islice(todo, self.sessions + _AHEAD):
                waiting.append(pool.submit(self._read, question, page, pace))
            while waiting:
                found = waiting.popleft().result()
                for page in islice(todo, 1):
                    waiting.append(pool.submit(self._read, question, page, pace))
                yield from found
        finally:
            self._end(pool, waiting)

    def _end(self, pool: ThreadPoolExecutor, waiting: Iterable[Future[Any]]) -> None:
        running = [each for each in waiting if not each.cancel()]
        if running:
            self._cancelled = True
        # Repeatedly, as a thread may be between two connections.
        while wait(running, timeout=0).not_done:
            with self._lock:
                for session in self._running:
                    cut_connection(session)
            wait(running, timeout=_CUT_AGAIN_SECONDS)
        pool.shutdown(wait=True)
        self._cancelled = False

    def _read(self, question: _Asked[_Answer], page: Page, pace: Pace | None) -> list[_Answer]:
        with self._connection.check(self._doing):
            return list(self._pieces(question, page, pace))

    def _pieces(
        self, question: _Asked[_Answer], page: Page, pace: Pace | None
    ) -> Iterator[_Answer]:
        pieces: tuple[Page, ...] = ()
        if len(page) > self._widest:
            pieces = page.pieces()
        if not pieces:
            started = monotonic()
            try:
                answers = self._answers(question, page)
            except Neo4jError as error:
                pieces = page.pieces() if is_out_of_memory(error) else ()
                if not pieces:
                    raise
                self._widest = max(_SMALLEST_PAGE, min(self._widest, len(pieces[0])))
            else:
                if pace is not None:
                    pace.took(len(page), monotonic() - started)
                yield from answers
        for piece in pieces:
            yield from self._pieces(question, piece, pace)

    def _answers(self, question: _Asked[_Answer], page: Page) -> list[_Answer]:
        text, parameters = question.asked(page)

        def decode(records: Iterable[neo4j.Record]) -> list[_Answer]:
            try:
                return question.decoded(page, records)
            except BrokenRecordError as error:
                raise SourceError(
                    f"{self._doing}: the database holds a value that the driver cannot represent "
                    f"({error.__cause__ or error}): only queries that do not return it can be "
                    "answered, with engine='native'."
                ) from error

        return self._ask(text, parameters, decode)

    def _ask(
        self,
        text: str,
        parameters: Mapping[str, Any],
        decode: Callable[[Iterable[neo4j.Record]], list[_Answer]],
    ) -> list[_Answer]:
        try:
            return self._ask_once(text, parameters, decode)
        except (Neo4jError, DriverError) as error:
            if getattr(error, "code", None) == _ARITHMETIC:
                # Ids are packed by the largest one at the start: larger ones were created since.
                raise StaleSnapshotError(
                    f"The database changed while {self._doing}: larger ids came."
                ) from error
            # Pooled connections may have died while idle; the first failure clears them all from
            # the pool.
            if self._cancelled or not is_broken_connection(error):
                raise
        return self._ask_once(text, parameters, decode)

    def _ask_once(
        self,
        text: str,
        parameters: Mapping[str, Any],
        decode: Callable[[Iterable[neo4j.Record]], list[_Answer]],
    ) -> list[_Answer]:
        query: Any = self._connection.prefix(text)
        with (
            self._connection.session(bookmarks=self._version, bulk=True) as session,
            self._run_in(session),
            self._watched(session),
        ):
            result = session.run(query, dict(parameters))
            link = self._connection.link_of(session)
            answers = decode(result)
            version = self._connection.version_after(session, link)
        with self._lock:
            self._versions.append(version)
        return answers

    @contextmanager
    def _watched(self, session: neo4j.Session) -> Iterator[Guard]:
        with self._connection.watch(session, _ANSWER_SECONDS) as guard:
            try:
                yield guard
            except (Neo4jError, DriverError) as error:
                if guard.fired:
                    raise SourceError(
                        f"{self._connection.facts.address}: no answer in {_ANSWER_SECONDS:g} s "
                        f"while {self._doing}: see whether the server is overloaded, or hangs."
                    ) from error
                raise

    @contextmanager
    def _run_in(self, session: neo4j.Session) -> Iterator[None]:
        with self._lock:
            if self._cancelled:
                raise SourceError(f"{self._doing} was cancelled.")
            self._running.add(session)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(session)
