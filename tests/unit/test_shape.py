"""The shape of the project: exports, pairs of kernel and launcher, import time."""

import ast
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpugda
import gpugda.errors

ROOT = Path(__file__).resolve().parents[2]
KERNELS = [
    (kernel, launchers)
    for folder, launchers in (
        ("opencl", ROOT / "gpugda" / "device" / "launch"),
        ("strategies/opencl", ROOT / "strategies" / "launch"),
    )
    for kernel in sorted((ROOT / folder).glob("*.cl"))
]
LIBRARY = sorted(
    [
        *(ROOT / "gpugda").rglob("*.py"),
        *(ROOT / "adapters").glob("*.py"),
        *(ROOT / "strategies").rglob("*.py"),
    ]
)
CHOOSING_KERNELS = (
    "gpugda/device/launch",
    "gpugda/match/extend/encode.py",  # only kernels of a GPU look into bitmaps of long lists
    "gpugda/match/extend/join_windows.py",  # on a GPU, one step is no small join
    "gpugda/match/extend/strategy.py",  # the small filter has no kernel for a GPU
    "strategies/launch",
)
"""Modules that ask for the kind of device. Everything else that depends on it is in its profile."""
SILENT = [path for path in LIBRARY if "cli" not in path.parts]  # the command line prints


def test_exported_names_are_sorted_and_resolve():
    assert gpugda.__all__ == sorted(gpugda.__all__)
    for name in gpugda.__all__:
        # gpugda.accelerate is a callable package as soon as it was imported.
        found = getattr(gpugda, name)
        if isinstance(found, tuple):  # of exception classes
            assert all(issubclass(each, Exception) for each in found)
            continue
        assert callable(found)
        assert found.__name__.rpartition(".")[2] == name
    assert set(gpugda.__all__) <= set(dir(gpugda))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        gpugda.no_such_name  # noqa: B018 - the access is the test


@pytest.mark.slow
def test_public_names_survive_the_import_of_every_room():
    # A room named like a public function would replace it on the package as soon as it is imported.
    code = (
        "import pkgutil, importlib, gpugda\n"
        "for m in pkgutil.walk_packages(gpugda.__path__, 'gpugda.'):\n"
        "    if not m.name.endswith('__main__'): importlib.import_module(m.name)\n"
        "wrong = [n for n in gpugda.__all__ if type(getattr(gpugda, n)).__name__ == 'module']\n"
        "assert not wrong, wrong\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def printed_by(code):
    """The output of a new interpreter that runs the code."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def loaded_by_first_query(query, modules, *tables):
    """The modules among these that a new interpreter loads for a query whose only value is 1."""
    code = (
        "import sys, gpugda\n"
        f"with gpugda.connect(gpugda.graph(*{tables!r})) as opened:\n"
        f"    rows = opened.run({query!r}, engine='gpu').values()\n"
        f"print(rows, [m for m in {modules} if m in sys.modules])"
    )
    rows, found = printed_by(code).split("]] ")
    assert rows == "[[1"
    return ast.literal_eval(found)


def test_importing_loads_nothing_heavy():
    heavy = ["pyopencl", "neo4j", "polars", "pandas", "numpy", "pyarrow", "typer", "rich"]
    assert (
        printed_by(f"import sys, gpugda; print([m for m in {heavy} if m in sys.modules])") == "[]"
    )


def test_a_diagnosis_loads_no_package_that_may_be_broken():
    modules = "gpugda.cli.app, gpugda.cli.doctor, gpugda.cli.devices"
    broken = ["numpy", "pyarrow", "neo4j", "pyopencl"]
    code = f"import sys, {modules}; print([m for m in {broken} if m in sys.modules])"
    assert printed_by(code) == "[]"


@pytest.mark.device
def test_a_first_count_loads_few_modules():
    rare = [
        "asyncio",
        "neo4j",
        "pandas",  # Arrow loads it for any Python list
        "gpugda.answer.profiling",
        "gpugda.answer.watching",
        "gpugda.calibration.device",
        "gpugda.expressions.evaluation.apply_function",
        "gpugda.match.extend.segments.reduce",
        "gpugda.snapshot.store",
    ]
    nodes = {"id": ["a", "b"], "labels": ["A", None], "name": ["Ann", None]}
    relationships = {"source": ["a"], "target": ["b"], "type": ["R"]}
    query = "MATCH (a)-->(b) RETURN count(*)"
    assert loaded_by_first_query(query, rare, nodes, relationships) == []


@pytest.mark.device
def test_a_first_query_loads_few_modules():
    rare = [
        "regex",
        "gpugda.execute.aggregation.means",
        "gpugda.execute.operators.expand",
        "gpugda.expressions.functions.text",
        "gpugda_strategies.gpsm.strategy",
        "gpugda_strategies.pbe.strategy",
        "gpugda.reference.run",
        "pyarrow.parquet",
    ]
    nodes, relationships = {"id": [1, 2]}, {"source": [1], "target": [2], "type": ["R"]}
    query = "MATCH (a)-->(b) RETURN a.id"
    assert loaded_by_first_query(query, rare, nodes, relationships) == []


@pytest.mark.slow
@pytest.mark.device
def test_a_first_count_on_a_snapshot_does_without_arrows_functions():
    query = "MATCH (w:Word {name: 'dog'})-->(s) RETURN count(*)"
    code = (
        "import sys, gpugda\n"
        "with gpugda.connect('sample:wordnet') as opened:\n"
        f"    opened.run({query!r}, engine='gpu').values()\n"
        "print('pyarrow.compute' in sys.modules)"
    )
    assert printed_by(code) == "False"


def test_importing_takes_less_than_a_tenth_of_a_second():
    def of_children():
        times = os.times()
        return times.children_user + times.children_system

    def best(code):
        times = []
        for _ in range(5):
            before = of_children()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(of_children() - before)
        return min(times)

    assert best("import gpugda") - best("pass") < 0.1


def test_the_drawn_error_tree_equals_the_classes():
    drawn = {}
    above = []
    for line in (gpugda.errors.__doc__ or "").splitlines():
        match = re.match(r"^ {4}([│├└─\s]*)([A-Z]\w+)", line)
        if match:
            depth = len(match[1]) // 4
            above[depth:] = [match[2]]
            drawn[match[2]] = above[depth - 1] if depth else "Exception"
    real = {
        name: getattr(gpugda.errors, name).__bases__[0].__name__ for name in gpugda.errors.__all__
    }
    assert drawn == real


@functools.cache
def text_of(path):
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("kernel", "launchers"), KERNELS, ids=lambda path: path.name)
def test_one_module_launches_a_kernel_and_a_test_has_its_name(kernel, launchers):
    quoted = re.compile(rf'["/]{re.escape(kernel.name)}"')
    assert sum(bool(quoted.search(text_of(path))) for path in launchers.glob("*.py")) == 1
    assert (ROOT / "tests" / "kernels" / f"test_{kernel.stem}.py").exists()


def test_there_are_kernels_in_both_folders():
    assert len({launchers for _, launchers in KERNELS}) == 2


@functools.cache
def tree_of(path):
    return ast.parse(text_of(path))


def test_the_library_never_prints():
    calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SILENT
        if "print(" in text_of(path)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert calls == []


def test_only_listed_modules_ask_for_the_kind_of_device():
    asking = {
        path.relative_to(ROOT).as_posix()
        for path in LIBRARY
        if re.search(r"\.is_cpu\b", text_of(path))
    }
    assert asking
    assert not [name for name in asking if not name.startswith(CHOOSING_KERNELS)]
