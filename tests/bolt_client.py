"""A Bolt client that sends any bytes, and a server in a thread."""

from __future__ import annotations

import asyncio
import selectors
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpugda.serve.framing import MAGIC, Dechunker, chunked
from gpugda.serve.messages import Tag
from gpugda.serve.packstream import Packer, Structure, unpack
from gpugda.serve.server import AsyncServer, host_and_port

PACKER = Packer()
OFFER_5_8 = bytes((0, 0, 8, 5)) + bytes(12)


class BoltClient:
    """A connection; ``ask`` sends messages and returns the answers' tags and metadata."""

    def __init__(self, address: str, offer: bytes = OFFER_5_8, *, hello: bool = True) -> None:
        if "/" in address:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(60)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(host_and_port(address), 60)
        self.dechunker = Dechunker(1 << 30)
        self.waiting: list[Structure] = []
        try:
            self.socket.sendall(MAGIC + offer)
            self.answer = self.exactly(4)
            if hello:
                self.hello((self.answer[3], self.answer[2]))
        except BaseException:
            self.socket.close()
            raise

    def hello(self, version: tuple[int, int]) -> None:
        agent = {"product": "test/1"}
        extra = {"user_agent": "test/1", "bolt_agent": agent, "patch_bolt": ["utc"]}
        old = {"scheme": "none"} if version < (5, 1) else {}
        assert self.ask(Tag.HELLO, {**extra, **old})[0] == Tag.SUCCESS
        if version >= (5, 1):
            assert self.ask(Tag.LOGON, {"scheme": "none"})[0] == Tag.SUCCESS

    def exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            data = self.socket.recv(count - len(found))
            if not data:
                raise EOFError(found)
            found += data
        return found

    def send(self, tag: int, *fields: Any) -> None:
        self.socket.sendall(chunked(PACKER.message(tag, *fields)))

    def receive(self) -> Structure:
        while not self.waiting:
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError
            self.waiting += map(unpack, self.dechunker.feed(data))
        return self.waiting.pop(0)

    def ask(self, tag: int, *fields: Any) -> tuple[int, Any]:
        self.send(tag, *fields)
        found = self.receive()
        return found.tag, found.fields[0] if found.fields else None

    def rows(self, **pull: Any) -> tuple[list[list[Any]], Structure]:
        """What a PULL gives: the rows, and the message after them."""
        self.send(Tag.PULL, {"n": -1, **pull})
        rows = []
        while (found := self.receive()).tag == Tag.RECORD:
            rows.append(found.fields[0])
        return rows, found

    def is_closed(self) -> bool:
        """True if the server closes the connection."""
        try:
            while self.socket.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass
        return True

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> BoltClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@contextmanager
def served(source: Any, **options: Any) -> Iterator[AsyncServer]:
    """A server whose event loop runs in a thread; no connection is open after it."""
    server = AsyncServer(source, **{"listen": "127.0.0.1:0", "drain_seconds": 0.0, **options})
    selector = selectors.DefaultSelector()
    loop = asyncio.SelectorEventLoop(selector)
    thread = threading.Thread(target=loop.run_forever, name="server")
    thread.start()
    own = 1  # the pipe that wakes the loop
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(60)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.close(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        left = len(selector.get_map()) - own
        loop.close()
        assert not left


def make_certificate(folder: Path) -> tuple[str, str]:
    """Files of a certificate for this machine and of its key."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return str(certificate), str(key)
