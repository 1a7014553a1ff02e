"""A result as an HTML table, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gpugda.result.entities import PlainEntities
from gpugda.result.rows import read_blocks
from gpugda.result.text import format_value

if TYPE_CHECKING:
    from gpugda.execute.result_table import ResultTable
    from gpugda.result.summary import Summary

__all__ = ["html_table"]

_SHOWN_ROWS = 20
_SHOWN_CHARACTERS = 200


def html_table(table: ResultTable, summary: Summary) -> str:
    """The first rows with their total, and a line with engine and time. No row counts as read."""
    blocks = read_blocks(table, PlainEntities(table.graph), 0, _SHOWN_ROWS)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>"
        for block in blocks
        for row in block
    )
    head = "".join(f"<th>{escape(name)}</th>" for name in table.names)
    more = table.row_count - _SHOWN_ROWS
    rest = f"<p>… and {more:,} more rows.</p>" if more > 0 else ""
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"
        f"<p><small>{escape(summary.headline())}</small></p>"
    )


def _cell(value: object) -> str:
    text = format_value(value)
    if len(text) > _SHOWN_CHARACTERS:
        text = text[:_SHOWN_CHARACTERS] + "…"
    return escape(text)
