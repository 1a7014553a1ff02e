"""Identity of property values."""

from __future__ import annotations

import struct
from typing import Any

from gpugda.data.temporal import identity_of_temporal
from gpugda.text_order import StoredText

__all__ = ["identity_of"]


def identity_of(value: Any) -> Any:
    """A hashable key, equal only for values that no Cypher expression can distinguish."""
    kind = type(value)
    if kind is float:
        return (float, value.hex() if value == value else struct.pack("<d", value))
    if kind is list:
        return (list, *map(identity_of, value))
    if kind in (bool, int, str) or value is None:
        return (kind, value)
    if kind is StoredText:
        return (str, value)
    return identity_of_temporal(value)
