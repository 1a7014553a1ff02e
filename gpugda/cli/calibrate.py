"""``gpugda doctor --calibrate``: measures the speed of the device and the server."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gpugda.cli.options import SourceOptions
from gpugda.cli.run import open_accelerator

if TYPE_CHECKING:
    from gpugda.accelerator import Accelerator

__all__ = ["print_rates"]

_SAMPLE = "sample:wordnet"


def print_rates(source: SourceOptions, device: str | None) -> None:
    """Measures and prints rates; without a source, only those of the device."""
    named = source.address or os.environ.get("GPUGDA_SOURCE") or os.environ.get("NEO4J_URI")
    if not named:
        source = SourceOptions(_SAMPLE)
    with open_accelerator(source, device) as accelerator:
        _print(accelerator)


def _print(accelerator: Accelerator) -> None:
    for what, rates in accelerator.calibrate(again=True).items():
        sys.stdout.write(f"{what}\n")
        for name, value in rates.items():
            sys.stdout.write(f"  {name.replace('_', ' '):<24}{_readable(name, value)}\n")


def _readable(name: str, value: float) -> str:
    if name.endswith("_per_second"):
        return f"{value:,.0f}"
    return f"{value * 1e3:.3f} ms"
