"""Runs every pattern on two halves of the device, or on the device twice where it has no halves."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from gpugda.device.devices import choose_device
from gpugda.errors import DeviceError
from gpugda.match import exchange
from gpugda.match.exchange import ExchangeLimits


def two_devices() -> list[str]:
    """Two devices, for `gpugda.connect`."""
    try:
        choose_device("0:1")
    except DeviceError:
        return ["0", "cpu"]
    return ["0:0", "0:1"]


def drawn(seed: int) -> Any:
    """Divides seeds at random, into parts of any sizes and orders."""
    rng = random.Random(seed)

    def divide(seeds: np.ndarray, work: np.ndarray, parts: int) -> list[np.ndarray]:
        assert len(seeds) == len(work)
        count = rng.randint(1, max(1, min(len(seeds), parts)))
        owner = np.array([rng.randrange(count) for _ in seeds], dtype=np.int64)
        return [seeds[owner == part] for part in range(count)]

    return divide


def divide_all(patch: Any, **settings: Any) -> None:
    """Accelerators that are opened from now on divide every pattern between two devices."""
    patch.setenv("GPUGDA_DEVICES", ",".join(two_devices()))
    limits = {"min_seconds": 0.0, "parts": 2, "first": settings.get("parts", 2)} | settings
    patch.setattr(exchange, "LIMITS", ExchangeLimits(**limits))
