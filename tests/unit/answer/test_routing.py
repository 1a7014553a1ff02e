"""The router corrects its estimates by what other texts took."""

import pytest
from fake_server import FakeServer, silent

from gpugda.answer.request import Request
from gpugda.answer.routing import Router
from gpugda.config import parse_freshness
from gpugda.live.keeper import SnapshotKeeper
from gpugda.live.reading import EmptyShelf
from gpugda.match.registry import DEFAULT_STRATEGY
from gpugda.match.session import DeviceSession

NODES = {number: (("Person",), {"name": f"p{number}"}) for number in range(9)}
RELATIONSHIPS = {number: (number, number + 1, "KNOWS", {}) for number in range(8)}
TEXT = "MATCH (a:Person)-[:KNOWS]->(b) WHERE a.name <> 'x{}' RETURN count(*)"


@pytest.fixture
def decide():
    server, device = FakeServer(NODES, RELATIONSHIPS), DeviceSession(None, None, "once")
    keeper = SnapshotKeeper(server, parse_freshness("strict"), EmptyShelf(), silent())
    router, loaded = Router("cost", device, server), keeper.refresh()

    def verdict(number):
        request = Request(TEXT.format(number), {}, DEFAULT_STRATEGY)
        plan = loaded.plan(request.prepared(), request.strategy)
        return router, request, router.decide(request, plan, loaded, keeper)

    yield verdict
    keeper.close()
    device.close()


def test_new_texts_are_expected_to_take_as_long_as_others_took(decide):
    router, _, first = decide(0)
    assert first.engine == "native"  # the device is not open
    for number in range(4):
        _, request, verdict = decide(number)
        router.record_native(request, 40 * first.native_seconds)
        assert number > 2 or verdict.native_seconds == pytest.approx(first.native_seconds)
    _, _, corrected = decide(5)
    assert corrected.native_seconds > 20 * first.native_seconds
    assert corrected.engine == "gpu"


def test_the_same_text_is_known_by_its_own_time(decide):
    router, request, first = decide(0)
    for _ in range(20):
        router.record_native(request, 40 * first.native_seconds)
        decide(0)
    _, _, other = decide(1)
    assert other.native_seconds == pytest.approx(first.native_seconds)
    _, _, same = decide(0)
    assert same.native_seconds == pytest.approx(40 * first.native_seconds)
