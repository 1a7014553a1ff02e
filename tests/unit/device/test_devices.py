"""Choice of the device; no OpenCL is needed."""

import sys
from dataclasses import replace

import pytest

from gpugda.device import devices
from gpugda.device.devices import DeviceInfo, choose_device, list_devices
from gpugda.errors import DeviceError


def info(index, name, kind, memory, platform="Some platform"):
    return DeviceInfo(index, platform, name, "", kind, 2, memory, memory, 1 << 15, "OpenCL 3.0")


THERE = [
    info(0, "Slow CPU", "cpu", 1 << 40, "Portable Computing Language"),
    info(1, "Small GPU", "gpu", 1 << 30),
    info(2, "Large GPU", "gpu", 1 << 34),
]


@pytest.fixture
def there(monkeypatch):
    monkeypatch.setattr(devices, "list_devices", lambda: THERE)


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (None, 2),
        ("", 2),
        ("gpu", 2),
        ("GPU", 2),
        ("cpu", 0),
        (0, 0),
        (1, 1),
        ("1", 1),
        ("small", 1),
        ("portable", 0),
    ],
)
def test_a_device_is_chosen_by_number_type_or_name(there, wanted, index):
    assert choose_device(wanted).index == index


@pytest.mark.parametrize("wanted", ["radeon", 3, "7", "accelerator"])
def test_a_choice_that_fits_no_device_is_refused(there, wanted):
    with pytest.raises(DeviceError, match="1: Small GPU"):
        choose_device(wanted)


class Divisible:
    """A device of pyopencl with so many compute units."""

    name, max_compute_units = "a device ", 4
    halves = None

    def create_sub_devices(self, how):
        import pyopencl as cl

        if self.halves is None:
            raise cl.LogicError("clCreateSubDevices", -30)
        assert how == [cl.device_partition_property.EQUALLY, 2]
        return list(range(self.halves))


@pytest.mark.parametrize("halves", [None, 1])
def test_a_device_without_halves_is_refused(monkeypatch, halves):
    handle = Divisible()
    handle.halves = halves
    monkeypatch.setattr(devices, "list_devices", lambda: [replace(THERE[0], handle=handle)])
    with pytest.raises(DeviceError, match="a device"):
        choose_device("0:1")


@pytest.mark.device
def test_halves_of_a_device():
    whole = choose_device(0)
    if whole.compute_units < 2:
        pytest.skip("a device of one compute unit has no halves")
    first, second = choose_device("0:0"), choose_device("0:1")
    assert first.handle != second.handle
    assert first.handle is choose_device("0:0").handle
    assert first.compute_units == second.compute_units == whole.compute_units // 2
    assert (first.index, first.name) == (whole.index, whole.name)
    with pytest.raises(DeviceError, match="fits '0:2'"):
        choose_device("0:2")


def test_a_missing_platform_is_a_device_error(monkeypatch):
    monkeypatch.setattr(devices, "list_devices", list)
    with pytest.raises(DeviceError, match=r"pip install pocl-binary-distribution.*nvidia\.icd"):
        choose_device()


def test_a_missing_opencl_loader_is_a_device_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    assert list_devices() == []


def test_without_a_gpu_any_device_is_chosen(monkeypatch):
    monkeypatch.setattr(devices, "list_devices", lambda: THERE[:1])
    assert choose_device().index == 0
    with pytest.raises(DeviceError):
        choose_device("gpu")
