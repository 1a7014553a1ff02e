"""The first hour of an analyst and of a Neo4j user, on a wheel installed as they would install it.

    python -m tests.first_hour                 or python tests/first_hour/run.py
    python -m tests.first_hour --wheel FILE    with an existing wheel

Builds the wheel, installs it as a user with an empty home, starts a Neo4j (a testcontainer, or a
local server; `NEO4J_URI` names a running one), and follows README, documentation and tutorials.
Prints one line per step; the exit code is 1 if a step failed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import neo4j_servers
from neo4j_servers import RunningServer, Server, UnavailableError
from user import User

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GROUPS = ("command_steps.py", "file_steps.py", "server_steps.py")
WITH_SERVER = "server_steps.py"
_LINE = re.compile(r"(ok|left out|WRONG) +\w+: ")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="a wheel that is there; else one is built")
    given = parser.parse_args(arguments)
    started = time.monotonic()
    user = User()
    try:
        with tempfile.TemporaryDirectory() as folder:
            wheel = user.give(given.wheel or build_wheel(Path(folder)))
        print(f"{wheel.name}, {user.who}, empty home {user.home}", flush=True)
        counted = _hour(user, wheel)
    except (RuntimeError, UnavailableError) as error:
        print(f"WRONG    {error}")
        counted = Counter(WRONG=1)
    finally:
        user.remove()
    print(summary(counted, time.monotonic() - started), flush=True)
    return 1 if counted["WRONG"] or not counted["ok"] else 0


def build_wheel(folder: Path) -> Path:
    """A wheel of the tree, built by `pip wheel`."""
    words = ("-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT)
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"pip wheel failed: {(done.stdout + done.stderr)[-2000:]}")
    return next(folder.glob("gpugda-*.whl"))


def summary(counted: Counter[str], seconds: float) -> str:
    """One line with the number of steps by outcome."""
    told = [f"{counted['ok']} steps as they should be", f"{counted['WRONG']} wrong"]
    told += [f"{counted['left out']} left out"] * bool(counted["left out"])
    return f"The first hour: {', '.join(told)} ({seconds:.0f} s)"


def _hour(user: User, wheel: Path) -> Counter[str]:
    steps = user.give(HERE)
    python = _install(user, wheel)
    counted = Counter(ok=1)  # the installation
    for name in GROUPS:
        if name != WITH_SERVER:
            counted += follow(user.lines(python, steps / name))
    server = _server()
    try:
        print(f"Neo4j {server.version} in {server.backend}", flush=True)
        server.wipe()
        environment = {"NEO4J_URI": server.uri}
        if server.auth:
            environment |= dict(zip(("NEO4J_USERNAME", "NEO4J_PASSWORD"), server.auth, strict=True))
        counted += follow(user.lines(python, steps / WITH_SERVER, **environment))
    finally:
        server.close()
    return counted


def _install(user: User, wheel: Path) -> Path:
    started = time.monotonic()
    user.run(user.python(), "-m", "venv", user.home / "venv")
    python = user.home / "venv" / "bin" / "python"
    user.run(python, "-m", "pip", "install", "-q", f"{wheel}[cli,pandas,networkx]")
    print(f"ok       pip install gpugda[cli,pandas,networkx]: {time.monotonic() - started:.0f} s")
    return python


def _server() -> Server:
    uri = neo4j_servers.running_uri()
    if uri:
        return RunningServer(uri)
    return neo4j_servers.open_server("first-hour", auth=neo4j_servers.AUTH)


def follow(lines: Iterable[str]) -> Counter[str]:
    """Prints the lines of a group and counts them; an aborted group counts as wrong."""
    counted: Counter[str] = Counter()
    code = ""
    for line in lines:
        found = _LINE.match(line)
        if found:
            counted[found[1]] += 1
        code = line
        if line.endswith("\n"):
            print(line, end="", flush=True)
    if code != ("1" if counted["WRONG"] else "0") or not counted:
        print(f"WRONG    the process of these steps ended with {code}")
        counted["WRONG"] += 1
    return counted


if __name__ == "__main__":
    sys.exit(main())
