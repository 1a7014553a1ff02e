"""What the core asks of a data source. Adapters implement it; the core never imports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gpugda.data.batches import NodeBatch, RelationshipBatch

__all__ = ["GraphBatches", "GraphSource", "Progress", "SilentProgress", "SnapshotFolder"]


class Progress(Protocol):
    """Told how far long work has come. The command line draws it; the library stays silent."""

    def phase(self, name: str, total: int | None = None) -> None:
        """A new phase begins; ``total`` units of work (rows, or bytes for files) if known."""

    def advance(self, amount: int) -> None:
        """That many units more are done."""


class SilentProgress:
    """A progress that nobody watches."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Nothing to show."""

    def advance(self, amount: int) -> None:
        """Nothing to show."""


@dataclass(frozen=True, slots=True)
class GraphBatches:
    """A graph in columns: all node batches are read before the first relationship batch."""

    nodes: Iterable[NodeBatch]
    relationships: Iterable[RelationshipBatch]


@dataclass(frozen=True, slots=True)
class SnapshotFolder:
    """The answer of a source whose graph lies ready as a saved snapshot."""

    path: Path


@runtime_checkable
class GraphSource(Protocol):
    """Where a data graph comes from."""

    @property
    def name(self) -> str:
        """Short text for people, without credentials: shown in summaries, errors and logs."""

    def read(self, progress: Progress) -> AbstractContextManager[GraphBatches | SnapshotFolder]:
        """Opens the source and gives its graph; what is open is closed on exit.

        Raises:
            SourceError: What was wrong, in which file or table, at which row.
        """
