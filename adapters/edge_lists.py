"""Reads edge lists without a header: two ids per line, as graph collections publish them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from gpugda.errors import SourceError

from .csv_records import CsvFormat
from .import_header import HeaderField, ImportHeader
from .import_tables import ReadRules, split_rows
from .input_files import READ_ERRORS, InputFile
from .table_columns import TableColumns

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EdgeFile", "read_edge_list"]

_BLOCK_BYTES = 8 << 20
_BLANKS = re.compile(rb"[ \t]+")


@dataclass(frozen=True, slots=True)
class EdgeFile(os.PathLike[str]):
    """A file that holds an edge list.

    Args:
        path: The file, optionally with ``.gz``, ``.xz`` or ``.zip``.
        columns: Names of the columns, including those of both ends.
        delimiter: Separates fields; None for any number of blanks and tabs.
        comments: Prefix of comment lines; None or an empty text if there are none.
    """

    path: str | os.PathLike[str]
    columns: tuple[str, ...]
    delimiter: str | None = None
    comments: str | None = "#"

    def __fspath__(self) -> str:
        return os.fspath(self.path)


def read_edge_list(file: EdgeFile) -> TableColumns:
    """Text columns of an edge list.

    Raises:
        SourceError: A line has more or fewer fields than there are columns, ….
    """
    there = InputFile(Path(file))
    there.refuse_missing()
    header = ImportHeader(tuple(HeaderField("PROPERTY", name) for name in file.columns))
    rules = ReadRules(CsvFormat(file.delimiter or " ", ""))
    blocks = []
    row = 1
    for text in _rows(there, file):
        columns = split_rows(text, header, rules, there.name, row)
        if columns is not None:
            blocks.append(columns)
            row += len(columns[0])
    columns_of = {
        name: pa.chunked_array([block[place] for block in blocks], pa.string())
        for place, name in enumerate(file.columns)
    }
    return TableColumns(there.name, columns_of, row - 1)


def _rows(there: InputFile, file: EdgeFile) -> Iterator[bytes]:
    """Blocks of whole lines without comments, with one delimiter between fields.

    ``{}`` at the end of a line, which NetworkX writes for an edge without attributes, is left out.
    """
    prefix = re.escape((file.comments or "").encode())
    comment = re.compile(rb"^[ \t]*%b.*\n?" % prefix, re.MULTILINE)
    mark = re.escape((file.delimiter or "").encode()) or rb"[ \t]"
    attributes = re.compile(rb"%b[ \t]*\{\}[ \t]*(?=\r?$)" % mark, re.MULTILINE)
    rest = b""
    with there.open() as stream:
        while True:
            try:
                read = stream.read(_BLOCK_BYTES)
            except READ_ERRORS as error:
                raise SourceError(f"{there.name}: cannot be read to its end: {error}") from error
            block = rest + read
            end = block.rfind(b"\n") + 1 if read else len(block)
            lines, rest = block[:end], block[end:]
            if prefix:
                lines = comment.sub(b"", lines)
            if b"{}" in lines:
                lines = attributes.sub(b"", lines)
            yield lines if file.delimiter else _one_blank(lines)
            if not read:
                return


def _one_blank(lines: bytes) -> bytes:
    """The lines with one blank between fields, and none at the ends."""
    lines = lines.replace(b"\r\n", b"\n").replace(b"\t", b" ")
    if b"  " in lines:
        lines = _BLANKS.sub(b" ", lines)
    return lines.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
