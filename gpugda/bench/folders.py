"""Where reports are written."""

from __future__ import annotations

from pathlib import Path

from gpugda.errors import ConfigurationError

__all__ = ["made_folder"]


def made_folder(path: str, inside: str = "") -> Path:
    """The folder, made where it was not there, with one inside it if that is named.

    Raises:
        ConfigurationError: It cannot be made.
    """
    folder = Path(path)
    try:
        (folder / inside).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror
        raise ConfigurationError(f"--out {path!r} cannot be made a folder: {why}.") from error
    return folder
