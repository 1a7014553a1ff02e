"""Measuring rates of devices and servers, and storing them."""

from dataclasses import asdict, replace

import pytest
from fake_server import FakeServer, facts

from gpugda.calibration.device import calibrate_device
from gpugda.calibration.kept import (
    calibration_file,
    default_device_rates,
    keep_device_rates,
    keep_server_rates,
    kept_device_rates,
    kept_server_rates,
)
from gpugda.calibration.server import calibrate_server
from gpugda.device.devices import DeviceInfo
from gpugda.match.session import DeviceSession
from gpugda.plan.cost import CPU_DEVICE, GPU_DEVICE, LOCAL_SERVER
from gpugda.ports import NativeAnswer

INFO = DeviceInfo(0, "P", "a CPU", "V", "cpu", 2, 1 << 30, 1 << 30, 1 << 15, "OpenCL 3.0")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.device
def test_device_rates_are_measured():
    session = DeviceSession(None, None, "once")
    try:
        rates = calibrate_device(session)
    finally:
        session.close()
    assert all(value > 0 for value in asdict(rates).values())
    assert rates.query_seconds < 1
    assert 1e5 < rates.pairs_per_second < 1e13
    assert 1e4 < rates.rows_per_second < 1e8


def test_server_rates_are_measured_without_reading_user_data():
    server = FakeServer()
    texts = []

    def run_native(text, parameters, *, timeout, read_only):
        assert read_only
        assert timeout <= 10
        texts.append(text)
        return NativeAnswer((), [], None, None)

    server.run_native = run_native
    assert all(value > 0 for value in asdict(calibrate_server(server)).values())
    for text in texts:
        assert text.startswith(("RETURN", "UNWIND range", "EXPLAIN")), text
    planned = [text for text in texts if text.startswith("EXPLAIN")]
    assert len(set(planned)) == len(planned) > 1


def test_rates_are_stored_per_device_and_per_server():
    assert kept_device_rates(INFO) is None
    mine = replace(CPU_DEVICE, query_seconds=0.5)
    keep_device_rates(INFO, mine)
    keep_server_rates(facts(), replace(LOCAL_SERVER, round_trip_seconds=0.25))
    assert kept_device_rates(INFO) == mine
    assert kept_device_rates(replace(INFO, name="another")) is None
    assert kept_server_rates(facts()).round_trip_seconds == 0.25
    assert kept_server_rates(facts(address="bolt://other:7687")) is None
    assert calibration_file().parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1, "rates": 3}', '{"version": 9}'])
def test_a_damaged_file_is_ignored_and_replaced(folder, text):
    folder.mkdir()
    calibration_file().write_text(text)
    assert kept_device_rates(INFO) is None
    keep_device_rates(INFO, CPU_DEVICE)
    assert kept_device_rates(INFO) == CPU_DEVICE


def test_impossible_rates_are_ignored():
    keep_device_rates(INFO, replace(CPU_DEVICE, pairs_per_second=0.0))
    assert kept_device_rates(INFO) is None


def test_a_folder_that_cannot_be_written_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    keep_device_rates(INFO, CPU_DEVICE)
    assert kept_device_rates(INFO) == CPU_DEVICE


def test_rates_are_not_stored_if_the_cache_is_off(monkeypatch):
    monkeypatch.setenv("GPUGDA_CACHE_DIR", "off")
    keep_device_rates(INFO, CPU_DEVICE)
    assert calibration_file() is None
    assert kept_device_rates(INFO) is None


def test_default_rates_apply_without_a_measurement():
    assert default_device_rates(INFO) == CPU_DEVICE
    assert default_device_rates(replace(INFO, type="gpu")) == GPU_DEVICE
