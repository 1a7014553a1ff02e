from __future__ import annotations

import pytest

from gpugda.result.summary import STAGES, Summary, format_seconds


def test_parameters_are_kept_but_not_shown():
    summary = Summary("gpu", parameters={"password": "hunter2"})
    assert summary.parameters == {"password": "hunter2"}
    assert "hunter2" not in repr(summary)
    assert "hunter2" not in str(summary)
    assert "password" in str(summary)


def test_text_has_it_all():
    summary = Summary(
        "gpu",
        "the device was asked for",
        strategy="gpsm",
        timings={"total": 1.5, "join": 0.002, "parse": 0.0001},
        device="A device",
        snapshot="sample:wordnet",
        rows=1234,
        warnings=("a cross product",),
        steps=("extend to 10 rows",),
    )
    text = str(summary)
    assert text.splitlines()[0] == "1,234 rows in 1.5 s, engine gpu on A device"
    assert "parse 100 µs, join 2 ms, total 1.5 s" in text
    for part in ("the device was asked for", "gpsm", "sample:wordnet", "cross product", "10 rows"):
        assert part in text
    assert summary.notifications == ("a cross product",)


def test_times_add_up():
    summary = Summary("gpu", timings={"total": 1.0})
    summary.add_time("materialise", 0.25)
    summary.add_time("materialise", 0.25)
    assert summary.timings == {"total": 1.5, "materialise": 0.5}
    assert {"total", "materialise"} <= set(STAGES)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 µs"), (2e-5, "20 µs"), (0.0123, "12.3 ms"), (1.234, "1.23 s"), (2000, "2,000 s")],
)
def test_format_seconds(seconds, text):
    assert format_seconds(seconds) == text
