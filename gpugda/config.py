"""Settings from arguments and the environment, read on use and never stored."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Freshness",
    "check_timeout",
    "default_source",
    "host_limit",
    "machine_bytes",
    "parse_bytes",
    "parse_freshness",
    "requested_device",
    "requested_devices",
]

_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_bytes(value: int | str | None, *, name: str = "memory_limit") -> int | None:
    """Parses a size in bytes, such as ``268435456``, ``"256MiB"`` or ``"2 GB"``; None stays None.

    Raises:
        ConfigurationError: The value is not a positive size.
    """
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", str(value).lower())
        if match is None:
            raise ConfigurationError(
                f"{name} is {value!r}; give bytes as a number, or text such as '512MiB' or '2GB'."
            )
        unit = match[2] or ""
        size = int(float(match[1]) * (_BINARY[unit] if unit in _BINARY else _UNITS[unit]))
    if size <= 0:
        raise ConfigurationError(f"{name} is {value!r}; it must be more than zero bytes.")
    return size


def check_timeout(timeout: float | None) -> float | None:
    """Validates a timeout in seconds; None is no limit.

    Raises:
        ConfigurationError: The value is not a positive number.
    """
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise ConfigurationError(
            f"timeout is {timeout!r}; give seconds as a positive number, or None for no limit."
        )
    return float(timeout)


@dataclass(frozen=True, slots=True)
class Freshness:
    """Allowed age of an accelerated result.

    Args:
        policy: ``strict``: the state of the database when `run` was called, or a later one;
            ``max_age``: at most ``seconds`` older; ``manual``: as of the last refresh.
        seconds: The limit for ``max_age``.
    """

    policy: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"max_age={self.seconds:g}s" if self.policy == "max_age" else self.policy


def parse_freshness(text: str) -> Freshness:
    """Parses ``strict``, ``manual`` or ``max_age=5s`` (units ms, s, m, h).

    Raises:
        ConfigurationError: The text has another form.
    """
    if text in ("strict", "manual"):
        return Freshness(text)
    match = re.fullmatch(r"max_age=(\d+(?:\.\d+)?)(ms|s|m|h)", str(text))
    if match is None:
        raise ConfigurationError(
            f"freshness is {text!r}; it can be 'strict', 'manual', or 'max_age=' with a "
            "duration such as 5s."
        )
    return Freshness("max_age", float(match[1]) * _SECONDS[match[2]])


def requested_device(
    device: str | int | None, environment: Mapping[str, str] | None = None
) -> str | int | None:
    """The requested device: the argument, else ``GPUGDA_DEVICE``, else None."""
    if device is not None:
        return device
    text = (os.environ if environment is None else environment).get("GPUGDA_DEVICE", "").strip()
    return int(text) if text.isdigit() else text or None


def requested_devices(
    devices: str | Sequence[str | int] | None, environment: Mapping[str, str] | None = None
) -> tuple[str | int, ...]:
    """The requested devices: the argument, else ``GPUGDA_DEVICES``; ``("all",)`` for all.

    Raises:
        ConfigurationError: The argument is neither text nor a list of devices.
    """
    if devices is None:
        devices = (os.environ if environment is None else environment).get("GPUGDA_DEVICES", "")
    listed = devices.split(",") if isinstance(devices, str) else devices
    if not isinstance(listed, list | tuple) or not all(map(_may_be_device, listed)):
        raise ConfigurationError(
            f"devices is {devices!r}; give 'all', or a list of devices such as [0, 1]."
        )
    names = [each.strip() if isinstance(each, str) else each for each in listed]
    found = tuple(each for each in names if each != "")
    if len({str(each) for each in found}) < len(found):
        raise ConfigurationError(f"devices is {devices!r}; name each device once.")
    return found


def requested_cluster(cluster: object, environment: Mapping[str, str] | None = None) -> object:
    """The requested cluster: the argument, else the address ``GPUGDA_CLUSTER``, else None."""
    if cluster is not None:
        return cluster
    variables = os.environ if environment is None else environment
    return variables.get("GPUGDA_CLUSTER", "").strip() or None


def _may_be_device(each: object) -> bool:
    return isinstance(each, str | int) and not isinstance(each, bool)


def host_limit(environment: Mapping[str, str] | None = None) -> int | None:
    """``GPUGDA_HOST_LIMIT``: bytes of host memory for the rows of a join; None if not set.

    Arrays above the limit are not compacted in the background either.

    Raises:
        ConfigurationError: The value is not a size.
    """
    variables = os.environ if environment is None else environment
    return parse_bytes(variables.get("GPUGDA_HOST_LIMIT"), name="GPUGDA_HOST_LIMIT")


def machine_bytes() -> int:
    """Memory of the machine, or of the container, in bytes."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(whole, int(_GROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # the file holds "max" if there is no limit
        return whole


def default_source(environment: Mapping[str, str] | None = None) -> str:
    """The address of the default source: ``GPUGDA_SOURCE``, else ``NEO4J_URI``.

    Raises:
        ConfigurationError: Neither is set; the error lists the choices.
    """
    variables = os.environ if environment is None else environment
    for name in ("GPUGDA_SOURCE", "NEO4J_URI"):
        if address := variables.get(name, "").strip():
            return address
    raise ConfigurationError(
        "No data source is configured. Name one on the command line (-a ADDRESS), or set NEO4J_URI "
        "(with NEO4J_USERNAME, NEO4J_PASSWORD and, if needed, NEO4J_DATABASE), or GPUGDA_SOURCE "
        "to a snapshot folder, a GraphML file, a folder of import CSV, or 'sample:wordnet'; or "
        "open one yourself: gpugda.connect(source).run(query)."
    )
