"""Stores measured rates on disk, by device and by server."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from gpugda.errors import ConfigurationError
from gpugda.folders import cache_folder, replace_file
from gpugda.plan.cost import CPU_DEVICE, GPU_DEVICE, DeviceRates, ServerRates

if TYPE_CHECKING:
    from pathlib import Path

    from gpugda.device.devices import DeviceInfo
    from gpugda.ports import ServerFacts

__all__ = [
    "calibration_file",
    "default_device_rates",
    "keep_device_rates",
    "keep_server_rates",
    "kept_device_rates",
    "kept_server_rates",
]

logger = logging.getLogger(__name__)

_VERSION = 3
"""Version of the measurements: rates of slower kernels or with another meaning are ignored."""

_Rates = TypeVar("_Rates", DeviceRates, ServerRates)


def calibration_file() -> Path | None:
    """File of stored rates, beside the snapshots; None if ``GPUGDA_CACHE_DIR`` is off."""
    try:
        folder = cache_folder()
    except ConfigurationError as error:
        logger.warning("rates are not kept: %s", error)
        return None
    return None if folder is None else folder / "rates.json"


def default_device_rates(info: DeviceInfo) -> DeviceRates:
    """Default rates for a device that was not measured."""
    return GPU_DEVICE if info.type == "gpu" else CPU_DEVICE


def kept_device_rates(info: DeviceInfo) -> DeviceRates | None:
    """The rates measured for a device; None if there are none."""
    return _read(_device_key(info), DeviceRates)


def kept_server_rates(facts: ServerFacts) -> ServerRates | None:
    """The rates measured for a server; None if there are none."""
    return _read(_server_key(facts), ServerRates)


def keep_device_rates(info: DeviceInfo, rates: DeviceRates) -> None:
    """Stores the rates of a device; a failure is logged and raises nothing."""
    _write(_device_key(info), rates)


def keep_server_rates(facts: ServerFacts, rates: ServerRates) -> None:
    """Stores the rates of a server; a failure is logged and raises nothing."""
    _write(_server_key(facts), rates)


def _device_key(info: DeviceInfo) -> str:
    return f"device {info.name}, {info.version}, {os.cpu_count()} cores"


def _server_key(facts: ServerFacts) -> str:
    return f"server {facts.address} {facts.product} {facts.version}"


def _read(key: str, kind: type[_Rates]) -> _Rates | None:
    try:
        found = kind(**{name: float(each) for name, each in _content()[key].items()})
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    # A corrupted file must not make the planner divide by zero.
    return found if all(value > 0 for value in asdict(found).values()) else None


def _content() -> dict[str, Any]:
    path = calibration_file()
    if path is None:
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        logger.warning("kept rates cannot be read and are measured again: %s", error)
        return {}
    rates = content.get("rates") if isinstance(content, dict) else None
    return rates if isinstance(rates, dict) and content.get("version") == _VERSION else {}


def _write(key: str, rates: DeviceRates | ServerRates) -> None:
    path = calibration_file()
    if path is None:
        return
    content = {"version": _VERSION, "rates": {**_content(), key: asdict(rates)}}
    try:
        replace_file(path, json.dumps(content, indent=1).encode())
    except OSError as error:
        logger.warning("rates cannot be kept: %s", error)
