from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

import pytest

from gpugda import folders
from gpugda.cli import doctor
from gpugda.device import caches, pocl_programs, program
from gpugda.device.devices import list_devices
from gpugda.errors import DeviceError


@dataclass
class FakeDevice:
    platform: str = "Portable Computing Language"
    name: str = "cpu-thing"
    vendor: str = "Someone"
    type: str = "cpu"
    compute_units: int = 2
    global_memory_bytes: int = 2**33


@pytest.fixture
def devices(monkeypatch):
    """The devices that are found. An exception in the list is raised."""
    found = []

    def list_devices():
        if found and isinstance(found[0], Exception):
            raise found[0]
        return found

    module = ModuleType("gpugda.device.devices")
    module.list_devices = list_devices
    monkeypatch.setitem(sys.modules, "gpugda.device.devices", module)
    return found


def texts(findings, title):
    return [finding for topic, group in findings if topic == title for finding in group]


def test_a_machine_with_a_device_is_ready(devices, gpugda_command):
    devices.append(FakeDevice())
    outcome = gpugda_command("doctor")
    assert outcome.exit_code == 0
    assert (
        "0  cpu-thing (cpu, 2 compute units, 8.0 GiB), Portable Computing Language"
        in outcome.stdout
    )
    assert "PoCL" in outcome.stdout
    assert outcome.stdout.endswith("Ready: gpugda demo\n")


def test_a_machine_without_a_device_is_not_ready(devices, gpugda_command):
    outcome = gpugda_command("doctor")
    assert outcome.exit_code == 4
    assert "pip install pocl-binary-distribution" in outcome.stdout
    assert "--engine reference" in outcome.stdout


def test_an_error_of_listing_devices_is_shown(devices, gpugda_command):
    devices.append(DeviceError("the loader is broken"))
    outcome = gpugda_command("doctor")
    assert outcome.exit_code == 4
    assert "the loader is broken" in outcome.stdout


def test_passwords_and_addresses_are_not_shown(devices, gpugda_command, monkeypatch):
    monkeypatch.setenv("NEO4J_PASSWORD", "hunter2")
    monkeypatch.setenv("NEO4J_URI", "bolt://ann:hunter2@host")
    monkeypatch.setenv("GPUGDA_SOURCE", "neo4j://ann:hunter2@host")
    monkeypatch.setenv("GPUGDA_DEVICE", "cpu")
    stdout = gpugda_command("doctor").stdout
    assert "hunter2" not in stdout
    assert "NEO4J_PASSWORD is set" in stdout
    assert "GPUGDA_DEVICE=cpu" in stdout


@pytest.mark.parametrize(
    ("driver", "library", "registered", "vendor", "good", "text"),
    [
        (False, False, False, "", None, "no NVIDIA driver"),
        (True, True, True, "NVIDIA Corporation", True, "with OpenCL"),
        (True, False, False, "", False, "NVIDIA_DRIVER_CAPABILITIES"),
        (True, True, False, "", False, "/etc/OpenCL/vendors/nvidia.icd"),
        (True, True, True, "", False, "nvidia-smi"),
    ],
)
def test_parts_of_the_nvidia_driver_are_diagnosed(
    devices, monkeypatch, tmp_path, driver, library, registered, vendor, good, text
):
    monkeypatch.setattr(doctor, "_can_load", lambda name: library)
    if driver:
        (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    if registered:
        (tmp_path / "etc/OpenCL/vendors").mkdir(parents=True)
        (tmp_path / "etc/OpenCL/vendors/nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    devices.append(FakeDevice(vendor=vendor))
    findings = texts(doctor.diagnose({}, tmp_path), "OpenCL drivers")
    nvidia = [each for each in findings if text in each.text + each.advice]
    assert [each.good for each in nvidia] == [good]


def test_an_unwritable_cache_is_a_bad_finding(devices, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    findings = texts(
        doctor.diagnose({"POCL_CACHE_DIR": str(blocked / "cache")}, tmp_path), "Caches"
    )
    (pocl,) = [each for each in findings if each.text.startswith("PoCL")]
    assert pocl.good is False
    assert "XDG_CACHE_HOME" in pocl.advice
    assert blocked.read_text() == ""


def test_spare_cache_folders_are_named(devices, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(doctor, "spare_folder", lambda: tmp_path / "spare")
    variables = {"XDG_CACHE_HOME": str(tmp_path / "file")}
    findings = texts(doctor.diagnose(variables, tmp_path), "Caches")
    assert [each.good for each in findings] == [False] * 2
    for name, each in zip(("gpugda", "PoCL"), findings, strict=True):
        assert each.text.startswith(f"{name}: {tmp_path / 'file'}")
        assert each.text.endswith(f"{tmp_path / 'spare' / name.lower()} is used instead")


def test_the_cache_folder_of_the_environment_is_shown(devices, tmp_path):
    for value, text in ((str(tmp_path), str(tmp_path)), ("off", "switched off"), ("x", "absolute")):
        findings = texts(doctor.diagnose({"GPUGDA_CACHE_DIR": value}, tmp_path), "Caches")
        (own,) = [each for each in findings if each.text.startswith("gpugda: ")]
        assert text in own.text


def test_a_missing_package_is_a_bad_finding(monkeypatch, devices, tmp_path):
    monkeypatch.setattr(doctor, "PACKAGES", ("no-such-package-at-all",))
    findings = texts(doctor.diagnose({}, tmp_path), "Python and packages")
    assert any(each.good is False and "pip install" in each.advice for each in findings)


def test_devices_are_listed(devices, gpugda_command):
    devices.extend([FakeDevice(), FakeDevice(name="gpu-thing", type="gpu")])
    lines = gpugda_command("devices").stdout.splitlines()
    assert [line[:4] for line in lines] == ["0  c", "1  g"]


def test_an_empty_list_of_devices_is_an_error(devices, gpugda_command):
    outcome = gpugda_command("devices")
    assert outcome.exit_code == 4
    assert "gpugda doctor" in outcome.stderr


def pocl():
    found = [each for each in list_devices() if "Portable Computing" in each.platform]
    if not found:
        pytest.skip("no PoCL here")
    return found[0]


@pytest.mark.parametrize(
    ("said", "advised"),
    [
        ("LLVM ERROR: IO failure on output stream: No space left on device", "no room left"),
        ("Segmentation fault", "Segmentation fault"),
    ],
)
def test_kernels_that_do_not_compile_are_a_bad_finding(monkeypatch, said, advised):
    def failed(context, file, text, options):
        raise DeviceError(pocl_programs._cause(said))

    monkeypatch.setattr(program, "load_program", failed)
    monkeypatch.setattr(program, "_build", program._load)
    finding = doctor.built(pocl())
    assert finding.good is False
    assert advised in finding.text


def test_a_folder_mounted_without_exec_is_a_bad_finding(monkeypatch):
    monkeypatch.setattr(caches, "can_run", lambda folder: False)
    monkeypatch.setattr(program, "_load", lambda *_: pytest.fail("it builds"))
    finding = doctor.built(pocl())
    assert finding.good is False
    assert "noexec" in finding.text


def test_damaged_kernels_and_full_disks_are_bad_findings(devices, monkeypatch, tmp_path):
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    variables = {"POCL_CACHE_DIR": str(tmp_path)}
    (tmp_path / "a.program").write_bytes(b"")
    (tmp_path / "a-sum.files").write_text("{")
    *_, damaged = texts(doctor.diagnose(variables, tmp_path), "Caches")
    assert damaged.good is False
    assert "2 damaged files" in damaged.text
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(folders.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    *_, full = texts(doctor.diagnose(variables, tmp_path), "Caches")
    assert full.good is False
    assert "no room left" in full.text


def test_a_device_that_builds_no_kernels_is_a_bad_finding(monkeypatch):
    bad = doctor.Finding(False, "   kernels cannot be loaded", "mount it with exec")
    monkeypatch.setattr(doctor, "built", lambda device: bad)
    device = FakeDevice()
    device.handle = object()
    findings = list(doctor._device_findings([device], ""))
    assert findings[1] == bad
    assert not any(finding.good for finding in findings)
