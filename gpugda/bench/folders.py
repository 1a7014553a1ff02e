"""Makes the folders of reports."""

from __future__ import annotations

from pathlib import Path

from gpugda.errors import ConfigurationError

__all__ = ["made_folder"]


def made_folder(path: str, inside: str = "") -> Path:
    """Makes the folder and the named folder inside it, unless they exist.

    Raises:
        ConfigurationError: The folder cannot be made.
    """
    folder = Path(path)
    try:
        (folder / inside).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror
        raise ConfigurationError(f"--out {path!r} cannot be made a folder: {why}.") from error
    return folder
