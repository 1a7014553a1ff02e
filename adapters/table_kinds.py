"""Kinds of files that hold tables, by the ends of their names."""

from __future__ import annotations

from typing import Final

__all__ = ["ARROW", "DELIMITED", "EDGES", "MATRIX", "PARQUET", "table_kind", "table_name"]

DELIMITED: Final = (".csv", ".tsv")
PARQUET: Final = (".parquet",)
ARROW: Final = (".arrow", ".feather", ".ipc")
EDGES: Final = (".txt", ".edges", ".edgelist", ".el")
MATRIX: Final = (".mtx",)
_ALL = (*DELIMITED, *PARQUET, *ARROW, *EDGES, *MATRIX)
_PACKED = (".gz", ".xz", ".zip")


def table_kind(name: str) -> str | None:
    """The end of a name that tells what the file holds, such as ``.csv``; None for no table."""
    lower = name.lower()
    for packed in _PACKED:
        lower = lower.removesuffix(packed)
    return next((kind for kind in _ALL if lower.endswith(kind)), None)


def table_name(name: str) -> str:
    """A file's name without the ends that tell what it holds."""
    kind = table_kind(name)
    return name if kind is None else name[: name.lower().rindex(kind)]
