"""The command line program ``gpugda``."""

from __future__ import annotations

import sys

__all__ = ["main"]

_CANCELLED = 130  # exit code that shells expect after Ctrl-C


def main() -> None:
    """Runs the command line of this process and exits."""
    if sys.argv[1:] == ["--version"]:
        from importlib.metadata import version

        sys.stdout.write(f"gpugda {version('gpugda')}\n")  # fast: imports nothing else
        return
    try:
        from gpugda.cli.app import app

        app(prog_name="gpugda")
    except KeyboardInterrupt:  # Ctrl-C before a command runs; commands say "cancelled"
        sys.exit(_CANCELLED)
