"""Python's string values equal Arrow's, with and without pandas."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from gpugda.data.values.arrow_numbers import arrow_texts


@pytest.mark.parametrize("texts", [[], ["a"], ["", "ab", "ä€𝄞"], [None, "a", None], [None] * 9])
def test_texts_equal_those_of_arrow(monkeypatch, texts):
    expected = pa.array(texts, pa.large_string())
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    made = arrow_texts(texts)
    made.validate(full=True)
    assert made.equals(expected)


def test_an_unpaired_surrogate_is_refused(monkeypatch):
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    with pytest.raises(UnicodeEncodeError) as raised:
        arrow_texts(["a", "b\ud800"])
    assert raised.value.object == "b\ud800"
