"""A user without anything: not root if possible, an empty home, no caches, a Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

NOBODY = 65534
PASSED_ON = ("PIP_", "SSL_", "REQUESTS_", "UV_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""Environment variables that a machine needs to reach its package registry."""
PYTHONS = (Path("/usr/local/bin/python3"), Path("/usr/bin/python3"))
AS_NOBODY = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "env")
"""`setpriv` itself keeps its privileges until it starts a program: `env` has none left."""


class User:
    """A user with an empty home, which `remove` deletes.

    who: Human-readable user id, and the reason if it is root.
    """

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="first-hour-"))
        self._prefix, self.who = _who()
        self.work = self.home / "work"
        self.work.mkdir()
        self._give(self.home)

    def give(self, source: Path) -> Path:
        """A copy of a file or folder in the home, owned by the user."""
        copy = self.home / source.name
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
        self._give(copy)
        return copy

    def lines(self, *command: object, **environment: str) -> Iterator[str]:
        """The lines that a command prints, as they come; the last is its exit code."""
        with subprocess.Popen(
            [*self._prefix, *map(str, command)],
            cwd=self.work,
            env=self._environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            yield from process.stdout
        yield str(process.returncode)

    def run(self, *command: object) -> None:
        """Raises RuntimeError with the output if a command fails."""
        *said, code = self.lines(*command)
        if code != "0":
            raise RuntimeError(f"{command} ended with {code}: {''.join(said)[-3000:]}")

    def python(self) -> str:
        """A Python with venv, 3.11 or later, for the user; RuntimeError if there is none."""
        wanted = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
        tried = [Path(sys.executable).resolve(), *PYTHONS]
        for path in tried:
            if path.exists() and list(self.lines(path, "-c", wanted))[-1] == "0":
                return str(path)
        raise RuntimeError(f"{self.who} may run none of {', '.join(map(str, tried))}")

    def remove(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.rmtree(Path(tempfile.gettempdir()) / f"gpugda-{NOBODY}", ignore_errors=True)

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k.upper().startswith(PASSED_ON)}
        return {
            **kept,
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **more,
        }

    def _give(self, path: Path) -> None:
        if self._prefix:
            for each in (path, *path.rglob("*")):
                os.chown(each, NOBODY, NOBODY)


def _who() -> tuple[tuple[str, ...], str]:
    if os.getuid() != 0:
        return (), f"user {os.getuid()}, not root"
    if shutil.which("setpriv") is None:
        return (), "root: this machine has no setpriv to become somebody else"
    done = subprocess.run([*AS_NOBODY, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        return (), f"root: setpriv failed: {done.stderr.strip()}"
    return AS_NOBODY, f"user {NOBODY}, not root"
