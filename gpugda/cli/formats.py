"""Writes rows as plain text, JSON lines, CSV, Arrow or a table for a terminal."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any

from gpugda.result.text import format_value, json_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.result.result import Result

__all__ = ["Format", "write_result"]

_CELL_CHARACTERS = 500


class Format(StrEnum):
    """Output formats of rows."""

    AUTO = "auto"
    PLAIN = "plain"
    JSON = "json"
    CSV = "csv"
    ARROW = "arrow"


def write_result(
    result: Result, form: Format, sink: IO[bytes], *, terminal: bool, limit: int = 0
) -> None:
    """Writes all rows.

    Args:
        result: The result to write.
        form: The format; ``AUTO`` is a table on a terminal and ``PLAIN`` elsewhere.
        sink: The output file.
        terminal: True if the sink is a terminal.
        limit: Maximum number of rows of a table on a terminal, 0 for all.
    """
    if form is Format.AUTO and terminal:
        _write_table(result, sink, limit)
    elif form is Format.ARROW:
        _write_arrow(result, sink)
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


_LINES: dict[Format, tuple[Any, Any]] = {
    Format.AUTO: (_plain_header, _plain_line),
    Format.PLAIN: (_plain_header, _plain_line),
    Format.CSV: (_csv_header, _csv_line),
    Format.JSON: (lambda _: "", _json_line),
}


# ------------------------------------------------------------------ Arrow and tables
def _write_arrow(result: Result, sink: IO[bytes]) -> None:
    import pyarrow as pa

    table = result.to_arrow()
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), table.schema) as stream:
        stream.write_table(table, max_chunksize=1 << 16)


def _write_table(result: Result, sink: IO[bytes], limit: int) -> None:
    from rich.console import Console

    text = table_text(result, limit, Console().width)
    sink.write(text.encode(errors="replace"))


def table_text(result: Result, limit: int, width: int) -> str:
    """The rows as a table with borders, at most ``width`` characters wide."""
    import io

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for name in result.table.names:
        table.add_column(Text(name), overflow="fold")
    shown = 0
    for block in result.plain_blocks():
        for row in block[: limit - shown if limit else None]:
            table.add_row(*(Text(_cell(value)) for value in row))
            shown += 1
        if limit and shown >= limit:
            break
    lines = io.StringIO()
    Console(file=lines, width=width).print(table)
    more = result.table.row_count - shown
    if more:
        lines.write(f"… and {more:,} more rows; --limit-display 0 shows all\n")
    return lines.getvalue()


def _cell(value: Any) -> str:
    text = format_value(value)
    return text if len(text) <= _CELL_CHARACTERS else text[:_CELL_CHARACTERS] + "…"
