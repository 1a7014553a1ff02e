"""Tests of public client libraries of Neo4j: with Neo4j's driver, and with an accelerated one.

Their source packages come from the package index, into a temporary folder with an environment of
its own. A difference is a test that passes with Neo4j's driver only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["CLIENTS", "Client", "Outcomes", "compare_client", "read_outcomes"]

_REPOSITORY: Final = Path(__file__).parents[1]
_ACCELERATED: Final = ("-m", "gpugda.accelerate", "--load", "now")


@dataclass(frozen=True)
class Client:
    """A library whose source package has tests that need a server.

    Args:
        package: Its name in the package index.
        tests: Folder of the tests within the source package.
        needs: Packages that its tests need.
        options: Options of pytest.
    """

    package: str
    tests: str
    needs: tuple[str, ...]
    options: tuple[str, ...] = ()


CLIENTS: Final = {
    client.package: client
    for client in (
        Client("neomodel", "test", ("pytest", "pytest-asyncio", "pytest-cov", "pytest-mock")),
        Client(
            "langchain-neo4j",
            "tests/integration_tests",
            ("pytest", "pytest-asyncio", "pytest-cov", "pytest-socket"),
            ("--allow-hosts=127.0.0.1,::1,localhost",),
        ),
    )
}


@dataclass(frozen=True)
class Outcomes:
    """Names of tests by what came of them."""

    passed: frozenset[str]
    failed: frozenset[str]
    skipped: frozenset[str]

    def lost(self, other: Outcomes) -> list[str]:
        """The tests that pass here and not there."""
        return sorted(self.passed - other.passed)


def compare_client(client: Client, address: str, folder: Path) -> tuple[Outcomes, Outcomes]:
    """The outcomes of a client's tests with Neo4j's driver, and with an accelerated one.

    Args:
        client: The client.
        address: A Neo4j without authentication; the tests empty it.
        folder: An empty folder.

    Raises:
        subprocess.CalledProcessError: The package cannot be had, or not be installed.
    """
    source = _unpacked(client, folder)
    python = _environment(client, source, folder)
    plain = _run(python, (), client, source, address, folder / "plain.xml")
    return plain, _run(python, _ACCELERATED, client, source, address, folder / "accelerated.xml")


def _unpacked(client: Client, folder: Path) -> Path:
    """The folder of the client's source package."""
    downloads = folder / "downloads"
    command = ["download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    _checked([sys.executable, "-m", "pip", *command, "--dest", str(downloads), client.package])
    (archive,) = downloads.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    return source


def _environment(client: Client, source: Path, folder: Path) -> str:
    """The Python of a new environment with the client, its tests' packages, and gpugda."""
    venv.create(folder / "venv", with_pip=True)
    python = str(folder / "venv" / "bin" / "python")
    _checked(
        [python, "-m", "pip", "install", "--quiet", str(_REPOSITORY), str(source), *client.needs]
    )
    return python


def _checked(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr)


def _run(
    python: str,
    prefix: Sequence[str],
    client: Client,
    source: Path,
    address: str,
    report: Path,
) -> Outcomes:
    command = [python, *prefix, "-m", "pytest", "-q", "-p", "no:cacheprovider", *client.options]
    command += [f"--junitxml={report}", client.tests]
    host = urlsplit(address).netloc
    environment = {
        **os.environ,
        "PATH": os.pathsep.join((str(Path(python).parent), os.environ.get("PATH", ""))),
        "NEO4J_URI": address,
        "NEO4J_URL": address,
        "NEO4J_BOLT_URL": f"bolt://neo4j:unchecked@{host}",
        "NEO4J_USERNAME": "neo4j",
        "NEO4J_PASSWORD": "unchecked",
    }
    subprocess.run(command, cwd=source, env=environment, stdout=sys.stderr, check=False)
    return read_outcomes(report.read_text())


def read_outcomes(report: str) -> Outcomes:
    """The outcomes in a report of pytest in JUnit's format."""
    found: dict[str, set[str]] = {"passed": set(), "failed": set(), "skipped": set()}
    for name, outcome in _outcomes(report):
        found[outcome].add(name)
    passed = found["passed"] - found["failed"]  # a test may pass and its teardown fail
    return Outcomes(frozenset(passed), frozenset(found["failed"]), frozenset(found["skipped"]))


def _outcomes(report: str) -> Iterator[tuple[str, str]]:
    for case in ElementTree.fromstring(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        children = {child.tag for child in case}
        if children & {"failure", "error"}:
            yield name, "failed"
        else:
            yield name, "skipped" if "skipped" in children else "passed"
