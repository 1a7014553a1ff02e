"""Writes rows as plain text, JSON, CSV, Arrow, Parquet or a table for a terminal."""

from __future__ import annotations

import json
import shutil
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any

from gpugda.result.text import format_value, json_value
from gpugda.result.text_table import text_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.result.result import Result

__all__ = ["BINARY", "Format", "format_of_file", "table_text", "write_result"]


class Format(StrEnum):
    """Output formats of rows."""

    AUTO = "auto"
    PLAIN = "plain"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    ARROW = "arrow"
    PARQUET = "parquet"


BINARY = (Format.ARROW, Format.PARQUET)
_BY_SUFFIX = {
    ".json": Format.JSON,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".csv": Format.CSV,
    ".arrow": Format.ARROW,
    ".feather": Format.ARROW,
    ".parquet": Format.PARQUET,
}


def format_of_file(path: str) -> Format:
    """The format that the end of a file's name stands for; ``AUTO`` for others."""
    return next(
        (form for end, form in _BY_SUFFIX.items() if path.lower().endswith(end)), Format.AUTO
    )


def write_result(
    result: Result,
    form: Format,
    sink: IO[bytes],
    *,
    terminal: bool,
    limit: int = 0,
    is_file: bool = False,
) -> None:
    """Writes all rows.

    Args:
        result: The result to write.
        form: The format; ``AUTO`` is a table on a terminal and ``PLAIN`` elsewhere.
        sink: The output file.
        terminal: True if the sink is a terminal.
        limit: Maximum number of rows of a table on a terminal, 0 for all.
        is_file: True if the sink has a name: then Arrow has the format of files, else of streams.
    """
    if form is Format.AUTO and terminal:
        text = table_text(result, limit, shutil.get_terminal_size().columns)
        sink.write(text.encode(errors="replace"))
    elif form is Format.ARROW:
        _write_arrow(result, sink, is_file=is_file and sink.seekable())
    elif form is Format.PARQUET:
        _write_parquet(result, sink)
    elif form is Format.JSON:
        _write_array(result, sink)
    else:
        _write_lines(result, sink, *_LINES[form])


# ------------------------------------------------------------------ lines of text
def _write_lines(
    result: Result,
    sink: IO[bytes],
    header: Callable[[Sequence[str]], str],
    line: Callable[[Sequence[str], Sequence[Any]], str],
) -> None:
    names = result.keys()
    sink.write(header(names).encode())
    for block in result.plain_blocks():
        # Half of a surrogate pair, valid in Cypher but not in UTF-8, becomes a question mark.
        sink.write("".join(line(names, row) for row in block).encode(errors="replace"))


def _plain_header(names: Sequence[str]) -> str:
    return ", ".join(names) + "\n"


def _plain_line(names: Sequence[str], row: Sequence[Any]) -> str:
    return ", ".join(map(format_value, row)) + "\n"


def _csv_header(names: Sequence[str]) -> str:
    return ",".join(map(_csv_field, names)) + "\n"


def _csv_line(names: Sequence[str], row: Sequence[Any]) -> str:
    return ",".join(map(_csv_field, row)) + "\n"


def _csv_field(value: Any) -> str:
    """A CSV field: null is empty, an empty string ``""``; booleans and numbers as in Cypher."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else format_value(value)
    if text == "" or any(each in text for each in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _json_line(names: Sequence[str], row: Sequence[Any]) -> str:
    values = dict(zip(names, map(json_value, row), strict=True))
    return json.dumps(values, ensure_ascii=False) + "\n"


def _write_array(result: Result, sink: IO[bytes]) -> None:
    """An array of objects, one a line."""
    names = result.keys()
    before = "[\n"
    for block in result.plain_blocks():
        rows = ",\n".join(_json_line(names, row)[:-1] for row in block)
        sink.write((before + rows).encode(errors="replace"))
        before = ",\n"
    sink.write(b"[]\n" if before == "[\n" else b"\n]\n")


_LINES: dict[Format, tuple[Any, Any]] = {
    Format.AUTO: (_plain_header, _plain_line),
    Format.PLAIN: (_plain_header, _plain_line),
    Format.CSV: (_csv_header, _csv_line),
    Format.JSONL: (lambda _: "", _json_line),
}


# ------------------------------------------------------------------ Arrow, Parquet and tables
def _write_arrow(result: Result, sink: IO[bytes], *, is_file: bool) -> None:
    import pyarrow as pa

    table = result.to_arrow()
    make = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with make(pa.PythonFile(sink, mode="w"), table.schema) as stream:
        stream.write_table(table, max_chunksize=1 << 16)


def _write_parquet(result: Result, sink: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as arrow_parquet

    table = result.to_arrow()
    if sink.seekable():
        arrow_parquet.write_table(table, sink)
        return
    buffer = pa.BufferOutputStream()
    arrow_parquet.write_table(table, buffer)
    sink.write(buffer.getvalue())


def table_text(result: Result, limit: int, width: int) -> str:
    """The first rows, all for a limit of 0, and how many more there are."""
    rows: list[tuple[Any, ...]] = []
    for block in result.plain_blocks():
        rows += block[: limit - len(rows) if limit else None]
        if limit and len(rows) >= limit:
            break
    more = result.row_count - len(rows)
    rest = f"… and {more:,} more rows; --limit-display 0 shows all\n" if more > 0 else ""
    return text_table(result.keys(), rows, width) + rest
