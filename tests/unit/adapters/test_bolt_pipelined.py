"""A probe that is sent first and whose answer is received later."""

from types import SimpleNamespace

import pytest
from gpugda_adapters.bolt_pipelined import send_probe


class Link:
    """Records the calls that queue, send and receive."""

    def __init__(self, summary):
        self.summary = summary
        self.did = []

    def run(self, text, *, mode, db, imp_user):
        self.did.append(("run", text, mode, db, imp_user))

    def pull(self, n, on_success):
        self.did.append(("pull", n))
        self.on_success = on_success

    def send_all(self):
        self.did.append("sent")

    def fetch_all(self):
        self.did.append("received")
        self.on_success(self.summary)


def session_with(link):
    session = SimpleNamespace(modes=[])

    def connect(mode):
        session.modes.append(mode)
        session._connection = link

    session._connect = connect
    return session


def test_the_answer_is_received_only_on_request():
    link = Link({"bookmark": "b7", "t_last": 0})
    session = session_with(link)
    sent = send_probe(session, "films", "ann")
    assert session.modes == ["READ"]
    assert link.did == [("run", "RETURN 1", "READ", "films", "ann"), ("pull", -1), "sent"]
    assert sent.link is link
    assert sent.receive() == ["b7"]
    assert link.did[-1] == "received"


@pytest.mark.parametrize("summary", [{}, {"bookmark": None}])
def test_an_answer_without_a_bookmark_is_empty(summary):
    assert send_probe(session_with(Link(summary)), None, None).receive() == []


@pytest.mark.parametrize("missing", ["run", "pull", "send_all"])
def test_a_driver_without_the_private_methods_sends_nothing(missing):
    link = Link({})
    setattr(link, missing, None)
    assert send_probe(session_with(link), None, None) is None
    assert "sent" not in link.did


def test_a_session_without_a_known_connection_sends_nothing():
    assert send_probe(SimpleNamespace(), None, None) is None
    assert send_probe(session_with(object()), None, None) is None
