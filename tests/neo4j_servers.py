"""Neo4j servers for the integration tests: a running one, a testcontainer, or a local one."""

from __future__ import annotations

import functools
import gc
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCAL = ROOT / "docker" / "neo4j-local"
LOGS = ROOT / "build" / "neo4j-logs"
IMAGE = os.environ.get("GPUGDA_TEST_NEO4J_IMAGE", "neo4j:5.26-community")
IMAGE_2026 = os.environ.get("GPUGDA_TEST_NEO4J_2026_IMAGE", "neo4j:2026.08.1-community")
VERSIONS = {IMAGE: "5.26.0", IMAGE_2026: "2026.08.1"}
"""Version requested from `docker/neo4j-local` in place of an image."""
LABEL = "gpugda.tests.pid"
AUTH = ("neo4j", "a-long-secret")
"""Credentials of servers with a password."""
START_SECONDS = 180
PREPARE_SECONDS = 400
"""The first start of a local server downloads it."""
_INFORMATION = re.compile(r"""\bINFO\b|"level":"(INFO|DEBUG)"|WARNING: """)


class UnavailableError(Exception):
    """No such server is available here; the text says why."""


class Server:
    """A Neo4j server for tests.

    uri, auth: For the driver and for `gpugda.connect`; auth is None or (user, password).
    backend: Human-readable kind of server.
    """

    backend = ""

    def __init__(self, uri: str, auth: tuple[str, str] | None) -> None:
        self.uri, self.auth = uri, auth
        self._driver: Any = None
        self.folder: Path | None = None

    # -------------------------------------------------------------- for tests
    @property
    def driver(self) -> Any:
        """For setup and inspection; not the driver under test."""
        if self._driver is None:
            import neo4j

            self._driver = neo4j.GraphDatabase.driver(
                self.uri, auth=self.auth, notifications_min_severity="OFF"
            )
        return self._driver

    @functools.cached_property
    def version(self) -> str:
        (record,) = self.run(
            "CALL dbms.components() YIELD name, versions "
            "WHERE name CONTAINS 'Kernel' RETURN versions[0]"
        )
        return str(record[0])

    def run(self, text: str, **parameters: Any) -> list[Any]:
        """The records of a query in its own transaction."""
        with self.driver.session() as session:
            return list(session.run(text, parameters))

    def load(self, statements: str | Iterable[str]) -> None:
        """Runs statements that create a graph, in an empty database."""
        self.wipe()
        for statement in [statements] if isinstance(statements, str) else statements:
            self.run(statement)

    def create(self, nodes: Sequence[Any], relationships: Sequence[Any]) -> list[int]:
        """Creates a graph for `graphs.make_graph` in an empty database; returns node ids."""
        # One statement per label set and type: 5.26.0 takes $(type) from the wrong row.
        self.wipe()
        ids: dict[int, int] = {}
        groups = _grouped((tuple(labels), {"i": i, "p": p}) for i, (labels, p) in enumerate(nodes))
        for labels, rows in groups.items():
            made = "CREATE (n" + "".join(f":`{label}`" for label in labels) + ") SET n = row.p"
            found = self.run(f"UNWIND $rows AS row {made} RETURN row.i, id(n)", rows=rows)
            ids.update(tuple(record.values()) for record in found)
        places = ((k, {"a": ids[a], "b": ids[b], "p": p}) for a, k, b, p in relationships)
        for kind, rows in _grouped(places).items():
            self.run(
                "UNWIND $rows AS row MATCH (a) WHERE id(a) = row.a MATCH (b) WHERE id(b) = row.b "
                f"CREATE (a)-[r:`{kind}`]->(b) SET r = row.p",
                rows=rows,
            )
        return [ids[i] for i in range(len(nodes))]

    def wipe(self) -> None:
        """Deletes all data; only the names of labels, types and properties remain."""
        self.check_writable()
        (count,) = self.run("MATCH (n) RETURN count(n)")
        if count[0] > 20_000:
            self.run("MATCH (n) CALL { WITH n DETACH DELETE n } IN TRANSACTIONS OF 20000 ROWS")
        elif count[0]:
            self.run("MATCH (n) DETACH DELETE n")

    def check_writable(self) -> None:
        """Raises UnavailableError if tests must not change the data."""

    # -------------------------------------------------------------- life cycle
    def start(self) -> None:
        """Restarts the server at the same address with the same data, unless it is running."""
        raise UnavailableError(f"{self.backend} is not the tests' to start and stop")

    def stop(self) -> None:
        """Shuts the server down normally."""
        raise UnavailableError(f"{self.backend} is not the tests' to start and stop")

    def kill(self) -> None:
        """Kills the server at once."""
        raise UnavailableError(f"{self.backend} is not the tests' to start and stop")

    def close(self) -> None:
        """Called when the tests are finished."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def log(self, lines: int = 8) -> str:
        """The last log lines above information level; the whole log is kept."""
        if self.folder is None:
            return ""
        self._save_output()
        found = []
        for path in sorted(self.folder.glob("*.log")):
            with path.open(errors="replace") as file:
                told = [line for line in file if not _INFORMATION.search(line)]
            if told:
                found.append(f"== {path.relative_to(ROOT)}\n{''.join(told[-lines:])}")
        return "\n".join(found)

    def _save_output(self) -> None:
        """Writes the server's standard output into the log folder."""

    def _wait(self, seconds: float) -> None:
        """Waits until the server answers."""
        import neo4j

        deadline = time.monotonic() + seconds
        while True:
            self._check_alive()
            try:
                with neo4j.GraphDatabase.driver(
                    self.uri, auth=self.auth, connection_timeout=2
                ) as driver:
                    driver.verify_connectivity()
                return
            except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError) as error:
                if time.monotonic() > deadline:
                    raise UnavailableError(
                        f"{self.backend} did not answer in {seconds} s: {error}\n{self.log()}"
                    ) from error
            time.sleep(0.2)

    def _check_alive(self) -> None:
        """Raises UnavailableError if waiting is futile."""


class RunningServer(Server):
    """The server that `NEO4J_URI` names. It is written to only if it is empty, or on demand."""

    def __init__(self, uri: str) -> None:
        user, password = os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD")
        super().__init__(uri, (user, password) if password else None)
        self.backend = f"the running server {uri}"
        self._wait(10)
        self._ours = os.environ.get("GPUGDA_TEST_WIPE") == "1" or not self.run(
            "MATCH (n) RETURN 1 LIMIT 1"
        )

    def check_writable(self) -> None:
        if not self._ours:
            raise UnavailableError(
                f"{self.backend} holds data; GPUGDA_TEST_WIPE=1 lets the tests delete it"
            )

    def close(self) -> None:
        if self._ours:
            self.wipe()
        super().close()


def plugin_jar() -> Path:
    """gpugda's plugin, rebuilt if its sources changed; UnavailableError without Maven."""
    if shutil.which("mvn") is None:
        raise UnavailableError("gpugda's plugin is built by Maven, which is not installed")
    done = subprocess.run(
        ["make", "-s", "plugin"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UnavailableError(f"make plugin failed: {(done.stdout + done.stderr)[-2000:]}")
    return ROOT / "adapters" / "neo4j_plugin" / "gpugda-neo4j-plugin.jar"


class LocalServer(Server):
    """A server from docker/neo4j-local: Maven, Java, no container."""

    def __init__(
        self,
        name: str,
        version: str,
        auth: tuple[str, str] | None,
        settings: Mapping[str, str],
        plugins: Sequence[Path] = (),
    ) -> None:
        port = free_port()
        super().__init__(f"bolt://127.0.0.1:{port}", auth)
        self.backend = f"a local server {version} (docker/neo4j-local)"
        self.folder = _log_folder(name)
        self._home = tempfile.mkdtemp(prefix="neo4j-")
        (Path(self._home) / "plugins").mkdir()
        for plugin in plugins:
            shutil.copy(plugin, Path(self._home) / "plugins")
        self._environment = {
            **{
                key: value
                for key, value in os.environ.items()
                if not key.startswith("NEO4J_") or "LOCAL" in key
            },
            **_environment(auth, settings),
            "NEO4J_VERSION": version,
            "NEO4J_server_bolt_listen__address": f"127.0.0.1:{port}",
            "NEO4J_server_directories_logs": str(self.folder),
            "NEO4J_STOP_WITH_PID": str(os.getpid()),
        }
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        if self._process is None or self._process.poll() is not None:
            with (self.folder / "stdout.log").open("ab") as output:
                self._process = subprocess.Popen(
                    [LOCAL / "server", self._home],
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        self._wait(PREPARE_SECONDS)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def close(self) -> None:
        super().close()
        self._end(signal.SIGTERM)
        shutil.rmtree(self._home, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _check_alive(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise UnavailableError(f"{self.backend} ended at once:\n{self.log(6)}")


class ContainerServer(Server):
    """A testcontainer."""

    def __init__(
        self,
        name: str,
        image: str,
        auth: tuple[str, str] | None,
        settings: Mapping[str, str],
        plugins: Sequence[Path] = (),
    ) -> None:
        port = free_port()
        super().__init__(f"bolt://127.0.0.1:{port}", auth)
        self.backend = f"testcontainer {image}"
        self.folder = _log_folder(name)
        self.folder.chmod(0o777)  # the server runs as another user there
        self._container = _neo4j_container(
            image, port, {**_environment(auth, settings), "NEO4J_server_directories_logs": "/logs"}
        )
        self._container.with_volume_mapping(str(self.folder), "/logs", "rw")
        for plugin in plugins:
            self._container.with_volume_mapping(str(plugin), f"/plugins/{plugin.name}", "ro")
        try:
            self._container.start()
            self._wait(START_SECONDS)
        except BaseException:
            self.close()
            raise

    @property
    def _inside(self) -> Any:
        return self._container.get_wrapped_container()

    def start(self) -> None:
        self._inside.start()
        self._wait(START_SECONDS)

    def stop(self) -> None:
        self._inside.stop(timeout=60)

    def kill(self) -> None:
        self._inside.kill()
        self._inside.wait(timeout=60)

    def close(self) -> None:
        super().close()
        if self._inside is not None:
            self._save_output()
            self._container.stop()
        self._container.get_docker_client().client.close()

    def _save_output(self) -> None:
        if self._inside is not None:
            (self.folder / "stdout.log").write_bytes(self._inside.logs())

    def _check_alive(self) -> None:
        self._inside.reload()
        if self._inside.status == "exited":
            raise UnavailableError(f"{self.backend} ended at once:\n{self.log(6)}")


def open_server(
    name: str,
    image: str = IMAGE,
    *,
    auth: tuple[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    plugins: Sequence[Path] = (),
) -> Server:
    """A server for these tests alone: a testcontainer, otherwise a local one.

    name: Name of its log folder.
    settings: As in neo4j.conf.
    plugins: Jars.

    Raises UnavailableError with all reasons.
    """
    why_not = no_container(image)
    if why_not is None:
        try:
            return ContainerServer(name, image, auth, settings or {}, plugins)
        except _docker_errors() as error:
            why_not = f"{type(error).__name__}: {error}"
    missing = [tool for tool in ("mvn", "javac") if not shutil.which(tool)]
    if missing:
        raise UnavailableError(
            f"no testcontainer ({why_not}); no local server (no {' and no '.join(missing)})"
        )
    if image not in VERSIONS:
        raise UnavailableError(f"no testcontainer of {image}: {why_not}")
    try:
        return LocalServer(name, VERSIONS[image], auth, settings or {}, plugins)
    except UnavailableError as error:
        raise UnavailableError(f"no testcontainer ({why_not}); {error}") from error


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def running_uri() -> str | None:
    """The server that the environment names."""
    return os.environ.get("GPUGDA_TEST_URI") or os.environ.get("NEO4J_URI") or None


def expected_backend(image: str) -> str:
    """The backend that `open_server` will most likely use, determined without starting anything."""
    why_not = no_container(image)
    if why_not is None:
        return f"testcontainer {image}"
    missing = [tool for tool in ("mvn", "javac") if not shutil.which(tool)]
    if missing:
        return f"none: {why_not}; no {' and no '.join(missing)} for a local server"
    return f"local server {VERSIONS.get(image, '')} by docker/neo4j-local ({why_not})"


@functools.cache
def no_container(image: str) -> str | None:
    """The reason why an image has no container; None if the image is here or can be pulled."""
    if os.environ.get("GPUGDA_TEST_BACKEND") == "local":
        return "GPUGDA_TEST_BACKEND is local"
    try:
        import docker
    except ImportError:
        return "the package testcontainers is not installed"
    client = _docker_client()
    if client is None:
        return "no Docker engine"
    try:
        _sweep(client)
        os.environ.setdefault(
            "TESTCONTAINERS_RYUK_DISABLED", "true"
        )  # its image is not available everywhere
        if not client.images.list(image):
            client.images.pull(image)
    except docker.errors.DockerException as error:
        return f"no image {image}: {str(error).splitlines()[0]}"
    finally:
        client.close()
    return None


def _docker_client() -> Any:
    import docker

    with suppress(docker.errors.DockerException):
        return docker.from_env()
    with warnings.catch_warnings():  # the attempt leaves a socket behind, which is closed here
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    return None


def free_port() -> int:
    """A port on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _sweep(client: Any) -> None:
    """Removes containers of test runs that were killed."""
    for container in client.containers.list(all=True, filters={"label": LABEL}):
        if not Path(f"/proc/{container.labels[LABEL]}").exists():
            container.remove(force=True)


def _neo4j_container(image: str, port: int, environment: Mapping[str, str]) -> Any:
    from testcontainers.community.neo4j import Neo4jContainer

    class Container(Neo4jContainer):
        def _configure(self) -> None:
            """The environment below is complete, including whether there is a password."""

        def _connect(self) -> None:
            """`Server._wait` connects."""

    container = Container(image).with_kwargs(labels={LABEL: str(os.getpid())})
    # A fixed port, so that a restarted container keeps its address.
    container.ports["7687"] = ("127.0.0.1", port)
    for key, value in environment.items():
        container.with_env(key, value)
    return container


def _docker_errors() -> tuple[type[Exception], ...]:
    import docker.errors
    from testcontainers.core.exceptions import ContainerStartException

    return docker.errors.DockerException, ContainerStartException, UnavailableError


def _environment(auth: tuple[str, str] | None, settings: Mapping[str, str]) -> dict[str, str]:
    settings = {
        # The wait for a server's start may run before its password is set.
        "dbms.security.auth_max_failed_attempts": "0",
        "server.memory.heap.max_size": "1g",
        "server.memory.pagecache.size": "256m",
        **settings,
    }
    names = {
        f"NEO4J_{key.replace('_', '__').replace('.', '_')}": value
        for key, value in settings.items()
    }
    return {
        "NEO4J_AUTH": "none" if auth is None else "/".join(auth),
        "NEO4J_dbms_usage__report_enabled": "false",
        # Servers are too short-lived for optimised compilation to pay off.
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1",
        **names,
    }


def _log_folder(name: str) -> Path:
    folder = LOGS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
