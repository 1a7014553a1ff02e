"""What both kinds of conversation share: work in threads, open results, and output."""

from __future__ import annotations

import asyncio
import hmac
import logging
from typing import TYPE_CHECKING, Any

from gpugda.deadline import Cancellation
from gpugda.serve.framing import NOOP, chunked
from gpugda.serve.messages import RefusedError, Tag, failure_of
from gpugda.serve.packstream import Packer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.result.summary import Summary
    from gpugda.serve.answers import Answer, Workers
    from gpugda.serve.framing import Version
    from gpugda.serve.inbox import Inbox
    from gpugda.serve.journal import Journal
    from gpugda.serve.settings import Settings
    from gpugda.serve.streams import ByteStream

__all__ = ["INVALID", "Conversation", "EndError", "InterruptedWorkError", "Link", "is_account"]

logger = logging.getLogger(__name__)

INVALID = "Neo.ClientError.Request.Invalid"


class EndError(Exception):
    """Ends the conversation."""


class InterruptedWorkError(RefusedError):
    """The client interrupted the work."""

    def __init__(self) -> None:
        failure = failure_of(RuntimeError(), cancelled=True)
        super().__init__(failure.code, str(failure))


def is_account(token: Mapping[str, Any], account: tuple[str, str]) -> bool:
    """True if a LOGON's token holds this user and password."""
    given = (token.get("principal"), token.get("credentials"))
    # Compares both always, in constant time.
    matches = [
        hmac.compare_digest(str(one).encode(), two.encode())
        for one, two in zip(given, account, strict=True)
    ]
    return token.get("scheme") == "basic" and all(matches)


class Link:
    """A client's connection after the hand-shake.

    Args:
        stream: The connection.
        inbox: Its messages.
        version: The version of Bolt.
        name: The connection's id.
        own_address: The address at which the client reached this server.
        journal: Notes the queries.
    """

    def __init__(
        self,
        stream: ByteStream,
        inbox: Inbox,
        version: Version,
        name: str,
        own_address: str,
        journal: Journal,
    ) -> None:
        self.stream = stream
        self.inbox = inbox
        self.version = version
        self.name = name
        self.own_address = own_address
        self.journal = journal


class Conversation:
    """A conversation with one client.

    Args:
        link: The client's connection.
        workers: Threads for queries.
        settings: The server's settings.
    """

    def __init__(self, link: Link, workers: Workers, settings: Settings) -> None:
        self._stream = link.stream
        self._inbox = link.inbox
        self._version = link.version
        self.name = link.name
        self._workers = workers
        self._settings = settings
        self._address = settings.advertise or link.own_address
        self._journal = link.journal
        self.user = ""
        self.agent = ""
        self._packer = Packer()
        self._utc = link.version >= (5, 0)
        self._out: list[bytes] = []
        self._answers: dict[int, Answer] = {}
        self._newest = 0
        self._is_working = False
        self._interrupt: Callable[[], None] = lambda: None
        self._inbox.on_interrupt = lambda: self._interrupt()

    @property
    def _has_work(self) -> bool:
        """True while a query runs, or has unread rows."""
        return self._is_working or bool(self._answers) or not self._inbox.is_empty

    def _note_client(self, extra: Mapping[str, Any]) -> None:
        """Notes who a HELLO or LOGON says that the client is."""
        self.agent = str(extra.get("user_agent") or self.agent)[:200]
        self.user = str(extra.get("principal") or self.user)[:200]

    def _note_answer(self, text: str, summary: Summary) -> None:
        seconds = summary.timings.get("total", 0.0)
        self._journal.note(self.name, text, summary.engine, seconds, summary.reason)

    # ------------------------------------------------------------------ results
    def _add(self, answer: Answer, qid: int) -> None:
        answer.qid = self._newest = qid
        self._answers[qid] = answer

    def _asked(self, extra: Mapping[str, Any]) -> tuple[int, Answer]:
        """Number of rows and the result that a PULL or DISCARD names.

        Raises:
            RefusedError: They make no sense.
        """
        count, qid = extra.get("n", -1), extra.get("qid", -1)
        if not isinstance(count, int) or not isinstance(qid, int) or count == 0 or count < -1:
            raise RefusedError(INVALID, "n has to be -1 or a positive number, and qid a number.")
        answer = self._answers.get(self._newest if qid == -1 else qid)
        if answer is None:
            raise RefusedError(INVALID, f"There is no open result with the number {qid}.")
        return count, answer

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

    def _finish(self, answer: Answer) -> None:
        if answer.has_more:
            self._succeed({"has_more": True})
            return
        del self._answers[answer.qid]
        self._succeed({**answer.metadata(), **self._last_facts()})

    def _last_facts(self) -> dict[str, Any]:
        """Further metadata after the last row of a result."""
        raise NotImplementedError

    async def _work(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function in a thread, and tells a client that waits long that it lives.

        Raises:
            RefusedError: The function failed, or the client interrupted it.
            EndError: The client is gone.
        """
        await self._flush()
        work = Cancellation()
        future = self._workers.start(work, function, *arguments)

        def interrupt() -> None:
            work.cancel()
            future.cancel()

        self._is_working = True
        self._interrupt = interrupt
        if self._inbox.resets or self._inbox.ended:
            interrupt()
        try:
            while not (await asyncio.wait({future}, timeout=self._settings.alive_seconds))[0]:
                self._stream.write(NOOP)
            if future.cancelled() or work.cancelled:
                raise EndError if self._inbox.ended else InterruptedWorkError
            return future.result()
        except (EndError, RefusedError):
            raise
        except Exception as error:
            failure = failure_of(error)
            logger.info("query of %s failed: %s", self.name, failure.code)  # no text: it has data
            raise failure from error
        finally:
            interrupt()
            self._interrupt = lambda: None
            self._is_working = False

    # ------------------------------------------------------------------ output
    def _succeed(self, metadata: Mapping[str, Any] | None = None) -> None:
        self._send(Tag.SUCCESS, dict(metadata or {}))

    def _send(self, tag: Tag, *fields: Any) -> None:
        self._out.append(chunked(self._packer.message(tag, *fields)))

    async def _flush(self) -> None:
        if self._out:
            data = b"".join(self._out)
            self._out.clear()
            self._stream.write(data)
            await self._stream.drain()
