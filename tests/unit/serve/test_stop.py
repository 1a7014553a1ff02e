"""The server leaves no connection open, in whatever state its clients are when it stops."""

import asyncio
import gc
import socket
import sys
import time
import warnings

import pytest
from bolt_client import MAGIC, OFFER_5_8, BoltClient, make_certificate, served
from soon import soon

import gpugda
from gpugda.serve.messages import Tag
from gpugda.serve.server import AsyncServer, host_and_port

MANY = "UNWIND range(1, 50000) AS x RETURN x, 'a text of some length'"
LONG = "UNWIND range(1, 2000) AS a UNWIND range(1, 2000) AS b WITH a + b AS s WHERE s < 0 RETURN s"


@pytest.fixture(scope="module")
def graph():
    with gpugda.connect(gpugda.graph(nodes={"id": [1]}, relationships=[])) as accelerator:
        yield accelerator


@pytest.fixture
def unraisable(monkeypatch):
    """Exceptions that nobody could catch: a `ResourceWarning` of something left open is one."""
    found = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: found.append(event.exc_value))
    gc.collect()
    found.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield found


def raw(*parts):
    def start(address):
        connection = socket.create_connection(host_and_port(address), 60)
        connection.sendall(b"".join(parts))
        return connection

    return start


def client(*messages, leave=False):
    def start(address):
        made = BoltClient(address)
        for message in messages:
            made.send(*message)
        if leave:
            made.close()
        return made

    return start


STATES = {
    "silent": raw(),
    "magic": raw(MAGIC),
    "shaken hands": raw(MAGIC, OFFER_5_8),
    "no Bolt": raw(bytes(range(40))),
    "no version": raw(MAGIC, bytes(16)),
    "TLS": raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "WebSocket": raw(b"GET / HTTP/1.1\r\nHost: x\r\n"),
    "half a message": raw(MAGIC, OFFER_5_8, b"\x00\x10\xb3\x10"),
    "ready": client(),
    "in a transaction": client((Tag.BEGIN, {})),
    "running": client((Tag.RUN, LONG, {}, {})),
    "reading nothing": client((Tag.RUN, MANY, {}, {}), (Tag.PULL, {"n": -1})),
    "reading nothing of many": client(*[(Tag.RUN, MANY, {}, {}), (Tag.PULL, {"n": -1})] * 20),
    "gone": client(leave=True),
    "gone while running": client((Tag.RUN, LONG, {}, {}), leave=True),
    "gone after farewell": client((Tag.GOODBYE,), leave=True),
}


def open_and_leave(server):
    """Clients in every state; the server stops before most of them are read."""
    return [start(server.address) for start in STATES.values()]


def test_nothing_stays_open(graph, unraisable):
    with served(graph) as server:
        clients = open_and_leave(server)
    for each in clients:
        each.close()
    gc.collect()
    assert unraisable == []


@pytest.mark.slow
def test_nothing_stays_open_before_another_server(graph, unraisable):
    with served(graph) as behind:
        with served(f"bolt://{behind.address}") as front:
            clients = open_and_leave(front)
        while behind.connections:
            time.sleep(0.01)
    for each in clients:
        each.close()
    gc.collect()
    assert unraisable == []


def test_nothing_stays_open_at_whatever_step_of_the_loop_the_server_stops(graph, unraisable):
    async def stopped_after(steps, address):
        front = AsyncServer(f"bolt://{address}", listen="127.0.0.1:0", drain_seconds=0)
        async with front:
            leaving = await asyncio.to_thread(BoltClient, front.address)
            new = raw(MAGIC, OFFER_5_8)(front.address)
            leaving.close()
            for _ in range(steps):
                await asyncio.sleep(0)
        new.close()

    with served(graph) as behind:
        for steps in range(20):
            asyncio.run(stopped_after(steps, behind.address))
    gc.collect()
    assert unraisable == []


@pytest.mark.slow
def test_nothing_stays_open_with_tls(graph, unraisable, tmp_path):
    certificate, key = make_certificate(tmp_path)
    starts = [b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", MAGIC + OFFER_5_8]
    with served(graph, certificate=certificate, key=key) as server:
        clients = [raw(start)(server.address) for start in starts * 2]
        assert soon(lambda: len(server.connections) == 4)  # without those that speak no TLS
    for each in clients:
        each.close()
    gc.collect()
    assert unraisable == []
