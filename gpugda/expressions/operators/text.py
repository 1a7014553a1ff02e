"""``STARTS WITH``, ``ENDS WITH``, ``CONTAINS`` and ``IS NORMALIZED``; null for non-strings."""

from __future__ import annotations

import unicodedata
from typing import Any

__all__ = ["contains", "ends_with", "is_normalized", "starts_with"]


def _are_texts(left: Any, right: Any) -> bool:
    return isinstance(left, str) and isinstance(right, str)


def starts_with(left: Any, right: Any) -> bool | None:
    """``left STARTS WITH right``."""
    return bool(left.startswith(right)) if _are_texts(left, right) else None


def ends_with(left: Any, right: Any) -> bool | None:
    """``left ENDS WITH right``."""
    return bool(left.endswith(right)) if _are_texts(left, right) else None


def contains(left: Any, right: Any) -> bool | None:
    """``left CONTAINS right``."""
    return right in left if _are_texts(left, right) else None


def is_normalized(text: Any, form: str = "NFC") -> bool | None:
    """``text IS form NORMALIZED``: ``NFC``, ``NFD``, ``NFKC`` or ``NFKD``."""
    if not isinstance(text, str):
        return None
    if form in ("NFC", "NFD", "NFKC", "NFKD"):
        return unicodedata.is_normalized(form, text)  # type: ignore[arg-type]
    raise ValueError(f"unknown normal form: {form}")
