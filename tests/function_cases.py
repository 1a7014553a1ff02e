"""Case files of functions: reads them, and writes values as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ARROW = " ==> "
NOT_SHOWN = "? the driver cannot hold it: BrokenRecordError"
FOLDER = Path(__file__).parent / "conformance" / "functions"


def split_case(line: str) -> tuple[str, str]:
    """The expression, and the answer or an empty text."""
    expression, _, answer = line.rpartition(ARROW) if ARROW in line else (line, "", "")
    return expression.rstrip(), answer.strip()


def cases(path: Path) -> Iterator[tuple[str, str]]:
    """All cases of a file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield split_case(line)


# ------------------------------------------------------------------ values as text
def rendered(value: Any) -> str:
    """A value as text that distinguishes everything that Cypher does: types, zones, -0.0."""
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return plain(value)
    name = type(value).__name__
    if name == "Duration":
        return f"duration{tuple(value)}"
    if hasattr(value, "srid"):
        return f"point({value.srid}, {', '.join(map(rendered, map(float, value)))})"
    return _KINDS_OF_TIME[name](value)


def _text(value: str) -> str:
    return (
        "'"
        + "".join(_ESCAPES.get(c) or (c if c.isprintable() else _escape(c)) for c in value)
        + "'"
    )


def _escape(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


_ESCAPES = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _zoned(value: Any) -> str:
    zone = value.tzinfo
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    return value.iso_format() + (f"[{name}]" if name else "")


_PLAIN: dict[type, Callable[[Any], str]] = {
    type(None): lambda value: "null",
    bool: lambda value: "true" if value else "false",
    int: str,
    float: _float,
    str: _text,
    list: lambda value: f"[{', '.join(map(rendered, value))}]",
    dict: lambda value: "{" + ", ".join(f"{k}: {rendered(value[k])}" for k in sorted(value)) + "}",
}
_KINDS_OF_TIME: dict[str, Callable[[Any], str]] = {
    "BrokenHydrationObject": lambda value: NOT_SHOWN,
    "Date": lambda value: f"date({value.iso_format()})",
    "Time": lambda value: f"{'local' if value.tzinfo is None else ''}time({value.iso_format()})",
    "DateTime": lambda value: f"{'local' if value.tzinfo is None else ''}datetime({_zoned(value)})",
}
