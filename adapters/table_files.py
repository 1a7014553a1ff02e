"""Tables in files: Parquet, Arrow, and delimited text with types inferred from its content.

A text column becomes integers, floats or booleans only if each field is in canonical form:
``01234`` stays a text, as a number would lose its zero.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gpugda.data.values import arrow_compute as pc
from gpugda.errors import SourceError

from .csv_records import CsvFormat, RecordReader
from .edge_lists import EdgeFile, is_number, read_edge_list, usual_columns
from .import_header import HeaderField, ImportHeader
from .import_tables import ReadRules, read_blocks
from .input_files import READ_ERRORS
from .table_columns import TableColumns, open_table
from .table_kinds import ARROW, DELIMITED, EDGES, MATRIX, PARQUET, table_kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from .input_files import InputFile

__all__ = ["are_integers", "has_import_header", "read_table", "with_types"]

_DELIMITERS = ",;\t|"
_IMPORT_ROLES = (":ID", ":START_ID", ":END_ID")
_INTEGER = r"^(0|-?[1-9][0-9]*)$"
_FLOAT = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_SAFE_DIGITS = 19
_BOOLEAN = r"^(true|True|TRUE|false|False|FALSE)$"


def read_table(file: InputFile, delimiter: str | None = None) -> TableColumns:
    """The columns of a file, by its name: ``.parquet``, ``.arrow``, ``.csv``, ``.txt``, ….

    Columns of delimited text are texts; see `with_types`. Without a delimiter it is noticed.

    Raises:
        SourceError: The file is missing, of an unknown kind, or cannot be read.
    """
    kind = table_kind(file.name)
    file.refuse_missing()
    if kind in DELIMITED:
        return _text_table(file, delimiter)
    if kind in (*EDGES, *MATRIX):
        return read_edge_list(EdgeFile(file, delimiter=delimiter)).table
    try:
        if kind in PARQUET:
            import pyarrow.parquet as arrow_parquet  # graphs of other files, or of none, do without

            return open_table(arrow_parquet.read_table(file.local()), file.name)
        if kind in ARROW:
            import pyarrow.feather as arrow_feather

            return open_table(arrow_feather.read_table(file.local()), file.name)
    except (pa.ArrowException, *READ_ERRORS) as error:
        raise SourceError(f"{file.name}: cannot be read: {error}") from error
    raise SourceError(
        f"{file.name}: is no table that can be read; give .parquet, .arrow, .feather, .csv, .tsv, "
        "an edge list (.txt, .edges, .mtx), or a data frame"
    )


# ------------------------------------------------------------------ delimited text
def _text_table(file: InputFile, delimiter: str | None) -> TableColumns:
    """Text columns by the names in the first row; an empty field is null, ``""`` is not.

    A first row of numbers alone is no header: then it is an edge list.
    """
    layout, cells = _first_row(file, delimiter)
    has_header = not all(map(is_number, cells))
    names = _column_names(cells, file.name) if has_header else list(usual_columns(len(cells)))
    header = ImportHeader(tuple(HeaderField("PROPERTY", name) for name in names))
    blocks = list(read_blocks([file], header, ReadRules(layout), has_header=has_header))
    columns = {
        name: pa.chunked_array([block.columns[place] for block in blocks], pa.string())
        for place, name in enumerate(names)
    }
    return TableColumns(file.name, columns, sum(block.count for block in blocks), is_text=True)


def has_import_header(file: InputFile, delimiter: str | None = None) -> bool:
    """True for delimited text with a header of ``neo4j-admin database import``.

    Raises:
        SourceError: The file cannot be read.
    """
    return table_kind(file.name) in DELIMITED and any(
        map(_is_import_name, _first_row(file, delimiter)[1])
    )


def _first_row(file: InputFile, delimiter: str | None) -> tuple[CsvFormat, list[str]]:
    with file.open() as stream:
        record = RecordReader(stream, CsvFormat(), file.name).header()
    layout = CsvFormat(delimiter or _delimiter(record))
    try:
        text = record.decode()
    except UnicodeDecodeError:
        raise SourceError(f"{file.name}: the header is not UTF-8; save the file as UTF-8") from None
    return layout, next(csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter))


def _delimiter(record: bytes) -> str:
    """The usual delimiter that occurs most often in the header."""
    return max(_DELIMITERS, key=lambda each: record.count(each.encode()))


def _is_import_name(name: str) -> bool:
    return name.partition("(")[0].endswith(_IMPORT_ROLES)


def _column_names(names: list[str], origin: str) -> list[str]:
    for name in names:
        if _is_import_name(name):
            raise SourceError(
                f"{origin}: the header is that of an import file ({name}); read it with "
                "gpugda.read_import"
            )
        if not name:
            raise SourceError(
                f"{origin}: the first row names columns, but column {names.index(name) + 1} has no "
                "name; name it, or use gpugda.read_edges"
            )
        if names.count(name) > 1:
            raise SourceError(
                f"{origin}: the first row must name each column once, but {name!r} stands there "
                f"{names.count(name)} times; name the columns, or use gpugda.read_edges"
            )
    return names


def with_types(
    table: TableColumns, ids: Mapping[str, bool], texts: Collection[str]
) -> TableColumns:
    """A table of text columns with inferred types.

    Args:
        table: The columns of a text file.
        ids: Names of id columns, and True if they are integers: see `are_integers`.
        texts: Names of columns that stay texts.
    """
    columns = {name: column for name, column in table.columns.items() if name in texts}
    for name, column in table.columns.items():
        if name in ids:
            columns[name] = column.cast(pa.int64()) if ids[name] else column
        elif name not in texts:
            columns[name] = column if isinstance(column, list) else _typed(column)
    return TableColumns(table.origin, columns, table.count)


def are_integers(ids: Iterable[tuple[Any, bool]]) -> bool:
    """True if the ids of one id space are integers: text files have only integers, others no texts.

    Args:
        ids: Columns, and True if they come from text files.
    """
    return all(
        _all_match(column, _INTEGER) and _fits(column) if from_text else not _is_text(column)
        for column, from_text in ids
    )


def _is_text(column: Any) -> bool:
    if isinstance(column, list):
        return any(isinstance(value, str) for value in column[:1])
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _typed(column: Any) -> Any:
    if column.null_count == len(column):
        return column
    if _all_match(column, _INTEGER):
        return column.cast(pa.int64()) if _fits(column) else column
    if _all_match(column, _FLOAT):
        return _floats(column)
    if _all_match(column, _BOOLEAN):
        return pc.equal(pc.utf8_lower(column), "true")
    return column


def _floats(texts: Any) -> Any:
    """The floats, or the texts if an integer among them would be rounded, or one be infinite."""
    floats = texts.cast(pa.float64())
    large = texts.filter(pc.greater_equal(pc.abs(floats), 2.0**53))
    rounded = pc.any(pc.match_substring_regex(large, _INTEGER)).as_py()
    return texts if rounded or pc.any(pc.is_inf(floats)).as_py() else floats


def _all_match(column: Any, expression: str) -> bool:
    # The first fields decide most columns.
    for some in (column.slice(0, 64), column):
        if not pc.all(pc.match_substring_regex(some, expression), min_count=0).as_py():
            return False
    return True


def _fits(column: Any) -> bool:
    """True if all are within 64 bits; larger numbers would lose digits, so they stay texts."""
    if (pc.max(pc.utf8_length(column)).as_py() or 0) < _SAFE_DIGITS:
        return True
    try:
        column.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True
