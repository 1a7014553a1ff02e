"""One search within partitions or across them, and what it has found."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.match.pbe.device_lists import Loaded
    from gpugda.match.pbe.groups import Member
    from gpugda.match.pbe.windows import SeededWindows

__all__ = ["Search"]

_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class Search:
    """A search.

    Args:
        windows: Does it.
        loaded: The lists that were brought for it.
        members: The query relationships that it is for; none within partitions.
        found: Embeddings found until now.
        seconds: How long that took.
    """

    windows: SeededWindows
    loaded: Loaded
    members: Sequence[Member] = ()
    found: int = 0
    seconds: float = 0.0

    def timed(self, work: Iterator[_T]) -> Iterator[_T]:
        """Adds the time until each next one, not that of who asks."""
        while True:
            started = time.perf_counter()
            try:
                found = next(work)
            except StopIteration:
                return
            finally:
                self.seconds += time.perf_counter() - started
            yield found
