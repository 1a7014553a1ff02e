"""Rows as a table of text or HTML, or one value a line where a table would be too wide."""

from __future__ import annotations

import unicodedata
from html import escape
from typing import TYPE_CHECKING, Any

from gpugda.result.text import format_value
from gpugda.values import is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.result.summary import Summary


__all__ = ["html_table", "text_table"]

_SHOWN_CHARACTERS = 200


def html_table(
    names: Sequence[str], rows: Sequence[tuple[Any, ...]], row_count: int, summary: Summary
) -> str:
    """A table of the first rows, the number of further rows, and a line with engine and time."""
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows
    )
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    more = row_count - len(rows)
    rest = f"<p>… and {more:,} more rows.</p>" if more > 0 else ""
    remarks = "".join(
        f"<p><small>warning: {escape(warning)}</small></p>" for warning in summary.warnings
    )
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"
        f"<p><small>{escape(summary.headline())}</small></p>{remarks}"
    )


def _cell(value: object) -> str:
    text = format_value(value)
    if len(text) > _SHOWN_CHARACTERS:
        text = text[:_SHOWN_CHARACTERS] + "…"
    return escape(text)


_CELL_CHARACTERS = 500
_NARROWEST = 12
"""Cells are folded to this width, never narrower: then each value gets a line of its own."""


def text_table(
    names: Sequence[str],
    rows: Sequence[Sequence[Any]],
    width: int = 100,
    shown: Callable[[Any], str] = format_value,
) -> str:
    """The rows with borders, at most ``width`` columns of a terminal wide; ``shown`` gives cells.

    Long cells are folded. If there are too many columns, each row is written as lines of a name and
    a value, as ``psql`` does.
    """
    if not names:
        return ""
    cells = [[_text(shown(value)) for value in row] for row in rows]
    heads = [_plain(name) for name in names]
    widths = [max(map(_width, column)) for column in zip(heads, *cells, strict=True)]
    if not _shrunk(widths, width):
        return _one_value_a_line(heads, cells)
    right = [
        any(is_number(row[place]) for row in rows)
        and all(row[place] is None or is_number(row[place]) for row in rows)
        for place in range(len(names))
    ]
    lines = [
        _border(("┌", "┬", "┐"), widths),
        *_lines(heads, widths, right),
        _border(("├", "┼", "┤"), widths),
        *(line for row in cells for line in _lines(row, widths, right)),
        _border(("└", "┴", "┘"), widths),
    ]
    return "".join(f"{line}\n" for line in lines)


def _shrunk(widths: list[int], width: int) -> bool:
    """Narrows the widest columns until the table fits; False if they would be too narrow."""
    room = width - 3 * len(widths) - 1
    while sum(widths) > room:
        widest = max(widths)
        if widest <= _NARROWEST:
            return False
        others = [each for each in widths if each != widest]
        next_width = max([_NARROWEST, *(each for each in others if each < widest)])
        count = widths.count(widest)
        fitting = (room - sum(others)) // count
        widths[:] = [max(next_width, fitting) if each == widest else each for each in widths]
    return True


def _one_value_a_line(heads: list[str], cells: list[list[str]]) -> str:
    width = max(map(_width, heads))
    lines = []
    for number, row in enumerate(cells, start=1):
        lines.append(f"─[ row {number:,} ]{'─' * max(width - len(f'{number:,}') - 7, 3)}")
        lines += [f"{_padded(head, width)} │ {cell}" for head, cell in zip(heads, row, strict=True)]
    return "".join(f"{line}\n" for line in lines)


def _border(corners: tuple[str, str, str], widths: list[int]) -> str:
    left, middle, right = corners
    return left + middle.join("─" * (width + 2) for width in widths) + right


def _lines(cells: list[str], widths: list[int], right: list[bool]) -> list[str]:
    """The lines of one row; long cells go on in the next."""
    pieces = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for place in range(max(map(len, pieces))):
        shown = [
            _padded(each[place] if place < len(each) else "", width, right=is_right)
            for each, width, is_right in zip(pieces, widths, right, strict=True)
        ]
        lines.append(f"│ {' │ '.join(shown)} │")
    return lines


def _folded(text: str, width: int) -> list[str]:
    if _width(text) <= width:
        return [text]
    pieces, taken = [""], 0
    for character in text:
        wide = _width(character)
        if taken + wide > width:
            pieces.append("")
            taken = 0
        pieces[-1] += character
        taken += wide
    return pieces


def _padded(text: str, width: int, *, right: bool = False) -> str:
    blanks = " " * (width - _width(text))
    return blanks + text if right else text + blanks


def _text(text: str) -> str:
    text = _plain(text)
    return text if len(text) <= _CELL_CHARACTERS else text[:_CELL_CHARACTERS] + "…"


def _plain(text: str) -> str:
    """The text without characters that would move the cursor."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def _width(text: str) -> int:
    """The columns of a terminal that a text takes."""
    return len(text) if text.isascii() else sum(map(_width_of, text))


def _width_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
