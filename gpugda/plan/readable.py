"""Numbers of plans as text for users."""

from __future__ import annotations

__all__ = ["bytes_text", "count_text", "rate_text"]


def count_text(value: float) -> str:
    """A number of rows or candidates."""
    if value >= 1e9:
        return f"{value:.1e}"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def rate_text(value: float) -> str:
    """Rows out per row in."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def bytes_text(count: int) -> str:
    """A size in bytes with a fitting unit."""
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:,.0f} {units[0]}" if units[0] == "B" else f"{value:,.1f} {units[0]}"
