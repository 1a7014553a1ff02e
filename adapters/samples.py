"""Sample graphs that are part of the package."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpugda.errors import ConfigurationError
from gpugda.ports import SnapshotFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.ports import Progress

__all__ = ["SampleSource", "sample_names"]

_FOLDER = Path(__file__).parent / "samples"


def sample_names() -> list[str]:
    """Names of all samples, sorted."""
    return sorted(path.name for path in _FOLDER.iterdir() if path.is_dir())


class SampleSource:
    """A sample graph, saved as a snapshot.

    Args:
        name: One of ``sample_names()``.

    Raises:
        ConfigurationError: There is no such sample.
    """

    def __init__(self, name: str) -> None:
        if name not in sample_names():
            raise ConfigurationError(
                f"There is no sample {name!r}; there are: "
                + ", ".join(f"'sample:{each}'" for each in sample_names())
            )
        self._sample = name

    @property
    def name(self) -> str:
        """``sample:`` and the name."""
        return f"sample:{self._sample}"

    @contextmanager
    def read(self, progress: Progress) -> Iterator[SnapshotFolder]:
        """The snapshot's folder."""
        # Part of the package: anyone who can change it can change this program, too.
        yield SnapshotFolder(_FOLDER / self._sample, trust=True)
