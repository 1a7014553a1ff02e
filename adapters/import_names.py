"""Derives labels, types and header files from the names of import files in a folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .table_kinds import table_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .input_files import InputFile

__all__ = ["SUFFIXES", "name_in", "with_headers"]

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_HEADER_FILE = re.compile(r"(?P<name>.+?)[-_.]header", re.IGNORECASE)


def with_headers(files: list[InputFile]) -> Iterator[list[InputFile]]:
    """Groups of files: header files with the files that they describe, others alone."""
    stems = {file: table_name(file.name) for file in files}
    taken: set[InputFile] = set()
    groups = []
    for file in files:
        found = _HEADER_FILE.fullmatch(stems[file])
        if found:
            rows_of = re.compile(re.escape(found["name"]) + r"(?:[-_.].*|\d*)")
            rest = [other for other in files if other != file and rows_of.fullmatch(stems[other])]
            groups.append([file, *rest])
            taken.update([file, *rest])
    yield from groups
    yield from ([file] for file in files if file not in taken)


def name_in(file_name: str) -> str:
    """The label or type in the name of a file of an import, or of a table."""
    stem = table_name(file_name)
    found = _HEADER_FILE.fullmatch(stem)
    stem = found["name"] if found else stem
    for mark in (".nodes.", ".relationships."):
        if mark in stem:
            return stem.rpartition(mark)[2]
    return stem
