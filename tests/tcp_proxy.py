"""A TCP proxy on this machine that tests can cut, hold, or make act after a number of bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self


class TcpProxy:
    """Forwards connections to a port of 127.0.0.1 from its own port, `port`.

    A context manager that cleans up completely.
    """

    def __init__(self, target_port: int) -> None:
        self._target = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads: list[threading.Thread] = []
        self._action: tuple[int, Callable[[], Any]] | None = None
        self._flowing = threading.Event()
        self._flowing.set()
        self.received = 0
        """Number of bytes received from the server."""
        self._spawn(self._accept)

    @property
    def uri(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def after(self, byte_count: int, action: Callable[[], Any]) -> threading.Event:
        """Runs an action once in a thread, after this many more bytes from the server.

        The event is set when the action is finished.
        """
        done = threading.Event()

        def act() -> None:
            action()
            done.set()

        with self._lock:
            self._action = (self.received + byte_count, act)
        return done

    def cut(self) -> None:
        """Resets all connections; new ones are served."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for end in (end for pair in pairs for end in pair):
            with suppress(OSError):
                # RST in place of FIN, as from a machine that has crashed and restarted
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def hold(self) -> None:
        """Silently stops forwarding from the server."""
        self._flowing.clear()

    def release(self) -> None:
        """Forwards everything that was held."""
        self._flowing.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(30)

    def _spawn(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, name="tcp-proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self._lock:
                self._pairs.append((client, server))
            self._spawn(self._forward, client, server, False)
            self._spawn(self._forward, server, client, True)

    def _forward(self, source: socket.socket, target: socket.socket, from_server: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if from_server:
                    self._flowing.wait()
                    self._count(len(data))
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _count(self, size: int) -> None:
        with self._lock:
            self.received += size
            action = None
            if self._action is not None and self.received >= self._action[0]:
                (_, action), self._action = self._action, None
        if action is not None:
            self._spawn(action)
