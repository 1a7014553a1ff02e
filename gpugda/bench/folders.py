"""Makes the folders of reports."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile

from gpugda.errors import ConfigurationError

__all__ = ["made_folder"]


def made_folder(path: str, inside: str = "") -> Path:
    """Makes the folder and the named folder inside it, unless they exist.

    Raises:
        ConfigurationError: The folder cannot be made, or no file can be written there: a benchmark
            finds this out before it measures for hours.
    """
    folder = Path(path)
    try:
        (folder / inside).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror
        raise ConfigurationError(f"--out {path!r} cannot be made a folder: {why}.") from error
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigurationError(
            f"--out {path!r} cannot be written to: {error.strerror}."
        ) from error
    return folder
