"""A client's conversation with the Neo4j behind: relays it, and answers some reads itself.

Answered here are reads outside of transactions, and the statements of a read transaction until the
first that goes to Neo4j. The transaction itself is always begun on Neo4j, which checks user,
database and bookmarks. Everything else is relayed: requests as messages, answers as bytes.

More than 300 lines: what is relayed and what is answered, request by request.
"""

from __future__ import annotations

import asyncio
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from gpugda.accelerate.statement import Statement
from gpugda.answer.declined import Declined
from gpugda.deadline import FAR_SECONDS
from gpugda.query.statements import is_secret
from gpugda.serve.answers import Answer
from gpugda.serve.conversation import (
    INVALID,
    Conversation,
    EndError,
    InterruptedWorkError,
)
from gpugda.serve.inbox import read_message
from gpugda.serve.messages import NoticeFilter, RefusedError, Tag
from gpugda.serve.packstream import PackStreamError
from gpugda.sources import adapter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.accelerate.gate import Gate
    from gpugda.result.result import Result
    from gpugda.serve.answers import Workers
    from gpugda.serve.backend import Backend, Reply
    from gpugda.serve.conversation import Link
    from gpugda.serve.settings import Settings

__all__ = ["Relay", "Shared"]

_OWN_QID = 1 << 40
"""Numbers of results of this server, which Neo4j does not use."""
_RIGHTS_SECONDS = 60.0
_NEO4J = "neo4j"
_SYSTEM = "system"
_PRIVATE = "its text may hold a secret"
_IN_TRANSACTION = "(a statement of a transaction on Neo4j)"
_NO_PRIVILEGES = "Neo.ClientError.Statement.UnsupportedAdministrationCommand"
_NOT_YET = "Neo.TransientError.General.DatabaseUnavailable"
"""Drivers try again after this."""
_WISH = re.compile(r"\s*/\*\s*gpugda\s*:\s*(native|gpu|auto)\s*\*/", re.IGNORECASE)
_NEVER = re.compile(
    r"\s*(CREATE|MERGE|DELETE|DETACH|SET|REMOVE|INSERT|DROP|ALTER|SHOW|CALL\s+[\w.]+\s*\(|LOAD|"
    r"GRANT|DENY|REVOKE|START|STOP|TERMINATE|RENAME|EXPLAIN|PROFILE)\b",
    re.IGNORECASE,
)


class Shared(Protocol):
    """What all clients of a Neo4j share."""

    gate: Gate

    def why_declined(self, text: str) -> str:
        """Why the device is not asked again for this text; empty if it is."""

    def note_declined(self, text: str, declined: Declined) -> None:
        """Notes for a while that the device should not answer a text."""

    def accelerator(self, database: str) -> Any:
        """The accelerator of a database, or a sentence why there is none."""


class _Rights:
    """What the client's user may read, as Neo4j told on the client's own connection.

    Args:
        home: Name of the home database.
    """

    def __init__(self, home: str) -> None:
        self.home = home
        self.restrictions: dict[str, str] = {}
        self.asked_at = time.monotonic()

    @property
    def is_old(self) -> bool:
        """True if they may have changed."""
        return time.monotonic() - self.asked_at > _RIGHTS_SECONDS


class _Transaction:
    """An open transaction.

    Args:
        extra: The map of BEGIN.
    """

    def __init__(self, extra: Mapping[str, Any]) -> None:
        self.extra = extra
        self.reads = extra.get("mode") == "r"
        self.on_server = not self.reads
        self.begun_at = time.monotonic()


class Relay(Conversation):
    """A conversation with the Neo4j behind.

    Args:
        link: The client's connection.
        backend: The client's own connection to the Neo4j.
        front: What all clients share.
        workers: Threads for queries.
        settings: The server's settings.
    """

    def __init__(
        self, link: Link, backend: Backend, front: Shared, workers: Workers, settings: Settings
    ) -> None:
        super().__init__(link, workers, settings)
        self._backend = backend
        self._front = front
        self._transaction: _Transaction | None = None
        self._rights: _Rights | None = None
        self._wanted = NoticeFilter({})
        self._is_known = False
        self._server_failed = False
        self._own_failed = False
        self._newest_is_own = False
        self._next_qid = _OWN_QID
        self._database = ""
        self._reason = ""

    @property
    def is_idle(self) -> bool:
        """True if the client has no transaction, no query and no unread result."""
        return self._transaction is None and not self._has_work and self._backend.is_settled

    @property
    def is_known(self) -> bool:
        """True once Neo4j accepted the client's user."""
        return self._is_known

    async def run(self) -> None:
        """Relays until one of both sides ends."""
        tasks = [asyncio.create_task(self._requests()), asyncio.create_task(self._replies())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except EndError:
            pass
        except asyncio.CancelledError:
            self._backend.abort()
            raise
        finally:
            for task in tasks:
                task.cancel()
            try:
                await asyncio.gather(*tasks, return_exceptions=True)
            finally:
                self._answers.clear()
                await self._backend.close()
        if self._inbox.fault is not None and self._backend.is_settled:
            failure = RefusedError(INVALID, f"{self._inbox.fault}.")
            self._send(Tag.FAILURE, failure.metadata(self._version))
            await self._flush()

    async def _replies(self) -> None:
        while (data := await self._backend.read()) is not None:
            if data:
                self._stream.write(data)
                await self._stream.drain()

    async def _requests(self) -> None:
        while True:
            if self._inbox.is_empty:
                await self._flush()
                await self._backend.flush()
            message = await self._inbox.get()
            if message is None:
                return
            await self._handle(message)

    # ------------------------------------------------------------------ requests
    async def _handle(self, data: bytes) -> None:
        tag = data[1] if len(data) > 1 and data[0] & 0xF0 == 0xB0 else -1
        if tag == Tag.RESET:
            await self._reset(data)
        elif self._own_failed and tag != Tag.GOODBYE:
            self._send(Tag.IGNORED)
        elif tag in (Tag.PULL, Tag.DISCARD) and self._answers:
            await self._read(tag, data)
        elif self._answers and self._transaction is None and tag != Tag.GOODBYE:
            self._fail(RefusedError(INVALID, "There is an open result."))
            await self._flush()
            raise EndError
        else:
            await self._flush()
            handle = _HANDLERS.get(tag)
            if handle is None:
                await self._backend.pass_on(data, self._after)
            else:
                await handle(self, data)

    async def _reset(self, data: bytes) -> None:
        await self._flush()
        self._inbox.resets -= 1
        self._answers.clear()
        self._transaction = None
        self._own_failed = False
        await self._backend.pass_on(data, self._after_reset)

    def _after_reset(self, reply: Reply) -> None:
        self._server_failed = not reply.succeeded

    async def _read(self, tag: int, data: bytes) -> None:
        try:
            fields = read_message(data).fields
            extra = fields[0] if fields and isinstance(fields[0], dict) else {}
            qid = extra.get("qid", -1)
            if qid not in self._answers and not (qid == -1 and self._newest_is_own):
                await self._flush()
                await self._backend.pass_on(data, self._after)
                return
            await self._backend.settle()
            if self._server_failed:
                self._send(Tag.IGNORED)
            else:
                await (self._pull(extra) if tag == Tag.PULL else self._discard(extra))
        except PackStreamError:
            await self._backend.pass_on(data, self._after)
        except RefusedError as error:
            self._fail(error)

    async def _hello(self, data: bytes) -> None:
        extra = _field(data, 0)
        self._note_client(extra)
        self._wanted = NoticeFilter(extra)
        routing = extra.get("routing")
        if self._settings.advertise is None and isinstance(routing, dict):
            address = routing.get("address")
            self._address = address if isinstance(address, str) else self._address
        logs_on = self._version < (5, 1)

        def after(reply: Reply) -> None:
            self._is_known = self._is_known or (logs_on and reply.succeeded)
            patches = reply.metadata.get("patch_bolt")
            self._utc = self._utc or (isinstance(patches, list) and "utc" in patches)

        await self._backend.pass_on(data, after)

    async def _logon(self, data: bytes) -> None:
        self._rights = None
        self._note_client(_field(data, 0))

        def after(reply: Reply) -> bytes | None:
            self._is_known = self._is_known or reply.succeeded
            if not reply.succeeded or "advertised_address" not in reply.metadata:
                return None
            metadata = {**reply.metadata, "advertised_address": self._address}
            return self._packer.message(Tag.SUCCESS, metadata)

        await self._backend.pass_on(data, after, replaces=True)

    async def _route(self, data: bytes) -> None:
        def after(reply: Reply) -> bytes | None:
            self._after(reply)
            table = reply.metadata.get("rt")
            if not reply.succeeded or not isinstance(table, dict):
                return None
            roles = ("WRITE", "READ", "ROUTE")
            servers = [{"addresses": [self._address], "role": role} for role in roles]
            return self._packer.message(Tag.SUCCESS, {"rt": {**table, "servers": servers}})

        await self._backend.pass_on(data, after, replaces=True)

    async def _begin(self, data: bytes) -> None:
        extra = _field(data, 0)
        if extra.get("mode") == "r" and await self._settles():
            await self._learn_rights(extra.get("db"))
        self._transaction = _Transaction(extra)
        self._next_qid = _OWN_QID
        await self._backend.pass_on(data, lambda reply: self._after_start(reply, extra))

    async def _end(self, data: bytes) -> None:
        self._answers.clear()
        self._transaction = None
        await self._backend.pass_on(data, self._after)

    async def _run_query(self, data: bytes) -> None:
        transaction = self._transaction
        if transaction is not None and transaction.on_server:
            self._newest_is_own = False
            after = partial(self._after_run, _IN_TRANSACTION, {}, time.monotonic(), "")
            await self._backend.pass_on(data, after, reads=False)
            return
        started, self._reason = time.monotonic(), ""
        try:
            text, parameters, extra = read_message(data).fields
        except (PackStreamError, ValueError):
            text = parameters = extra = None
        if not (isinstance(text, str) and isinstance(parameters, dict) and isinstance(extra, dict)):
            await self._backend.pass_on(data, self._after)  # Neo4j refuses it
            return
        statement = Statement(text, parameters)
        given = extra if transaction is None else transaction.extra
        try:
            answer = await self._offered(statement, given)
        except RefusedError as error:
            self._fail(error)
            return
        if answer is not None:
            self._note_answer(text, answer.summary)
            self._started(answer)
            return
        self._newest_is_own = False
        if transaction is not None:
            transaction.on_server = True
        noted = "" if self._is_of_system(given) else text  # its commands hold passwords
        after = partial(self._after_run, noted, extra, started, self._reason)
        await self._backend.pass_on(data, after, reads=False)

    def _after(self, reply: Reply) -> None:
        """Learns from any answer."""
        if reply.tag == Tag.FAILURE:
            self._server_failed = True
            self._journal.failures += 1
        bookmark = reply.metadata.get("bookmark")
        if isinstance(bookmark, str):
            self._front.gate.known_bookmarks.add([bookmark])

    def _after_start(self, reply: Reply, extra: Mapping[str, Any]) -> None:
        """Learns from the answer to BEGIN and RUN: Neo4j accepts the bookmarks if it succeeds."""
        self._after(reply)
        if reply.succeeded:
            self._front.gate.known_bookmarks.add(_bookmarks(extra))

    def _after_run(
        self, text: str, extra: Mapping[str, Any], started: float, reason: str, reply: Reply
    ) -> None:
        self._after_start(reply, extra)
        self._journal.note(self.name, text, _NEO4J, time.monotonic() - started, reason)

    # ------------------------------------------------------------------ accelerated reads
    async def _offered(self, statement: Statement, extra: Mapping[str, Any]) -> Answer | None:
        """The device's answer; None if Neo4j should answer.

        Raises:
            RefusedError: The device was asked for explicitly, and failed.
        """
        wish = _wish(statement.text, extra)
        if wish == "native" or not self._might_be_answered(statement.text, extra, wish):
            return None
        if not await self._settles():
            return None
        database = await self._learn_rights(extra.get("db"))
        if database is None:
            return None
        timed = _timed(statement, extra, self._transaction)
        if timed is None:
            return None
        ask = self._forced if wish == "gpu" else self._decided
        try:
            found = await self._work(ask, database, timed, _bookmarks(extra))
        except InterruptedWorkError:
            return None
        if isinstance(found, Declined):
            if is_secret(statement.text):  # the reason may quote it
                found = Declined(_PRIVATE, can_run=found.can_run)
            self._front.gate.passed(found.reason)
            self._reason = found.reason
            self._front.note_declined(statement.text, found)
            self._front.gate.answered_by_server(database, statement)
            return None
        self._database = database
        wanted = NoticeFilter(extra, self._wanted)
        return Answer(found, self._version, utc=self._utc, wanted=wanted, plan={})

    def _might_be_answered(self, text: str, extra: Mapping[str, Any], wish: str) -> bool:
        if extra.get("imp_user") or self._own_failed or self._inbox.resets:
            return False
        if self._is_of_system(extra):
            return False
        metadata = extra.get("tx_metadata")
        if isinstance(metadata, dict) and set(metadata) - {"gpugda"}:
            return False  # it is for the server's query log
        if wish == "gpu":
            return True
        self._reason = self._front.why_declined(text)
        return not self._reason and _NEVER.match(text) is None

    def _is_of_system(self, extra: Mapping[str, Any]) -> bool:
        name = extra.get("db") or (self._rights and self._rights.home)
        return str(name).lower() == _SYSTEM

    def _decided(
        self, database: str, statement: Statement, bookmarks: list[str]
    ) -> Result | Declined:
        return self._front.gate.decide(database, statement, bookmarks)

    def _forced(self, database: str, statement: Statement, bookmarks: list[str]) -> Result:
        accelerator = self._front.accelerator(database)
        if isinstance(accelerator, str):
            raise RefusedError(_NOT_YET, f"gpugda cannot answer: {accelerator}.")
        if not self._front.gate.known_bookmarks.all_known(bookmarks):
            raise RefusedError(_NOT_YET, "gpugda cannot answer: the bookmarks are unknown.")
        seconds = statement.seconds_left() or FAR_SECONDS
        found: Result = accelerator.run(
            statement.text, statement.parameters, engine="gpu", timeout=seconds
        )
        return found

    def _started(self, answer: Answer) -> None:
        self._add(answer, self._next_qid)
        self._newest_is_own = True
        self._next_qid += 1
        found: dict[str, Any] = {"t_first": answer.milliseconds, "fields": answer.fields}
        if self._transaction is not None:
            found["qid"] = answer.qid
        elif self._version >= (5, 8):
            found["db"] = self._database
        self._succeed(found)

    def _last_facts(self) -> dict[str, Any]:
        return {"db": self._database}

    async def _settles(self) -> bool:
        """Waits until Neo4j has answered all; False if the client may not want to wait."""
        if self._backend.is_settled:
            return not self._server_failed and self._is_known
        await self._backend.flush()
        waiting = asyncio.ensure_future(self._backend.settle())
        self._interrupt = partial(_cancel, waiting)
        try:
            if self._inbox.resets or self._inbox.ended:
                return False
            await asyncio.wait({waiting})
            return not waiting.cancelled() and not self._server_failed and self._is_known
        finally:
            waiting.cancel()
            self._interrupt = lambda: None

    async def _learn_rights(self, database: Any) -> str | None:
        """Name of the database, if the client's user sees all of it; None otherwise.

        Asks on the client's own connection, once a minute, unless a transaction is open.
        """
        rights = self._rights
        if self._transaction is None and (rights is None or rights.is_old):
            rights = self._rights = await self._asked_home()
        if rights is None:
            return None
        name = str(database or rights.home).lower()
        if name not in rights.restrictions:
            if self._transaction is not None:
                return None
            rights.restrictions[name] = await self._asked_restriction(name)
        if rights.restrictions[name]:
            self._front.gate.passed(rights.restrictions[name])
            return None
        return name

    async def _asked_home(self) -> _Rights | None:
        run, pull = await self._backend.ask("RETURN 1", None)
        home = run.metadata.get("db") or pull.metadata.get("db")
        return _Rights(home) if isinstance(home, str) and home else None

    async def _asked_restriction(self, database: str) -> str:
        run, pull = await self._backend.ask("SHOW USER PRIVILEGES", _SYSTEM)
        codes = (run.metadata.get("code"), run.metadata.get("neo4j_code"))
        if _NO_PRIVILEGES in codes:
            return ""  # Community: every user sees everything
        if not run.succeeded or not pull.succeeded:
            return "the user's privileges cannot be read (SHOW USER PRIVILEGES)"
        names = run.metadata["fields"]
        rows = [dict(zip(names, row, strict=True)) for row in pull.rows]
        if not rows:
            user, answer = await self._backend.ask("SHOW CURRENT USER", _SYSTEM)
            is_off = user.succeeded and answer.succeeded and not answer.rows
            return "" if is_off else "the user has no privileges"
        found: str = adapter("bolt").restriction_in(rows, database)
        return found

    def _fail(self, failure: RefusedError) -> None:
        self._answers.clear()
        self._own_failed = True
        self._journal.failures += 1
        self._send(Tag.FAILURE, failure.metadata(self._version))


_HANDLERS: dict[int, Callable[[Relay, bytes], Any]] = {
    Tag.HELLO: Relay._hello,
    Tag.LOGON: Relay._logon,
    Tag.ROUTE: Relay._route,
    Tag.BEGIN: Relay._begin,
    Tag.COMMIT: Relay._end,
    Tag.ROLLBACK: Relay._end,
    Tag.RUN: Relay._run_query,
}


def _cancel(future: asyncio.Future[Any]) -> None:
    future.cancel()


def _field(data: bytes, place: int) -> dict[str, Any]:
    """A map among a message's fields; empty if the message has none there."""
    try:
        fields = read_message(data).fields
    except PackStreamError:
        return {}
    found = fields[place] if len(fields) > place else None
    return found if isinstance(found, dict) else {}


def _bookmarks(extra: Mapping[str, Any]) -> list[str]:
    found = extra.get("bookmarks")
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _wish(text: str, extra: Mapping[str, Any]) -> str:
    metadata = extra.get("tx_metadata")
    wish = metadata.get("gpugda") if isinstance(metadata, dict) else None
    found = _WISH.match(text)
    if found is not None:
        return found.group(1).lower()
    return wish if wish in ("native", "gpu") else "auto"


def _timed(
    statement: Statement, extra: Mapping[str, Any], transaction: _Transaction | None
) -> Statement | None:
    """The statement with its time limit; None if there is none left, or it makes no sense."""
    timeout = extra.get("tx_timeout")
    if not timeout:
        return Statement(statement.text, statement.parameters, FAR_SECONDS)
    if not isinstance(timeout, int) or timeout < 0:
        return None
    seconds = timeout / 1000
    if transaction is not None:
        seconds -= time.monotonic() - transaction.begun_at
    return Statement(statement.text, statement.parameters, seconds) if seconds > 0 else None
