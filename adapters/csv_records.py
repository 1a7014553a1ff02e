"""Cuts a delimited text file into blocks of whole records, and checks its quotes.

Arrow's reader splits fields fast, but silently accepts malformed records: text after a closing
quote, or a quote that is never closed (the rest of the file is then one field). So the quotes are
checked here first. If every quote opens, closes or is doubled within a quoted field, which is
nearly always the case, that takes a few array operations; otherwise the block is read field by
field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from gpugda.errors import SourceError

from .input_files import READ_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BLOCK_BYTES", "MAX_RECORD_BYTES", "CsvFormat", "RecordReader", "first_record"]

BLOCK_BYTES = 8 << 20
MAX_RECORD_BYTES = 128 << 20
"""Maximum record size, header or not: longer ones lack line ends or a closing quote."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CARRIAGE_RETURN, _NEWLINE = 13, 10


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Separators and quotes of fields: single ASCII characters.

    Args:
        delimiter: Separates fields.
        quote: Encloses fields; doubled within them.
    """

    delimiter: str = ","
    quote: str = '"'

    def field(self) -> re.Pattern[bytes]:
        """A pattern for one well-formed field."""
        quote, delimiter = re.escape(self.quote.encode()), re.escape(self.delimiter.encode())
        if not quote:
            return re.compile(rb"[^%b\r\n]*+" % delimiter)
        quoted = rb"%b[^%b]*+(?:%b%b[^%b]*+)*+%b" % ((quote,) * 6)
        plain = rb"(?!%b)[^%b\r\n]*+" % (quote, delimiter)
        return re.compile(rb"(?:%b|%b)(?=%b|\r|\n|\Z)" % (quoted, plain, delimiter), re.DOTALL)


class RecordReader:
    """Iterates over a file in blocks of whole records.

    Args:
        stream: The bytes; a byte order mark is dropped.
        layout: Delimiter and quote.
        name: File name, for messages.
        block_bytes: Number of bytes per read; by default ``BLOCK_BYTES``.
    """

    def __init__(
        self, stream: BinaryIO, layout: CsvFormat, name: str, block_bytes: int | None = None
    ) -> None:
        self._stream = stream
        self._layout = layout
        self._name = name
        self._block_bytes = block_bytes or BLOCK_BYTES
        start = self._read(len(_BYTE_ORDER_MARK))
        self._rest = b"" if start == _BYTE_ORDER_MARK else start

    def header(self) -> bytes:
        """The first non-empty record, without its line end.

        Raises:
            SourceError: There is none, or its quotes are malformed.
        """
        for block in self:
            block = block.lstrip(b"\r\n")
            if not block:
                continue
            end = first_record(block, self._layout)
            self._rest = block[end:] + self._rest
            return block[:end].rstrip(b"\r\n")
        raise SourceError(f"{self._name}: the file is empty; its first line must be the header")

    def __iter__(self) -> Iterator[bytes]:
        pending, self._rest = self._rest, b""
        while True:
            read = self._read(self._block_bytes)
            pending += read
            end = _records_end(pending, self._layout, self._name, last=not read)
            # The rest is kept for the next iterator, in case this one is abandoned.
            self._rest = pending[end:]
            if len(self._rest) > MAX_RECORD_BYTES:
                raise SourceError(_length_message(self._rest, self._name))
            if end:
                yield pending[:end]
                pending, self._rest = self._rest, b""
            if not read:
                return

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except READ_ERRORS as error:
            raise SourceError(f"{self._name}: cannot be read to its end: {error}") from error


def first_record(block: bytes, layout: CsvFormat) -> int:
    """Size in bytes of the first record of a well-formed block, with its line end."""
    field = layout.field()
    position = 0
    while True:
        found = field.match(block, position)
        position = found.end() if found else len(block)
        if position >= len(block):
            return len(block)
        position += 1
        if block[position - 1] in b"\r\n":
            crlf = block[position - 1 : position + 1] == b"\r\n"
            return position + 1 if crlf else position


def _records_end(block: bytes, layout: CsvFormat, name: str, *, last: bool) -> int:
    """Size in bytes of the whole records at the start of a block (if last, of all of it)."""
    quote = layout.quote.encode()
    if not quote or quote not in block:
        return len(block) if last else block.rfind(b"\n") + 1
    data = np.frombuffer(block, dtype=np.uint8)
    quotes = np.flatnonzero(data == quote[0])
    if _quotes_are_plain(data, quotes, layout, last=last):
        return len(block) if last else _last_newline_outside(data, quotes)
    return _records_end_by_field(block, layout, name, last=last)


def _quotes_are_plain(
    data: np.ndarray[tuple[int], np.dtype[np.uint8]],
    quotes: np.ndarray[tuple[int], np.dtype[np.intp]],
    layout: CsvFormat,
    *,
    last: bool,
) -> bool:
    """True if every odd quote is at the start of a field, and every even one at its end."""
    if last and len(quotes) % 2:
        return False
    around = np.zeros(256, dtype=np.bool_)
    around[[ord(layout.delimiter), ord(layout.quote), _CARRIAGE_RETURN, _NEWLINE]] = True
    opening, closing = quotes[0::2], quotes[1::2]
    before = opening[opening > 0] - 1
    after = closing[closing < len(data) - 1] + 1
    return bool(around[data[before]].all() and around[data[after]].all())


def _last_newline_outside(
    data: np.ndarray[tuple[int], np.dtype[np.uint8]],
    quotes: np.ndarray[tuple[int], np.dtype[np.intp]],
) -> int:
    newlines = np.flatnonzero(data == _NEWLINE)
    outside = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0


def _records_end_by_field(block: bytes, layout: CsvFormat, name: str, *, last: bool) -> int:
    field = layout.field()
    position = end = row_start = 0
    while position < len(block):
        found = field.match(block, position)
        if found is None or (found.end() == len(block) and not last):
            if last or (found is None and _is_misplaced(block, position, layout)):
                raise SourceError(_quote_message(block[row_start:], layout, name))
            return end
        position = found.end() + 1
        if position > len(block) or block[position - 1] in b"\r\n":
            end = row_start = min(position, len(block))
    return len(block) if last else end


def _is_misplaced(block: bytes, position: int, layout: CsvFormat) -> bool:
    """True if bytes follow a closed field, so that reading on cannot complete it."""
    quote = re.escape(layout.quote.encode())
    closed = re.compile(rb"%b[^%b]*+(?:%b%b[^%b]*+)*+%b(?!\Z)" % ((quote,) * 6), re.DOTALL)
    return closed.match(block, position) is not None


def _length_message(record: bytes, name: str) -> str:
    shown = record[:60].decode("utf-8", "replace")
    return (
        f"{name}: a record of more than {MAX_RECORD_BYTES >> 20} MiB, which starts {shown!r}: a "
        "line end, or the quote that closes a field, is missing"
    )


def _quote_message(record: bytes, layout: CsvFormat, name: str) -> str:
    shown = record[:60].decode("utf-8", "replace")
    return (
        f"{name}: a field that starts with the quote {layout.quote} does not end with it, "
        f"in the record that starts {shown!r}; double a quote that belongs to the text, "
        "or choose another quote"
    )
