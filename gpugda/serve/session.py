"""A client's conversation with an embedded graph: Bolt's states and messages."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from gpugda.serve.answers import Answer, Work, answer_on_graph
from gpugda.serve.framing import NOOP, chunked
from gpugda.serve.inbox import read_message
from gpugda.serve.messages import NoticeFilter, RefusedError, Tag, failure_of
from gpugda.serve.packstream import Packer, PackStreamError
from gpugda.serve.tools import answer_for_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.accelerator import Accelerator
    from gpugda.serve.answers import Workers
    from gpugda.serve.framing import Version
    from gpugda.serve.inbox import Inbox
    from gpugda.serve.settings import Settings
    from gpugda.serve.streams import ByteStream

__all__ = ["Session"]

logger = logging.getLogger(__name__)

AGENT = "Neo4j/5.26.0+gpugda"
"""Drivers and tools refuse servers of other names, and choose their queries by the version."""
_BOOKMARK = "FB:gpugda"
_RECEIVE_SECONDS = 120
_ROUTE_SECONDS = 300
_ENGINES = ("auto", "gpu")
_INVALID = "Neo.ClientError.Request.Invalid"


class State(Enum):
    """States of a conversation; an open transaction is kept beside them."""

    CONNECTED = auto()
    AUTHENTICATION = auto()
    READY = auto()
    FAILED = auto()


class _EndError(Exception):
    """Ends the conversation."""


class Session:
    """A client's conversation with an embedded graph.

    Args:
        stream: The connection, after the hand-shake.
        inbox: Its messages.
        version: The version of Bolt.
        accelerator: Answers the queries.
        workers: Threads for them.
        settings: The server's settings.
        name: The connection's id.
        own_address: The address at which the client reached this server.
    """

    def __init__(
        self,
        stream: ByteStream,
        inbox: Inbox,
        version: Version,
        accelerator: Accelerator,
        workers: Workers,
        settings: Settings,
        name: str,
        own_address: str,
    ) -> None:
        self._stream = stream
        self._inbox = inbox
        self._version = version
        self._accelerator = accelerator
        self._workers = workers
        self._settings = settings
        self._name = name
        self._address = settings.advertise or own_address
        self._state = State.CONNECTED
        self._packer = Packer()
        self._utc = version >= (5, 0)
        self._wanted = self._wanted_here = NoticeFilter({})
        self._out: list[bytes] = []
        self._answers: dict[int, Answer] = {}
        self._newest = self._next_qid = 0
        self._in_transaction = False
        self._deadline: float | None = None
        self._engine = "auto"
        self._interrupt: Callable[[], None] = lambda: None
        inbox.on_interrupt = lambda: self._interrupt()

    @property
    def is_idle(self) -> bool:
        """True if the client has no transaction and no unread result."""
        return not self._in_transaction and not self._answers

    @property
    def is_known(self) -> bool:
        """True once the client has said who it is."""
        return self._state not in (State.CONNECTED, State.AUTHENTICATION)

    async def run(self) -> None:
        """Handles messages until the conversation ends."""
        try:
            while True:
                if self._inbox.is_empty:
                    await self._flush()
                message = await self._inbox.get()
                if message is None:
                    break
                await self._handle(message)
        except _EndError:
            pass
        finally:
            self._answers.clear()
        if self._inbox.fault is not None:
            self._fail(RefusedError(_INVALID, f"{self._inbox.fault}."))
        await self._flush()

    # ------------------------------------------------------------------ messages
    async def _handle(self, data: bytes) -> None:
        try:
            message = read_message(data)
            tag, fields = message.tag, message.fields
            if tag == Tag.GOODBYE:
                raise _EndError
            if tag == Tag.RESET and self._state in (State.READY, State.FAILED):
                self._reset()
            elif self._inbox.resets or self._state is State.FAILED:
                self._send(Tag.IGNORED)
            else:
                await self._dispatch(tag, fields)
        except PackStreamError as error:
            self._fail(RefusedError(_INVALID, f"The message cannot be read: {error}."))
            raise _EndError from error
        except RefusedError as error:
            self._fail(error)

    async def _dispatch(self, tag: int, fields: tuple[Any, ...]) -> None:
        allowed = _MESSAGES[self._state]
        found = allowed.get(tag)
        if found is None or (tag == Tag.RUN and self._answers and not self._in_transaction):
            name = Tag(tag).name if tag in list(Tag) else f"of tag {tag:02X}"
            state = "STREAMING" if self._answers else self._state.name
            self._fail(
                RefusedError(_INVALID, f"Message {name} cannot be handled in the {state} state.")
            )
            raise _EndError
        handle, kinds = found
        if len(fields) != len(kinds) or not all(map(isinstance, fields, kinds)):
            self._fail(RefusedError(_INVALID, "The message has fields of other types or number."))
            raise _EndError
        await handle(self, *fields)

    def _reset(self) -> None:
        self._inbox.resets -= 1
        if self._inbox.resets:
            self._send(Tag.IGNORED)
            return
        self._end_transaction()
        self._state = State.READY
        self._succeed()

    async def _hello(self, extra: dict[str, Any]) -> None:
        found: dict[str, Any] = {
            "server": AGENT,
            "connection_id": self._name,
            "hints": {"connection.recv_timeout_seconds": _RECEIVE_SECONDS},
        }
        if self._version < (5, 1):
            self._check_user(extra)
            patches = extra.get("patch_bolt")
            if self._version == (4, 4) and isinstance(patches, list) and "utc" in patches:
                found["patch_bolt"] = ["utc"]
                self._utc = True
        if self._version >= (5, 8):
            found["hints"]["ssr.enabled"] = True
        self._wanted = NoticeFilter(extra)
        routing = extra.get("routing")
        if self._settings.advertise is None and isinstance(routing, dict):
            address = routing.get("address")
            self._address = address if isinstance(address, str) else self._address
        self._state = State.READY if self._version < (5, 1) else State.AUTHENTICATION
        self._succeed(found)

    async def _logon(self, extra: dict[str, Any]) -> None:
        self._check_user(extra)
        self._state = State.READY
        self._succeed({"advertised_address": self._address} if self._version >= (5, 8) else {})

    async def _logoff(self) -> None:
        self._refuse_if_busy("LOGOFF")
        self._state = State.AUTHENTICATION
        self._succeed()

    async def _telemetry(self, api: int) -> None:
        self._succeed()

    async def _route(
        self, context: dict[str, Any], bookmarks: list[Any], extra: dict[str, Any]
    ) -> None:
        self._check_database(extra)
        roles = ("WRITE", "READ", "ROUTE")
        servers = [{"addresses": [self._address], "role": role} for role in roles]
        table = {"servers": servers, "ttl": _ROUTE_SECONDS, "db": self._settings.database}
        self._succeed({"rt": table})

    async def _begin(self, extra: dict[str, Any]) -> None:
        self._refuse_if_busy("BEGIN")
        self._begin_work(extra)
        self._in_transaction = True
        self._succeed({"db": self._settings.database} if self._version >= (5, 8) else {})

    async def _commit(self) -> None:
        self._refuse_outside("COMMIT")
        self._end_transaction()
        self._succeed({"bookmark": _BOOKMARK})

    async def _rollback(self) -> None:
        self._refuse_outside("ROLLBACK")
        self._end_transaction()
        self._succeed()

    async def _run_query(
        self, text: str, parameters: dict[str, Any], extra: dict[str, Any]
    ) -> None:
        if not self._in_transaction:
            self._begin_work(extra)
        timeout = None if self._deadline is None else self._deadline - time.monotonic()
        if timeout is not None and timeout <= 0:
            raise RefusedError(_TIMED_OUT, "The transaction has not completed within its timeout.")
        result, plan = await self._work(self._answered, text, parameters, timeout)
        answer = Answer(result, self._version, utc=self._utc, wanted=self._wanted_here, plan=plan)
        answer.qid = self._newest = self._next_qid
        self._next_qid += 1
        self._answers[answer.qid] = answer
        found = {"t_first": answer.milliseconds, "fields": answer.fields}
        if self._in_transaction:
            found["qid"] = answer.qid
        elif self._version >= (5, 8):
            found["db"] = self._settings.database
        self._succeed(found)

    async def _pull(self, extra: dict[str, Any]) -> None:
        count, answer = self._asked(extra)
        end = answer.end_of(count)
        while answer.is_before(end):
            self._out.append(await self._work(answer.block, end))
            await self._flush()
        self._finish(answer)

    async def _discard(self, extra: dict[str, Any]) -> None:
        count, answer = self._asked(extra)
        answer.skip(count)
        self._finish(answer)

    # ------------------------------------------------------------------ parts of them
    def _begin_work(self, extra: Mapping[str, Any]) -> None:
        self._check_database(extra)
        if extra.get("imp_user"):
            raise RefusedError(_ARGUMENT, "An embedded graph has no users to impersonate.")
        timeout = extra.get("tx_timeout")
        if timeout is not None and (not isinstance(timeout, int) or timeout < 0):
            raise RefusedError(_INVALID, "tx_timeout has to be a number of milliseconds.")
        self._deadline = time.monotonic() + timeout / 1000 if timeout else None
        metadata = extra.get("tx_metadata")
        engine = metadata.get("gpugda", "auto") if isinstance(metadata, dict) else "auto"
        if engine not in _ENGINES:
            raise RefusedError(_ARGUMENT, f"gpugda is {str(engine)[:40]!r}; here it can be 'gpu'.")
        self._engine = engine
        self._wanted_here = NoticeFilter(extra, self._wanted)
        self._next_qid = 0

    def _answered(
        self, text: str, parameters: dict[str, Any], timeout: float | None
    ) -> tuple[Any, dict[str, Any]]:
        found = answer_for_tools(self._accelerator, self._settings.database, text, parameters)
        if found is not None:
            return found, {}
        return answer_on_graph(self._accelerator, text, parameters, timeout, self._engine)

    def _asked(self, extra: Mapping[str, Any]) -> tuple[int, Answer]:
        count, qid = extra.get("n", -1), extra.get("qid", -1)
        if not isinstance(count, int) or not isinstance(qid, int) or count == 0 or count < -1:
            raise RefusedError(_INVALID, "n has to be -1 or a positive number, and qid a number.")
        answer = self._answers.get(self._newest if qid == -1 else qid)
        if answer is None and not self._answers:
            self._fail(RefusedError(_INVALID, "There is no result to read."))
            raise _EndError
        if answer is None:
            raise RefusedError(_INVALID, f"There is no open result with the number {qid}.")
        return count, answer

    def _finish(self, answer: Answer) -> None:
        if answer.has_more:
            self._succeed({"has_more": True})
            return
        del self._answers[answer.qid]
        found = {**answer.metadata(), "db": self._settings.database}
        if not self._in_transaction:
            found["bookmark"] = _BOOKMARK
        self._succeed(found)

    def _end_transaction(self) -> None:
        self._answers.clear()
        self._in_transaction = False
        self._deadline = None

    async def _work(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function in a thread, and tells a client that waits long that it lives.

        Raises:
            RefusedError: The function failed, or the client interrupted it.
        """
        await self._flush()
        work = Work()
        future = self._workers.start(work, function, *arguments)

        def interrupt() -> None:
            work.cancel()
            future.cancel()

        self._interrupt = interrupt
        if self._inbox.resets or self._inbox.ended:
            interrupt()
        try:
            while not (await asyncio.wait({future}, timeout=self._settings.alive_seconds))[0]:
                self._stream.write(NOOP)
            return future.result()
        except asyncio.CancelledError:
            if self._inbox.ended:
                raise _EndError from None
            raise failure_of(RuntimeError(), cancelled=True) from None
        except Exception as error:
            logger.info("query of %s failed: %s", self._name, str(error).partition("\n")[0])
            raise failure_of(error, cancelled=work.cancelled) from error
        finally:
            interrupt()
            self._interrupt = lambda: None

    # ------------------------------------------------------------------ checks
    def _check_user(self, token: Mapping[str, Any]) -> None:
        wanted = self._settings.auth
        if wanted is None:
            return
        given = (token.get("principal"), token.get("credentials"))
        # Compares both always, in constant time.
        matches = [
            hmac.compare_digest(str(one).encode(), two.encode())
            for one, two in zip(given, wanted, strict=True)
        ]
        if token.get("scheme") != "basic" or not all(matches):
            code = "Neo.ClientError.Security.Unauthorized"
            message = "The client is unauthorized due to authentication failure."
            self._fail(RefusedError(code, message))
            raise _EndError

    def _check_database(self, extra: Mapping[str, Any]) -> None:
        name = extra.get("db")
        known = (self._settings.database, "system")
        if name and (not isinstance(name, str) or name.lower() not in known):
            code = "Neo.ClientError.Database.DatabaseNotFound"
            raise RefusedError(code, f"Graph not found: {str(name)[:100]}")

    def _refuse_if_busy(self, name: str) -> None:
        if not self.is_idle:
            self._fail(
                RefusedError(_INVALID, f"Message {name} cannot be handled in a transaction.")
            )
            raise _EndError

    def _refuse_outside(self, name: str) -> None:
        if not self._in_transaction:
            self._fail(
                RefusedError(_INVALID, f"Message {name} cannot be handled in the READY state.")
            )
            raise _EndError

    # ------------------------------------------------------------------ output
    def _succeed(self, metadata: Mapping[str, Any] | None = None) -> None:
        self._send(Tag.SUCCESS, dict(metadata or {}))

    def _fail(self, failure: RefusedError) -> None:
        self._end_transaction()
        self._state = State.FAILED
        self._send(Tag.FAILURE, failure.metadata(self._version))

    def _send(self, tag: Tag, *fields: Any) -> None:
        self._out.append(chunked(self._packer.message(tag, *fields)))

    async def _flush(self) -> None:
        if self._out:
            data = b"".join(self._out)
            self._out.clear()
            self._stream.write(data)
            await self._stream.drain()


_ARGUMENT = "Neo.ClientError.Statement.ArgumentError"
_TIMED_OUT = "Neo.ClientError.Transaction.TransactionTimedOut"

_MESSAGES: dict[State, dict[int, tuple[Callable[..., Any], tuple[type, ...]]]] = {
    State.CONNECTED: {Tag.HELLO: (Session._hello, (dict,))},
    State.AUTHENTICATION: {Tag.LOGON: (Session._logon, (dict,))},
    State.READY: {
        Tag.LOGOFF: (Session._logoff, ()),
        Tag.TELEMETRY: (Session._telemetry, (int,)),
        Tag.ROUTE: (Session._route, (dict, list, dict)),
        Tag.BEGIN: (Session._begin, (dict,)),
        Tag.COMMIT: (Session._commit, ()),
        Tag.ROLLBACK: (Session._rollback, ()),
        Tag.RUN: (Session._run_query, (str, dict, dict)),
        Tag.PULL: (Session._pull, (dict,)),
        Tag.DISCARD: (Session._discard, (dict,)),
    },
    State.FAILED: {},
}
