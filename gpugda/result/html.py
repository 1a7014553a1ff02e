"""A result as an HTML table, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gpugda.result.text import format_value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gpugda.result.summary import Summary

__all__ = ["html_table"]

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
