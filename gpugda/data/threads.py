"""Threads for work on large arrays, as many as cores; NumPy releases the interpreter lock."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from numpy.typing import DTypeLike, NDArray

__all__ = [
    "beside",
    "core_count",
    "in_threads",
    "in_threads_ahead",
    "pieces_of",
    "take_in_threads",
    "written_in_threads",
]

_Part = TypeVar("_Part")
_Found = TypeVar("_Found")
_PIECE: Final = 1 << 18
_WRITTEN: Final = 1 << 22
"""Elements that a thread clears at a time."""
_MAX_THREADS: Final = 32
"""More threads do not speed up sorting or copying: memory bandwidth is the limit."""


def core_count() -> int:
    """Number of cores that this process may use, at most 32."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        count = os.cpu_count() or 1
    return max(1, min(count, _MAX_THREADS))


def in_threads(work: Callable[[_Part], _Found], parts: Sequence[_Part]) -> list[_Found]:
    """The results of ``work`` for each part, in order, computed concurrently.

    The first error is raised after all have ended. One part, or one core, starts no thread.
    """
    threads = min(core_count(), len(parts))
    if threads < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads, thread_name_prefix="gpugda-build") as pool:
        return list(pool.map(work, parts))


def beside(work: Callable[[], _Found], size: int) -> Callable[[], _Found]:
    """Starts work of one core beside the caller's; the returned function waits for its result.

    Work on fewer than some entries starts no thread: it is done when the result is requested.
    """
    if core_count() < 2 or size < _PIECE:
        return work
    pool = ThreadPoolExecutor(1, thread_name_prefix="gpugda-beside")
    started = pool.submit(work)
    pool.shutdown(wait=False)
    return started.result


def in_threads_ahead(work: Callable[[_Part], _Found], parts: Sequence[_Part]) -> Iterator[_Found]:
    """Yields the results of ``work`` in order, while threads compute a few of those that follow.

    Not more than twice as many results as cores wait at a time. A caller that stops early waits
    only for those that are being computed.
    """
    threads = min(core_count(), len(parts))
    if threads < 2:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="gpugda-ahead") as pool:
        waiting: deque[Future[_Found]] = deque()
        try:
            for part in parts:
                waiting.append(pool.submit(work, part))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()


def take_in_threads(values: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """``values[places]`` for many positions, all in range, in several threads."""
    found = np.empty(len(places), dtype=values.dtype)

    def take(piece: slice) -> None:
        np.take(values, places[piece], out=found[piece], mode="clip")

    in_threads(take, pieces_of(len(places), _PIECE))
    return found


def written_in_threads(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """A new array of zeros that all cores have written.

    The first write to a page of memory takes several times as long as a copy, which one thread may
    then make.
    """
    found: NDArray[Any] = np.empty(shape, dtype=dtype)
    flat = found.reshape(-1)

    def clear(piece: slice) -> None:
        flat[piece] = 0

    in_threads(clear, pieces_of(flat.size, _WRITTEN))
    return found


def pieces_of(count: int, size: int) -> list[slice]:
    """Slices of at most ``size`` that cover ``count`` elements.

    Example:
        >>> pieces_of(5, 2)
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(low, min(low + size, count)) for low in range(0, count, size)]
