"""``gpugda status``: describes an opened source."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpugda.cli.run import open_accelerator

if TYPE_CHECKING:
    from gpugda.accelerator import Accelerator
    from gpugda.cli.options import SourceOptions

__all__ = ["format_bytes", "print_status", "write_status"]


def print_status(source: SourceOptions, device: str | None) -> None:
    """Opens a source and prints its accelerator's status, one fact per line."""
    with open_accelerator(source, device) as accelerator:
        write_status(accelerator)


def write_status(accelerator: Accelerator) -> None:
    """Writes the status of an open accelerator."""
    for name, value in accelerator.status().items():
        title = name.removesuffix("_seconds").replace("_bytes", "_memory").replace("_", " ")
        sys.stdout.write(f"{title:<22}{_readable(name, value)}\n")


def format_bytes(count: float) -> str:
    """A number of bytes as readable text."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _readable(name: str, value: Any) -> str:
    if value is None or value == "":
        return "-"
    if name.endswith("_bytes"):
        return format_bytes(value)
    if name.endswith("_seconds"):
        return f"{value:.2f} s"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
