"""A search within or across partitions, and its results so far."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda_strategies.pbe.device_lists import Loaded
    from gpugda_strategies.pbe.groups import Group, Member
    from gpugda_strategies.pbe.windows import SeededWindows

__all__ = ["Search"]

_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class Search:
    """A search.

    Args:
        windows: Executes the search.
        loaded: Statistics of the lists that were loaded for it.
        group: The query relationships it serves; None within partitions.
        found: Number of embeddings found so far.
        seconds: Time taken so far.
    """

    windows: SeededWindows
    loaded: Loaded
    group: Group | None = None
    found: int = 0
    seconds: float = 0.0

    @property
    def members(self) -> tuple[Member, ...]:
        """The members of its group."""
        return () if self.group is None else self.group.members

    @property
    def is_alone(self) -> bool:
        """See `Group.is_alone`."""
        return self.group is not None and self.group.is_alone

    def timed(self, work: Iterator[_T]) -> Iterator[_T]:
        """Adds the time that each item takes, without the caller's own time."""
        while True:
            started = time.perf_counter()
            try:
                found = next(work)
            except StopIteration:
                return
            finally:
                self.seconds += time.perf_counter() - started
            yield found
