"""Rules for the test suite itself."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
WALL_TIME = re.compile(r"assert .*(monotonic|perf_counter|time\.time)\(\) - .*<")
MODULES = [path for path in TESTS.rglob("*.py") if "benchmarks" not in path.parts]


@pytest.mark.parametrize("line", ["assert time.monotonic() - started < 5"])
def test_assertions_on_wall_time_are_found(line):
    assert WALL_TIME.search(line)


def test_no_test_asserts_on_wall_time():
    """It would fail on a busy machine: use `soon.ends_in` or `soon.Stopwatch` instead."""
    found = [
        f"{path.relative_to(TESTS)}:{number}"
        for path in MODULES
        if path.resolve() != Path(__file__).resolve()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if WALL_TIME.search(line)
    ]
    assert not found


def test_continuous_integration_runs_every_test():
    called = (TESTS.parent / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^make test-all$", called, re.M)
    makefile = (TESTS.parent / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^test-all: \$.*\n((?:\t.*\n)+)", makefile, re.M)
    assert "pytest" in recipe
    assert '-m "' not in recipe
