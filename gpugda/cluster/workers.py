"""The workers of a Dask cluster as places: Dask schedules tasks, repeats them, and watches."""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4
from weakref import ref

import distributed
from distributed.client import FutureCancelledError

from gpugda.cluster.part import Answered, Stopped, part_of, run_part
from gpugda.cluster.shared_graph import holds_snapshot, shared_by
from gpugda.deadline import check_deadline
from gpugda.errors import ConfigurationError, DeviceError, QueryTimeoutError
from gpugda.match import exchange
from gpugda.match.exchange import TaskLog

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from gpugda.cluster.part import Failed
    from gpugda.cluster.shared_graph import DeviceSettings
    from gpugda.data.data_graph import DataGraph
    from gpugda.match.exchange import Answer, Division, ExchangeLimits

__all__ = ["Workers"]

_LOGGER = logging.getLogger("gpugda.cluster")
_CONNECT_SECONDS: Final = 30.0
_RETRIES: Final = 2
_LOOK_SECONDS: Final = 0.05
"""Time between two looks at the deadline while no task ends."""
_WATCH_SECONDS: Final = 0.5
"""Time between two questions to the scheduler while no task ends."""
_REPLY_SECONDS: Final = 2.0
"""Time between two looks at the connection while the scheduler does not answer."""
_PATIENCE_SECONDS: Final = 60.0
"""Time after which a scheduler that does not answer, though it is connected, is given up."""
_ALONE_SECONDS: Final = 3.5
"""Time without any worker after which none is expected: Dask starts killed ones again."""
_LOSSES: Final = 3
"""Times that a task is lost with all workers that had its graph, before none is tried."""
_GPU: Final = "GPU"


class Workers:
    """The workers of a cluster.

    Args:
        cluster: The address of a scheduler, a client, or a cluster of Dask.
        settings: How workers use their devices.

    Raises:
        ConfigurationError: There is no such scheduler, or workers have another version of gpugda.
    """

    def __init__(self, cluster: object, settings: DeviceSettings) -> None:
        self.limits: ExchangeLimits = exchange.LIMITS
        self.failed: dict[str, str] = {}
        self._settings = settings
        self._client, self._is_ours = _client(cluster)
        self._background = ThreadPoolExecutor(1, thread_name_prefix="gpugda cluster")
        self._graph: ref[DataGraph] | None = None
        self._future: Any = None
        self._holders: frozenset[str] = frozenset()
        self._is_stale = False
        self._count = 1
        self._has_gpus = False
        try:
            self._check_versions()
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------------ as places
    @property
    def count(self) -> int:
        """See `Places.count`."""
        return self._count

    @property
    def text(self) -> str:
        """See `Places.text`."""
        return f"{self._count} workers of {self._client.scheduler.address}"

    @property
    def are_useful(self) -> bool:
        """See `Places.are_useful`."""
        return True

    def warnings(self) -> tuple[str, ...]:
        """See `Places.warnings`."""
        return tuple(self.failed.values())

    def run(self, division: Division) -> _Running:
        """See `Places.run`."""
        return _Running(self, division)

    def close(self) -> None:
        """Frees what the workers hold; closes the client if it was opened here."""
        self._background.shutdown(wait=False, cancel_futures=True)
        self._forget()
        if self._is_ours:
            self._client.close()

    # ------------------------------------------------------------------ for what runs
    def submit(self, part: object, key: object, workers: Sequence[str] | None) -> Any:
        """A task of Dask for a part of a pattern."""
        resources = {_GPU: 1} if self._has_gpus else None
        return self._client.submit(
            run_part,
            self._future,
            part,
            key=key,
            pure=False,
            retries=_RETRIES,
            workers=workers,
            resources=resources,
        )

    def addresses(self, patience: float = _PATIENCE_SECONDS) -> frozenset[str]:
        """Addresses of all workers.

        Raises:
            DeviceError: The scheduler is gone, or has not answered for so many seconds.
        """
        ask, until = self._client.scheduler.ncores, time.monotonic() + patience
        while self.is_connected:
            try:
                found = self._client.sync(ask, callback_timeout=_REPLY_SECONDS)
            except TimeoutError:  # it may be busy
                if time.monotonic() > until:
                    break
            except (OSError, ValueError) as error:
                raise self.gone() from error
            else:
                self._count = max(1, len(found))
                return frozenset(found)
        raise self.gone()

    def gone(self) -> DeviceError:
        """The error for a scheduler that does not answer."""
        return DeviceError(
            f"the scheduler at {self._client.scheduler.address} does not answer any more: start it "
            "again, and connect again"
        )

    def none_left(self) -> DeviceError:
        """The error for a cluster without workers."""
        return DeviceError(
            f"the cluster at {self._client.scheduler.address} has no workers that could be used: "
            "start some, as gpugda cluster shows"
        )

    @property
    def is_connected(self) -> bool:
        """False once the connection to the scheduler is lost."""
        return bool(self._client.status == "running")

    def share(self, graph: DataGraph, deadline: float) -> None:
        """Waits until all workers have the graph.

        Raises:
            DeviceError: There are no workers.
            QueryTimeoutError: The deadline passed; sending goes on.
        """
        done = self._background.submit(self._share, graph)
        while not done.done():
            time.sleep(0.001 if done.running() else _LOOK_SECONDS)
            check_deadline(deadline)
        done.result()

    def send_again(self) -> None:
        """Has the next query send the graph again, as a worker could not read it."""
        self._is_stale = True

    def _share(self, graph: DataGraph) -> None:
        there = self._some_workers()
        known = self._graph is not None and self._graph() is graph
        if known and not self._is_stale and self._future.status == "finished":
            if not there <= self._holders:
                self._check_versions()
                self._client.replicate([self._future])
                self._holders = there
            return
        self._forget()
        self._has_gpus = self._declares_gpus()
        made = shared_by(graph, self._settings, self._all_read)
        self._future = self._client.scatter(made, broadcast=True, hash=False)
        self._graph, self._holders, self._is_stale = ref(graph), there, False

    def _some_workers(self) -> frozenset[str]:
        until = time.monotonic() + _ALONE_SECONDS
        while not (there := self.addresses()):
            if time.monotonic() > until:
                raise self.none_left()
            time.sleep(_LOOK_SECONDS)
        return there

    def _forget(self) -> None:
        future, self._future, self._graph = self._future, None, None
        if future is not None:
            future.release()

    def _all_read(self, folder: str, key: str) -> bool:
        found = self._client.run(holds_snapshot, folder, key, on_error="return")
        return all(each is True for each in found.values())

    def _declares_gpus(self) -> bool:
        return any(_GPU in each for each in self._client.run(_declared).values())

    def _check_versions(self) -> None:
        ours = version("gpugda")
        found = self._client.run(version, "gpugda", on_error="return")
        for address, other in found.items():
            if isinstance(other, BaseException):
                raise ConfigurationError(
                    f"gpugda {ours} is not installed at the worker {address}: {other}"
                )
            if other != ours:
                raise ConfigurationError(
                    f"the worker {address} has gpugda {other}, and this is {ours}: install the "
                    "same version"
                )
        self._count = max(1, len(found))


def _declared(dask_worker: Any) -> dict[str, float]:
    """The resources that a worker declares."""
    return dict(dask_worker.state.total_resources)


def _client(cluster: object) -> tuple[Any, bool]:
    """A client of the cluster, and whether it was opened here."""
    if isinstance(cluster, distributed.Client):
        if cluster.asynchronous:
            raise ConfigurationError("cluster is an asynchronous client; give one that is not.")
        return cluster, False
    if not isinstance(cluster, str) and not hasattr(cluster, "scheduler_address"):
        raise ConfigurationError(
            f"cluster is {cluster!r}; give the address of a scheduler, a distributed.Client, or a "
            "cluster of Dask."
        )
    try:
        opened = distributed.Client(  # type: ignore[no-untyped-call]  # Dask's has no annotations
            cluster, timeout=_CONNECT_SECONDS, set_as_default=False, name="gpugda"
        )
    except (OSError, TimeoutError, ValueError) as error:
        raise ConfigurationError(
            f"no scheduler of Dask answers at {cluster}: {error or 'it took too long'}; gpugda "
            "cluster prints how to start one"
        ) from error
    return opened, True


class _Running:
    """Tasks of Dask for the parts of one pattern.

    Attributes:
        log: What was done.
    """

    def __init__(self, workers: Workers, division: Division) -> None:
        self._workers, self._graph = workers, division.graph
        self._tasks, self._deadline = division.tasks, division.deadline
        self._name = f"{division.said}-{uuid4().hex}"
        self._futures: dict[int, Any] = {}
        self._ended: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._attempts = 0
        self._lost = 0
        self._watched = self._had_workers = time.monotonic()
        self.log = TaskLog(division)

    def answers(self) -> Generator[Answer]:
        """See `Running.answers`."""
        started = time.perf_counter()
        self._workers.share(self._graph, self._deadline)
        try:
            for number in range(len(self._tasks)):
                self._submit(number)
            for _ in range(len(self._tasks)):
                answer = self._next()
                self.log.receive(time.perf_counter() - started)
                yield answer
                started = time.perf_counter()
        finally:
            # Dask takes back what nobody wants, from workers that are at it as well.
            for each in self._futures.values():
                each.release()

    def _submit(self, number: int) -> None:
        part = part_of(self._tasks[number], self._deadline)
        out = self._addresses_left_out
        allowed = sorted(self._workers.addresses() - out) if out else None
        self._attempts += 1
        key = (self._name, number, self._attempts)
        future = self._futures[number] = self._workers.submit(part, key, allowed)
        future.add_done_callback(lambda done: self._ended.put((number, done)))

    def _next(self) -> Answer:
        while True:
            ended = self._wait()
            answer = None if ended is None else self._answer_of(*ended)
            if answer is not None:
                return answer

    def _wait(self) -> tuple[int, Any] | None:
        """A task that has ended; None if none has. Sees to it that there is hope."""
        try:
            return self._ended.get(timeout=_LOOK_SECONDS)
        except Empty:
            pass
        check_deadline(self._deadline)
        now, workers = time.monotonic(), self._workers
        if now - self._watched < _WATCH_SECONDS:
            return None
        self._watched = now
        if workers.addresses() - self._addresses_left_out:
            self._had_workers = now
        elif now - self._had_workers > _ALONE_SECONDS:
            raise workers.none_left()
        return None

    def _answer_of(self, number: int, future: Any) -> Answer | None:
        """The answer of a task that has ended; None if it was submitted again."""
        if number not in self._futures or self._futures[number] is not future:
            return None
        found = self._gathered(future)
        if found is None:
            self._again(number)
            return None
        if isinstance(found, Answered):
            del self._futures[number]
            future.release()
            self.log.add(*found)
            return found.answer
        if isinstance(found, Stopped):
            raise QueryTimeoutError(found.why)
        self._leave_out(found)
        self._submit(number)
        return None

    def _gathered(self, future: Any) -> Answered | Failed | Stopped | None:
        """What a worker returned; None if Dask has lost it."""
        while True:
            try:
                found: Answered | Failed | Stopped = future.result(timeout=_WATCH_SECONDS)
                return found
            except TimeoutError:  # its worker died, and another one computes it again
                check_deadline(self._deadline)
                if not self._workers.is_connected:
                    raise self._workers.gone() from None
            except FutureCancelledError:
                return None
            except distributed.KilledWorker as error:
                raise DeviceError(f"workers died of a part of the pattern: {error}") from error

    def _again(self, number: int) -> None:
        """Submits a task again whose data is lost, because all workers that had it are."""
        if not self._workers.is_connected:
            raise self._workers.gone()
        self._lost += 1
        if self._lost > _LOSSES * len(self._tasks):
            raise self._workers.none_left()
        self._workers.share(self._graph, self._deadline)
        self._submit(number)

    def _leave_out(self, failed: Failed) -> None:
        """Leaves its tasks to the other workers; one without enough memory, once only."""
        if failed.address not in self.log.left_out:
            _LOGGER.warning("%s is left out: %s", failed.worker, failed.why)
        self.log.left_out[failed.address] = f"{failed.worker} was left out: {failed.why}"
        if failed.has_no_graph:
            self._workers.send_again()
        if not failed.for_now:
            self._workers.failed[failed.address] = (
                f"{failed.worker} is not used any more: {failed.why}"
            )
        if not self._workers.addresses() - self._addresses_left_out:
            raise DeviceError(f"{failed.worker}: {failed.why}")

    @property
    def _addresses_left_out(self) -> frozenset[str]:
        return frozenset((*self.log.left_out, *self._workers.failed))
