"""A client's conversation with an embedded graph: Bolt's states and messages."""

from __future__ import annotations

import time
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from gpugda.schema.procedures import DATABASE, SHOWN_VERSION
from gpugda.serve.answers import Answer, answer_on_graph
from gpugda.serve.conversation import INVALID, Conversation, EndError, is_account
from gpugda.serve.inbox import read_message
from gpugda.serve.messages import NoticeFilter, RefusedError, Tag
from gpugda.serve.packstream import PackStreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.accelerator import Accelerator
    from gpugda.serve.answers import Workers
    from gpugda.serve.conversation import Link
    from gpugda.serve.settings import Settings
    from gpugda.types import Engine

__all__ = ["Session"]

AGENT = f"Neo4j/{SHOWN_VERSION}+gpugda"
"""Drivers and tools refuse servers of other names, and choose their queries by the version."""
_BOOKMARK = "FB:gpugda"
_RECEIVE_SECONDS = 120
_ROUTE_SECONDS = 300
_ENGINES = ("auto", "gpu")


class State(Enum):
    """States of a conversation; an open transaction is kept beside them."""

    CONNECTED = auto()
    AUTHENTICATION = auto()
    READY = auto()
    FAILED = auto()


class Session(Conversation):
    """A client's conversation with an embedded graph.

    Args:
        link: The client's connection.
        accelerator: Answers the queries.
        workers: Threads for them.
        settings: The server's settings.
    """

    def __init__(
        self, link: Link, accelerator: Accelerator, workers: Workers, settings: Settings
    ) -> None:
        super().__init__(link, workers, settings)
        self._accelerator = accelerator
        self._state = State.CONNECTED
        self._wanted = self._wanted_here = NoticeFilter({})
        self._next_qid = 0
        self._in_transaction = False
        self._deadline: float | None = None
        self._engine: Engine = "auto"

    @property
    def is_idle(self) -> bool:
        """True if the client has no transaction, no query and no unread result."""
        return not self._in_transaction and not self._has_work

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
        except EndError:
            pass
        finally:
            self._answers.clear()
        if self._inbox.fault is not None:
            self._fail(RefusedError(INVALID, f"{self._inbox.fault}."))
        await self._flush()

    # ------------------------------------------------------------------ messages
    async def _handle(self, data: bytes) -> None:
        try:
            message = read_message(data)
            tag, fields = message.tag, message.fields
            if tag == Tag.GOODBYE:
                raise EndError
            if tag == Tag.RESET and self._state in (State.READY, State.FAILED):
                self._reset()
            elif self._inbox.resets or self._state is State.FAILED:
                self._send(Tag.IGNORED)
            else:
                await self._dispatch(tag, fields)
        except PackStreamError as error:
            self._fail(RefusedError(INVALID, f"The message cannot be read: {error}."))
            raise EndError from error
        except RefusedError as error:
            self._fail(error)

    async def _dispatch(self, tag: int, fields: tuple[Any, ...]) -> None:
        allowed = _MESSAGES[self._state]
        found = allowed.get(tag)
        streams = bool(self._answers)
        if tag in (Tag.PULL, Tag.DISCARD):
            found = found if streams else None
        elif streams and not self._in_transaction:
            found = None
        if found is None:
            name = Tag(tag).name if tag in list(Tag) else f"of tag {tag:02X}"
            state = "STREAMING" if streams else self._state.name
            self._fail(
                RefusedError(INVALID, f"Message {name} cannot be handled in the {state} state.")
            )
            raise EndError
        handle, kinds = found
        if len(fields) != len(kinds) or not all(map(isinstance, fields, kinds)):
            self._fail(RefusedError(INVALID, "The message has fields of other types or number."))
            raise EndError
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
            "connection_id": self.name,
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
        self._note_client(extra)
        self._wanted = NoticeFilter(extra)
        routing = extra.get("routing")
        if self._settings.advertise is None and isinstance(routing, dict):
            address = routing.get("address")
            self._address = address if isinstance(address, str) else self._address
        self._state = State.READY if self._version < (5, 1) else State.AUTHENTICATION
        self._succeed(found)

    async def _logon(self, extra: dict[str, Any]) -> None:
        self._note_client(extra)
        self._check_user(extra)
        self._state = State.READY
        self._succeed({"advertised_address": self._address} if self._version >= (5, 8) else {})

    async def _logoff(self) -> None:
        if self._in_transaction:
            self._refuse("LOGOFF")
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
        table = {"servers": servers, "ttl": _ROUTE_SECONDS, "db": DATABASE}
        self._succeed({"rt": table})

    async def _begin(self, extra: dict[str, Any]) -> None:
        if self._in_transaction:
            self._refuse("BEGIN")
        self._begin_work(extra)
        self._in_transaction = True
        self._succeed({"db": DATABASE} if self._version >= (5, 8) else {})

    async def _commit(self) -> None:
        if not self._in_transaction:
            self._refuse("COMMIT")
        self._end_transaction()
        self._succeed({"bookmark": _BOOKMARK})

    async def _rollback(self) -> None:
        if not self._in_transaction:
            self._refuse("ROLLBACK")
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
        result, plan = await self._work(
            answer_on_graph, self._accelerator, text, parameters, timeout, self._engine
        )
        answer = Answer(result, self._version, utc=self._utc, wanted=self._wanted_here, plan=plan)
        self._note_answer(text, result.summary)
        self._add(answer, self._next_qid)
        self._next_qid += 1
        found = {"t_first": answer.milliseconds, "fields": answer.fields}
        if self._in_transaction:
            found["qid"] = answer.qid
        elif self._version >= (5, 8):
            found["db"] = DATABASE
        self._succeed(found)

    # ------------------------------------------------------------------ parts of them
    def _begin_work(self, extra: Mapping[str, Any]) -> None:
        self._check_database(extra)
        if extra.get("imp_user"):
            raise RefusedError(_ARGUMENT, "An embedded graph has no users to impersonate.")
        timeout = extra.get("tx_timeout")
        if timeout is not None and (not isinstance(timeout, int) or timeout < 0):
            raise RefusedError(INVALID, "tx_timeout has to be a number of milliseconds.")
        self._deadline = time.monotonic() + timeout / 1000 if timeout else None
        metadata = extra.get("tx_metadata")
        engine = metadata.get("gpugda", "auto") if isinstance(metadata, dict) else "auto"
        if engine not in _ENGINES:
            raise RefusedError(_ARGUMENT, f"gpugda is {str(engine)[:40]!r}; here it can be 'gpu'.")
        self._engine = "gpu" if engine == "gpu" else "auto"
        self._wanted_here = NoticeFilter(extra, self._wanted)
        self._next_qid = 0

    def _last_facts(self) -> dict[str, Any]:
        found = {"db": DATABASE}
        return found if self._in_transaction else {**found, "bookmark": _BOOKMARK}

    def _end_transaction(self) -> None:
        self._answers.clear()
        self._in_transaction = False
        self._deadline = None

    # ------------------------------------------------------------------ checks
    def _check_user(self, token: Mapping[str, Any]) -> None:
        wanted = self._settings.auth
        if wanted is None:
            return
        if not is_account(token, wanted):
            code = "Neo.ClientError.Security.Unauthorized"
            message = "The client is unauthorized due to authentication failure."
            self._fail(RefusedError(code, message))
            raise EndError

    def _check_database(self, extra: Mapping[str, Any]) -> None:
        name = extra.get("db")
        known = (DATABASE, "system")
        if name and (not isinstance(name, str) or name.lower() not in known):
            code = "Neo.ClientError.Database.DatabaseNotFound"
            raise RefusedError(code, f"Graph not found: {str(name)[:100]}")

    def _refuse(self, name: str) -> None:
        state = "TX_READY" if self._in_transaction else "READY"
        self._fail(RefusedError(INVALID, f"Message {name} cannot be handled in the {state} state."))
        raise EndError

    def _fail(self, failure: RefusedError) -> None:
        self._end_transaction()
        self._state = State.FAILED
        self._journal.failures += 1
        self._send(Tag.FAILURE, failure.metadata(self._version))


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
