"""``gpugda snapshot``: saves snapshots and describes them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpugda.cli.failures import say
from gpugda.cli.run import open_accelerator
from gpugda.cli.status import format_bytes
from gpugda.ports import Projection

if TYPE_CHECKING:
    from gpugda.cli.options import SourceOptions

__all__ = ["print_info", "save"]


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
