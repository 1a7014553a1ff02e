"""Starting the driver while the host reads a graph."""

from dataclasses import replace

import pytest

import gpugda
from gpugda.device import driver_start
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.driver_start import DriverStart
from gpugda.match import session

pytestmark = pytest.mark.device


@pytest.fixture
def as_gpu(monkeypatch):
    """Makes any device pass for a GPU of this machine."""

    def chosen(wanted=None):
        return replace(choose_device(wanted), type="gpu")

    monkeypatch.setattr(driver_start, "_GPUS", ("/",))
    monkeypatch.setattr(driver_start, "choose_device", chosen)
    monkeypatch.setattr(session, "choose_device", chosen)


def test_a_context_made_in_advance_is_used_once(as_gpu):
    info = replace(choose_device(), type="gpu")
    started = DriverStart(None)
    made = started.take(info)
    assert made.devices == [info.handle]
    assert started.take(info) is None
    opened = DeviceContext(info, like_cpu=True, made=made)
    assert opened.context is made
    opened.close()


def test_another_device_gets_no_context(as_gpu):
    info = replace(choose_device(), type="gpu")
    assert DriverStart(None).take(replace(info, index=info.index + 1)) is None


def test_no_driver_is_started_without_a_gpu(monkeypatch):
    monkeypatch.setattr(driver_start, "_GPUS", ("/dev/there is none",))
    monkeypatch.setattr(
        driver_start, "refuse_forked_process", lambda: pytest.fail("the driver was started")
    )
    assert DriverStart(None).take(choose_device()) is None


def test_a_missing_device_is_refused_when_opened(as_gpu):
    with (
        gpugda.connect(gpugda.graph({"id": [1]}), device="no such device") as graph,
        pytest.raises(gpugda.DeviceError, match="no such device"),
    ):
        graph.run("MATCH (a) RETURN count(*)", engine="gpu")


def test_queries_run_on_a_context_made_in_advance(as_gpu, monkeypatch):
    made = []
    real = DriverStart.take

    def take(self, info):
        made.append(real(self, info))
        return made[-1]

    monkeypatch.setattr(DriverStart, "take", take)
    relationships = {"source": [1, 2], "target": [2, 3], "type": ["R", "R"]}
    with gpugda.connect(gpugda.graph({"id": [1, 2, 3]}, relationships)) as graph:
        text = "MATCH (a)-->(b)-->(c) RETURN count(*)"
        assert graph.run(text, engine="gpu").values() == [[1]]
    assert made[0] is not None
