"""A wheel in an empty environment outside the repository runs everything, kernels included."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from neo4j_servers import UnavailableError, plugin_jar

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "gpugda": "gpugda",
    "gpugda_adapters": "adapters",
    "gpugda_opencl": "opencl",
    "gpugda_strategies": "strategies",
}
pytestmark = pytest.mark.slow

MAIN_JOB = """
import json, gpugda
with gpugda.connect("sample:wordnet") as wordnet:
    query = "MATCH (w:Word {name: 'dog'})-[:HAS_SENSE]->(s:Noun)-[:HYPERNYM]->(h) RETURN count(*)"
    device = wordnet.run(query, engine="gpu").single().value()
    reference = wordnet.run(query, engine="reference").single().value()
print(json.dumps({"device": device, "reference": reference, "home": gpugda.__file__}))
"""


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    try:
        plugin_jar()
    except UnavailableError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"a wheel holds the plugin: {error}")
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT, cwd=folder)
    (made,) = folder.glob("gpugda-*.whl")
    return made


def test_kernels_sample_types_and_licences_are_in_the_wheel(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for kernel in [*ROOT.glob("opencl/*.cl"), *ROOT.glob("opencl/*.h")]:
        assert f"gpugda_opencl/{kernel.name}" in names
    for kernel in (ROOT / "strategies" / "opencl").iterdir():
        assert f"gpugda_strategies/opencl/{kernel.name}" in names
    for package, folder in PACKAGES.items():
        for module in (ROOT / folder).rglob("*.py"):
            assert f"{package}/{module.relative_to(ROOT / folder).as_posix()}" in names
    assert "gpugda_adapters/samples/wordnet/manifest.json" in names
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert any(name.endswith("LICENSE-wordnet.txt") and "dist-info" in name for name in names)
    assert not any(name.startswith("tests") for name in names)


def test_the_plugin_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as opened:
        assert (
            opened.getinfo("gpugda_adapters/neo4j_plugin/gpugda-neo4j-plugin.jar").file_size
            > 10_000
        )


def test_the_wheel_answers_a_query_in_an_empty_environment(wheel, tmp_path):
    home = tmp_path / "empty"
    run(sys.executable, "-m", "venv", home, cwd=tmp_path)
    python = home / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel, cwd=tmp_path)
    answer = json.loads(run(python, "-c", MAIN_JOB, cwd=tmp_path))
    assert answer["device"] == answer["reference"] > 0
    assert Path(answer["home"]).is_relative_to(home)
    present = run(python, "-m", "pip", "list", cwd=tmp_path).lower().split()
    assert not {"typer", "rich", "prompt-toolkit", "prompt_toolkit"} & set(present)
    without = subprocess.run(
        [home / "bin" / "gpugda", "doctor"], capture_output=True, text=True, check=False
    )
    assert without.returncode == 2
    assert "pip install 'gpugda[cli]'" in without.stderr
    run(python, "-m", "pip", "install", "-q", f"{wheel}[cli]", cwd=tmp_path)
    out = run(home / "bin" / "gpugda", "doctor", cwd=tmp_path)
    assert "OpenCL" in out


def test_tests_documents_and_the_changelog_are_in_the_source_distribution(tmp_path):
    run(sys.executable, "-m", "build", "--quiet", "--sdist", "-o", tmp_path, ROOT, cwd=tmp_path)
    (made,) = tmp_path.glob("gpugda-*.tar.gz")
    with tarfile.open(made) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = run("git", "ls-files", cwd=ROOT).splitlines()
    assert len(tracked) > 500
    assert set(tracked) <= names
    assert not any(name.endswith((".pyc", ".class")) or "/target/" in name for name in names)
