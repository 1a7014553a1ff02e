"""The port for HTTP: Neo4j's Query API, a page with its JSON API, and what monitoring asks."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import struct
from contextlib import contextmanager, suppress
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import uvicorn
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from gpugda.errors import GpugdaError
from gpugda.serve.conversation import INVALID, is_account
from gpugda.serve.messages import RefusedError, Tag
from gpugda.serve.packstream import Packer
from gpugda.serve.streams import LOCAL_HOSTS, refused_origin
from gpugda.serve.typed_json import from_typed, plain, typed

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from starlette.requests import Request

    from gpugda.serve.framing import Version
    from gpugda.serve.inner_client import InnerClient
    from gpugda.serve.journal import Journal
    from gpugda.serve.settings import Settings

__all__ = ["Shown", "WebPort"]

_TYPED = "application/vnd.neo4j.query"
_JSON = "application/json"
_AGENT = "gpugda-http/1"
_LARGEST_BODY = 16 << 20
_STREAMED_BYTES = 1 << 16
_COUNTERS = [
    "nodes-created",
    "nodes-deleted",
    "properties-set",
    "relationships-created",
    "relationships-deleted",
    "labels-added",
    "labels-removed",
    "indexes-added",
    "indexes-removed",
    "constraints-added",
    "constraints-removed",
]
_BAD = (ValueError, TypeError, KeyError, ArithmeticError, RecursionError, struct.error, GpugdaError)
"""Errors that a client's values cause."""
_UNAUTHORIZED = "Neo.ClientError.Security.Unauthorized"
_STATUS_OF = {
    "Neo.ClientError.Security.Forbidden": 403,
    "Neo.ClientError.Database.DatabaseNotFound": 404,
}


class Shown(Protocol):
    """The server whose graph the port shows."""

    journal: Journal

    @property
    def web_is_local(self) -> bool:
        """True if only programs on this machine can use the port."""

    async def problem(self) -> str:
        """Why clients cannot be served; empty if they can."""

    def status(self) -> dict[str, Any]:
        """Facts for the page."""

    async def inner_client(self) -> tuple[InnerClient, Version, Callable[[], Any]]:
        """A client in this process, its version of Bolt, and what closes it."""


class _Uvicorn(uvicorn.Server):
    """A server whose signals are handled by the program."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures none."""
        yield


class _Connection(H11Protocol):
    """A client's connection, which is dropped while it sends or takes nothing for too long.

    Args:
        settings: The server's settings.
        options: Arguments of uvicorn.
    """

    def __init__(self, settings: Settings, **options: Any) -> None:
        super().__init__(**options)
        self._settings = settings
        self._waits_for = ""
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuses a client if there are too many."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self._settings.most_connections:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Begins or ends the time for a request."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Begins the time for the next request, which may have arrived in part."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._watch()

    def pause_writing(self) -> None:
        """Begins the time in which the client has to take bytes."""
        self.flow.pause_writing()
        self._writing = self.loop.call_later(self._settings.slowest_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Ends that time."""
        self.flow.resume_writing()
        _stop(self._writing)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends all times."""
        super().connection_lost(exc)
        _stop(self._reading)
        _stop(self._writing)

    def _watch(self) -> None:
        settings, cycle = self._settings, self.cycle
        waits_for = "head" if cycle is None or cycle.response_complete else "body"
        if waits_for == "body" and not cycle.more_body:
            waits_for = ""
        if waits_for != self._waits_for:
            _stop(self._reading)
            self._waits_for = waits_for
            if waits_for:
                seconds = (
                    settings.hello_seconds if waits_for == "head" else settings.slowest_seconds
                )
                self._reading = self.loop.call_later(seconds, self.transport.abort)


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class WebPort:
    """The port for HTTP.

    Args:
        server: The server whose graph it shows.
        ports: Sockets that listen.
        tls: Certificates; None for plain HTTP.
        operator: User and password of who may see the page, its data and metrics; None for all,
            which only programs on this machine may be.
        settings: The server's settings.
    """

    def __init__(
        self,
        server: Shown,
        ports: list[socket.socket],
        tls: ssl.SSLContext | None,
        operator: tuple[str, str] | None,
        settings: Settings,
    ) -> None:
        self._server = server
        self._origins = settings.origins
        self._ports = ports
        self._operator = operator
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(server.journal)
        app = Starlette(
            routes=[
                Route("/", self._page),
                Route("/healthz", self._health),
                Route("/metrics", self._metrics),
                Route("/api/status", self._status),
                Route("/db/{database}/query/v2", self._query, methods=["POST"]),
            ],
            middleware=[
                Middleware(
                    CORSMiddleware,
                    allow_origins=self._origins,
                    allow_methods=("GET", "POST"),
                    allow_headers=("Accept", "Authorization", "Content-Type"),
                )
            ],
        )
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False,
            timeout_graceful_shutdown=max(1.0, settings.drain_seconds),  # type: ignore[arg-type]
            http=partial(_Connection, settings),  # type: ignore[arg-type]
        )  # fmt: skip
        config.load()
        config.ssl = tls
        self._uvicorn = _Uvicorn(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Opens the port.

        Raises:
            OSError: It cannot be opened.
        """
        self._task = asyncio.create_task(self._uvicorn.serve(self._ports))
        while not self._uvicorn.started and not self._task.done():
            await asyncio.sleep(0.01)
        if not self._uvicorn.started:
            self._task.result()
            raise OSError("the port for HTTP does not open")

    async def close(self) -> None:
        """Answers no more; the sockets are the server's."""
        self._uvicorn.should_exit = True
        if self._task is not None:
            await asyncio.wait({self._task})

    # ------------------------------------------------------------------ for people and monitoring
    async def _health(self, request: Request) -> Response:
        problem = await self._server.problem()
        return Response(problem or "ok\n", 503 if problem else 200, media_type="text/plain")

    async def _page(self, request: Request) -> Response:
        refused = self._refused(request)
        return refused or HTMLResponse(
            resources.files("gpugda.serve").joinpath("page.html").read_text("utf-8"),
            headers={"Content-Security-Policy": _POLICY, "X-Frame-Options": "DENY"},
        )

    async def _metrics(self, request: Request) -> Response:
        refused = self._refused(request)
        if refused:
            return refused
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)

    async def _status(self, request: Request) -> Response:
        refused = self._refused(request)
        if refused:
            return refused
        text = json.dumps(self._server.status(), allow_nan=False, default=str)
        return Response(text, media_type=_JSON)

    def _refused(self, request: Request) -> Response | None:
        """Refuses who is not the operator, and pages of other hosts."""
        foreign = self._foreign(request)
        if foreign or self._operator is None:
            return foreign
        if is_account(_credentials(request), self._operator):
            return None
        return _unauthorized("Log on as the operator.")

    def _foreign(self, request: Request) -> Response | None:
        """Refuses a page that may not ask.

        A page of another host could else use the rights of this machine: it makes a browser send
        requests, or gives its own name this machine's address.
        """
        try:
            name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
            refused = refused_origin(request.headers.get("origin"), self._origins, (name,))
        except ValueError as error:
            return _bad(error)
        if self._server.web_is_local and name not in LOCAL_HOSTS:
            refused = "a name that is not of this machine"
        code = "Neo.ClientError.Security.Forbidden"
        return _failure(403, code, f"{refused} may not ask (--origin)") if refused else None

    # ------------------------------------------------------------------ Neo4j's Query API
    async def _query(self, request: Request) -> Response:
        foreign = self._foreign(request)
        if foreign:
            return foreign
        try:
            body = await _body(request)
            is_typed = _TYPED in request.headers["content-type"]
            message = _run(body, request.path_params["database"], is_typed=is_typed)
        except ClientDisconnect:
            return Response()  # nobody reads it
        except _BAD as error:
            return _bad(error)
        convert = typed if _TYPED in request.headers.get("accept", "") else plain
        media = _TYPED if convert is typed else _JSON
        try:
            client, version, close = await self._server.inner_client()
        except (EOFError, OSError) as error:
            return _failure_of(error)
        answer = Response()  # for nobody, if the client has left
        try:
            asking = _asked(client, version, _credentials(request), message)
            found = await _unless_left(request, asking)
            if found is not None:
                with_counters = bool(body.get("includeCounters"))
                rows = _written(client, found["fields"], convert, with_counters)
                return _Rows(close, rows, 202, media_type=media)
        except (RefusedError, EOFError, OSError) as error:
            answer = _failure_of(error, media)
        except BaseException:
            await close()
            raise
        await close()
        return answer


class _Rows(StreamingResponse):
    """An answer whose client within this process is closed when it ends, however that is.

    Args:
        close: Closes it.
        arguments: As for `StreamingResponse`.
        options: As for `StreamingResponse`.
    """

    def __init__(self, close: Callable[[], Any], *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._close = close

    async def __call__(self, *arguments: Any) -> None:
        """Sends the answer."""
        try:
            await super().__call__(*arguments)
        finally:
            await self._close()


async def _asked(
    client: InnerClient, version: Version, token: dict[str, Any], message: bytes
) -> dict[str, Any]:
    await client.log_on(version, token, _AGENT)
    return await client.ask_packed(message)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _unless_left(
    request: Request, work: Coroutine[Any, Any, dict[str, Any]]
) -> dict[str, Any] | None:
    """What the work returns; None, and the work is cancelled, if the client leaves before."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()


_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
)


async def _body(request: Request) -> dict[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (_JSON, _TYPED):
        raise ValueError(f"Content-Type has to be {_JSON}")  # no other page can send that unasked
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > _LARGEST_BODY:
            raise ValueError("the request is too long")
    found = json.loads(data)
    if not isinstance(found, dict) or not isinstance(found.get("statement"), str):
        raise ValueError("there is no statement")
    if not isinstance(found.get("parameters") or {}, dict):
        raise ValueError("parameters have to be a map")
    return found


def _run(body: dict[str, Any], database: str, *, is_typed: bool) -> bytes:
    """The message RUN."""
    extra: dict[str, Any] = {"db": database}
    if str(body.get("accessMode", "")).lower() == "read":
        extra["mode"] = "r"
    if bookmarks := body.get("bookmarks"):
        if not isinstance(bookmarks, list):
            raise ValueError("bookmarks have to be a list")
        extra["bookmarks"] = [str(each) for each in bookmarks]
    if body.get("impersonatedUser"):
        extra["imp_user"] = str(body["impersonatedUser"])
    if body.get("maxExecutionTime"):
        extra["tx_timeout"] = int(body["maxExecutionTime"]) * 1000
    parameters = body.get("parameters") or {}
    if is_typed:
        parameters = from_typed(parameters)
    return Packer().message(Tag.RUN, body["statement"], parameters, extra)


async def _written(
    client: InnerClient,
    fields: list[str],
    convert: Callable[[Any], Any],
    with_counters: bool,
) -> AsyncIterator[bytes]:
    """The answer, in parts. A failure after the first rows is told after them."""
    metadata: dict[str, Any] = {}
    more: dict[str, Any] = {}
    parts = [f'{{"data":{{"fields":{_json(fields)},"values":[']
    size, comma = 0, ""
    try:
        async for row in client.rows(metadata):
            parts.append(comma + _json([convert(value) for value in row]))
            comma = ","
            size += len(parts[-1])
            if size > _STREAMED_BYTES:
                yield "".join(parts).encode()
                parts, size = [], 0
        more = _after(metadata, convert, with_counters)
    except (RefusedError, EOFError) as error:
        more = {"errors": _errors(error)}
    parts.append("]}")
    parts += [f",{_json(name)}:{_json(value)}" for name, value in more.items()]
    yield ("".join(parts) + "}").encode()


def _after(
    metadata: dict[str, Any], convert: Callable[[Any], Any], with_counters: bool
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if metadata.get("notifications"):
        found["notifications"] = metadata["notifications"]
    if with_counters:
        stats = metadata.get("stats", {})
        counts = {_camel(name): stats.get(name, 0) for name in _COUNTERS}
        system = stats.get("system-updates", 0)
        found["counters"] = {
            "containsUpdates": any(counts.values()),
            **counts,
            "containsSystemUpdates": bool(system),
            "systemUpdates": system,
        }
    for name, shown in (("plan", "queryPlan"), ("profile", "profiledQueryPlan")):
        if name in metadata:
            found[shown] = _plan(metadata[name], convert)
    found["bookmarks"] = [metadata["bookmark"]] if metadata.get("bookmark") else []
    if "gpugda" in metadata:
        found["gpugda"] = plain(metadata["gpugda"])
    return found


def _plan(node: dict[str, Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    arguments = {name: convert(value) for name, value in node.get("args", {}).items()}
    found = {name: value for name, value in node.items() if name not in ("args", "rows")}
    if "rows" in node:
        found = {**_UNKNOWN, **found, "records": node["rows"]}
        found["hasPageCacheStats"] = bool(found["pageCacheHits"] or found["pageCacheMisses"])
    children = [_plan(child, convert) for child in node.get("children", [])]
    return {**found, "arguments": arguments, "children": children}


_UNKNOWN = {
    "dbHits": 0, "pageCacheHits": 0, "pageCacheMisses": 0, "pageCacheHitRatio": 0.0, "time": 0,
}  # fmt: skip


def _camel(name: str) -> str:
    return re.sub(r"-(\w)", lambda found: found.group(1).upper(), name)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# ------------------------------------------------------------------ credentials and failures
def _credentials(request: Request) -> dict[str, Any]:
    """The token of LOGON in a request's header."""
    scheme, _, rest = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return {"scheme": "bearer", "credentials": rest.strip()}
    if scheme.lower() == "basic":
        with suppress(ValueError):
            user, _, password = base64.b64decode(rest).decode().partition(":")
            return {"scheme": "basic", "principal": user, "credentials": password}
    return {"scheme": "none"}


def _errors(error: Exception) -> list[dict[str, str]]:
    code = "Neo.TransientError.General.DatabaseUnavailable"
    if isinstance(error, RefusedError):
        code = error.code
    return [{"code": code, "message": str(error) or type(error).__name__}]


def _failure_of(error: Exception, media: str = _JSON) -> Response:
    if not isinstance(error, RefusedError):
        return JSONResponse({"errors": _errors(error)}, 503, media_type=media)
    if error.code.startswith(_UNAUTHORIZED):
        return _unauthorized(str(error))
    kind = error.code.split(".")[1]
    status = _STATUS_OF.get(error.code, 400 if kind in ("ClientError", "TransientError") else 500)
    return _failure(status, error.code, str(error), media)


def _bad(error: Exception) -> Response:
    message = str(error) or type(error).__name__
    return _failure(400, INVALID, f"Bad Request: {message}")


def _unauthorized(message: str) -> Response:
    found = _failure(401, _UNAUTHORIZED, message)
    found.headers["WWW-Authenticate"] = 'Basic realm="gpugda", charset="UTF-8"'
    return found


def _failure(status: int, code: str, message: str, media: str = _JSON) -> Response:
    errors = [{"code": code, "message": message}]
    return JSONResponse({"errors": errors}, status, media_type=media)
