"""Reads edge lists: two ids per line, as graph collections publish them; also Matrix Market."""

from __future__ import annotations

import ast
import logging
import re
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from gpugda.config import machine_bytes
from gpugda.data.build import MAX_COUNT
from gpugda.errors import SourceError

from .column_names import usual_ends
from .csv_records import CsvFormat, RecordReader
from .import_header import HeaderField, ImportHeader
from .import_tables import ReadRules, split_rows
from .table_columns import TableColumns, columns_of_rows
from .table_kinds import MATRIX, table_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .input_files import InputFile

__all__ = ["EdgeFile", "EdgeList", "is_number", "read_edge_list", "usual_columns"]

logger = logging.getLogger("gpugda.adapters.edges")

_NOTICED_LINES = 100
_ID_BYTES = 8
_LINE = re.compile(rb"[^\n]+")
_BLANKS = re.compile(rb"[ \t]+")
_DELIMITERS = (",", ";", "|")
_NO_ATTRIBUTES = re.compile(rb"[ \t,;|]+\{\}[ \t]*$", re.MULTILINE)
_ATTRIBUTES = re.compile(rb"\{[^}].*\}[ \t]*$", re.MULTILINE)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
_BANNER = re.compile(rb"%%MatrixMarket\s+matrix\s+(\w+)\s+(\w+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EdgeFile:
    """A file that holds an edge list.

    Args:
        file: The file.
        columns: Names of the columns, including those of both ends; empty if they are noticed.
        delimiter: Separates fields; a blank stands for any number of blanks and tabs. None if it is
            noticed.
        comments: Prefixes of comment lines.
    """

    file: InputFile
    columns: tuple[str, ...] = ()
    delimiter: str | None = None
    comments: tuple[str, ...] = ("#", "%")


class EdgeList(NamedTuple):
    """What an edge list holds.

    Args:
        table: Its columns, as texts.
        order: The number of rows of a Matrix Market file, which are the nodes; None for others.
    """

    table: TableColumns
    order: int | None


class _Layout(NamedTuple):
    """How the lines of a file are read; its first one may be a header."""

    columns: tuple[str, ...]
    delimiter: str | None
    has_header: bool


def read_edge_list(given: EdgeFile) -> EdgeList:
    """The edges of a file, which is opened and read once.

    Raises:
        SourceError: A line has more or fewer fields than there are columns, or it is no matrix of
            numbers whose rows and columns are the same nodes, ….
    """
    given.file.refuse_missing()
    name = given.file.name
    with given.file.open() as stream:
        blocks = iter(RecordReader(stream, CsvFormat(quote=""), name))
        start, head = _head(blocks, given.comments)
        matrix = _matrix(name, start) if table_kind(name) in MATRIX else None
        rest = (_edge_lines(block, given.comments) for block in blocks)
        if not given.columns and _ATTRIBUTES.search(head):
            table = _with_attributes(given, head, rest)
        else:
            layout = _noticed(given, head, matrix)
            table = _with_columns(name, layout, head, rest)
    if matrix is not None:
        _check_entries(name, table.count, matrix.entries)
    return EdgeList(table, None if matrix is None else matrix.order)


def _with_columns(name: str, layout: _Layout, head: bytes, rest: Iterator[bytes]) -> TableColumns:
    """Lines with one field per column."""
    header = ImportHeader(tuple(HeaderField("PROPERTY", column) for column in layout.columns))
    mark = layout.delimiter
    rules = ReadRules(CsvFormat(mark or " ", ""))
    if layout.has_header:
        lines = [line for line in head.splitlines(keepends=True) if line.strip()]
        head = b"".join(lines[1:])
    blocks = []
    row = first_row = 1 + int(layout.has_header)
    for block in chain([head], rest):
        text = _one_mark(block, mark.encode()) if mark else _one_blank(block)
        columns = split_rows(text, header, rules, name, row)
        if columns is not None:
            blocks.append(columns)
            row += len(columns[0])
    columns_of = {
        column: pa.chunked_array([block[place] for block in blocks], pa.string())
        for place, column in enumerate(layout.columns)
    }
    return TableColumns(name, columns_of, row - first_row, is_text=True)


def _with_attributes(given: EdgeFile, head: bytes, rest: Iterator[bytes]) -> TableColumns:
    """Two ids and a dict per line, as NetworkX writes edges with attributes."""
    name = given.file.name
    ends: list[list[str]] = []
    found: list[dict[str, object]] = []
    first = _first_lines(head)
    sample = [_ids(line.decode("utf-8", "replace"))[0] for line in first]
    mark = _mark(given, sample, len(("source", "target")))
    # Only usual words are a header here: NetworkX writes none, and its edge may lack attributes.
    is_named = b"{" not in first[0] and usual_ends(_split(sample[0], mark)) is not None
    header = _header(name, sample, mark) if is_named else ()
    names = header[:2] if {"source", "target"} == set(header[:2]) else ()
    lines = islice(_lines(chain([head], rest)), 1 if names else 0, None)
    for number, line in enumerate(lines, 1):
        text = _decoded(line, name)
        ids, literal = _ids(text)
        fields = _split(ids, mark)
        fields = fields[:-1] if literal and not fields[-1] else fields
        attributes = _literal(literal) if literal else {}
        if len(fields) != 2 or attributes is None:
            raise SourceError(
                f"{name}: edge {number}: {text[:60]!r} is not two ids and a dict of "
                "other attributes, as in other lines: 1 2 {'weight': 3}"
            )
        ends.append(fields)
        found.append(attributes)
    columns: dict[str, object] = {
        end: pa.array([each[place] for each in ends], pa.string())
        for place, end in enumerate(names or ("source", "target"))
    }
    columns |= columns_of_rows(found)
    return TableColumns(name, columns, len(ends), is_text=True)


def _ids(line: str) -> tuple[str, str]:
    """The ids of a line, without the delimiter after them, and the text of its dict."""
    ids, brace, rest = line.partition("{")
    return (re.sub(r"[ \t]*[,;|]?[ \t]*$", "", ids) if brace else ids), brace + rest


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
def _noticed(given: EdgeFile, head: bytes, matrix: _Matrix | None) -> _Layout:
    """The layout of a file that starts with some lines."""
    if matrix is not None:
        return _Layout(matrix.columns, given.delimiter, has_header=True)
    name, first = given.file.name, _first_lines(head)
    lines = [line.decode("utf-8", "replace") for line in first]
    mark = _mark(given, lines, len(given.columns))
    columns = () if given.columns else _header(name, lines, mark)
    if not columns:
        width = len(_split(lines[0], mark)) if lines else 1
        return _Layout(given.columns or usual_columns(width), mark, has_header=False)
    _decoded(first[0], name)
    return _Layout(columns, mark, has_header=True)


def _header(name: str, lines: list[str], mark: str | None) -> tuple[str, ...]:
    """The columns that the first of some lines names; none if it is no header."""
    fields, below = (_split(line, mark) for line in [*lines, "", ""][:2])
    if not _is_header(fields, below):
        return ()
    if usual_ends(fields) is None:
        logger.warning("%s: the first line is read as a header: %s", name, lines[0])
    return _renamed(fields)


def _decoded(line: bytes, name: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        shown = line.decode("utf-8", "replace")[:60]
        raise SourceError(f"{name}: {shown!r} is not UTF-8; save the file as UTF-8") from None


def _mark(edges: EdgeFile, lines: list[str], width: int) -> str | None:
    """The delimiter of a file's first lines; None for any number of blanks and tabs.

    Args:
        edges: The file.
        lines: Its first lines.
        width: The number of fields; 0 if it is unknown.

    Raises:
        SourceError: Two are possible.
    """
    if edges.delimiter is not None:
        return None if edges.delimiter == " " else edges.delimiter
    possible = {
        mark: rows
        for mark in (*_DELIMITERS, "\t", None)
        if _is_even(rows := [_split(line, mark) for line in lines], width)
    }
    clean = [mark for mark in possible if mark in _DELIMITERS and _is_clean(possible[mark])]
    choices: list[str | None] = [*clean] or [*possible]
    choices = [mark for mark in choices if all(map(is_number, possible[mark][-1][:2]))] or choices
    if "\t" in choices:
        return None if possible["\t"] == possible.get(None) else "\t"
    if len(choices) > 1:
        shown = " or ".join(repr(mark or " ") for mark in choices)
        raise SourceError(
            f"{edges.file.name}: the delimiter of {lines[0][:60]!r} may be {shown}; "
            "say which: gpugda.read_edges(file, delimiter=…)"
        )
    if choices:
        return choices[0]
    # The lines have different lengths, which is refused when they are read.
    return next((mark for mark in _DELIMITERS if lines and mark in lines[0]), None)


def _is_even(rows: list[list[str]], width: int) -> bool:
    """True if all rows have two ends and the same number of fields."""
    widths = {len(row) for row in rows}
    return (
        len(widths) == 1
        and min(widths) > 1
        and widths <= {width or min(widths)}
        and all(row[0] and row[1] for row in rows)
    )


def _is_clean(rows: list[list[str]]) -> bool:
    """True if no field has blanks within: these are not what separates the fields."""
    return not any(len(field.split()) > 1 for row in rows for field in row)


def _split(line: str, mark: str | None) -> list[str]:
    # A tab at an end of the line is an empty field.
    stripped = line.strip(" \r" if mark == "\t" else None)
    return [field.strip() for field in stripped.split(mark)]


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
class _Matrix(NamedTuple):
    """What the head of a Matrix Market file says: the names of its columns, and two numbers."""

    columns: tuple[str, ...]
    order: int
    entries: int


def _matrix(name: str, start: bytes) -> _Matrix:
    found = _BANNER.match(start)
    words = next(_lines([_edge_lines(start, ("%",))]), b"").split()
    if found is None or len(words) != 3 or not all(word.isdigit() for word in words):
        raise SourceError(
            f"{name}: is no Matrix Market file of coordinates, which begins with "
            "'%%MatrixMarket matrix coordinate …' and a line 'rows columns entries'"
        )
    layout, field = (word.decode().lower() for word in found.groups())
    if layout != "coordinate" or field not in ("pattern", "real", "integer"):
        raise SourceError(
            f"{name}: a matrix '{layout} {field}' is no graph; 'coordinate pattern', "
            "'coordinate real' and 'coordinate integer' are"
        )
    order, width, entries = map(int, words)
    if order != width:
        raise SourceError(
            f"{name}: has {order:,} rows and {width:,} columns, which are not "
            "the same nodes; make a table of it for gpugda.graph, with ids of its own for each"
        )
    if order > min(MAX_COUNT, machine_bytes() // _ID_BYTES):
        raise SourceError(f"{name}: {order:,} rows are more nodes than a graph here can have")
    return _Matrix(usual_columns(2 if field == "pattern" else 3), order, entries)


def _check_entries(name: str, count: int, expected: int) -> None:
    """Refuses a matrix that was cut off, or has more entries than it says."""
    if count != expected:
        raise SourceError(
            f"{name}: has {count:,} entries where its header has {expected:,}; "
            "is the file complete?"
        )


# ------------------------------------------------------------------ lines
def _head(blocks: Iterator[bytes], comments: tuple[str, ...]) -> tuple[bytes, bytes]:
    """The first blocks, up to the one that completes the lines to notice: as read, and edges."""
    start = head = b""
    for block in blocks:
        start += block
        head += _edge_lines(block, comments)
        if len(_first_lines(head)) == _NOTICED_LINES:
            break
    return start, head


def _first_lines(head: bytes) -> list[bytes]:
    return list(islice(_lines([head]), _NOTICED_LINES))


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines that are not blank, without their ends."""
    found = (line[0] for block in blocks for line in _LINE.finditer(block))
    return (line for line in found if line.strip())


def _edge_lines(block: bytes, comments: tuple[str, ...]) -> bytes:
    """The lines of a block without comments, each with a line feed at its end.

    ``{}`` at the end of a line, which NetworkX writes for an edge without attributes, is left out.
    """
    block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    prefixes = b"|".join(re.escape(each.encode()) for each in comments if each)
    if prefixes:
        block = re.sub(rb"^[ \t]*(?:%b).*\n?" % prefixes, b"", block, flags=re.MULTILINE)
    return _NO_ATTRIBUTES.sub(b"", block) if b"{}" in block else block


def _one_mark(lines: bytes, mark: bytes) -> bytes:
    """The lines without blanks beside the delimiters and at the ends."""
    blanks = b" " if mark == b"\t" else b" \t"
    if not any(blank in lines for blank in (b" ", b"\t") if blank in blanks):
        return lines
    pattern = rb"[%b]*(%b|\n)[%b]*" % (blanks, re.escape(mark), blanks)
    return re.sub(pattern, rb"\1", lines.strip(blanks))


def _one_blank(lines: bytes) -> bytes:
    """The lines with one blank between fields, and none at the ends."""
    lines = lines.replace(b"\t", b" ")
    if b"  " in lines:
        lines = _BLANKS.sub(b" ", lines)
    return lines.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
