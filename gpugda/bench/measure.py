"""One query on both engines: times, and whether they agree."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpugda.errors import QueryTimeoutError, UnsupportedQueryError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from gpugda.accelerator import Accelerator

__all__ = ["Case", "Measured", "measure", "rows_hash", "same_rows"]

COMPARED_ROWS = 100_000
"""Up to so many rows are compared one by one, above that by their number and a hash."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked.

    Args:
        name: For people.
        graph: Name of the graph.
        density: ``sparse``, ``dense``, or empty for a user's own query.
        nodes: Of the query graph, 0 if not known.
        relationships: Likewise.
        form: ``count`` or ``rows``, or empty.
        texts: The same query in several texts: each is new to both engines once.
        parameters: Values by name.
    """

    name: str
    graph: str
    density: str
    nodes: int
    relationships: int
    form: str
    texts: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Measured:
    """What was found; seconds from `run` to Python values.

    Args:
        case: What was asked.
        rows: Number of rows, or the count where it is a count.
        device_new: The device, the text being new.
        device_again: The device, the text being known.
        native_new: Neo4j, the text being new.
        native_again: Neo4j, the text being known.
        auto_again: ``engine="auto"``, the text being known to both.
        auto_engine: Which engine that was.
        agrees: Whether both gave the same rows; None where one gave none.
        note: Why a time is missing, or a bound: ``native > 30 s``.
    """

    case: Case
    rows: int = 0
    device_new: float | None = None
    device_again: float | None = None
    native_new: float | None = None
    native_again: float | None = None
    auto_again: float | None = None
    auto_engine: str = ""
    agrees: bool | None = None
    note: str = ""

    @property
    def speedup_new(self) -> float | None:
        """Neo4j's time divided by the device's, for a new text."""
        return _ratio(self.native_new, self.device_new)

    @property
    def speedup_again(self) -> float | None:
        """Likewise for a known text."""
        return _ratio(self.native_again, self.device_again)

    @property
    def is_late(self) -> bool:
        """Did ``auto`` take more than 1.1 times as long as Neo4j, plus 2 ms?"""
        if self.auto_again is None or self.native_again is None:
            return False
        return self.auto_again > 1.1 * self.native_again + 0.002


def measure(
    accelerator: Accelerator, case: Case, random: Random, *, repetitions: int, timeout: float
) -> Measured:
    """Runs a case on both engines, in random order, and compares the rows.

    Args:
        accelerator: On a database.
        case: What is asked.
        random: Decides the order.
        repetitions: Of the known text; the least time counts.
        timeout: Seconds per run.
    """
    found = Measured(case)
    engines = ["gpu", "native"]
    random.shuffle(engines)
    rows: dict[str, list[list[Any]] | None] = {}
    for engine in engines:
        rows[engine] = _first(accelerator, case, engine, found, timeout)
    _compare(found, rows["gpu"], rows["native"])
    for _ in range(repetitions):
        random.shuffle(engines)
        for engine in engines:
            if rows[engine] is not None:
                seconds = _timed(accelerator, case.texts[0], case, engine, timeout)[0]
                _keep_least(found, f"{_NAMES[engine]}_again", seconds)
    if rows["native"] is not None:
        for _ in range(repetitions):
            seconds, result, _ = _timed(accelerator, case.texts[0], case, "auto", timeout)
            _keep_least(found, "auto_again", seconds)
            found.auto_engine = result.summary.engine
    return found


_NAMES = {"gpu": "device", "native": "native"}


def _first(
    accelerator: Accelerator, case: Case, engine: str, found: Measured, timeout: float
) -> list[list[Any]] | None:
    """New texts: the least of their times, and the rows; None where there is no answer."""
    rows = None
    for text in case.texts:
        try:
            seconds, _, rows = _timed(accelerator, text, case, engine, timeout)
        except QueryTimeoutError:
            found.note += f"{_NAMES[engine]} > {timeout:g} s; "
            setattr(found, f"{_NAMES[engine]}_new", timeout)
            return None
        except UnsupportedQueryError as error:
            found.note += f"{error.construct or 'not answered'} on the device; "
            return None
        _keep_least(found, f"{_NAMES[engine]}_new", seconds)
    return rows


def _timed(
    accelerator: Accelerator, text: str, case: Case, engine: str, timeout: float
) -> tuple[float, Any, list[list[Any]]]:
    started = time.perf_counter()
    result = accelerator.run(text, case.parameters, engine=engine, timeout=timeout)
    rows = result.values()
    return time.perf_counter() - started, result, rows


def _keep_least(found: Measured, name: str, seconds: float) -> None:
    old = getattr(found, name)
    setattr(found, name, seconds if old is None else min(old, seconds))


# ------------------------------------------------------------------ comparing
def _compare(
    found: Measured, device: list[list[Any]] | None, native: list[list[Any]] | None
) -> None:
    either = device if device is not None else native
    if either is not None:
        is_count = found.case.form == "count" and len(either) == 1
        found.rows = int(either[0][0]) if is_count else len(either)
    if device is not None and native is not None:
        found.agrees = same_rows(device, native)


def same_rows(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> bool:
    """Are these the same rows, in whatever order?"""
    if len(left) != len(right):
        return False
    if len(left) <= COMPARED_ROWS:
        return Counter(map(_key, left)) == Counter(map(_key, right))
    return rows_hash(left) == rows_hash(right)


def rows_hash(rows: Sequence[Sequence[Any]]) -> int:
    """A number that does not depend on the order of the rows, but on how often each is there."""
    total = 0
    for row in rows:
        digest = hashlib.blake2b(_key(row).encode(errors="surrogatepass"), digest_size=16).digest()
        total += int.from_bytes(digest, "little")
    return total % 2**128


def _key(row: Sequence[Any]) -> str:
    return "\x1f".join(map(_text, row))


def _text(value: Any) -> str:
    """A text that equal values share: numbers by value, nodes by id, lists and maps by content."""
    element_id = getattr(value, "element_id", None)
    if element_id is not None:
        return f"<{element_id}>"
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, float) and value.is_integer():
        return f"{value:.1f}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_text(value[key])}' for key in sorted(value))}}}"
    return repr(value)


def _ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None else above / max(below, 1e-9)
