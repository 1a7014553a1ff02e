"""``gpugda snapshot`` and ``gpugda status``: saves snapshots, describes sources."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpugda.cli.devices import format_bytes
from gpugda.cli.failures import say
from gpugda.cli.run import open_accelerator
from gpugda.ports import Projection

if TYPE_CHECKING:
    from gpugda.accelerator import Accelerator
    from gpugda.cli.options import SourceOptions


__all__ = ["print_info", "print_status", "save", "write_status"]


def print_status(source: SourceOptions, device: str | None) -> None:
    """Opens a source and prints its accelerator's status, one fact per line."""
    with open_accelerator(source, device) as accelerator:
        write_status(accelerator)


def write_status(accelerator: Accelerator) -> None:
    """Writes the status of an open accelerator."""
    for name, value in accelerator.status().items():
        title = name.removesuffix("_seconds").replace("_bytes", "_memory").replace("_", " ")
        sys.stdout.write(f"{title:<22}{_readable(name, value)}\n")


def _readable(name: str, value: Any) -> str:
    if value is None or value == "":
        return "-"
    if name.endswith("_bytes"):
        return format_bytes(value)
    if name.endswith("_seconds"):
        return f"{value:.2f} s"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def save(source: SourceOptions, path: str, compression: str | None) -> None:
    """Reads a source and saves it as a snapshot."""
    with open_accelerator(source) as accelerator:
        accelerator.save(path, compression=compression)
    size = sum(file.stat().st_size for file in Path(path).iterdir())
    say(f"saved {path}, {format_bytes(size)}; open it with --source {path}")


def print_info(path: str) -> None:
    """Prints a snapshot's manifest without reading the graph."""
    from gpugda.snapshot.manifest import read_manifest

    manifest = read_manifest(path)
    version = manifest.version
    facts = (
        ("source", manifest.source_name or "-"),
        ("created", manifest.created),
        ("state", "-" if version is None else f"transaction {version.transaction:,}"),
        ("part", _part(manifest.projection)),
        ("nodes", f"{manifest.node_count:,}"),
        ("relationships", f"{manifest.relationship_count:,}"),
        ("labels", f"{len(manifest.labels)}: {_some(manifest.labels)}"),
        ("types", f"{len(manifest.types)}: {_some(manifest.types)}"),
        ("node properties", _some([entry.key for entry in manifest.node_properties])),
        ("rel. properties", _some([entry.key for entry in manifest.relationship_properties])),
        ("size", format_bytes(sum(entry.size_bytes for entry in manifest.files.values()))),
    )
    for name, value in facts:
        sys.stdout.write(f"{name:<16}{value}\n")


def _part(projection: Projection) -> str:
    if projection == Projection():
        return "the whole graph"
    kinds = (("labels", projection.labels), ("types", projection.types))
    said = [f"{kind} {', '.join(names) or 'none'}" for kind, names in kinds if names is not None]
    return f"only {' and '.join(said)}; queries outside of it are refused"


def _some(names: list[str]) -> str:
    more = f", … {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more or "-"
