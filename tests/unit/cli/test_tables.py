from __future__ import annotations

import io

import pytest

from gpugda.cli.devices import format_bytes
from gpugda.cli.formats import Format, table_text, write_result
from gpugda.result.result import Result
from gpugda.result.summary import Summary


def result(count):
    rows = [[number, "[bold]x[/bold]"] for number in range(count)]
    return Result.from_rows(["n", "[red]"], rows, None, Summary("gpu"))


def test_a_table_shows_markup_as_text():
    text = table_text(result(2), limit=0, width=60)
    assert "[red]" in text
    assert '"[bold]x[/bold]"' in text
    assert "more rows" not in text


@pytest.mark.parametrize(("limit", "shown"), [(0, 5), (3, 3), (5, 5), (9, 5)])
def test_a_table_has_at_most_the_limit_of_rows(limit, shown):
    text = table_text(result(5), limit=limit, width=60)
    assert text.count("[bold]") == shown
    assert (f"{5 - shown} more rows" in text) == (shown < 5)


def test_the_automatic_format_is_a_table_on_a_terminal():
    sink = io.BytesIO()
    write_result(result(1), Format.AUTO, sink, terminal=True)
    assert "│ n │" in sink.getvalue().decode()


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**31, "2.0 GiB"), (2**50, "1024.0 TiB")],
)
def test_bytes_are_formatted_with_a_unit(count, text):
    assert format_bytes(count) == text
