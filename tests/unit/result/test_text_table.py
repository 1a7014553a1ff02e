import pytest

from gpugda.result.text_table import text_table


def test_numbers_are_on_the_right_and_texts_on_the_left():
    assert text_table(["n", "text"], [(1, "a"), (None, "bcd"), (100, None)]) == (
        "┌──────┬───────┐\n"
        "│    n │ text  │\n"
        "├──────┼───────┤\n"
        '│    1 │ "a"   │\n'
        '│ NULL │ "bcd" │\n'
        "│  100 │ NULL  │\n"
        "└──────┴───────┘\n"
    )


def test_long_cells_are_folded():
    lines = text_table(["a", "b"], [("x" * 30, 1)], width=30).splitlines()
    assert {len(line) for line in lines} == {30}
    assert sum(line.count("x") for line in lines) == 30
    assert sum("1" in line for line in lines) == 1


def test_too_many_columns_give_one_value_a_line():
    names = [f"column {place}" for place in range(9)]
    text = text_table(names, [tuple("abcdefghi"), tuple("jklmnopqr")], width=60)
    assert text.splitlines()[:3] == ["─[ row 1 ]───", 'column 0 │ "a"', 'column 1 │ "b"']
    assert len(text.splitlines()) == 20


def test_wide_characters_take_two_columns():
    widths = {0: "ab", 1: "漢", 2: "e\N{COMBINING ACUTE ACCENT}x"}
    for text in widths.values():
        first, *_, row, last = text_table(["n"], [(text,)]).splitlines()
        assert len(first) == len(last) == 8
        assert row == f'│ "{text}" │'


def test_nothing_moves_the_cursor_or_changes_colours():
    assert "\\x1b[31m" in text_table(["\x1b[31m"], [("\x1b[0m",)])


@pytest.mark.parametrize("names", [[], ["a"]])
def test_no_rows(names):
    assert text_table(names, []).count("\n") == (4 if names else 0)
