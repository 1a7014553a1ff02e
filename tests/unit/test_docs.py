"""Files, variables, loggers and links named in the documents exist, and their code runs."""

import ast
import doctest
import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

import gpugda
import gpugda.errors

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LIBRARY = sorted([*(ROOT / "gpugda").rglob("*.py"), *(ROOT / "adapters").glob("*.py")])
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
VARIABLE = re.compile(
    r"(?:GPUGDA|NEO4J|POCL|PYOPENCL|XDG|OCL|OPENCL|CUDA)_[A-Z_0-9]*[A-Z0-9]|HOME", re.ASCII
)


def name_of(path):
    return str(path.relative_to(ROOT))


def module_of(path):
    room = "gpugda_adapters" if path.is_relative_to(ROOT / "adapters") else "gpugda"
    folder = ROOT / ("adapters" if room == "gpugda_adapters" else "gpugda")
    return ".".join([room, *path.relative_to(folder).with_suffix("").parts])


def strings_in(path):
    """Texts between quotation marks that could name a variable."""
    return re.findall(r"[\"']([A-Z_0-9]+)[\"']", path.read_text(encoding="utf-8"))


def loggers_in(path):
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "getLogger" in text else ():
        if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "getLogger"):
            continue
        given = node.args[0]
        yield given.value if isinstance(given, ast.Constant) else module_of(path)


def first_cells(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    return set(re.findall(r"^\| `([^`]+)`", text, re.MULTILINE))


def test_every_environment_variable_is_documented():
    named = {each for path in LIBRARY for each in strings_in(path) if VARIABLE.fullmatch(each)}
    assert {"GPUGDA_DEVICE", "NEO4J_URI"} <= named
    # Names of constants in `__all__`, not of environment variables.
    assert named - {"POCL_VARIABLE"} <= first_cells("environment.md")


def test_every_logger_is_documented_and_exists():
    made = {name for path in LIBRARY for name in loggers_in(path)}
    documented = {name for name in first_cells("environment.md") if name.startswith("gpugda")}
    assert len(made) > 10
    assert {name for name in made if name.startswith("gpugda")} <= documented
    assert documented <= made


def links_in(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", text)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files(page):
    for link in links_in(page):
        if re.match(r"[a-z]+:", link) or link.startswith("#"):
            continue
        target = (page.parent / link.partition("#")[0]).resolve()
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CHANGELOG.md", *sorted((ROOT / "docker").rglob("*.md"))], ids=name_of
)
def test_lines_have_at_most_120_characters(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    # A row of a table cannot be wrapped.
    long = [n for n, line in enumerate(lines, 1) if len(line) > 120 and line[:1] != "|"]
    assert not long


def test_every_page_is_in_the_site():
    listed = set()
    for page in DOCS.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
            listed |= {line.strip() for line in block.splitlines() if line.strip()[:1] not in ":"}
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert pages == {name for name in listed if "/" not in name}
    notebooks = {f"notebooks/{path.stem}" for path in DOCS.glob("notebooks/*.ipynb")}
    assert notebooks == {name for name in listed if name.startswith("notebooks/")}


NEEDS_A_SERVER = {"docs/neo4j.md", "docs/accelerate.md"}
WITH_CODE = [
    page
    for page in PAGES
    if page.is_relative_to(DOCS) and "```python" in page.read_text(encoding="utf-8")
]


@pytest.mark.device
@pytest.mark.parametrize(
    "page", [page for page in WITH_CODE if name_of(page) not in NEEDS_A_SERVER], ids=name_of
)
def test_code_of_the_documents_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    flags = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(optionflags=flags)
    text = page.read_text(encoding="utf-8")
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL)):
        if ">>>" in block:
            example = doctest.DocTestParser().get_doctest(block, names, page.name, None, number)
            failed, _ = runner.run(example, clear_globs=False)
            names.update(example.globs)
            assert not failed
        else:
            exec(compile(block, f"{page.name}:{number}", "exec"), names)


@pytest.mark.parametrize(
    "page", [page for page in WITH_CODE if name_of(page) in NEEDS_A_SERVER], ids=name_of
)
def test_code_that_needs_a_server_compiles(page):
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        compile(block, page.name, "exec")


def test_files_of_the_ten_questions_exist():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+)\. … .*? \| (.*) \|$", text, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 11))
    for number, answer in rows:
        paths = re.findall(r"`((?:gpugda|adapters|opencl)/[^`*]+)`", answer)
        assert paths, number
        for path in paths:
            assert (ROOT / path).exists(), (number, path)


def test_every_room_is_described():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("## Rooms")[2]
    rooms = {path.name for path in (ROOT / "gpugda").iterdir() if (path / "__init__.py").exists()}
    described = set(re.findall(r"`([a-z]+)`", "".join(re.findall(r"^\| (.*?) \|", text, re.M))))
    assert rooms <= described


def test_names_in_the_join_step_walk_through_exist():
    text = (DOCS / "change-a-join-step.md").read_text(encoding="utf-8")
    kernels = (ROOT / "opencl" / "extend_rows.cl").read_text(encoding="utf-8")
    for name in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE):
        assert f"kernel void {name}(" in kernels
    (before,) = re.findall(r"```c\n(.*\n)", text)
    assert before in kernels


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    return importlib.import_module


@pytest.mark.device
def test_the_page_of_functions_says_what_the_device_takes(tool):
    functions = tool("function_table")
    with functions.graph() as accelerator:
        current = "\n".join(functions.tables(accelerator))
    assert current in (DOCS / "functions.md").read_text(encoding="utf-8")
    assert "| `toUpper` | string → string | 5, 25 | device |" in current
    assert "| `linenumber` | `linenumber()` | Neo4j |" in current


@pytest.mark.device
def test_supported_examples_of_the_table_are_answered(tool):
    support = tool("support_table")
    answered = set(support.table(support.found()))
    said = {
        line
        for line in (DOCS / "support.md").read_text(encoding="utf-8").splitlines()
        if "| device |" in line
    }
    assert len(said) > 20
    assert said <= answered


def test_every_error_is_documented():
    assert set(gpugda.errors.__all__) - {"GpugdaError"} <= first_cells("errors.md")


def test_every_public_name_is_listed():
    page = (DOCS / "stability.md").read_text(encoding="utf-8")
    table = page.partition("| names that |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(gpugda.__all__)


def test_the_citation_has_the_packages_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {project['version']}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation


def test_modules_and_kernels_named_in_adrs_exist():
    files = {
        path
        for each in ("gpugda", "adapters", "opencl", "tests")
        for path in (ROOT / each).rglob("*")
    }
    there = [path.as_posix() for path in files]
    named = {
        name
        for page in DOCS.glob("adr/*.md")
        for name in re.findall(r"`((?:\w+/)*\w+\.(?:py|cl))`", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert not {name for name in named if not any(path.endswith(f"/{name}") for path in there)}
