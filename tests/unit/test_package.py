"""The package's description: what an index shows of it."""

import re
import runpy
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def described(monkeypatch):
    """The addresses and the README's links that setup.py gives."""

    def describe(**variables):
        said = {}
        fake = ModuleType("setuptools")
        fake.setup, fake.find_packages = lambda **given: said.update(given), lambda folder: []
        monkeypatch.setitem(sys.modules, "setuptools", fake)
        for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        runpy.run_path(str(ROOT / "setup.py"))
        return said["project_urls"], re.findall(r"\]\(([^)]+)\)", said["long_description"])

    return describe


def test_a_release_has_absolute_links(described):
    urls, links = described(GITHUB_SERVER_URL="https://host", GITHUB_REPOSITORY="some/one")
    assert urls["Source"] == "https://host/some/one"
    assert len(links) > 20
    assert all(link.startswith(("https://", "http://")) for link in links)
    assert "https://host/some/one/blob/main/docs/index.md" in links


def test_a_clone_has_relative_links(described):
    urls, links = described()
    assert urls == {}
    assert "docs/index.md" in links


def test_the_supported_versions_of_python_are_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {each.rpartition(" ")[2] for each in project["classifiers"] if ":: 3." in each}
    workflow = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert named == {"3.11", "3.12", "3.13", "3.14"}
    assert all(f'"{version}"' in workflow for version in named)
