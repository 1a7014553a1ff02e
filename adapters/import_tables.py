"""Reads import files as streams of Arrow text columns with their header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as arrow_csv

from gpugda.data.values import arrow_compute as pc
from gpugda.errors import SourceError

from .csv_records import RecordReader, first_record
from .import_header import ImportHeader, parse_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .csv_records import CsvFormat
    from .input_files import InputFile

__all__ = ["ReadRules", "TextBlock", "read_blocks", "read_header", "split_rows"]


@dataclass(frozen=True, slots=True)
class ReadRules:
    """Settings for the conversion of files to text columns.

    Args:
        layout: Delimiter and quote.
        ignore_empty_strings: True if a quoted empty text is null, as an unquoted one always is.
        auto_skip_subsequent_headers: True if further files of a group may repeat the header.
    """

    layout: CsvFormat
    ignore_empty_strings: bool = False
    auto_skip_subsequent_headers: bool = False


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A block of rows of one file.

    Args:
        columns: Arrow ``string`` per column of the header.
        origin: File name.
        first_row: Number of the first row; the header's row counts, empty lines do not.
    """

    columns: tuple[pa.Array, ...]
    origin: str
    first_row: int

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.columns[0])


def read_header(file: InputFile, layout: CsvFormat) -> ImportHeader:
    """The header in the first row of a file.

    Raises:
        SourceError: The file is empty, or its first row is not a header.
    """
    with file.open() as stream:
        record = RecordReader(stream, layout, file.name).header()
    return parse_header(record, layout, file.name)


def read_blocks(
    files: Sequence[InputFile], header: ImportHeader, rules: ReadRules, *, has_header: bool = True
) -> Iterator[TextBlock]:
    """All rows of files that share the first one's header; without it, of one file.

    Raises:
        SourceError: A row has more or fewer fields than the header, is not UTF-8, ….
    """
    header_record = b""
    for place, file in enumerate(files):
        with file.open() as stream:
            reader = RecordReader(stream, rules.layout, file.name)
            first_row = 1
            if place == 0 and has_header:
                header_record = reader.header()
                first_row = 2
            yield from _file_blocks(reader, file.name, first_row, header, header_record, rules)


def _file_blocks(
    reader: RecordReader,
    name: str,
    row: int,
    header: ImportHeader,
    header_record: bytes,
    rules: ReadRules,
) -> Iterator[TextBlock]:
    at_start = row == 1 and bool(header_record)
    for block in reader:
        if at_start:
            length = _repeated_header(block, header_record, name, rules)
            row += 1 if length else 0
            block = block[length:]
            at_start = False
        columns = split_rows(block, header, rules, name, row)
        if columns is not None and len(columns[0]):
            yield TextBlock(columns, name, row)
            row += len(columns[0])


def _repeated_header(block: bytes, header: bytes, name: str, rules: ReadRules) -> int:
    """Number of bytes to skip at the start of a further file."""
    length = first_record(block, rules.layout)
    record = block[:length].rstrip(b"\r\n")
    if record != header:
        _refuse_other_header(record, name, rules.layout)
        return 0
    if not rules.auto_skip_subsequent_headers:
        raise SourceError(
            f"{name}: starts with a second header, the same as that of the group's first file; "
            "remove it, or say auto_skip_subsequent_headers=True"
        )
    return length


def _refuse_other_header(record: bytes, name: str, layout: CsvFormat) -> None:
    """A row that names ids is a header, whatever the other rows contain."""
    try:
        found = parse_header(record, layout, name)
    except SourceError:  # not a header
        return
    if not found.is_node and not (found.positions("START_ID") and found.positions("END_ID")):
        return
    shown = record[:80].decode("utf-8", "replace")
    raise SourceError(
        f"{name}: starts with a second header ({shown}), which differs from that of the group's "
        "first file. Make files with headers of their own groups of their own, as pairs: "
        "[('NAME', 'first.csv'), ('NAME', 'second.csv')]"
    )


def split_rows(
    block: bytes, header: ImportHeader, rules: ReadRules, name: str, first_row: int
) -> tuple[pa.Array, ...] | None:
    """Text columns of a block of whole records; None if it has no record.

    Raises:
        SourceError: A record has more or fewer fields than the header, is not UTF-8, ….
    """
    if not block.strip(b"\r\n"):
        return None
    try:
        table = _read_csv(block, len(header.fields), rules)
    except pa.ArrowInvalid as error:
        raise _ragged(block, header, rules, name, first_row) or SourceError(
            f"{name}, at or after row {first_row}: {error}"
        ) from None
    return tuple(
        _decoded(column, header, place, name, first_row)
        for place, column in enumerate(table.columns)
    )


def _read_csv(block: bytes, width: int, rules: ReadRules, handler: object = None) -> pa.Table:
    quote = rules.layout.quote
    names = [str(place) for place in range(width)]
    return arrow_csv.read_csv(
        pa.BufferReader(block),
        read_options=arrow_csv.ReadOptions(
            column_names=names,
            block_size=len(block),  # else Arrow would split rows again, and reject long ones
            use_threads=handler is None,
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=rules.layout.delimiter,
            quote_char=quote or False,
            double_quote=bool(quote),
            newlines_in_values=bool(quote) and quote.encode() in block,
            invalid_row_handler=handler,
        ),
        convert_options=arrow_csv.ConvertOptions(
            # As binary first: for text, Arrow reports a byte that is not UTF-8 without its row.
            column_types=dict.fromkeys(names, pa.binary()),
            strings_can_be_null=True,
            null_values=[""],
            quoted_strings_can_be_null=rules.ignore_empty_strings,
        ),
    )


def _ragged(
    block: bytes, header: ImportHeader, rules: ReadRules, name: str, first_row: int
) -> SourceError | None:
    """Reads the block again to find the first row of the wrong length."""
    found: list[arrow_csv.InvalidRow] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        found.append(row)
        return "skip"

    try:
        _read_csv(block, len(header.fields), rules, note)
    except pa.ArrowInvalid:
        return None
    if not found:
        return None
    row = found[0]
    return SourceError(
        f"{name}, row {first_row + row.number - 1}: has {row.actual_columns} fields where the "
        f"header has {row.expected_columns}: {row.text[:80]!r}; check the delimiter "
        f"{rules.layout.delimiter!r} and quotes"
    )


def _decoded(
    column: pa.ChunkedArray, header: ImportHeader, place: int, name: str, first_row: int
) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # returned by older versions of Arrow
        array = array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.chunks)
    try:
        return pc.cast(array, pa.string())
    except pa.ArrowInvalid:
        row = next(row for row, value in enumerate(array) if not _is_utf8(value.as_py()))
        shown = header.fields[place].name or f":{header.fields[place].role}"
        raise SourceError(
            f"{name}, row {first_row + row}, column {shown}: not UTF-8; save the file as UTF-8"
        ) from None


def _is_utf8(value: bytes | None) -> bool:
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
