"""What happens when workers, schedulers and clients of a Dask cluster fail.

Functions for workers are nested, so that they are sent by value: workers do not know this module.
"""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from distributed import Client, LocalCluster
from soon import ends_in, soon

import gpugda
from gpugda.errors import ConfigurationError, DeviceError, QueryTimeoutError

pytestmark = [
    pytest.mark.device,
    pytest.mark.slow,
    pytest.mark.group("cluster"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

COUNT = "MATCH (a:A)-->(b)-->(c:A), (a)-->(c) RETURN count(*)"
BUSY_MACHINE = 60.0
"""Seconds that a busy machine may add."""


@pytest.fixture
def healthy(client):
    """Two workers that behave, at the end again."""
    client.wait_for_workers(2, timeout=180)
    yield client

    def repair():
        for owner, name, before in vars(sys).pop("repairs", ()):
            setattr(owner, name, before)

    client.run(repair)


@pytest.fixture
def own():
    """A cluster for a test that breaks it, and its client."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made, set_as_default=False) as client,
    ):
        yield made, client
    gc.collect()


@pytest.fixture
def expected(source):
    with gpugda.connect(source) as alone:
        return alone.run(COUNT, engine="reference").values()


def slow_tasks(client, seconds, workers=None):
    """Tasks take this long, unless they are cancelled."""

    def wait(seconds):
        from gpugda.cluster.part import Part
        from gpugda.deadline import check_deadline

        task = Part.task

        def slowly(self, opened):
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                check_deadline(time.monotonic() + 1)
                time.sleep(0.01)
            return task(self, opened)

        vars(sys).setdefault("repairs", []).append((Part, "task", task))
        Part.task = slowly

    client.run(wait, seconds, workers=workers)


def running_tasks(client):
    return sum(client.run(lambda dask_worker: len(dask_worker.state.executing)).values())


def in_thread(run):
    """Runs a query; returns the thread and what it will have found."""
    found = []

    def keep():
        try:
            found.append(run())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=keep)
    thread.start()
    return thread, found


# ------------------------------------------------------------------ workers
@pytest.mark.parametrize("moment", [0.2, 0.9])
def test_a_worker_is_killed_in_mid_task(own, divided, source, expected, moment):
    _, client = own
    with gpugda.connect(source, cluster=client) as accelerator:
        assert accelerator.run(COUNT).values() == expected
        slow_tasks(client, 0.3)
        pids = client.run(os.getpid)
        thread, found = in_thread(lambda: accelerator.run(COUNT).values())
        assert soon(lambda: running_tasks(client) > 0)
        time.sleep(moment)
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        thread.join(180)
        assert found == [expected]


def test_all_workers_are_gone(own, divided, source, expected):
    cluster, client = own
    with gpugda.connect(source, cluster=cluster) as accelerator:
        assert accelerator.run(COUNT).values() == expected
        slow_tasks(client, 30.0)
        thread, found = in_thread(lambda: accelerator.run(COUNT).values())
        assert soon(lambda: running_tasks(client) > 0)
        cluster.scale(0)
        assert soon(lambda: not client.nthreads())
        with ends_in(5 + BUSY_MACHINE):
            thread.join(180)
        (error,) = found
        assert isinstance(error, DeviceError)
        assert "has no workers" in str(error)
        cluster.scale(1)
        client.wait_for_workers(1, timeout=180)
        assert accelerator.run(COUNT).values() == expected


def test_the_scheduler_is_gone(divided, source, expected, tmp_path):
    file = tmp_path / "scheduler.json"
    known = ["--scheduler-file", str(file), "--no-dashboard"]
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1:0"]
    scheduler = subprocess.Popen([*dask, *known])
    dask = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny"]
    worker = subprocess.Popen([*dask, *known, "--death-timeout", "60"])
    try:
        with Client(scheduler_file=str(file), set_as_default=False, timeout=180) as client:
            client.wait_for_workers(1, timeout=180)
            with gpugda.connect(source, cluster=client) as accelerator:
                assert accelerator.run(COUNT).values() == expected
                slow_tasks(client, 30.0)
                thread, found = in_thread(lambda: accelerator.run(COUNT).values())
                assert soon(lambda: running_tasks(client) > 0)
                scheduler.kill()
                with ends_in(5 + BUSY_MACHINE):
                    thread.join(180)
                (error,) = found
                assert isinstance(error, DeviceError)
                assert "does not answer any more" in str(error)
    finally:
        for each in (worker, scheduler):
            each.kill()
            each.wait()


def pretend_other_version(client, worker):
    def pretend():
        import importlib.metadata

        from gpugda.cluster import part

        for owner in (importlib.metadata, part):
            vars(sys).setdefault("repairs", []).append((owner, "version", owner.version))
            owner.version = lambda name: "0.0.7"

    client.run(pretend, workers=[worker])


def test_another_version_is_refused(healthy, source):
    worker = next(iter(healthy.nthreads()))
    pretend_other_version(healthy, worker)
    ours = gpugda.__version__
    with pytest.raises(
        ConfigurationError, match=rf"{worker} has gpugda 0\.0\.7, and this is {ours}"
    ):
        gpugda.connect(source, cluster=healthy)


def test_a_worker_of_another_version_that_came_later(healthy, divided, source, expected):
    with gpugda.connect(source, cluster=healthy) as accelerator:
        worker = next(iter(healthy.nthreads()))
        pretend_other_version(healthy, worker)
        result = accelerator.run(COUNT)
        assert result.values() == expected
        (warning,) = result.summary.warnings
        assert f"it has gpugda 0.0.7, and the client has {gpugda.__version__}" in warning


def break_device(client, worker, name):
    def fail(name):
        from contextlib import contextmanager

        from gpugda import errors
        from gpugda.match.session import DeviceSession

        @contextmanager
        def lost(self, strategy, graph):
            raise getattr(errors, name)("it was lost")
            yield

        before = DeviceSession.strategy
        vars(sys).setdefault("repairs", []).append((DeviceSession, "strategy", before))
        DeviceSession.strategy = lost

    client.run(fail, name, workers=[worker])


def test_a_device_of_a_worker_fails(healthy, divided, source, expected):
    with gpugda.connect(source, cluster=healthy) as accelerator:
        assert accelerator.run(COUNT).values() == expected
        one, other = healthy.nthreads()
        break_device(healthy, one, "DeviceError")
        result = accelerator.run(COUNT)
        assert result.values() == expected
        (warning,) = result.summary.warnings
        assert warning.endswith("is not used any more: it was lost")
        break_device(healthy, other, "DeviceError")
        with pytest.raises(DeviceError, match="it was lost"):
            accelerator.run(COUNT)


def test_a_worker_without_memory_is_left_out_of_one_query(healthy, divided, source, expected):
    with gpugda.connect(source, cluster=healthy) as accelerator:
        one, _ = healthy.nthreads()
        break_device(healthy, one, "MemoryLimitError")

        def is_left_out():
            result = accelerator.run(COUNT)
            assert result.values() == expected
            assert not result.summary.warnings
            return "was left out: it was lost" in str(result.summary)

        assert soon(is_left_out)  # the other one may be faster


def test_other_faults_are_raised(healthy, divided, source):
    def fail():
        from gpugda.cluster.part import Part

        def wrong(self, opened):
            raise ZeroDivisionError("a fault of gpugda")

        vars(sys).setdefault("repairs", []).append((Part, "task", Part.task))
        Part.task = wrong

    with gpugda.connect(source, cluster=healthy) as accelerator:
        healthy.run(fail)
        with pytest.raises(gpugda.errors.InternalError, match="a fault of gpugda"):
            accelerator.run(COUNT)


# ------------------------------------------------------------------ clients
def test_time_limits_stop_the_workers(healthy, divided, source, expected):
    with gpugda.connect(source, cluster=healthy) as accelerator:
        assert accelerator.run(COUNT).values() == expected
        slow_tasks(healthy, 60.0)
        with pytest.raises(QueryTimeoutError), ends_in(2 + BUSY_MACHINE):
            accelerator.run(COUNT, timeout=2.0)
        assert soon(lambda: running_tasks(healthy) == 0, 1 + BUSY_MACHINE)


def test_a_query_that_ends_early_stops_the_workers(healthy, divided, source):
    with gpugda.connect(source, cluster=healthy) as accelerator:
        rows = "MATCH (a:A)-->(b)-->(c:A), (a)-->(c) RETURN id(a)"
        count = accelerator.run(rows).summary.rows
        slow_tasks(healthy, 1.0)
        found = accelerator.run("MATCH (a:A)-->(b)-->(c:A), (a)-->(c) WITH a LIMIT 1 RETURN id(a)")
        assert len(found.values()) == 1 < count
        assert soon(lambda: running_tasks(healthy) == 0, 1 + BUSY_MACHINE)


CLIENT = """
import sys
import numpy as np
import gpugda
from gpugda.match import exchange
from gpugda.match.extend.strategy import ExtendStrategy

def main():
    exchange.LIMITS = exchange.ExchangeLimits(min_seconds=0.0, first=2)
    ExtendStrategy.walked_pairs = 0
    ends = np.random.default_rng(5).integers(60, size=(2, 400))
    graph = gpugda.graph(None, {"source": ends[0], "target": ends[1], "type": ["R"] * 400})
    accelerator = gpugda.connect(graph, cluster=sys.argv[1])
    print("ready", flush=True)
    accelerator.run("MATCH (a)-->(b)-->(c)-->(a), (b)-->(a) RETURN count(*)").values()

main()
"""


def test_a_client_dies(healthy, cluster):
    def graphs():
        opened = healthy.run(
            lambda: (
                len(sys.modules["gpugda.cluster.shared_graph"]._open)
                if "gpugda.cluster.shared_graph" in sys.modules
                else 0
            )
        )
        return sum(opened.values())

    slow_tasks(healthy, 60.0)
    child = subprocess.Popen([sys.executable, "-c", CLIENT, cluster.scheduler_address])
    try:
        assert soon(lambda: running_tasks(healthy) > 0 and graphs() > 0, 120)
    finally:
        child.kill()
        child.wait()
    assert soon(lambda: running_tasks(healthy) == 0, 1 + BUSY_MACHINE)
    assert soon(lambda: graphs() == 0, 1 + BUSY_MACHINE)
