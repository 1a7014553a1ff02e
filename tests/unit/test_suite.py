"""Rules for the test suite itself."""

import ast
import re
from pathlib import Path

import pytest
from splits_in_turn import in_turn, is_of_rival, is_one_in, some_of

TESTS = Path(__file__).resolve().parents[1]
WALL_TIME = re.compile(r"assert .*(monotonic|perf_counter|time\.time)\(\) - .*<")
PARAMETERS_IN_BRACES = re.compile(r"parametrize\(\s*(?:\"[^\"]*\"|\([^)]*\)),\s*\{")
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


def parametrized_by_sets(text):
    """Line numbers: two workers would collect the tests in two orders, and refuse to run them."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "parametrize"
        and any(isinstance(each, ast.Set | ast.SetComp) for each in node.args[1:])
    ]


def test_no_parameters_are_a_set():
    assert parametrized_by_sets('pytest.mark.parametrize("x", {1, 2})') == [1]
    texts = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    suspects = {path: text for path, text in texts.items() if PARAMETERS_IN_BRACES.search(text)}
    found = {path.name: parametrized_by_sets(text) for path, text in suspects.items()}
    assert not {name: lines for name, lines in found.items() if lines}


def test_continuous_integration_runs_all_but_thorough_tests():
    called = (TESTS.parent / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^make test-all$", called, re.M)
    makefile = (TESTS.parent / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^test-all: \$.*\n((?:\t.*\n)+)", makefile, re.M)
    assert "pytest" in recipe
    assert set(re.findall(r'-m "([^"]*)"', recipe)) == {"not perf and not thorough"}


def test_many_cases_run_on_one_split_each():
    both = [f"test_x[{kind}-split-{case}]" for case in range(40) for kind in ("cpu", "gpu")]
    kept = in_turn(both)
    assert sorted(re.sub("cpu-|gpu-", "", name) for name in kept) == sorted(
        f"test_x[split-{case}]" for case in range(40)
    )
    assert {name[7:10] for name in kept} == {"cpu", "gpu"}
    assert kept <= in_turn([*both, "test_x[cpu-split-other]", "test_x[gpu-split-other]"])


@pytest.mark.parametrize(
    "cases", [["test_x[cpu-split]"], ["test_x[1-cpu-split]", "test_x[2-cpu-split]"]]
)
def test_few_cases_run_on_both_splits(cases):
    both = [*cases, *(name.replace("cpu", "gpu") for name in cases)]
    assert in_turn(both) == set(both)


def test_a_third_of_the_cases_remains_on_either_split():
    both = [(f"test_x[cpu-split-{case}]", f"test_x[gpu-split-{case}]") for case in range(300)]
    kept = [cpu for cpu, gpu in both if is_one_in(3, cpu) and is_one_in(3, gpu)]
    assert len(kept) == sum(is_one_in(3, gpu) for _, gpu in both)
    assert 75 < len(kept) < 125
    everything = in_turn([name for pair in both for name in pair])
    assert 20 < len(everything.intersection(kept)) < 80


def test_few_cases_of_rivals_remain_and_at_least_one():
    for count in range(1, 100):
        names = [f"tests/x.py::test_x[gsi-{case}]" for case in range(count)]
        assert all(map(is_of_rival, names))
        kept = some_of(names)
        assert 0 < len(kept) <= max(4, count)
        assert kept == set(names) or count > 4
    assert 15 < len(kept) < 35


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tests/unit/strategies/pbe/test_x.py::test_x", True),
        ("tests/kernels/test_gsi_join.py::test_x[cpu-split-1]", True),
        ("tests/unit/match/test_every_strategy.py::test_x[cpu-split-stwig]", True),
        ("tests/unit/match/test_every_strategy.py::test_x[cpu-split-extend]", False),
        ("tests/conformance/test_cases.py::test_case[lists: a range-gsi]", False),
    ],
)
def test_tests_of_rivals_are_known_by_name(name, expected):
    assert is_of_rival(name) is expected
