"""The order of characters from U+10000 on and from U+E000 on. Expected rows are Neo4j's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpugda
from gpugda.errors import UnsupportedQueryError
from gpugda.text_order import StoredText, as_stored, refuse_if_orders_differ, text_key

HIGH, LOW = "\U0001d11e", "\ufb01"
"""The first is less by UTF-16 units, the second by code points."""


@pytest.fixture(scope="module", params=["gpu", "reference"])
def run(request: pytest.FixtureRequest) -> Iterator[Any]:
    nodes = {
        "id": [0, 1, 2],
        "labels": [["N"], ["N"], ["M"]],
        "s": [HIGH, LOW, "a"],
        "r": [HIGH + "a", LOW + "a", None],
        "k": [1, 2, None],
        "m": [HIGH, LOW, 1],
    }
    graph = gpugda.graph(nodes, {"source": [0], "target": [1], "type": ["R"]})
    with gpugda.connect(graph) as accelerator:

        def rows(text: str, **parameters: Any) -> list[tuple[Any, ...]]:
            result = accelerator.run(text, parameters, engine=request.param)
            return [tuple(record.values()) for record in result]

        yield rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MATCH (n:N) RETURN min(n.s), max(n.s)", [(LOW, HIGH)]),
        ("MATCH (n:N) RETURN n.k % 1 AS g, min(n.s), max(n.s)", [(0, LOW, HIGH)]),
        ("MATCH (n:N) RETURN n.k ORDER BY n.s", [(2,), (1,)]),
        ("MATCH (n:N) WITH n.s AS s ORDER BY s DESC RETURN collect(s)", [([HIGH, LOW],)]),
        ("MATCH (n:N) RETURN n.k ORDER BY n.s LIMIT 1", [(2,)]),
        ("MATCH (n:N), (m:N) WHERE n.s < m.s RETURN n.k, m.k", [(2, 1)]),
        ("MATCH (n)-->(m) WHERE n.s > m.s RETURN n.k, m.k", [(1, 2)]),
        (f"MATCH (n:N) WHERE n.s < '{HIGH}' RETURN n.k", [(2,)]),
        (f"MATCH (n:N) WHERE n.s > '{LOW}' RETURN n.k", [(1,)]),
        ("MATCH (n) WHERE n.m < 'z' OR n.m >= '' RETURN n.k ORDER BY n.m", [(2,), (1,)]),
        (f"RETURN '{HIGH}' < '{LOW}' AS less", [(False,)]),
        # Equality and functions of one text need no order.
        ("MATCH (n:N) RETURN DISTINCT toLower(n.s) = $h AS same", [(True,), (False,)]),
        ("MATCH (n:N) WHERE n.s STARTS WITH $h RETURN count(DISTINCT n.s + '')", [(1,)]),
        # Both orders agree here.
        ("MATCH (n) WHERE n.s < $a RETURN n.k", []),
    ],
)
def test_texts_are_ordered_as_in_neo4j(
    run: Any, text: str, expected: list[tuple[Any, ...]]
) -> None:
    assert sorted(run(text, h=HIGH, a="a")) == sorted(expected)
    if "ORDER BY" in text:
        assert run(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:N) RETURN min(toLower(n.s))",
        "MATCH (n) RETURN min(toLower(n.s + 'b'))",
        "MATCH (n:N) RETURN n.k % 1 AS g, max(toLower(n.s))",
        "MATCH (n:N) RETURN n.k ORDER BY reverse(n.r)",
        "MATCH (n:N) RETURN n.k ORDER BY [toLower(n.s)]",
        "MATCH (n:N) RETURN n.k ORDER BY n.s + '' LIMIT 1",
        "MATCH (n:N), (m:N) WHERE toLower(n.s) < m.s RETURN n.k, m.k",
        "MATCH (n)-->(m) WHERE toLower(n.s) > toLower(m.s) RETURN n.k, m.k",
        "MATCH (n:N) WHERE n.s < $h RETURN n.k",
        "MATCH (n:N) RETURN n.s >= $h",
        "RETURN $h < $l AS less",
        "UNWIND [$h, $l] AS x RETURN max(x)",
        "UNWIND [$h, $l] AS x RETURN x ORDER BY x",
    ],
)
def test_unknown_orders_are_refused(run: Any, text: str) -> None:
    """Neo4j sorts some of these by code points and others by UTF-16 units."""
    with pytest.raises(UnsupportedQueryError, match="properties or literals"):
        run(text, h=HIGH, l=LOW)


def test_emojis_alone_are_ordered(run: Any) -> None:
    rows = run("UNWIND $x AS x RETURN toUpper(x) ORDER BY toUpper(x)", x=["😀b", "😀a", "z"])
    assert rows == [("Z",), ("😀A",), ("😀B",)]


def test_texts_in_results_are_plain_strings(run: Any) -> None:
    text = f"MATCH (n:N {{k: 1}}) RETURN '{HIGH}', ['{HIGH}', {{a: '{HIGH}'}}], [n.s], collect(n.s)"
    ((literal, items, stored, collected),) = run(text)
    found = [literal, items[0], items[1]["a"], *stored, *collected]
    assert [type(each) for each in found] == [str] * 5
    assert set(found) == {HIGH}


TEXTS = st.text(st.sampled_from("a\u07ff\ud7ff\ue000\ufe0f\uffff\U00010000\U0001d11e"), max_size=3)


@given(TEXTS, TEXTS)
def test_texts_whose_encodings_order_differently_are_refused(a: str, b: str) -> None:
    differ = (a < b) != (a.encode("utf-16-be") < b.encode("utf-16-be"))
    refuse_if_orders_differ(as_stored(a), as_stored(b))  # type: ignore[arg-type]
    for one, other in ((a, b), (as_stored(a), b)):
        if differ and not (isinstance(one, StoredText) and isinstance(other, StoredText)):
            with pytest.raises(UnsupportedQueryError):
                refuse_if_orders_differ(one, other)  # type: ignore[arg-type]
            with pytest.raises(UnsupportedQueryError):
                sorted([text_key(one), text_key(other)])  # type: ignore[arg-type, type-var]
        else:
            keys = [text_key(one), text_key(other)]  # type: ignore[arg-type]
            assert (keys[0] < keys[1]) == (a < b)  # type: ignore[operator]
