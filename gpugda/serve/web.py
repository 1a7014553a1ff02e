"""The port for HTTP: Neo4j's Query API, a page with its JSON API, and what monitoring asks."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import re
from contextlib import contextmanager, suppress
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import uvicorn
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from gpugda.serve.messages import RefusedError, Tag
from gpugda.serve.typed_json import from_typed, plain, typed

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import AsyncIterator, Callable, Iterator

    from starlette.requests import Request

    from gpugda.serve.framing import Version
    from gpugda.serve.inner_client import InnerClient
    from gpugda.serve.journal import Journal

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
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_STATUS_OF = {
    "Neo.ClientError.Security.Unauthorized": 401,
    "Neo.ClientError.Security.Forbidden": 403,
    "Neo.ClientError.Database.DatabaseNotFound": 404,
}


class Shown(Protocol):
    """The server whose graph the port shows."""

    journal: Journal

    @property
    def web_is_local(self) -> bool:
        """True if only programs on this machine can use the port."""

    @property
    def origins(self) -> tuple[str, ...]:
        """Pages that may ask, beside those of this machine."""

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


class WebPort:
    """The port for HTTP.

    Args:
        server: The server whose graph it shows.
        ports: Sockets that listen.
        tls: Certificates; None for plain HTTP.
        operator: User and password of who may see the page, its data and metrics; None for all,
            which only programs on this machine may be.
    """

    def __init__(
        self,
        server: Shown,
        ports: list[socket.socket],
        tls: ssl.SSLContext | None,
        operator: tuple[str, str] | None,
    ) -> None:
        self._server = server
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
            ]
        )
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False,
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        config.load()
        config.ssl = tls
        self._uvicorn = _Uvicorn(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Opens the port."""
        self._task = asyncio.create_task(self._uvicorn.serve(self._ports))
        while not self._uvicorn.started and not self._task.done():
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        """Closes the port."""
        self._uvicorn.should_exit = True
        if self._task is not None:
            await self._task
        for port in self._ports:
            port.close()

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
        return refused or JSONResponse(json.loads(json.dumps(self._server.status(), default=str)))

    def _refused(self, request: Request) -> Response | None:
        """Refuses who is not the operator, and pages of other hosts."""
        problem = self._foreign(request)
        if problem:
            return _failure(403, "Neo.ClientError.Security.Forbidden", problem)
        if self._operator is None:
            return None
        given = _credentials(request)
        wanted = dict(zip(("principal", "credentials"), self._operator, strict=True))
        matches = [
            hmac.compare_digest(str(given.get(name)).encode(), value.encode())
            for name, value in wanted.items()
        ]
        return None if all(matches) else _unauthorized("Log on as the operator.")

    def _foreign(self, request: Request) -> str:
        """Why a request comes from a page that may not ask; empty if it may.

        A page of another host could else use the rights of this machine: it makes a browser send
        requests, or gives its own name this machine's address.
        """
        name = urlsplit(f"//{request.headers.get('host', '')}").hostname
        if self._server.web_is_local and name not in _LOCAL_HOSTS:
            return "this name is not of this machine"
        origin = request.headers.get("origin")
        if origin is None or origin in self._server.origins or urlsplit(origin).hostname == name:
            return ""
        return f"the page {origin[:200]} may not ask (--origin)"

    # ------------------------------------------------------------------ Neo4j's Query API
    async def _query(self, request: Request) -> Response:
        foreign = self._foreign(request)
        if foreign:
            return _failure(403, "Neo.ClientError.Security.Forbidden", foreign)
        try:
            body = await _body(request)
            statement, parameters, extra = _run(body, request.path_params["database"])
            if _TYPED in request.headers["content-type"]:
                parameters = from_typed(parameters)
        except (ValueError, TypeError, KeyError) as error:
            return _failure(400, "Neo.ClientError.Request.Invalid", f"Bad Request: {error}")
        convert = typed if _TYPED in request.headers.get("accept", "") else plain
        media = _TYPED if convert is typed else _JSON
        try:
            client, version, close = await self._server.inner_client()
        except (EOFError, OSError) as error:
            return _failure_of(error)
        try:
            await client.log_on(version, _credentials(request), _AGENT)
            run = await client.ask(Tag.RUN, statement, parameters, extra)
        except (RefusedError, EOFError, OSError) as error:
            await close()
            return _failure_of(error, media)
        except BaseException:
            await close()
            raise
        return StreamingResponse(
            _written(client, close, run["fields"], convert, bool(body.get("includeCounters"))),
            202,
            media_type=media,
        )


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
    found = json.loads(bytes(data))
    if not isinstance(found, dict) or not isinstance(found.get("statement"), str):
        raise ValueError("there is no statement")
    if not isinstance(found.get("parameters") or {}, dict):
        raise ValueError("parameters have to be a map")
    return found


def _run(body: dict[str, Any], database: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The fields of RUN."""
    extra: dict[str, Any] = {"db": database}
    if str(body.get("accessMode", "")).lower() == "read":
        extra["mode"] = "r"
    if body.get("bookmarks"):
        extra["bookmarks"] = [str(each) for each in body["bookmarks"]]
    if body.get("impersonatedUser"):
        extra["imp_user"] = str(body["impersonatedUser"])
    if body.get("maxExecutionTime"):
        extra["tx_timeout"] = int(body["maxExecutionTime"]) * 1000
    return body["statement"], body.get("parameters") or {}, extra


async def _written(
    client: InnerClient,
    close: Callable[[], Any],
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
    finally:
        await close()
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
    if isinstance(error, RefusedError):
        return [{"code": error.code, "message": str(error)}]
    code = "Neo.TransientError.General.DatabaseUnavailable"
    return [{"code": code, "message": str(error) or type(error).__name__}]


def _failure_of(error: Exception, media: str = _JSON) -> Response:
    if not isinstance(error, RefusedError):
        return JSONResponse({"errors": _errors(error)}, 503)
    if error.code.startswith("Neo.ClientError.Security.Unauthorized"):
        return _unauthorized(str(error))
    kind = error.code.split(".")[1]
    status = _STATUS_OF.get(error.code, 400 if kind in ("ClientError", "TransientError") else 500)
    return _failure(status, error.code, str(error), media)


def _failure(status: int, code: str, message: str, media: str = _JSON) -> Response:
    errors = [{"code": code, "message": message}]
    return JSONResponse({"errors": errors}, status, media_type=media)


def _unauthorized(message: str) -> Response:
    code = "Neo.ClientError.Security.Unauthorized"
    headers = {"WWW-Authenticate": 'Basic realm="gpugda", charset="UTF-8"'}
    return JSONResponse({"errors": [{"code": code, "message": message}]}, 401, headers)
