"""Reads edge lists: two ids per line, as graph collections publish them; also Matrix Market."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from gpugda.errors import SourceError

from .column_names import usual_ends
from .csv_records import CsvFormat
from .import_header import HeaderField, ImportHeader
from .import_tables import ReadRules, split_rows
from .input_files import READ_ERRORS, InputFile
from .table_columns import TableColumns
from .table_kinds import MATRIX, table_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EdgeFile", "is_number", "matrix_order", "read_edge_list", "usual_columns"]

_BLOCK_BYTES = 8 << 20
_BLANKS = re.compile(rb"[ \t]+")
_DELIMITERS = (",", ";", "|")
_NO_ATTRIBUTES = re.compile(rb"[ \t,;|]+\{\}[ \t]*(?=\r?$)", re.MULTILINE)
_ATTRIBUTES = re.compile(rb"\{[^}].*\}[ \t]*\r?$", re.MULTILINE)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
_BANNER = re.compile(rb"%%MatrixMarket\s+matrix\s+(\w+)\s+(\w+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EdgeFile:
    """A file that holds an edge list.

    Args:
        file: The file.
        columns: Names of the columns, including those of both ends; empty if they are noticed.
        delimiter: Separates fields; None if it is noticed: one that the first line has, else any
            number of blanks and tabs.
        comments: Prefixes of comment lines.
        skipped: Number of lines, without comments, before the edges; None if it is noticed.
    """

    file: InputFile
    columns: tuple[str, ...] = ()
    delimiter: str | None = None
    comments: tuple[str, ...] = ("#", "%")
    skipped: int | None = None


def read_edge_list(given: EdgeFile) -> TableColumns:
    """Text columns of an edge list.

    Raises:
        SourceError: A line has more or fewer fields than there are columns, ….
    """
    given.file.refuse_missing()
    if not given.columns and _ATTRIBUTES.search(next(_edge_lines(given))):
        return _with_attributes(given)
    edges = _noticed(given)
    name, skipped = edges.file.name, edges.skipped or 0
    header = ImportHeader(tuple(HeaderField("PROPERTY", name) for name in edges.columns))
    rules = ReadRules(CsvFormat(edges.delimiter or " ", ""))
    blocks = []
    row = 1 + skipped
    for text in _rows(edges, skipped):
        columns = split_rows(text, header, rules, name, row)
        if columns is not None:
            blocks.append(columns)
            row += len(columns[0])
    columns_of = {
        name: pa.chunked_array([block[place] for block in blocks], pa.string())
        for place, name in enumerate(edges.columns)
    }
    return TableColumns(name, columns_of, row - 1 - skipped, is_text=True)


def _with_attributes(edges: EdgeFile) -> TableColumns:
    """Two ids and a dict per line, as NetworkX writes edges with attributes."""
    ends: list[list[str]] = []
    found: list[dict[str, object]] = []
    lines = (line for block in _edge_lines(edges) for line in block.splitlines() if line.strip())
    for number, line in enumerate(lines, 1):
        ids, brace, rest = line.decode("utf-8", "replace").partition("{")
        fields = ids.replace(edges.delimiter or _delimiter(ids.encode()) or " ", " ").split()
        attributes = _literal(brace + rest) if brace else {}
        if len(fields) != 2 or attributes is None:
            raise SourceError(
                f"{edges.file.name}: edge {number}: {line.decode('utf-8', 'replace')[:60]!r} is "
                "not two ids and a dict of other attributes, as in other lines: 1 2 {'weight': 3}"
            )
        ends.append(fields)
        found.append(attributes)
    columns: dict[str, object] = {
        name: pa.array([each[place] for each in ends], pa.string())
        for place, name in enumerate(("source", "target"))
    }
    names = dict.fromkeys(name for each in found for name in each)
    columns |= {name: [each.get(name) for each in found] for name in names}
    return TableColumns(edges.file.name, columns, len(ends), is_text=True)


def _literal(text: str) -> dict[str, object] | None:
    """A dict of Python's literals by texts that are no names of ends; None for other texts."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        return None
    return None if {"source", "target"} & set(value) else value


# ------------------------------------------------------------------ what is noticed
def _noticed(given: EdgeFile) -> EdgeFile:
    """With a delimiter, names of columns, and the number of lines before the edges."""
    if table_kind(given.file.name) in MATRIX:
        return replace(given, columns=_matrix(given.file)[0], skipped=1)
    first, second = ([*_first_lines(given), b"", b""])[:2]
    mark = given.delimiter if given.delimiter is not None else _delimiter(first)
    fields, below = ([each.strip() for each in _split(line, mark)] for line in (first, second))
    is_header = not given.columns and _is_header(fields, below)
    columns = given.columns or (_renamed(fields) if is_header else usual_columns(len(fields)))
    return replace(given, delimiter=mark, columns=columns, skipped=int(is_header))


def _first_lines(edges: EdgeFile) -> list[bytes]:
    lines = (line for block in _edge_lines(edges) for line in block.splitlines() if line.strip())
    return list(islice(lines, 2))


def _delimiter(line: bytes) -> str | None:
    """The delimiter of a line; None for blanks and tabs, unless a field has blanks within."""
    if b"\t" in line and len(line.split()) > len(line.split(b"\t")):
        return "\t"
    return next((mark for mark in _DELIMITERS if mark.encode() in line), None)


def _split(line: bytes, mark: str | None) -> list[str]:
    return line.decode("utf-8", "replace").strip().split(mark)


def _is_header(fields: list[str], below: list[str]) -> bool:
    """True if a line names columns: in usual words, or as only the next one has numbers."""
    if len(fields) < 2 or len(set(fields)) < len(fields):
        return False
    if usual_ends(fields) is not None:
        return True
    return not any(map(is_number, fields)) and len(below) > 1 and all(map(is_number, below[:2]))


def _renamed(fields: list[str]) -> tuple[str, ...]:
    source, target = usual_ends(fields) or fields[:2]
    ends = {source: "source", target: "target"}
    return tuple(ends.get(name, name) for name in fields)


def usual_columns(count: int) -> tuple[str, ...]:
    """Names for the columns of an edge list without a header: the ends, and perhaps a weight."""
    more = ["weight"] if count == 3 else [f"column{place}" for place in range(3, count + 1)]
    return ("source", "target", *more)


def is_number(text: str) -> bool:
    """True for the text of an integer or a float."""
    return _NUMBER.fullmatch(text) is not None


# ------------------------------------------------------------------ Matrix Market
def matrix_order(file: InputFile) -> int | None:
    """The number of rows, which are the nodes, of a Matrix Market file; None for other files.

    Raises:
        SourceError: It is no matrix of numbers whose rows and columns are the same nodes.
    """
    return _matrix(file)[1] if table_kind(file.name) in MATRIX else None


def _matrix(file: InputFile) -> tuple[tuple[str, ...], int]:
    file.refuse_missing()
    with file.open() as stream:
        start = stream.read(256)
    found = _BANNER.match(start)
    sizes = _first_lines(EdgeFile(file, comments=("%",)))
    words = sizes[0].split() if sizes else []
    if found is None or len(words) != 3 or not all(word.isdigit() for word in words):
        raise SourceError(f"{file.name}: is no Matrix Market file of coordinates")
    layout, field = (word.decode().lower() for word in found.groups())
    if layout != "coordinate" or field not in ("pattern", "real", "integer"):
        raise SourceError(
            f"{file.name}: a matrix '{layout} {field}' is no graph; 'coordinate pattern', "
            "'coordinate real' and 'coordinate integer' are"
        )
    if words[0] != words[1]:
        raise SourceError(
            f"{file.name}: has {int(words[0]):,} rows and {int(words[1]):,} columns, which are not "
            "the same nodes; make a table of it for gpugda.graph, with ids of its own for each"
        )
    return usual_columns(2 if field == "pattern" else 3), int(words[0])


# ------------------------------------------------------------------ lines
def _rows(edges: EdgeFile, skipped: int) -> Iterator[bytes]:
    """Blocks of whole lines with one delimiter between fields, without the first lines."""
    for lines in _edge_lines(edges):
        if skipped:
            kept = [line for line in lines.splitlines(keepends=True) if line.strip()]
            skipped, lines = max(skipped - len(kept), 0), b"".join(kept[skipped:])
        yield _one_mark(lines, edges.delimiter.encode()) if edges.delimiter else _one_blank(lines)


def _edge_lines(edges: EdgeFile) -> Iterator[bytes]:
    """Blocks of whole lines without comments.

    ``{}`` at the end of a line, which NetworkX writes for an edge without attributes, is left out.
    """
    prefixes = b"|".join(re.escape(each.encode()) for each in edges.comments if each)
    comment = re.compile(rb"^[ \t]*(?:%b).*\n?" % prefixes, re.MULTILINE)
    rest = b""
    with edges.file.open() as stream:
        while True:
            try:
                read = stream.read(_BLOCK_BYTES)
            except READ_ERRORS as error:
                message = f"{edges.file.name}: cannot be read to its end: {error}"
                raise SourceError(message) from error
            block = rest + read
            end = block.rfind(b"\n") + 1 if read else len(block)
            lines, rest = block[:end], block[end:]
            if prefixes:
                lines = comment.sub(b"", lines)
            yield _NO_ATTRIBUTES.sub(b"", lines) if b"{}" in lines else lines
            if not read:
                return


def _one_mark(lines: bytes, mark: bytes) -> bytes:
    """The lines without blanks beside the delimiters."""
    if mark == b"\t" or (b" " not in lines and b"\t" not in lines):
        return lines
    return re.sub(rb"[ \t]*%b[ \t]*" % re.escape(mark), mark, lines)


def _one_blank(lines: bytes) -> bytes:
    """The lines with one blank between fields, and none at the ends."""
    lines = lines.replace(b"\r\n", b"\n").replace(b"\t", b" ")
    if b"  " in lines:
        lines = _BLANKS.sub(b" ", lines)
    return lines.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
